"""Released sums leave nothing of a table but points of lattices that are the same for all.

An attacker who knows both tables asks of every double whether it could have come from
either. All points of a lattice can, from every table, so the attacker learns nothing if
(i) every noised number is a point of a lattice that no record moves, and (ii) all else that
is released follows from those points. For (ii) the points of one table are put into the
release of another: the two releases must be equal to the last bit.
"""

import pickle

import numpy as np
import pytest

from confide.data import bound_rows
from confide.mechanisms import (
    AdaSsp,
    FunctionalMechanism,
    Intervals,
    OutputPerturbation,
    ProjectedHistogram,
    SufficientStatistics,
    WithIntervals,
    base,
)
from confide.mechanisms.statistics import adassp
from confide.noise import Entropy
from confide.objectives import Logistic, Objective
from confide.privacy import Approx, Neighbours, Pure, Status, Zcdp
from support.sums import logistic, squares

HALVES = ((-0.5,), (0.5,))
APPROX, PURE, ZCDP = Approx(1, "1e-6"), Pure(1), Zcdp("0.1")
RIDGED = Objective(Logistic(), 2, l2=2.0)


def intervals(**settings):
    return WithIntervals(OutputPerturbation(), Intervals(share="0.3", **settings), 5)


CASES = {
    "ssp pure": (SufficientStatistics(), squares(2), PURE),
    "ssp": (SufficientStatistics(), squares(2), APPROX),
    "ssp with much budget": (SufficientStatistics(), squares(2), Zcdp(10**12)),
    "adassp": (AdaSsp(), squares(2), APPROX),
    "adassp published": (AdaSsp("published"), squares(2), APPROX),
    "functional": (FunctionalMechanism(), squares(2), PURE),
    "functional, logistic": (FunctionalMechanism(), logistic(2), PURE),
    "histogram": (ProjectedHistogram((HALVES, HALVES), 3), squares(2), PURE),
    "intervals pure": (intervals(), RIDGED, PURE),
    "intervals": (intervals(), RIDGED, APPROX),
    "model-based": (intervals(variant="model-based"), RIDGED, ZCDP),
    "intervals published": (intervals(variant="published"), RIDGED, ZCDP),
    "intervals published, pure": (intervals(variant="published"), RIDGED, PURE),
}
ONE_RELATION = {
    "adassp published": Neighbours.ADD_REMOVE,
    "intervals published": Neighbours.REPLACE_ONE,
    "intervals published, pure": Neighbours.REPLACE_ONE,
}
KINDS = [
    (name, relation)
    for name in CASES
    for relation in Neighbours
    if ONE_RELATION.get(name, relation) is relation
]
every_kind = pytest.mark.parametrize(("name", "relation"), KINDS, ids=str)
BASE = [[0.3, -0.4], [-0.1, 0.7], [0.5, 0.5], [0.0, -0.2]]
LABELS = [1.0, -1.0, 1.0, -1.0]
ROWS = {
    "usual": [0.6, 0.8],
    "none": [0.0, 0.0],
    "as small as doubles are": [5e-324, -5e-324],
    "too long": [1e150, -1e154],
    "one digit": [0.1, 0.1],
}


def table_of(row, relation):
    """Return a table with a row, and one without, or with another in its place."""
    first = ([*BASE, row], [*LABELS, 1.0])
    if relation is Neighbours.ADD_REMOVE:
        return first, (BASE, LABELS)
    return first, ([*BASE, [-0.6, 0.7]], [*LABELS, -1.0])


def rows_of(table):
    features, target = table
    features = np.array(features, dtype=float).reshape(-1, 2)
    return bound_rows(features, np.array(target, dtype=float), 1.0, 0.0)


def calibrated(name, relation):
    mechanism, objective, budget = CASES[name]
    return mechanism.calibrate(objective, budget, relation)


class Tape:
    """Notes what is rounded to which lattice, or plays it back whatever the table is."""

    def __init__(self, honest):
        self.honest, self.points, self.grids, self.playing = honest, [], [], None

    def __call__(self, centre, noise, grid):
        self.grids.append(grid)
        value = self.honest(centre, noise, grid)
        if self.playing is not None:
            value = next(self.playing)
        self.points.append(value.copy())
        return value

    def released(self, plan, table, seed, points=None):
        """Return a release as bytes, its points and its lattices."""
        self.points, self.grids = [], []
        self.playing = None if points is None else iter(points)
        found = plan.release([rows_of(table)], Entropy.seeded(seed))
        return pickle.dumps(found), self.points, self.grids


@pytest.fixture(name="tape")
def _tape(monkeypatch):
    tape = Tape(base.round_sum)
    monkeypatch.setattr(base, "round_sum", tape)
    return tape


def check(tape, plan, first, second):
    released, points, grids = tape.released(plan, first, 1)
    assert points, "something is published"
    for value, grid in zip(points, grids, strict=True):
        steps = value / grid
        assert np.array_equal(np.rint(steps), steps), "off the lattice"
        assert not np.signbit(value[value == 0]).any(), "a zero has a sign"
    replayed, _, other_grids = tape.released(plan, second, 2, points)
    assert grids == other_grids, "the lattice depends on the table"
    assert released == replayed, "more is released than points of lattices"


@every_kind
def test_nothing_but_lattice_points_is_released(tape, name, relation):
    plan = calibrated(name, relation)
    assert plan.guarantee.status is Status.PROVED
    for row in ROWS.values():
        check(tape, plan, *table_of(row, relation))


@every_kind
def test_a_table_of_one_row_and_an_empty_one_give_as_little_away(tape, name, relation):
    plan = calibrated(name, relation)
    one = ([[0.6, 0.8]], [1.0])
    other = ([], []) if relation is Neighbours.ADD_REMOVE else ([[0.0, 1.0]], [-1.0])
    check(tape, plan, one, other)
    check(tape, plan, other, one)


@pytest.mark.parametrize("name", ["ssp", "adassp", "histogram", "intervals"])
def test_noise_in_doubles_would_be_seen(tape, name):
    tape.honest = lambda centre, noise, _: centre + noise.values.reshape(np.shape(centre))
    relation = Neighbours.ADD_REMOVE
    with pytest.raises(AssertionError):
        check(tape, calibrated(name, relation), *table_of(ROWS["usual"], relation))


def test_a_private_number_beside_the_points_would_be_seen(tape, monkeypatch):
    relation = Neighbours.ADD_REMOVE
    monkeypatch.setattr(adassp, "add_pair_noise", lambda sums, *_: sums)
    with pytest.raises(AssertionError, match="more is released"):
        check(tape, calibrated("adassp", relation), *table_of(ROWS["usual"], relation))


def test_a_lattice_that_follows_the_table_would_be_seen(tape, monkeypatch):
    relation = Neighbours.ADD_REMOVE
    honest, calls = base.grid_for, []

    def moving(scale, reach):
        calls.append(0)
        return honest(scale, reach) * 2.0 ** (len(calls) > 2)

    monkeypatch.setattr(base, "grid_for", moving)
    with pytest.raises(AssertionError, match="depends on the table"):
        check(tape, calibrated("ssp", relation), *table_of(ROWS["usual"], relation))
