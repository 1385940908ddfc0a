"""How far gradient methods go, and with which steps, follows from public facts."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.data import bound_rows
from confide.mechanisms import DpAdmm, MomentumDescent, MpAdmm, ProximalSgd, SsAdmm
from confide.mechanisms.gradient.clipped_gradient import clipped_gradient
from confide.mechanisms.gradient.iterations import (
    LEAST_FRICTION,
    Pace,
    ProximalDescent,
    Steps,
    first_of_tail,
    longest_step,
)
from confide.mechanisms.rounding import SLACK
from confide.noise import Entropy, Gaussian
from confide.objectives import Clipped, Logistic, Objective, Poisson, Squared
from confide.privacy import Approx, Neighbours, Zcdp

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("copies", [1, 4])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_the_total_step_in_closed_form(relation, copies, clip):
    """min(20/R/√p, 2/R) over s = (s̄ + slack)·C·√copies/μ, for any number of steps."""
    mechanism = MomentumDescent(clip=clip, count_share=Fraction(1, 4))
    shift = math.sqrt(3 / 4) if relation is ADD else 1.0
    for dimension, reach in ((400, 1.0), (16, 2.0)):
        target = Objective(Logistic(), dimension, row_norm=3.0)
        found = mechanism.calibrate(target, Zcdp("0.5"), relation, copies=copies)
        whole = (relation.shifts + SLACK) * (clip or 3.0) * math.sqrt(copies) / shift
        assert found.total_step == pytest.approx(reach / 3 / whole)
        fewer = replace(mechanism, steps=7).calibrate(
            target, Zcdp("0.5"), relation, copies=copies
        )
        assert fewer.total_step == pytest.approx(found.total_step)
        assert found.objective.l2 == pytest.approx(0.1 / found.total_step)


def test_the_margin_of_a_target_is_in_its_units():
    wide = Objective(Clipped(Squared(), 1.0), 4, 2.0, target_bound=50.0)
    assert wide.typical_margin == 100.0
    assert replace(wide, loss=Clipped(Poisson(), 1.0)).typical_margin == 2.0
    assert Objective(Logistic(), 4).typical_margin == 2.0


def test_random_batches_go_by_the_noise_of_their_estimates():
    """Half of the rows with the same noise: the sum of all is known half as well."""
    target = Objective(Logistic(), 4, l2=1.0)
    mechanism = ProximalSgd(10, Fraction(1, 2))
    found = mechanism.calibrate(target, Approx(1, 1e-5), REPLACE)
    whole = replace(found, rate=Fraction(1))
    assert found.total_step == pytest.approx(whole.total_step / 2)


@given(
    steps=st.integers(1, 3000),
    noise=st.floats(1e-6, 1e6),
    scale=st.floats(1, 1e7),
    ridge=st.sampled_from([0.0, 1e-3, 1.0, 1e3]),
    row_norm=st.floats(0.1, 30),
)
def test_a_path_is_as_long_as_it_should_be_and_stable(steps, noise, scale, ridge, row_norm):
    target = Objective(Logistic(), 7, row_norm, ridge)
    found = MomentumDescent(steps).calibrate(target, Zcdp(1), REPLACE)
    found = replace(found, noise=Gaussian(noise))
    pace = Pace.of(found, scale)
    longest = longest_step(target)
    assert longest == pytest.approx(4 / row_norm**2)
    assert 0 < pace.size <= longest
    assert 0 <= pace.momentum < 1
    reach = steps * pace.size / (1 - pace.momentum)
    total = found.total_step * scale
    assert reach <= total * (1 + 1e-9)
    if pace.momentum:
        assert pace.size == longest
        assert (1 - pace.momentum) * steps >= LEAST_FRICTION * (1 - 1e-9)
    enough = steps**2 * longest >= LEAST_FRICTION * total and steps >= LEAST_FRICTION
    if enough and not ridge:
        assert reach == pytest.approx(total)
    if enough and ridge:
        settled = 20 * scale / ridge
        assert reach >= min(total, settled) * (1 - 1e-9)


def rows_of(count, width, *, stretch=1.0, seed=9):
    entropy = Entropy.seeded(seed)
    features = entropy.normal(count * width).reshape(count, width)
    features /= np.linalg.norm(features, axis=1)[:, None]
    signs = np.sign(features @ np.linspace(-4, 4, width) + entropy.normal(count))
    return bound_rows(stretch * features, signs, stretch, 0.0)


def test_more_steps_go_the_same_way():
    """Without noise, 60 and 600 steps of a path of the same length end near each other."""
    rows, target = rows_of(2000, 5), Objective(Logistic(), 5, 1.0, 0.0)
    ends = []
    for steps in (60, 600):
        found = MomentumDescent(steps).calibrate(target, Approx("0.3", 1e-6), ADD)
        pace = Pace.of(found, 2000.0)
        assert bool(pace.momentum) is (steps == 60)
        gradient = clipped_gradient(target.loss, rows, found.clip)
        descent = ProximalDescent(found.objective, 0.5, pace.momentum)
        ends.append(descent.run(gradient, (pace.size,) * steps, 2000.0))
    assert np.linalg.norm(ends[0] - ends[1]) < 0.1 * np.linalg.norm(ends[1])


@pytest.mark.parametrize("kind", [MomentumDescent, lambda: ProximalSgd(50, Fraction(1))])
@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_units_of_the_rows_do_not_matter(kind, relation):
    """Rows 7 times as long have coefficients a seventh as large, noise and all.

    Steps of the lattice are powers of two, so that they are not 7 times as long.
    """
    mechanism, values = kind(), []
    for stretch in (1.0, 7.0):
        rows = rows_of(300, 4, stretch=stretch)
        target = Objective(Logistic(), 4, stretch)
        calibration = mechanism.calibrate(target, Approx(1, 1e-5), relation)
        release = calibration.release([rows], Entropy.seeded(2))
        values.append(stretch * release.value)
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_a_bought_number_of_rows_is_rather_too_large():
    """Below the truth with chance Φ(−2): of 400 draws 24 or more with chance 1e-5."""
    rows = rows_of(5000, 2)
    found = MpAdmm().calibrate(Objective(Logistic(), 2), Approx("0.1", 1e-6), ADD)
    drawn = [found.scale(rows, Entropy.seeded(seed), 0.0) for seed in range(400)]
    assert sum(count < 5000 for count in drawn) < 24
    assert np.mean(drawn) == pytest.approx(5000 + 2 * found.counted.scale, rel=0.05)
    few = rows_of(2, 2)
    lows = [found.scale(few, Entropy.seeded(seed), 0.0) for seed in range(400)]
    assert min(lows) == found.counted.scale


def test_rules_by_name():
    target = Objective(Logistic(), 2, 1.0, 1.0)
    assert list(Steps("epoch", 2.0).sizes(target, 4, 2.0)) == [2, 2, 1, 1]
    assert list(Steps("sqrt", 2.0).sizes(target, 4, 1.0))[3] == 1
    assert list(Steps(None, 2.0).sizes(target, 2, 1.0)) == [2, 2]
    assert list(Steps(None, None).sizes(target, 4, 1.0, 2.0)) == [0.5] * 4
    assert list(Steps("total", None).sizes(target, 2, 1.0, 99.0)) == [4, 4]
    assert list(Steps("constant", None).sizes(target, 2, 1.0, 1e-9)) == [4, 4]


@pytest.mark.parametrize(
    ("mechanism", "part"),
    [
        (MpAdmm(100), 1),
        (DpAdmm(4, 100), 0.5),
        (SsAdmm(100, Fraction(1)), 1),
        (ProximalSgd(100, Fraction(1), momentum=0.75), 0.25),
    ],
    ids=["mpadmm", "four parties", "ssadmm", "sgd with momentum"],
)
def test_defaults_divide_the_total_step(mechanism, part, monkeypatch):
    """Four parties add twice the noise; momentum makes every step as long as four."""
    taken = []
    honest = Steps.sizes

    def spy(*given):
        taken.extend(honest(*given))
        return iter(taken)

    monkeypatch.setattr(Steps, "sizes", spy)
    found = mechanism.calibrate(
        Objective(Logistic(), 3, 1.0, 1.0), Approx("0.01", 1e-6), REPLACE
    )
    found.release([rows_of(1000, 3)], Entropy.seeded(0))
    assert math.fsum(taken) == pytest.approx(part * 1000 * found.total_step)


@pytest.mark.parametrize(
    ("turns", "share", "first"), [(10, 0, 9), (10, 0.5, 5), (10, 1, 0), (3, 0.5, 1)]
)
def test_the_tail_is_never_empty(turns, share, first):
    assert first_of_tail(turns, share) == first
