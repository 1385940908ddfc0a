"""Weights of their own and offsets of records: exact laws on the line, and mutations.

A record of weight u counts u times, 0 <= u <= 1; an offset of at most O is added to its
margin. Both are chosen freely by whoever the record belongs to.
"""

from dataclasses import replace

import numpy as np
import pytest

from confide.attacks import Records
from confide.data import bound_rows
from confide.data.schema.case_weights import Cases, CaseWeights, share_of_cap
from confide.mechanisms import OutputPerturbation
from confide.mechanisms.intervals import moments
from confide.mechanisms.intervals.moments import MomentRelease, sensitivity, sums
from confide.mechanisms.objective import calibration as rules
from confide.mechanisms.objective.ball import has_ball_bound
from confide.objectives import Box, Logistic, Objective, Poisson, PublicBounds, Squared
from confide.privacy import Approx, Neighbours, Pure
from confide.solvers import minimise
from support.cases import LOSSES, labels, objective
from support.checks import largest_delta, largest_loss

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
LARGEST = 3.0
QUICK = ("logistic", "huber", "clipped-poisson")
every_loss = pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in sorted(LOSSES)
    ],
)
every_relation = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)


@pytest.fixture(autouse=True)
def _calibrate_anew():
    rules.approx.cache_clear()
    rules.zcdp.cache_clear()
    yield
    rules.approx.cache_clear()
    rules.zcdp.cache_clear()


def pairs(ends, relation, *, weights=(1.0,), offsets=(0.0,), lengths=(1.0,)):
    """Yield neighbours whose records have every weight and every offset."""
    low, high = ends
    bases = (
        Records.of(np.zeros((0, 1)), []),
        Records.of([[0.5], [1.0]], [high, low], 0.4),
    )
    records = [
        (s * x, y, w, o)
        for x in lengths
        for s in (1, -1)
        for y in (low, high)
        for w in weights
        for o in offsets
    ]
    for base in bases:
        more = [base.plus([x], y, w, o) for x, y, w, o in records]
        if relation is ADD:
            yield from (("in", one, base) for one in more)
            yield from (("out", base, one) for one in more)
        else:
            yield from (("swap", one, other) for one in more[::3] for other in more[1::3])


@every_loss
@every_relation
def test_weights_up_to_one_are_private(name, relation):
    found = list(pairs(labels(name), relation, weights=(1.0, 0.1)))
    target = objective(name, case_weights=True)
    assert largest_loss(target, Pure(1), relation, found) > 0.4
    if relation is ADD:
        largest_delta(target, Approx(1, 1e-3), relation, found)


@every_loss
def test_weights_beyond_the_cap_would_be_seen(name):
    found = list(pairs(labels(name), ADD, weights=(3.0,)))
    with pytest.raises(AssertionError):
        largest_loss(objective(name, case_weights=True), Pure(1), ADD, found)


def test_a_weight_beyond_the_cap_counts_as_the_cap():
    assert share_of_cap(np.array([-1.0, 0.0, 2.0, 5.0, 7.0, np.inf]), 5.0).tolist() == [
        *(0.0, 0.0, 0.4, 1.0, 1.0, 1.0)
    ]
    rng = np.random.default_rng(0)
    for cap in rng.uniform(1e-3, 1e3, 200):
        around = np.nextafter(cap, [0.0, np.inf])
        assert share_of_cap(np.append(around, cap), cap).max() <= 1
    labelled = CaseWeights(classes={"a": 3, "b": 0.7})
    assert labelled.of_labels(np.array([0, 1, 2, -1]), ("a", "b", "c")) == pytest.approx(
        [1, 0.7 / 3, 1 / 3, 0.7 / 3]
    )


@every_loss
@every_relation
def test_offsets_are_private(name, relation):
    found = list(pairs(labels(name), relation, offsets=(0.0, LARGEST, -LARGEST)))
    target = objective(name, offset_bound=LARGEST)
    assert largest_loss(target, Pure(1), relation, found) > 0.4
    if relation is ADD:
        largest_delta(target, Approx(1, 1e-3), relation, found)


CONFINED = [(Squared(), 1.0, (-1.0, 1.0)), (Poisson(), 2.0, (0.0, 2.0))]


def confined(loss, bound):
    box = Box(-0.5, 0.5)
    return Objective(loss, 1, 1.0, constraint=box, target_bound=bound, offset_bound=LARGEST)


@pytest.mark.parametrize(("loss", "bound", "ends"), CONFINED, ids=["squared", "poisson"])
@every_relation
def test_margins_in_a_ball_go_farther_by_the_offset(loss, bound, ends, relation):
    found = list(pairs(ends, relation, offsets=(LARGEST, -LARGEST), lengths=(1.0,)))
    largest_loss(confined(loss, bound), Pure(1), relation, found)
    largest_delta(confined(loss, bound), Approx(1, 1e-3), relation, found)


@pytest.mark.parametrize(("loss", "bound", "ends"), CONFINED, ids=["squared", "poisson"])
def test_forgetting_the_offset_is_seen(loss, bound, ends, monkeypatch):
    found = list(pairs(ends, ADD, offsets=(LARGEST, -LARGEST), lengths=(1.0,)))
    forgetful = property(lambda public: public.row_norm * public.coef_norm)
    monkeypatch.setattr(PublicBounds, "margin_bound", forgetful)
    with pytest.raises(AssertionError):
        largest_loss(confined(loss, bound), Pure(1), ADD, found)


# ------------------------------------------------------------------- output and moments


def table(rng, target, count=8):
    x = rng.standard_normal((count, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    weight = rng.uniform(0, 1, count)
    weight[-1] = 1.0
    offset = rng.uniform(-1, 1, count) * target.offset_bound
    ends = np.array([0.0, 2.0] if target.target_bound else [-1.0, 1.0])
    return x, rng.choice(ends, count), weight, offset


def rows_of(x, y, weight, offset):
    return bound_rows(x, y, 1.0, 0.0).with_cases(Cases(weight, offset))


def neighbour(rng, given, relation):
    if relation is ADD:
        return tuple(part[:-1] for part in given)
    x, y, weight, offset = (part.copy() for part in given)
    x[-1], offset[-1], y[-1] = -x[-1], -offset[-1], y[0]
    weight[-1] = rng.choice([0.0, 0.5, 1.0])
    return x, y, weight, offset


@every_relation
def test_no_neighbour_moves_a_minimiser_with_weights_and_offsets_further(relation):
    rng = np.random.default_rng(3)
    target = Objective(Logistic(), 3, 1.0, 0.5, case_weights=True, offset_bound=LARGEST)
    claim = OutputPerturbation().sensitivity(target, relation)
    for _ in range(10):
        given = table(rng, target)
        a, b = (
            minimise(target, rows_of(*one), np.zeros(3), 1e-4).theta
            for one in (given, neighbour(rng, given, relation))
        )
        assert float(np.linalg.norm(a - b)) <= claim + 2e-4


def moment_share(target, relation):
    rng, worst = np.random.default_rng(1), 0.0
    calibration = MomentRelease().calibrate(target, Approx(1, 1e-5), relation)
    for _ in range(60):
        given, theta = table(rng, target), rng.standard_normal(3) * rng.uniform(0, 0.5)
        first, second = (
            sums(target, rows_of(*one), theta)
            for one in (given, neighbour(rng, given, relation))
        )
        curvature, scatter = (a - b for a, b in zip(first, second, strict=True))
        length = moments.effective_length(target, theta)
        weight = calibration.weight(length)
        moved = np.hypot(np.linalg.norm(curvature), weight * np.linalg.norm(scatter))
        worst = max(worst, float(moved) / sensitivity(calibration, length))
    return worst


@every_relation
@pytest.mark.parametrize("name", ["logistic", "clipped-poisson"])
def test_moments_move_no_further_than_claimed(name, relation):
    target = objective(name, dimension=3, case_weights=True, offset_bound=LARGEST)
    assert 0.1 < moment_share(target, relation) <= 1.0


def test_forgetting_the_offset_is_seen_in_the_moments(monkeypatch):
    """At short coefficients margins are what offsets make them."""
    loss = Poisson()
    target = Objective(loss, 3, 1.0, 1.0, None, Box(-0.5, 0.5), 2.0, offset_bound=LARGEST)
    assert moment_share(target, ADD) <= 1
    forgetful = property(lambda public: public.row_norm * public.coef_norm)
    monkeypatch.setattr(PublicBounds, "margin_bound", forgetful)
    assert moment_share(target, ADD) > 1


def test_the_theorem_for_balls_is_not_used_with_weights_or_offsets():
    plain = Objective(Logistic(), 2, 1.0, 4.0).with_ball(4.0)
    assert has_ball_bound(plain)
    for more in ({"case_weights": True}, {"offset_bound": 1.0}):
        assert not has_ball_bound(replace(plain, **more))
