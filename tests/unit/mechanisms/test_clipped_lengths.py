"""A clipped gradient is no longer than its clip, whatever doubles a record holds."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from confide.data.matrix.matrix import as_matrix
from confide.data.rows.block import Block
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import UnmetNeeds
from confide.mechanisms import DpAdmm, MomentumDescent, MpAdmm, ProximalSgd, SsAdmm
from confide.mechanisms.gradient.clipped_gradient import clipped_gradient
from confide.objectives import Clipped, Logistic, Objective, Poisson, Squared
from confide.privacy import Approx, Neighbours

TINY = 1e-14
"""What rounding may add, as a share, for rows of a few entries."""
sizes = st.floats(1e-320, 1e308)
signed = st.builds(lambda size, sign: sign * size, sizes, st.sampled_from([-1.0, 0.0, 1.0]))
several = st.lists(signed, min_size=3, max_size=3)
clips = st.floats(1e-100, 1e100)


def one_row(row, thin=False):
    values = np.array([row])
    return as_matrix(sparse.csr_array(values) if thin else values)


def exact_square(row):
    return sum(Fraction(float(value)) ** 2 for value in row)


@given(several, st.booleans())
@example([1e-163, 0.0, 0.0], False)
@example([1e-170, -1e-171, 5e-324], True)
@example([1e200, 1e200, 1.0], False)
def test_lengths_are_right_for_every_double(row, thin):
    (length,) = one_row(row, thin).lengths()
    square = exact_square(row)
    if not math.isfinite(length):
        assert square > Fraction(1.7e308) ** 2
        return
    slack = Fraction(5e-324) * 2
    assert (Fraction(length) * Fraction(1 + TINY) + slack) ** 2 >= square
    assert (max(Fraction(length) * Fraction(1 - TINY) - slack, 0)) ** 2 <= square


@given(several, signed, several, clips, st.booleans())
@example([1e-163, 0.0, 0.0], 1e200, [0.0] * 3, 1.0, False)
@example([1e-162, 1e-162, 0.0], 1e200, [0.0] * 3, 1.0, True)
@example([1e308, 1e308, 0.0], 1e308, [1e5, -1e5, 0.0], 1.0, False)
@example([1e200, 0.0, 0.0], 1e308, [1.0, 0.0, 0.0], 1.0, False)
def test_no_gradient_is_longer_than_its_clip(row, target, theta, clip, thin):
    rows = InMemoryRows(one_row(row, thin), np.array([target]), None, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        found = clipped_gradient(Squared(), rows, clip)(np.array(theta))
    assert np.isfinite(found).all()
    assert exact_square(found) <= Fraction(clip) ** 2


@given(several, st.lists(signed, min_size=4, max_size=4), clips)
@example([1e170, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], 1.0)
@example([1e-163, 0.0, 0.0], [1e200, 1e200, 1e200, 1e200], 1.0)
def test_no_gradient_of_several_targets_is_longer_than_its_clip(row, targets, clip):
    rows = InMemoryRows(one_row(row), np.array([targets]), None, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        found = clipped_gradient(Squared(), rows, clip)(np.zeros(12))
    assert exact_square(found) <= Fraction(clip) ** 2


@given(several, st.floats(0.0, 1.0), signed, st.sampled_from([0.0, 0.5]))
@example([1e200, 0.0, 0.0], 0.0, 1.0, 0.0)
@example([1e200, 0.0, 0.0], 1e-200, 1.0, 0.5)
@example([1e-100, 0.0, 0.0], 1e-100, 1e250, 0.0)
@example([1e100, 0.0, 0.0], 1e-160, 1e250, 0.0)
def test_rows_that_were_shortened_keep_to_the_clip(row, factor, target, height):
    rows = InMemoryRows(one_row(row), np.array([target]), np.array([factor]), height)
    found = clipped_gradient(Squared(), rows, 1.0)(np.zeros(rows.dimension))
    assert np.isfinite(found).all()
    assert exact_square(found) <= 1


def test_one_record_does_not_change_how_others_are_measured():
    rng = np.random.default_rng(0)
    usual = rng.normal(size=(2000, 3))
    odd = np.vstack([usual, [[1e-200, 0.0, 0.0], [1e200, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    for features in map(as_matrix, (odd, sparse.csr_array(odd))):
        lengths = Block(features, np.zeros(2003), None, 0.5).lengths()
        alone = Block(features[:2000], np.zeros(2000), None, 0.5).lengths()
        assert np.array_equal(lengths[:2000], alone)
        assert lengths[2000:].tolist() == [0.5, 1e200, 0.5]


@pytest.mark.parametrize(
    "mechanism",
    [
        ProximalSgd(clip=1.0, step=0.5),
        SsAdmm(clip=1.0, step=0.5),
        MpAdmm(clip=1.0, step=0.5),
        MomentumDescent(clip=1.0),
        DpAdmm(clip=1.0, step=0.5),
    ],
    ids=lambda one: one.name,
)
@pytest.mark.parametrize("loss", [Squared(), Poisson()], ids=["squared", "poisson"])
def test_a_clip_alone_does_not_do_for_targets_without_a_bound(mechanism, loss):
    unbounded = Objective(loss, 2, 1.0, 1.0)
    budget = Approx(1, "1e-6")
    with pytest.raises(UnmetNeeds, match=r"public bound on the target \(target_bound\)"):
        mechanism.calibrate(unbounded, budget, Neighbours.ADD_REMOVE)
    bounded = replace(unbounded, target_bound=1.0).with_ball(2.0)
    for fine in (bounded, replace(unbounded, loss=Logistic())):
        assert mechanism.calibrate(fine, budget, Neighbours.ADD_REMOVE).clip <= 1.0


def test_a_slope_that_is_cut_needs_no_bound_on_the_target():
    target = Objective(Clipped(Squared(), 1.0), 2, 1.0, 1.0)
    mechanism = ProximalSgd(clip=0.5, step=0.5)
    found = mechanism.calibrate(target, Approx(1, "1e-6"), Neighbours.ADD_REMOVE)
    assert found.clip == 0.5
