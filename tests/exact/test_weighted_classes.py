"""Three classes, rows of up to four lengths: exact laws of weighted records, mutations."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from confide.attacks import Records, exact_loss, exact_pair, hockey_stick, max_log_ratio
from confide.data import bound_rows
from confide.mechanisms import ObjectivePerturbation, OutputPerturbation
from confide.mechanisms.intervals import moments
from confide.mechanisms.intervals.moments import MomentRelease, sensitivity, sums
from confide.mechanisms.objective import multinomial
from confide.mechanisms.objective.multinomial import Geometry, profile
from confide.noise import Gaussian
from confide.objectives import Multinomial, Objective
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from confide.solvers import minimise
from support.checks import GRID_ERROR

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
LONGEST, POINTS = 4.0, 161
FEW, MORE = (LONGEST,), (LONGEST, 1.0, 0.1)
"""Lengths of the record that quick checks take, and others."""
every_relation = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)


@pytest.fixture(autouse=True)
def _forget():
    yield
    multinomial._approx.cache_clear()
    multinomial._zcdp.cache_clear()


def target(l2=None, longest=LONGEST):
    return Objective(Multinomial(3), 2, 1.0, l2, responses=2, longest_row=longest)


def pairs(relation, lengths):
    """Yield a title, both tables, and whether the record is in the first."""
    bases = {
        "empty": Records.of(np.zeros((0, 1)), []),
        "long": Records.of([[LONGEST], [-2.0]], [2.0, 1.0]),
        "one-sided": Records.of([[1.0]], [2.0], 12),
        "opposite": Records.of([[-1.0]], [0.0], 5),
    }
    if lengths == FEW:
        del bases["long"], bases["one-sided"]
    for title, base in bases.items():
        for x in lengths:
            more = base.plus([x], 0.0)
            if relation is ADD:
                yield f"{title}+{x}", more, base, True
                yield f"{title} vs +{x}", base, more, False
            else:
                yield f"{title}: mirror {x}", more, base.plus([-x], 0.0), True
                yield f"{title}: flip {x}", more, base.plus([LONGEST], 1.0), True


def laws(objective, noise, first, second):
    p, q = exact_pair(objective, noise, first, second, POINTS)
    assert abs(p.mass - 1) < GRID_ERROR
    return p, q


def largest_loss(objective, budget, relation, lengths=FEW):
    """Check pure privacy exactly; return the largest loss over epsilon."""
    plan = ObjectivePerturbation().calibrate(objective, budget, relation)
    worst = 0.0
    for title, first, second, _ in pairs(relation, lengths):
        p, q = laws(plan.objective, plan.noise, first, second)
        loss = max_log_ratio(p, q) / (0.99 * float(budget.epsilon))
        assert loss <= 1 + 1e-6, (title, loss)
        worst = max(worst, loss)
    return worst


def largest_delta(objective, budget, relation, lengths=FEW):
    """Check (epsilon, delta) exactly; return the largest delta over the claimed."""
    normal = ObjectivePerturbation(noise="gaussian")
    plan = normal.calibrate(objective, budget, relation)
    epsilon, delta = (0.99 * float(part) for part in (budget.epsilon, budget.delta))
    worst = 0.0
    for title, first, second, _ in pairs(relation, lengths):
        p, q = laws(plan.objective, plan.noise, first, second)
        share = hockey_stick(p, q, epsilon) / delta
        assert share <= 1 + GRID_ERROR, (title, share)
        worst = max(worst, share)
    return worst


def divergence(p, q, order):
    logs = [law.log_density - logsumexp(law.log_density) for law in (p, q)]
    return float(logsumexp(order * logs[0] + (1 - order) * logs[1]) / (order - 1))


def largest_shares(sigma, l2, lengths=FEW, orders=(1.01, 1.5, 3.0, 8.0)):
    """Check profiles and divergences; return their largest shares, by direction."""
    objective = target(l2)
    geometry = Geometry.of(objective)
    bounds = geometry.loss_bounds(sigma)
    curves = geometry.renyi(np.array(orders), sigma)
    shares = np.zeros((2, 2))
    for title, first, second, within in pairs(ADD, lengths):
        p, q = laws(objective, Gaussian(sigma), first, second)
        place = 0 if within else 1
        for order, most in zip(orders, curves[place], strict=True):
            share = divergence(p, q, order) / most
            assert share <= 1 + 1e-3, (title, order, share)
            assert divergence(p, q, order) <= order * geometry.rho(sigma) * (1 + 1e-3)
            shares[0, place] = max(shares[0, place], share)
        for epsilon in (0.0, 0.3, 1.0, 2.0):
            found = hockey_stick(p, q, epsilon)
            most = bounds[place].delta(epsilon)
            assert found <= most * (1 + GRID_ERROR) + 1e-9, (title, epsilon, found, most)
            if found > 1e-7:
                shares[1, place] = max(shares[1, place], found / most)
    return shares


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "l2"), [(1.0, None), (3.0, 6.4)])
def test_pure_privacy_holds_and_is_attained(epsilon, l2):
    assert largest_loss(target(l2), Pure(epsilon), ADD) > 0.99


@pytest.mark.slow
def test_pure_privacy_of_replaced_records_holds():
    assert largest_loss(target(), Pure(1), REPLACE) > 0.4


@pytest.mark.slow
@every_relation
def test_gaussian_privacy_holds(relation):
    worst = largest_delta(target(), Approx(1, 1e-4), relation)
    assert worst > (0.1 if relation is ADD else 1e-9)


@pytest.mark.slow
def test_losses_and_divergences_are_bounded():
    shares = largest_shares(3.0, 1.2)
    assert shares[0, 1] > 0.9, "the divergence without the record is attained"


@pytest.mark.slow
@every_relation
def test_privacy_holds_for_more_tables_and_lengths(relation):
    largest_loss(target(), Pure(1), relation, MORE)
    largest_delta(target(), Approx(1, 1e-4), relation, MORE)
    largest_delta(target(4.8), Approx(2, 1e-2), relation, MORE)


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "l2"), [(3.0, 1.2), (1.0, 4.0), (1.5, 18.0)])
def test_losses_and_divergences_are_bounded_for_more_tables(sigma, l2):
    largest_shares(sigma, l2, MORE, orders=(1.01, 1.2, 1.5, 2.0, 4.0, 8.0, 16.0))


@pytest.mark.slow
def test_zcdp_holds_at_every_order():
    plan = ObjectivePerturbation().calibrate(target(), Zcdp("0.2"), ADD)
    for title, first, second, _ in pairs(ADD, MORE):
        p, q = laws(plan.objective, plan.noise, first, second)
        for order in (1.01, 2.0, 8.0):
            assert divergence(p, q, order) <= 0.99 * 0.2 * order * (1 + 1e-3), title


@pytest.mark.slow
def test_replace_one_is_covered_by_a_chain_over_the_table_without_the_record():
    most = profile(target(12.0), REPLACE, 1.5)
    for title, first, second, _ in pairs(REPLACE, MORE):
        p, q = laws(target(12.0), Gaussian(1.5), first, second)
        for epsilon in (0.5, 1.5):
            assert hockey_stick(p, q, epsilon) <= most(epsilon) * (1 + GRID_ERROR), title


@every_relation
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-6), Zcdp("0.1")], ids=repr)
def test_noise_is_that_of_rows_of_length_one_at_a_longer_ridge(budget, relation):
    """What X̄ costs is in the ridge: with l2 times X̄ the noise is the same."""
    long, short = (
        ObjectivePerturbation(noise="gaussian").calibrate(
            target(50.0 * factor, longest), budget, relation
        )
        for factor, longest in ((LONGEST, LONGEST), (1.0, None))
    )
    assert long.noise.scale == pytest.approx(short.noise.scale, rel=1e-9)


# ----------------------------------------------------------------------------- mutations


@pytest.fixture(name="forget_lengths")
def _forget_lengths(monkeypatch):
    """Count as if no row were longer than X."""

    def mutate():
        multinomial._approx.cache_clear()
        monkeypatch.setattr(
            Objective, "reach", property(lambda objective: objective.row_norm)
        )

    return mutate


@pytest.mark.slow
def test_forgetting_the_longest_row_is_seen(forget_lengths):
    forget_lengths()
    with pytest.raises(AssertionError, match=r"opposite\+4"):
        largest_loss(target(4.1), Pure(1), ADD)
    with pytest.raises(AssertionError, match="empty"):
        largest_shares(3.0, 3.2)


def test_forgetting_the_weights_is_seen(monkeypatch):
    monkeypatch.setattr(exact_loss, "_weights", lambda _, features: np.ones(len(features)))
    with pytest.raises(AssertionError, match=r"empty\+4"):
        largest_loss(target(), Pure(1), ADD)


# ------------------------------------------------------------- minimisers and moments


def small_table(rng, count=8):
    x = rng.standard_normal((count, 3))
    x *= rng.uniform(0.1, LONGEST, (count, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
    x[-1] *= LONGEST / np.linalg.norm(x[-1])
    return x, rng.integers(0, 3, count).astype(float)


def rows_of(x, y, objective):
    return bound_rows(x, y, objective.reach, 0.0).weighed(objective.row_norm)


def neighbours_of(x, y, relation, rng):
    """Return tables that differ in the last record, which is as long as it can be."""
    if relation is ADD:
        return (x, y), (x[:-1], y[:-1])
    turned = np.cross(x[-1], rng.standard_normal(3))
    turned *= LONGEST / np.linalg.norm(turned)
    return (x, y), (np.vstack([x[:-1], turned]), y)


WIDE = Objective(Multinomial(3), 6, 1.0, 0.5, responses=2, longest_row=LONGEST)


@every_relation
def test_no_neighbour_moves_a_weighted_minimiser_further(relation):
    rng = np.random.default_rng(3)
    claim = OutputPerturbation().sensitivity(WIDE, relation)
    assert claim == pytest.approx(relation.shifts * math.sqrt(2) / 0.5, rel=1e-6)
    for _ in range(10):
        both = neighbours_of(*small_table(rng), relation, rng)
        a, b = (
            minimise(WIDE, rows_of(*table, WIDE), np.zeros(6), 1e-4).theta for table in both
        )
        assert float(np.linalg.norm(a - b)) <= claim + 2e-4


def moment_share(relation):
    """Return how much of the claimed sensitivity of moments some neighbours attain."""
    rng = np.random.default_rng(1)
    calibration = MomentRelease().calibrate(WIDE, Approx(1, 1e-5), relation)
    worst = 0.0
    for _ in range(40):
        theta = rng.standard_normal(6) * rng.uniform(0, 0.5)
        first, second = (
            sums(WIDE, rows_of(*table, WIDE), theta)
            for table in neighbours_of(*small_table(rng), relation, rng)
        )
        curvature, scatter = (a - b for a, b in zip(first, second, strict=True))
        length = float(np.linalg.norm(theta))
        weight = calibration.weight(length)
        moved = math.hypot(np.linalg.norm(curvature), weight * np.linalg.norm(scatter))
        worst = max(worst, moved / sensitivity(calibration, length))
    return worst


@every_relation
def test_moments_of_weighted_records_move_no_further_than_claimed(relation):
    assert 0.5 < moment_share(relation) <= 1.0


def test_forgetting_the_longest_row_is_seen_in_the_moments(monkeypatch):
    monkeypatch.setattr(moments, "_stretch", lambda _: 1.0)
    assert moment_share(ADD) > 1.0


def test_moments_are_those_of_records_that_count_by_their_lengths():
    x, y = small_table(np.random.default_rng(5))
    theta = np.random.default_rng(6).standard_normal(6) * 0.3
    curvature, scatter = sums(WIDE, rows_of(x, y, WIDE), theta)
    times = np.minimum(4.0, 1 / np.linalg.norm(x, axis=1))
    alone = Objective(Multinomial(3), 6, LONGEST, 0.5, responses=2)
    each = [
        sums(alone, bound_rows(x[i : i + 1], y[i : i + 1], LONGEST, 0.0), theta)
        for i in range(len(y))
    ]
    for found, power, place in ((curvature, 1, 0), (scatter, 2, 1)):
        whole = sum(t**power * one[place] for t, one in zip(times, each, strict=True))
        assert found == pytest.approx(whole, rel=1e-9, abs=1e-12)
