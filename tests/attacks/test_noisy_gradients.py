"""What noisy gradients tell to an attacker who knows all rows but one, to the last digit.

Every sum that leaves the rows lies on one public lattice, with the law of an exact sum;
sums of neighbouring tables differ by no more than the noise pays for, whatever doubles
make of them; and a batch that does not hold the odd record is added up as if there were
no such record.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import chisquare, norm

from confide import Category, Number, Schema, Target
from confide.data import bound_rows
from confide.data.matrix.matrix import as_matrix
from confide.data.matrix.sums import MAX_ROWS, MOST_TERMS, SumShape
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import InvalidParameter
from confide.mechanisms import DpAdmm, MomentumDescent, MpAdmm, ProximalSgd, SsAdmm
from confide.mechanisms import rounding as bounds
from confide.mechanisms.base import check_length
from confide.mechanisms.gradient import (
    batch_sums,
    calibration,
    clipped_gradient,
    noisy_gradient,
)
from confide.mechanisms.gradient.batch_sums import ExactSum
from confide.mechanisms.gradient.calibration import BATCH_SLACK, GradientCalibration
from confide.mechanisms.rounding import SLACK, trusted_radius
from confide.noise import Entropy, Gaussian
from confide.noise.lattice import LatticeNoise
from confide.objectives import Clipped, Hinge, Logistic, Objective, Poisson, Squared
from confide.privacy import Approx, Neighbours, Status, Zcdp
from confide.selection import HardThresholding, thresholding

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
BUDGET = Approx(1, 1e-6)
WIDTH = 4
MECHANISMS = {
    "momentum": MomentumDescent(3),
    "mpadmm": MpAdmm(3),
    "sgd": ProximalSgd(1, Fraction(1, 3)),
    "ssadmm": SsAdmm(1, Fraction(1, 3)),
    "dp-admm": DpAdmm(2, 3),
    "thresholding": HardThresholding(2),
}


def tables(relation, count=30, width=WIDTH):
    """Return two neighbours, of which the first has a record that the second lacks."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(count, width)) / 3
    target = np.where(features[:, 0] + rng.normal(size=count) / 3 > 0, 1.0, -1.0)
    if relation is ADD:
        other = features[1:], target[1:]
    else:
        other = np.vstack([-features[:1], features[1:]]), target
    return [bound_rows(*table, 1.0, 0.0) for table in ((features, target), other)]


def objective(loss=None, **more):
    return Objective(loss or Logistic(), WIDTH, 1.0, **more)


@pytest.fixture
def leaks(monkeypatch):
    """Record all that leaves the rows: sums, with the step of their lattice."""
    seen = []
    honest = LatticeNoise.add

    def add(self, centre):
        found = honest(self, centre)
        seen.append((self.grid, np.array(found)))
        return found

    monkeypatch.setattr(LatticeNoise, "add", add)
    return seen


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("name", MECHANISMS)
def test_all_that_leaves_the_rows_lies_on_one_public_lattice(name, relation, leaks):
    plan = MECHANISMS[name].calibrate(objective(), BUDGET, relation)
    assert plan.status is Status.PROVED
    grids = []
    for seed, rows in enumerate(tables(relation) * 5):
        leaks.clear()
        plan.release([rows], Entropy.seeded(seed))
        grids.append([grid for grid, _ in leaks])
        for grid, found in leaks:
            assert math.frexp(grid)[0] == 0.5
            assert (found / grid == np.rint(found / grid)).all()
            assert (np.abs(found / grid) <= 2.0**53).all()
    assert grids[0]
    assert all(own == grids[0] for own in grids)


@pytest.mark.parametrize("name", MECHANISMS)
def test_noise_in_doubles_would_leave_the_lattice(name, monkeypatch):
    """What the test above looks for is there where noise is added in doubles."""
    seen = []

    def add(self, centre):
        found = centre + self.steps * self.grid
        seen.append(found / self.grid)
        return found

    monkeypatch.setattr(LatticeNoise, "add", add)
    plan = MECHANISMS[name].calibrate(objective(), BUDGET, REPLACE)
    plan.release([tables(REPLACE)[0]], Entropy.seeded(1))
    assert any((found != np.rint(found)).any() for found in seen)


# ------------------------------------------------------------------------- exact laws


def coarse(monkeypatch, plan):
    """Make the lattice as coarse as half the noise."""
    grid = math.ldexp(0.5, math.frexp(plan.noise.scale)[1] - 1)
    monkeypatch.setattr(GradientCalibration, "grid", grid)
    return grid


@pytest.mark.parametrize("kind", ["all rows", "batches"])
def test_the_law_on_a_coarse_lattice(kind, monkeypatch):
    """Chi-square against the exact chances of cells; false alarm 1e-6."""
    rate = Fraction(1) if kind == "all rows" else Fraction(1, 2)
    mechanism = ProximalSgd(1500 * rate, rate, clip=0.5)
    plan = mechanism.calibrate(Objective(Logistic(), 1, 1.0, 1.0), Approx(8, 1e-3), ADD)
    plan = replace(plan, noise=Gaussian(0.4))
    grid = coarse(monkeypatch, plan)
    rows = bound_rows(np.array([[1.0], [1.0]]), np.array([-1.0, -1.0]), 1.0, 0.0)
    gradient = noisy_gradient.noisy_gradient(plan, rows, Entropy.seeded(3))
    found = np.array([gradient(np.zeros(1))[0] for _ in range(1500)]) * float(rate)
    cells = np.arange(-4, 12)
    edges = np.concatenate([[-np.inf], (cells[1:] - 0.5) * grid, [np.inf]])
    means, weights = ([1.0], [1.0]) if rate == 1 else ([0.0, 0.5, 1.0], [0.25, 0.5, 0.25])
    chances = sum(
        w * np.diff(norm.cdf(edges, m, 0.4)) for m, w in zip(means, weights, strict=True)
    )
    steps = np.clip(np.rint(found / grid), -4, 11).astype(int)
    counts = np.bincount(steps + 4, minlength=16)
    used = chances * 1500 > 5
    seen, expected = counts[used], chances[used]
    assert counts[~used].sum() <= 1500 * chances[~used].sum() + 30
    assert chisquare(seen, expected / expected.sum() * seen.sum()).pvalue > 1e-6


# ---------------------------------------------------------- how far one record moves sums

EDGES = {
    "empty": np.empty((0, 1)),
    "one row": np.array([[1.0]]),
    "no length": np.array([[0.0], [1.0]]),
    "tiny": np.array([[1e-310], [1e-200], [1e-20]]),
    "long": np.array([[1e150], [-1e140], [1.0]]),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Clipped(Squared(), 1.0), Poisson()])
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 2)], ids=["all", "batches"])
def test_neighbours_at_the_edges_differ_by_what_is_paid_for(name, loss, rate):
    target = Objective(loss, 1, 1.0, 1.0, target_bound=1.0)
    plan = ProximalSgd(1, rate, step=0.5, clip=0.3).calibrate(target, BUDGET, ADD)
    slack = SLACK if rate == 1 else BATCH_SLACK
    without = EDGES[name]
    for odd in ([1.0], [-1e-320], [1e153], [0.0]):
        rows = [
            bound_rows(features, np.ones(len(features)), 1.0, 0.0)
            for features in (without, np.vstack([without, [odd]]))
        ]
        for theta in (np.zeros(1), np.array([-1e200]), np.array([0.7])):
            sums = [whole_sum(plan, one, theta) for one in rows]
            moved = float(np.linalg.norm(sums[0] - sums[1]))
            assert moved <= (1 + slack) * plan.clip


@pytest.mark.parametrize("columns", [2, 1100])
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 2)], ids=["all", "batches"])
def test_replaced_records_differ_by_what_a_share_of_noise_pays_for(rate, columns):
    """Pairs that are as far apart as pairs can be, at coefficients short, long and odd."""
    plan = ProximalSgd(1, rate, step=0.5).calibrate(
        Objective(Logistic(), columns, 3.0, 1.0), BUDGET, REPLACE
    )
    rng, worst = np.random.default_rng(3), 0.0
    crowd = rng.normal(size=(50, columns))
    for length in (0.0, 1e-170, 0.1, 1.0, 3.0, 100.0, 1e200):
        away = rng.normal(size=columns)
        theta = length * away / np.linalg.norm(away)
        beside = rng.normal(size=columns)
        beside -= away * (beside @ away) / (away @ away)
        for c in (0.0, 0.2, 0.4, 0.6):
            ahead = c * away / np.linalg.norm(away)
            turn = math.sqrt(1 - c * c) * beside / np.linalg.norm(beside)
            sums = []
            for odd in (ahead + turn, ahead - turn):
                features = np.vstack([crowd, [3 * odd]])
                rows = bound_rows(features, np.append(np.ones(50), -1.0), 3.0, 0.0)
                sums.append(whole_sum(plan, rows, theta))
            share = plan.noise_share(theta[None, :])
            moved = float(np.linalg.norm(sums[0] / share - sums[1] / share))
            assert moved <= (2 + plan.slack) * plan.clip
            worst = max(worst, moved / plan.clip)
    assert worst > 1.98


def whole_sum(plan, rows, theta):
    """Return the computed sum that gets noise, over all rows."""
    if plan.rate == 1:
        exact = clipped_gradient.clipped_gradient(
            plan.objective.loss, rows, plan.clip, plan.trusted_radius
        )
        return exact(theta)
    found = batch_sums.batch_sums(plan.objective, plan.clip, rows, 4)
    return found(theta, np.arange(rows.count))


def paid_and_moved():
    """Return the sensitivity that noise is drawn for, and how far a record moves a sum."""
    plan = MomentumDescent(1, clip=0.1).calibrate(
        Objective(Logistic(), 1, 1.0, 1.0), BUDGET, REPLACE
    )
    (event,) = plan.events
    paid = Fraction(plan.noise.scale) * Fraction(event.mu)
    labels = np.ones(3000)
    moves = []
    for count in range(2500, 2900, 7):
        sums = []
        for label in (1.0, -1.0):
            target = np.append(-labels[:count], label)
            rows = bound_rows(np.ones((count + 1, 1)), target, 1.0, 0.0)
            sums.append(Fraction(float(whole_sum(plan, rows, np.zeros(1))[0])))
        moves.append(abs(sums[0] - sums[1]))
    return paid, max(moves)


def test_a_record_moves_computed_sums_by_no_more_than_is_paid_for():
    paid, moved = paid_and_moved()
    assert moved <= paid


def test_less_noise_for_sums_in_doubles_would_be_noticed(monkeypatch):
    """A record moves a computed sum farther than it moves an exact one."""
    monkeypatch.setattr(calibration, "SLACK", 0.0)
    monkeypatch.setattr(clipped_gradient, "ROUNDINGS", -1)
    paid, moved = paid_and_moved()
    assert moved > paid


def longest_gradients():
    """Return squared lengths of clipped gradients of single records, over the clip's."""
    rng = np.random.default_rng(3)
    rows = bound_rows(rng.normal(size=(300, 7)), np.full(300, 9.0), 100.0, 0.0)
    for one in range(300):
        row = rows.take(np.array([one]))
        found = clipped_gradient.clipped_gradient(Squared(), row, 0.3)(np.zeros(7))
        yield exact_length(found) / Fraction(0.3) ** 2


def test_no_gradient_is_longer_than_its_clip_by_a_rounding(monkeypatch):
    assert max(longest_gradients()) <= 1
    monkeypatch.setattr(clipped_gradient, "ROUNDINGS", -7)
    assert max(longest_gradients()) > 1


def test_the_bounds_on_rounding_add_up():
    unit = Fraction(1, 2**53)
    assert MAX_ROWS * MOST_TERMS * unit < Fraction(bounds.SUM_SHARE)
    assert 2 * (Fraction(bounds.SUM_SHARE) + Fraction(bounds.MARGIN_SHARE)) <= Fraction(
        SLACK
    ) * (1 + 4 * unit)
    assert 2 * MAX_ROWS * unit < Fraction(BATCH_SLACK)
    exact = ExactSum.of(objective(), 0.3)
    whole = exact.row_unit * exact.slope_unit
    assert 0.3 / whole * batch_sums.ROWS_AT_ONCE <= 2.0**53
    pieces = -(-MAX_ROWS // batch_sums.ROWS_AT_ONCE)
    assert pieces * 2.0 ** (batch_sums.CARRIED_BITS - 1) <= 2.0**53


@pytest.mark.parametrize("columns", [1, 3, 20, 124, 5000])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_no_sum_has_more_terms_than_the_bound(columns, kind):
    layout = as_matrix(kind(np.zeros((2, columns))))
    most = layout.block_rows + 26 + 8 + 90
    assert layout.sum_shape.rows_added <= layout.block_rows
    assert most <= MOST_TERMS


class ManyRows:
    """What is asked of rows before they are added up."""

    def __init__(self, count, terms):
        self.count = count
        self.sum_shape = SumShape(1, 1, terms, 1, 1)


def test_more_rows_than_doubles_can_add_are_refused():
    check_length(ManyRows(MAX_ROWS, MOST_TERMS))
    for many in (ManyRows(MAX_ROWS + 1, 10), ManyRows(10, MOST_TERMS + 1)):
        with pytest.raises(InvalidParameter, match="1,000,000,000"):
            check_length(many)


# ----------------------------------------------------------- margins, rounded row by row


def test_how_long_coefficients_may_be_for_margins_of_many_rows():
    plan = MomentumDescent(1).calibrate(objective(), BUDGET, ADD)
    allowed = 5e-4 / (1e9 * 2.0**-53) - 8
    assert plan.trusted_radius == pytest.approx(allowed / (1.01 * 8 * 0.25))
    assert trusted_radius(objective(Hinge()), 1.0) == 0
    assert trusted_radius(objective(Squared(), target_bound=1.0), 1.0) == 0
    ball = objective(Poisson(), target_bound=1.0).with_ball(1.0)
    assert trusted_radius(ball, 1.0) == 0


def jumpy():
    """Return copies of one row, and a point where doubles put some beyond the kink."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        row = rng.normal(size=13)
        row /= 2 * np.linalg.norm(row)
        rows = bound_rows(np.tile(row, (37, 1)), np.ones(37), 1.0, 0.0)
        theta = rng.normal(size=13)
        block = rows.as_block()
        theta /= block.margin(theta, row_independent=True)[0]
        beyond = block.margin(theta) < 1
        if beyond.any() and not beyond.all():
            return rows, theta
    pytest.skip("this library rounds all rows of a product of matrices alike")


def test_equal_records_have_equal_gradients_wherever_they_stand():
    """Margins that a product of matrices rounds move the sum by many records at once."""
    rows, theta = jumpy()
    short = rows.take(np.arange(36))

    def moved(radius):
        sums = [
            clipped_gradient.clipped_gradient(Hinge(), one, 1.0, radius)(theta)
            for one in (rows, short)
        ]
        each = rows.lengths()[0]
        return float(np.linalg.norm(sums[0])) / each

    assert min(moved(0.0), 37 - moved(0.0)) < 1e-9
    assert 0.5 < moved(math.inf) < 36.5


# ----------------------------------------------------------------- batches without rounding


def kinds_of_rows():
    """Yield rows of every kind, narrow and wide, with and without shortened ones."""
    rng = np.random.default_rng(2)
    features = np.round(rng.normal(size=(3000, 5)), 3) * (rng.random((3000, 5)) < 0.6)
    target = np.where(rng.random(3000) < 0.5, 1.0, -1.0)
    wide = sparse.hstack([sparse.csr_array(features), sparse.csr_array((3000, 1200))])
    for table in (features, features.astype(np.float32), sparse.csr_array(features)):
        for norm_bound in (1.0, 100.0):
            yield bound_rows(table, target, norm_bound, 0.3)
    yield bound_rows(sparse.csr_array(wide), target, 1.0, 0.3)
    for levels in (4, 1200):
        town = Category("town", levels=tuple(f"t{i}" for i in range(levels)))
        schema = Schema(
            columns=(town, Number("age", 0, 100)), target=Target("y", labels=("no", "yes"))
        )
        frame = {
            "town": [f"t{i}" for i in rng.integers(0, levels, 3000)],
            "age": 100 * rng.random(3000),
            "y": ["no"] * 3000,
        }
        yield bound_rows(schema.compact_design(pd.DataFrame(frame)), target, 1.0, 0.3)


ALL_KINDS = list(kinds_of_rows())


def sums_of(rows, in_place, monkeypatch):
    if in_place:
        monkeypatch.setattr(batch_sums.Batches, "afford", staticmethod(lambda rows: False))
    target = Objective(Logistic(), rows.dimension, math.hypot(100.0, 0.3))
    return batch_sums.batch_sums(target, 0.7, rows, 10)


@pytest.mark.parametrize("index", range(len(ALL_KINDS)))
def test_a_batch_is_the_sum_of_its_records_in_any_order(index, monkeypatch):
    """Records one by one, added up in fractions and rounded once, are the same double."""
    rows = ALL_KINDS[index]
    rng = np.random.default_rng(index)
    theta = rng.normal(size=rows.dimension)
    add_up = sums_of(rows, False, monkeypatch)
    for size in (40, 2500):
        places = rng.choice(rows.count, size, replace=False)
        found = add_up(theta, places)
        assert (add_up(theta, np.sort(places)) == found).all()
        if size == 40:
            each = [add_up(theta, places[i : i + 1]) for i in range(size)]
            for j in np.flatnonzero(found)[:8]:
                assert found[j] == float(sum(Fraction(float(one[j])) for one in each))
            assert max(exact_length(one) for one in each) <= Fraction(0.7) ** 2
    assert (sums_of(rows, True, monkeypatch)(theta, places) == found).all()


def exact_length(vector):
    return sum(Fraction(float(value)) ** 2 for value in vector)


@pytest.mark.parametrize("index", range(len(ALL_KINDS)))
def test_a_batch_without_the_odd_record_does_not_know_of_it(index, monkeypatch):
    """The same records, drawn from a table that has one more, longer than the bound."""
    rows = ALL_KINDS[index]
    theta = np.random.default_rng(index).normal(size=rows.dimension)
    places = np.arange(200, 1900)
    found = sums_of(rows, False, monkeypatch)(theta, places)
    factor = np.ones(rows.count) if rows.factor is None else rows.factor
    longer = InMemoryRows(rows.features, rows.target, factor, rows.height)
    assert (sums_of(longer, False, monkeypatch)(theta, places) == found).all()
    rest = rows.take(np.arange(100, rows.count))
    assert (sums_of(rest, False, monkeypatch)(theta, places - 100) == found).all()


def test_several_targets_add_up_exactly_too():
    rng = np.random.default_rng(8)
    rows = bound_rows(rng.normal(size=(1500, 3)), rng.normal(size=(1500, 2)), 1.0, 0.0)
    target = Objective(Clipped(Squared(), 1.0), 6, 1.0, responses=2, target_bound=1.0)
    add_up = batch_sums.batch_sums(target, 0.4, rows, 10)
    theta = rng.normal(size=6)
    places = rng.permutation(1500)
    assert (add_up(theta, places) == add_up(theta, np.arange(1500))).all()
    each = [add_up(theta, np.array([i])) for i in range(50)]
    assert max(exact_length(one) for one in each) <= Fraction(0.4) ** 2


def test_finer_units_would_be_noticed(monkeypatch):
    """With more bits sums depend on the order of the rows."""
    monkeypatch.setattr(batch_sums, "ROW_BITS", 40)
    rows = ALL_KINDS[0]
    rng = np.random.default_rng(1)
    theta = rng.normal(size=rows.dimension)
    add_up = sums_of(rows, False, monkeypatch)
    found = {tuple(add_up(theta, rng.permutation(1000))) for _ in range(20)}
    assert len(found) > 1


# ------------------------------------------------------------------------ thresholding


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_thresholding_pays_for_computed_sums(relation):
    mechanism = HardThresholding(2)
    target = Objective(Logistic(), 5, 1.0)
    plan = mechanism.calibrate(target, Zcdp(0.5), relation)
    few = target.restricted_to(2)
    exact = relation.shifts * few.lipschitz
    share = 0.5 * 0.95 / 2
    scale = exact * math.sqrt(3 / (2 * share))
    assert plan.noise.scale >= scale * (1 + SLACK / relation.shifts)
    assert plan.eigenvalue_noise.scale >= (1 + SLACK) * math.sqrt(3 / (2 * 0.5 / 20))
    rows = tables(relation, 200, 5)
    radius = trusted_radius(few, 1.0)
    for theta in (np.zeros(5), np.array([0.5, 0, -0.2, 0, 0]), np.full(5, 1e9)):
        sums = [thresholding._gradient(target, one, theta, radius) for one in rows]
        assert np.abs(sums[0] - sums[1]).max() <= (relation.shifts + SLACK)


def test_eigenvalues_are_as_right_as_is_assumed():
    """Against fifty digits, within 4000 units in the last place of the norm."""
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(4)
    for size in (2, 5, 11):
        rows = rng.normal(size=(40, size)) * np.geomspace(1e-8, 1, size)
        gram = rows.T @ rows
        with mpmath.workdps(50):
            found = max(mpmath.eigsy(mpmath.matrix(gram.tolist()), eigvals_only=True))
        top = np.linalg.eigvalsh(gram)[-1]
        assert abs(top - found) <= 4000 * 2.0**-53 * top
