"""Records that count the less the longer their rows are: exact laws, and mutations.

Rows go up to X̄ = 8 on the line while no record counts for more than one of length X = 1.
"""

import math

import numpy as np
import pytest

from confide.attacks import Records, exact_loss, exact_pair, hockey_stick
from confide.data import bound_rows
from confide.mechanisms import (
    AdaptiveObjectivePerturbation,
    ObjectivePerturbation,
    OutputPerturbation,
)
from confide.mechanisms.intervals import moments
from confide.mechanisms.intervals.moments import MomentRelease, sensitivity, sums
from confide.mechanisms.objective import calibration as rules
from confide.mechanisms.statistics import sums as released
from confide.noise import Gaussian
from confide.objectives import L1, Box, Logistic, Objective, Poisson, Squared
from confide.privacy import Approx, Neighbours, Pure, Zcdp, gaussian_delta, gaussian_mu
from confide.solvers import minimise
from support.cases import LOSSES, labels, objective
from support.checks import GRID_ERROR, largest_delta, largest_loss, largest_renyi
from support.two_looks import share_of_claim

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
LONGEST = 8.0
every_loss = pytest.mark.parametrize("name", sorted(LOSSES))
every_relation = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)


def weighted(name, longest=LONGEST, **more):
    return objective(name, longest_row=longest, **more)


def pairs(name, relation, longest=LONGEST):
    """Yield neighbours whose rows are as long as they may be, and shorter ones."""
    low, high = labels(name)
    bases = {
        "empty": Records.of(np.zeros((0, 1)), []),
        "short": Records.of([[0.5], [1.0]], [high, low]),
        "long": Records.of([[longest], [-longest / 2]], [low, low]),
        "one-sided": Records.of([[1.0]], [low], 12),
    }
    lengths = (longest, 1.0, 0.1)
    records = [(s * x, y) for x in lengths for s in (1, -1) for y in (low, high)]
    for title, base in bases.items():
        for x, y in records:
            more = base.plus([x], y)
            if relation is ADD:
                yield f"{title}+({x},{y})", more, base
                yield f"{title} vs +({x},{y})", base, more
            else:
                yield f"{title}: mirror {x}", more, base.plus([-x], y)
                yield f"{title}: shrink {x}", more, base.plus([0.2], y)


LOOSE = {
    ("clipped-poisson", ADD): 0.88,
    ("clipped-poisson", REPLACE): 0.93,
    ("logistic", REPLACE): 0.67,
}
"""Measured 0.8803, 0.9307 and 0.6789 of the claim; elsewhere 0.9945 or more."""


@pytest.mark.slow
@every_loss
@every_relation
def test_pure_privacy_holds_and_is_attained(name, relation):
    found = list(pairs(name, relation))
    worst = largest_loss(weighted(name), Pure(1), relation, found)
    assert worst > LOOSE.get((name, relation), 0.99)


@every_loss
@pytest.mark.parametrize(
    "relation", [ADD, pytest.param(REPLACE, marks=pytest.mark.slow)], ids=str
)
def test_gaussian_privacy_holds(name, relation):
    found = list(pairs(name, relation))
    largest_delta(weighted(name), Approx(1, 1e-3), relation, found)


@pytest.mark.slow
@every_loss
@every_relation
def test_zcdp_holds(name, relation):
    found = list(pairs(name, relation))
    largest_renyi(weighted(name), Zcdp(0.2), relation, found, (1.5, 8.0))


@pytest.mark.slow
@pytest.mark.parametrize("longest", [1.0, 1.5, 3.0])
def test_other_lengths_hold_and_the_logistic_theorem_is_tight(longest):
    target = weighted("logistic", longest)
    found = list(pairs("logistic", ADD, longest))
    assert largest_loss(target, Pure(1), ADD, found) > 0.999
    assert largest_delta(target, Approx(1, 1e-4), ADD, found) > 0.99  # 0.9992 measured


@pytest.mark.parametrize(
    ("loss", "bound", "ends"),
    [(Squared(), 1.0, (-1.0, 1.0)), (Poisson(), 2.0, (0.0, 2.0))],
    ids=["squared", "poisson"],
)
@every_relation
def test_margins_in_a_ball_go_as_far_as_the_longest_row(loss, bound, ends, relation):
    """Slopes and curvatures are bounded over |η| <= X̄R, not over |η| <= XR."""
    target = Objective(
        loss, 1, 1.0, constraint=Box(-0.5, 0.5), target_bound=bound, longest_row=3.0
    )
    base = Records.of([[3.0], [0.5]], list(ends))
    more = [base.plus([x], y) for x in (3.0, -3.0, 1.0) for y in ends]
    found = [("swap", a, b) for a in more for b in more]
    if relation is ADD:
        found = [("in", m, base) for m in more] + [("out", base, m) for m in more]
    largest_loss(target, Pure(1), relation, found)
    largest_delta(target, Approx(1, 1e-3), relation, found)


@pytest.mark.slow
@every_relation
def test_the_gdp_form_asks_for_a_ridge_that_grows_with_the_longest_row(relation):
    sigma, longest = 1.5, 4.0
    ridge = rules.gdp_ridge(weighted("logistic", longest), sigma)
    assert ridge == pytest.approx(2 * sigma**2 * longest)
    target = weighted("logistic", longest, l2=ridge)
    shift = relation.shifts / sigma
    for _, a, b in pairs("logistic", relation, longest):
        p, q = exact_pair(target, Gaussian(sigma), a, b)
        for epsilon in (0.0, 0.3, 1.0):
            claim = gaussian_delta(epsilon, shift)
            assert hockey_stick(p, q, epsilon) <= claim * (1 + GRID_ERROR)


@pytest.mark.slow  # two looks, and weights, are each tried by themselves in the fast set
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_two_looks_at_weighted_records_keep_their_guarantee(relation):
    target = weighted("logistic", 3.0, penalty=L1(0.8))
    mechanism = AdaptiveObjectivePerturbation(typical=0.5)
    found = list(pairs("logistic", relation, 3.0))[::8]
    assert share_of_claim(mechanism, target, Pure(1), relation, found) > 0.3


@every_relation
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-6), Zcdp("0.1")], ids=repr)
def test_the_automatic_ridge_of_weighted_records_costs_little_noise(budget, relation):
    """Noise is within 1 % of what gradients of length X alone would need."""
    free = ObjectivePerturbation(coef_norm_guess=1e6)
    long, short = (
        free.calibrate(objective("logistic", dimension=3, **more), budget, relation)
        for more in ({"longest_row": 4.0}, {})
    )
    assert long.noise.scale <= 1.01 * short.noise.scale
    assert long.objective.l2 == pytest.approx(4 * short.objective.l2, rel=0.05)


# ----------------------------------------------------------------------------- mutations


@pytest.fixture
def forget_lengths(monkeypatch):
    """Count as if no row were longer than X."""
    rules.approx.cache_clear()
    rules.zcdp.cache_clear()

    def mutate():
        rules.approx.cache_clear()
        rules.zcdp.cache_clear()
        monkeypatch.setattr(
            Objective, "reach", property(lambda objective: objective.row_norm)
        )

    yield mutate
    rules.approx.cache_clear()
    rules.zcdp.cache_clear()


@every_loss
def test_forgetting_the_longest_row_is_seen(name, forget_lengths):
    found = list(pairs(name, ADD))
    forget_lengths()
    with pytest.raises(AssertionError):
        largest_loss(weighted(name), Pure(1), ADD, found)


def test_forgetting_the_longest_row_makes_delta_thousands_of_times_the_claim():
    """The ridge at which X² would be free, at ε = 1, δ = 1e-6, rows of up to 8."""
    sigma = 1 / gaussian_mu(1.0, 1e-6)
    plain = 1 / (1.0 + 1 / (2 * sigma**2))
    empty = Records.of(np.zeros((0, 1)), [])
    long = empty.plus([LONGEST], 1.0)
    shares = []
    for ridge in (plain, LONGEST * plain):
        target = weighted("logistic", l2=ridge)
        p, q = exact_pair(target, Gaussian(sigma), long, empty, 200_001)
        worst = max(hockey_stick(p, q, 1.0), hockey_stick(q, p, 1.0))
        shares.append(worst / 1e-6)
    assert shares == pytest.approx([3909.26, 1.0], rel=1e-3)


@pytest.mark.parametrize("name", ["logistic", "huber", "huberized-hinge"])
def test_forgetting_the_weights_is_seen(name, monkeypatch):
    monkeypatch.setattr(exact_loss, "_weights", lambda _, features: np.ones(len(features)))
    with pytest.raises(AssertionError):
        largest_loss(weighted(name), Pure(1), ADD, list(pairs(name, ADD)))


# ------------------------------------------------------------- output, moments, weights


def small_table(rng, longest, count=8):
    x = rng.standard_normal((count, 3))
    x *= rng.uniform(0.1, longest, (count, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
    x[-1] *= longest / np.linalg.norm(x[-1])
    return x, rng.choice([-1.0, 1.0], count)


def rows_of(x, y, target):
    return bound_rows(x, y, target.reach, 0.0).weighed(target.row_norm)


@every_relation
@pytest.mark.parametrize("name", ["logistic", "huberized-hinge"])
def test_no_neighbour_moves_a_weighted_minimiser_further(name, relation):
    rng = np.random.default_rng(3)
    target = weighted(name, 4.0, dimension=3, l2=0.5)
    claim = OutputPerturbation().sensitivity(target, relation)
    assert claim == pytest.approx(relation.shifts / 0.5, rel=1e-6)
    for _ in range(10):
        x, y = small_table(rng, 4.0)
        others = (x[:-1], y[:-1])
        if relation is REPLACE:
            others = (np.vstack([x[:-1], -x[-1:]]), y)
        a, b = (
            minimise(target, rows_of(*table, target), np.zeros(3), 1e-4).theta
            for table in ((x, y), others)
        )
        assert float(np.linalg.norm(a - b)) <= claim + 2e-4


def moment_share(target, relation, rng):
    """Return how much of the claimed sensitivity of moments some neighbours attain."""
    calibration = MomentRelease().calibrate(target, Approx(1, 1e-5), relation)
    worst = 0.0
    for _ in range(40):
        x, y = small_table(rng, target.reach)
        theta = rng.standard_normal(3) * rng.uniform(0, 0.5)
        others = (x[:-1], y[:-1])
        if relation is REPLACE:
            turned = np.cross(x[-1], rng.standard_normal(3))
            turned *= target.reach / np.linalg.norm(turned)
            others = (np.vstack([x[:-1], turned]), y)
        first, second = (
            sums(target, rows_of(*table, target), theta) for table in ((x, y), others)
        )
        curvature, scatter = (a - b for a, b in zip(first, second, strict=True))
        length = float(np.linalg.norm(theta))
        weight = calibration.weight(length)
        moved = math.hypot(np.linalg.norm(curvature), weight * np.linalg.norm(scatter))
        claim = sensitivity(calibration, length)
        worst = max(worst, moved / claim)
    return worst


@every_relation
@pytest.mark.parametrize("name", ["logistic", "huber"])
def test_moments_of_weighted_records_move_no_further_than_claimed(name, relation):
    share = moment_share(
        weighted(name, 4.0, dimension=3), relation, np.random.default_rng(1)
    )
    assert 0.5 < share <= 1.0


def test_forgetting_the_longest_row_is_seen_in_the_moments(monkeypatch):
    monkeypatch.setattr(moments, "_stretch", lambda _: 1.0)
    target = weighted("logistic", 4.0, dimension=3)
    assert moment_share(target, ADD, np.random.default_rng(1)) > 1.0


def test_a_weighted_objective_refuses_rows_without_weights():
    target = Objective(Logistic(), 2, 1.0, longest_row=2.0)
    found = ObjectivePerturbation().calibrate(target, Pure(1), ADD)
    rows = bound_rows(np.eye(2), np.ones(2), 2.0, 0.0)
    found.check_rows(rows.weighed(1.0))
    with pytest.raises(ValueError, match="with weights"):
        found.check_rows(rows)


# ------------------------------------------------------------------------- released sums

TABLE = ([[0.3, -0.4], [3.0, 5.0], [-0.02, 0.01]], [0.5, -1.0, 1.0])
SUMS = Objective(Squared(), 2, 1.0, 1.0, target_bound=1.0, longest_row=LONGEST)


def weighed_sums(rows, target):
    found = bound_rows(np.array(rows), np.array(target), LONGEST, 0.0).weighed(1.0)
    return released.sufficient_statistics(found)


def farthest(relation, weight):
    """Return how far records of all lengths and angles move (G, w·m), over the claim."""
    turns = np.linspace(0, 2 * np.pi, 25)
    records = [
        ([[r * math.cos(t), r * math.sin(t)]], [y])
        for r in (LONGEST, 3.0, 1.0, 0.5, 0.1)
        for t in turns
        for y in (-1.0, 1.0)
    ]
    base = weighed_sums(*TABLE)
    moved = [weighed_sums(TABLE[0] + x, TABLE[1] + y) for x, y in records]
    others = [base] if relation is ADD else moved[::7]
    worst = max(
        math.hypot(
            float(np.linalg.norm(one[0] - other[0])),
            weight * float(np.linalg.norm(one[1] - other[1])),
        )
        for one in moved
        for other in others
    )
    return worst / released.pair_sensitivity(SUMS, weight, relation)


@every_relation
@pytest.mark.parametrize("weight", [0.3, 1.0, 5.0])
def test_long_rows_move_released_sums_no_farther_than_typical_ones(weight, relation):
    assert 0.95 <= farthest(relation, weight) <= 1


def test_short_rows_that_count_more_would_be_noticed_in_sums(monkeypatch):
    """Weights up to four are for gradients: squared they would move moments too far."""
    monkeypatch.setattr(released.np, "minimum", lambda values, _: values)
    assert farthest(ADD, 1.0) > 1.5


def test_sums_of_weighed_records_solve_a_weighted_regression():
    rng = np.random.default_rng(3)
    x, y = (
        rng.normal(size=(50, 2)) * rng.uniform(0.05, 2, size=(50, 1)),
        rng.normal(size=50),
    )
    y = np.clip(y, -1, 1)
    gram, moment = weighed_sums(x, y)
    times = np.minimum(1, 1 / np.linalg.norm(x, axis=1)) ** 2
    assert gram == pytest.approx((x.T * times) @ x, rel=1e-9)
    assert moment == pytest.approx((x.T * times) @ y, rel=1e-9)
