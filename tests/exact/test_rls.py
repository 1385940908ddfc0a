"""rls-out and Algorithm 3: constants, exact losses on a line, and what breaks them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from confide.attacks import Records, exact_pair, max_log_ratio
from confide.data import bound_rows
from confide.errors import InvalidParameter, UnmetNeeds
from confide.mechanisms import ObjectivePerturbation
from confide.mechanisms.published import RlsObjective, RlsOut
from confide.mechanisms.published.rls import PRECISION_SHARE
from confide.noise import Entropy, SphericalLaplace
from confide.objectives import L2Ball, Logistic, Objective, Squared
from confide.privacy import Approx, Neighbours, Pure, Status
from confide.solvers import minimise
from confide.studies.regression.bounds import stability
from support.sums import squares
from support.witness import Linear

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
every_relation = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)


def test_published_constants_are_those_of_the_paper():
    """Algorithm 4 has noise of scale (12R + 8)/(λnε), and λ = √(d/(nε)); d = 14."""
    found = RlsOut(3000, constants="published").calibrate(squares(14), Pure("0.2"), REPLACE)
    penalty = math.sqrt(14 / (3000 * 0.2))
    assert found.objective.l2 == pytest.approx(3000 * penalty / 2)
    assert found.objective.constraint == L2Ball(1.0)
    assert found.objective.loss == Squared()
    assert found.noise.scale == pytest.approx(20 / (penalty * 3000 * 0.2))
    other = RlsOut(3000, 2.0, 0.1, "published").calibrate(squares(14), Pure(1), REPLACE)
    assert other.noise.scale == pytest.approx(32 / (0.1 * 3000))


@pytest.mark.parametrize("radius", [0.5, 1.0, 2.0])
def test_tight_constants_are_those_of_theorem_fourteen_halved(radius):
    found = RlsOut(500, radius, 0.2).calibrate(squares(3), Pure(1), REPLACE)
    claim = stability(2 * radius + 2, 0.2, 500)
    assert found.noise.scale == pytest.approx(claim, rel=1e-6)
    assert stability(1, 1, 10, "published") == 2 * stability(1, 1, 10)
    published = RlsOut(500, radius, 0.2, "published").calibrate(
        squares(3), Pure(1), REPLACE
    )
    assert published.noise.scale > 2 * found.noise.scale


def linear_share(relation, rows=400):
    """Return how far a worst pair moves the minimiser inside the ball, over the claim."""
    mechanism = RlsOut(rows, 2.0, 5 / rows)
    objective = Objective(Linear(3.0), 2)
    fixed = mechanism.calibrate(objective, Pure(1), relation).objective
    x, y = np.array([[1.0, 0.0], [0.0, 0.5]]), np.ones(2)
    other = (x[1:], y[1:]) if relation is ADD else (x * [[-1.0], [1.0]], y)
    ends = [
        minimise(fixed, bound_rows(f, t, 1.0, 0.0), np.zeros(2), 1e-9).theta
        for f, t in ((x, y), other)
    ]
    moved = float(np.linalg.norm(ends[0] - ends[1]))
    return moved / mechanism.sensitivity(fixed, relation)


def check_linear_share(relation):
    assert 0.999 <= linear_share(relation) <= 1


@every_relation
def test_the_tight_sensitivity_is_attained(relation):
    check_linear_share(relation)


@every_relation
def test_half_the_sensitivity_would_be_seen(monkeypatch, relation):
    honest = RlsOut.sensitivity
    monkeypatch.setattr(RlsOut, "sensitivity", lambda *given: honest(*given) / 2)
    with pytest.raises(AssertionError):
        check_linear_share(relation)


@every_relation
def test_no_neighbour_moves_the_minimiser_in_the_ball_further(relation):
    rng = np.random.default_rng(2)
    mechanism = RlsOut(20, 0.7, 0.05)
    fixed = mechanism.calibrate(squares(3), Pure(1), relation).objective
    claim = mechanism.sensitivity(fixed, relation)
    for _ in range(40):
        x = rng.normal(size=(6, 3))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        y = rng.choice([-1.0, 1.0], 6)
        more = (x[:-1], y[:-1])
        last = (-x[:1], y[:1]) if relation is REPLACE else (x[:0], y[:0])
        other = (np.vstack([more[0], last[0]]), np.concatenate([more[1], last[1]]))
        ends = [
            minimise(fixed, bound_rows(f, t, 1.0, 0.0), np.zeros(3), 1e-9).theta
            for f, t in ((x, y), other)
        ]
        assert np.linalg.norm(ends[0] - ends[1]) <= claim


def test_an_oracle_has_no_guarantee():
    found = RlsOut(100, 0.5, 0.01, oracle=True).calibrate(squares(2), Pure(1), REPLACE)
    assert found.status is Status.REFUTED
    assert found.guarantee.budget is None
    rows = bound_rows(np.eye(2), np.ones(2), 1.0, 0.0)
    release = found.release([rows], Entropy.system())
    assert release.guarantee.budget is None


def test_published_constants_release_the_noised_point_as_it_is():
    rows = bound_rows(np.eye(2), np.ones(2), 1.0, 0.0)
    lengths = {}
    for constants in ("tight", "published"):
        mechanism = RlsOut(3, constants=constants)
        found = mechanism.calibrate(squares(2), Pure("0.1"), REPLACE)
        value = found.release([rows], Entropy.seeded(1)).value
        lengths[constants] = float(np.linalg.norm(value))
    assert lengths["tight"] <= 1 + 1e-12
    assert lengths["published"] > 5


def test_other_budgets_and_settings_are_refused():
    for mechanism in (RlsOut(100), RlsObjective(100)):
        with pytest.raises(InvalidParameter, match="budget"):
            mechanism.calibrate(squares(2), Approx(1, "1e-6"), REPLACE)
        with pytest.raises(UnmetNeeds, match="target"):
            mechanism.calibrate(Objective(Squared(), 2), Pure(1), REPLACE)
    for wrong in ({"rows": 0}, {"rows": 10, "radius": 0.0}, {"rows": 10, "penalty": -1.0}):
        with pytest.raises(InvalidParameter):
            RlsOut(**wrong)
    with pytest.raises(InvalidParameter, match="constants"):
        RlsOut(10, constants="loose")


def test_the_ball_works_for_other_losses_as_in_algorithm_two():
    found = RlsOut(100, 2.0, 0.3).calibrate(Objective(Logistic(), 2), Pure(1), REPLACE)
    assert found.objective.l2 == pytest.approx(30)
    assert found.noise.scale == pytest.approx(stability(1.0, 0.3, 100), rel=1e-6)


LINE_PAIRS = [
    (Records.of([[1.0]], [1.0]), Records.of([[1.0]], [-1.0])),
    (Records.of([[1.0]], [1.0], 3), Records.of([[1.0]], [1.0], 2).plus([0.0], 1.0)),
    (Records.of([[1.0]], [1.0]), Records.of([[-0.5]], [1.0])),
]


def largest_loss(mechanism, epsilon=1):
    """Return the exact privacy loss of Algorithm 3 on a line, over its budget."""
    found = mechanism.calibrate(squares(1), Pure(epsilon), REPLACE)
    main = float(Pure(epsilon).share(1 - PRECISION_SHARE).epsilon)
    worst = 0.0
    for pair in LINE_PAIRS:
        for first, second in (pair, pair[::-1]):
            laws = exact_pair(found.objective, found.noise, first, second)
            worst = max(worst, max_log_ratio(*laws) / main)
    assert worst <= 1 + 1e-6, worst
    return worst


@pytest.mark.parametrize(("rows", "penalty"), [(1000, 1.0), (20, 0.2), (10, 0.01)])
def test_algorithm_three_repaired_keeps_its_budget(rows, penalty):
    assert largest_loss(RlsObjective(rows, penalty=penalty)) > 0.3


def test_algorithm_three_as_printed_does_not(monkeypatch):
    """Rate ε′/2, as if slopes were at most 1; at R = 1, n = 1000, λ = 1 they reach 4."""
    honest = RlsObjective.calibrate

    def printed(self, objective, budget, neighbours, *, copies=1):
        found = honest(self, objective, budget, neighbours, copies=copies)
        steep = 2 * found.objective.lipschitz
        return replace(found, noise=SphericalLaplace(found.noise.scale / steep))

    monkeypatch.setattr(RlsObjective, "calibrate", printed)
    with pytest.raises(AssertionError):
        largest_loss(RlsObjective(1000, penalty=1.0))


def test_algorithm_three_needs_more_noise_than_ours():
    theirs = RlsObjective(300, penalty=0.1).calibrate(squares(3), Pure(1), REPLACE)
    ours = ObjectivePerturbation().calibrate(theirs.objective, Pure(1), REPLACE)
    assert ours.noise.scale < theirs.noise.scale
    left = 0.99 - 2 * math.log1p(1 / 15)
    assert theirs.noise.scale == pytest.approx(2 * 2 / left)
    raised = RlsObjective(3, penalty=0.01).calibrate(squares(3), Pure(1), REPLACE)
    assert raised.objective.l2 == pytest.approx(1 / math.expm1(0.99 / 4))
    assert raised.noise.scale == pytest.approx(2 * 2 / (0.99 / 2))
