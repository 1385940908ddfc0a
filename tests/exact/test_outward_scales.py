"""Every scale that a budget buys keeps to it exactly, and hardly exceeds what it must."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from confide.accounting import (
    ApproxEvent,
    GaussianEvent,
    PureEvent,
    ZcdpEvent,
    event_of,
)
from confide.mechanisms import MECHANISMS, ObjectivePerturbation, OutputPerturbation
from confide.mechanisms.base import unit_noise
from confide.mechanisms.intervals.moments import ROUNDING_SLACK
from confide.mechanisms.objective import calibration as objective_rules
from confide.mechanisms.objective.calibration import log_det, profile, pure_rate
from confide.mechanisms.objective.minimiser import LINEAR_SHARE
from confide.mechanisms.rounding import SLACK
from confide.mechanisms.statistics.adassp import eigenvalue_sensitivity
from confide.mechanisms.statistics.histogram import ProjectedHistogram
from confide.mechanisms.statistics.sums import balanced_weight
from confide.noise import Gaussian
from confide.objectives import Clipped, Logistic, Objective, Squared
from confide.privacy import Approx, Neighbours, Pure, Zcdp, rounding
from confide.privacy.rounding import round_down, round_up
from confide.selection.choice_cost import range_per_choice, score_scale, sum_noise
from confide.tuning import ChunkedSearch
from confide.tuning.random_stopping import StoppingPlan
from confide.tuning.scores import TOTAL_ERROR
from support import fifty_digits
from support.fifty_digits import DIGITS, number

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
BUDGETS = (
    *(Pure(e) for e in ("1e-6", "0.1", "1.3", "50")),
    *(Approx(e, d) for e in ("1e-6", "0.3", "50") for d in ("1e-290", "1e-7", "0.4")),
    *(Zcdp(r) for r in ("1e-12", "0.003", "0.7", "400")),
)
GAUSSIAN = tuple(budget for budget in BUDGETS if not isinstance(budget, Pure))
CLIPPED = Clipped(Squared(), 0.7)
every_relation = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
every_budget = pytest.mark.parametrize("budget", BUDGETS, ids=repr)
every_gaussian = pytest.mark.parametrize("budget", GAUSSIAN, ids=repr)
every_size = pytest.mark.parametrize("copies", [1, 7])
TIGHT = 1 - 1e-9


@pytest.fixture(autouse=True)
def fifty_digits_everywhere():
    with mpmath.workdps(DIGITS):
        yield


def squared_shift(events):
    return sum((Fraction(event.mu) ** 2 for event in events), Fraction(0))


def within(budget, events):
    """Say whether events keep to a budget: exactly, not as doubles see it."""
    if isinstance(budget, Pure):
        return sum(event.epsilon for event in events) <= budget.epsilon
    if isinstance(budget, Zcdp):
        rho = sum(e.rho for e in events if isinstance(e, ZcdpEvent))
        shifts = [e for e in events if isinstance(e, GaussianEvent)]
        return rho + squared_shift(shifts) / 2 <= budget.rho
    shift = mpmath.sqrt(number(squared_shift(events)))
    return fifty_digits.profile(budget.epsilon, shift) <= number(budget.delta)


def used(noise, reach, copies, event):
    """Return which part of an event noise uses for sums of this exact sensitivity."""
    ratio = number(reach) / number(noise.scale)
    if isinstance(event, PureEvent):
        return copies * ratio / number(event.epsilon)
    if isinstance(event, ZcdpEvent):
        return copies * ratio**2 / (2 * number(event.rho))
    return mpmath.sqrt(copies) * ratio / number(event.mu)


@every_budget
@every_size
@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 3)])
def test_unit_noise_keeps_its_share(budget, copies, share):
    parts = [unit_noise(budget, copies, part) for part in (share, 1 - share) if part]
    assert within(budget, [event for _, event in parts])
    for noise, event in parts:
        assert TIGHT <= used(noise, Fraction(1), copies, event) <= 1


def line(loss, dimension=3, row_norm=1.0, l2=1.0, target_bound=1.0):
    return Objective(loss, dimension, row_norm, l2, target_bound=target_bound)


@every_budget
@every_relation
@pytest.mark.parametrize("ridge", [1e-6, 0.3, 1e6])
@pytest.mark.parametrize(("row_norm", "size"), [(1.0, 1), (0.3, 1000)])
def test_output_perturbation(budget, relation, ridge, row_norm, size):
    found = OutputPerturbation(noise="gaussian").calibrate(
        line(CLIPPED, size, row_norm, ridge), budget, relation, copies=3
    )
    exact = relation.shifts * number(0.7) * number(row_norm) / number(ridge)
    exact += 2 * number(found.tolerance)
    assert within(budget, found.events)
    assert TIGHT <= used(found.noise, exact, 3, found.events[0]) <= 1


def exact_pair(objective, weight, relation):
    longest, bound = number(objective.row_norm), number(weight) * objective.target_bound
    if relation is ADD:
        reach = longest * mpmath.sqrt(longest**2 + bound**2)
    elif bound**2 <= 2 * longest**2:
        reach = (2 * longest**2 + bound**2) / mpmath.sqrt(2)
    else:
        reach = 2 * longest * bound
    return reach * (1 + number(ROUNDING_SLACK))


@every_budget
@every_relation
def test_sufficient_statistics(budget, relation):
    objective = line(Squared(), 5, 0.3)
    found = MECHANISMS["ssp"]().calibrate(objective, budget, relation, copies=2)
    exact = exact_pair(objective, balanced_weight(objective), relation)
    assert within(budget, found.events)
    assert TIGHT <= used(found.noise, exact, 2, found.events[0]) <= 1


@every_gaussian
@every_relation
def test_adassp(budget, relation):
    objective = line(Squared(), 5, 0.3)
    found = MECHANISMS["adassp"]().calibrate(objective, budget, relation, copies=2)
    weight = balanced_weight(objective)
    pair = exact_pair(objective, weight, relation) / number(found.noise.scale)
    moment, eigenvalue = (number(record.scale) for record in found.others)
    alone = number(eigenvalue_sensitivity(objective)) * (1 + 2**-49) / eigenvalue
    shift = mpmath.sqrt(2 * (pair**2 + alone**2))
    assert moment * number(weight) >= number(found.noise.scale)
    assert within(budget, found.events)
    assert TIGHT <= shift / number(found.events[0].mu) <= 1


@every_relation
@pytest.mark.parametrize("epsilon", ["1e-6", "0.7", "50"])
def test_counts_and_polynomials(epsilon, relation):
    budget = Pure(epsilon)
    objective, event = line(Squared(), 4, 0.3), PureEvent(budget.epsilon)
    mechanism = MECHANISMS["functional"]()
    found = mechanism.calibrate(objective, budget, relation, copies=3)
    reach = number(mechanism.sensitivity(objective, relation)) * (1 + 2**-45)
    assert TIGHT <= used(found.noise, reach, 3, event) <= 1
    cells = ProjectedHistogram((((0.1,), (0.2,)),) * 4)
    found = cells.calibrate(objective, budget, relation, copies=3)
    assert TIGHT <= used(found.noise, Fraction(relation.shifts), 3, event) <= 1


@every_gaussian
@every_relation
def test_noisy_gradients_of_all_rows(budget, relation):
    mechanism = MECHANISMS["momentum"](steps=37)
    found = mechanism.calibrate(line(CLIPPED, 4), budget, relation, copies=2)
    step, *count = found.events
    reach = (relation.shifts + number(SLACK)) * number(found.clip)
    shift = mpmath.sqrt(37 * 2) * reach / number(found.noise.scale)
    assert TIGHT <= shift / number(step.mu) <= 1
    assert within(budget, found.events)
    assert (relation is ADD) == bool(count)
    if count:
        assert TIGHT <= 1 / (number(found.counted.scale) * number(count[0].mu)) <= 1


@every_budget
@every_relation
@pytest.mark.parametrize("loss", [Logistic(), CLIPPED], ids=["logistic", "huber"])
def test_the_second_noise_of_objective_perturbation(budget, relation, loss):
    mechanism = ObjectivePerturbation(noise="gaussian")
    found = mechanism.calibrate(line(loss, 3, 1.0, None), budget, relation)
    exact = 2 * number(found.tolerance) * (1 + number(LINEAR_SHARE))
    assert TIGHT <= used(found.solver_noise, exact, 1, found.events[1]) <= 1
    assert within(budget.share(ObjectivePerturbation().precision_share), found.events[1:])


def exact_pure_loss(objective, scale, relation):
    """Return the largest loss of spherical Laplace noise over slopes and curvatures."""
    norm, ridge = number(objective.row_norm), number(objective.strong_convexity)
    most = number(objective.slope_bound)
    found = []
    for part in np.linspace(0.0, 1.0, 400):
        slope = most * number(part)
        bend = slope * (1 - slope) if isinstance(objective.loss, Logistic) else 1
        moved = slope * norm + (most * norm if relation is REPLACE else 0)
        found.append(mpmath.log(1 + bend * norm**2 / ridge) + moved / number(scale))
    return max(found)


@every_relation
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.7, 50.0])
@pytest.mark.parametrize("room", [1 + 1e-9, 1.5, 40.0])
@pytest.mark.parametrize("loss", [Logistic(), CLIPPED], ids=["logistic", "huber"])
def test_linear_terms_of_pure_budgets(relation, epsilon, room, loss):
    bend = 0.25 if isinstance(loss, Logistic) else 1.0
    objective = line(loss, 3, 1.0, room * bend / np.expm1(epsilon))
    rate = pure_rate(objective, epsilon, relation)
    if not rate:
        assert room < 1.1 or epsilon == 50
        return
    scale = rounding.round_up(1 / rate)
    assert exact_pure_loss(objective, scale, relation) <= number(epsilon)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 10.0])
@pytest.mark.parametrize("delta", [1e-200, 1e-9, 0.01])
def test_linear_terms_of_approximate_budgets(epsilon, delta):
    objective = line(CLIPPED, 3, 1.0, 4 / epsilon)
    budget = Approx(repr(epsilon), repr(delta))
    found = objective_rules.approx(objective, budget, ADD, 1, coupled=True)
    assert isinstance(found.noise, Gaussian)
    assert found.event == ApproxEvent(budget.epsilon, budget.delta)
    offset = mpmath.log(1 + 1 / number(objective.strong_convexity))
    shift = number(0.7) / number(found.noise.scale)
    left = number(budget.epsilon) - offset
    # |z| in the place of z: twice a profile, less where both sides meet.
    low = left / shift - shift / 2
    exact = 2 * (mpmath.ncdf(-low) - mpmath.exp(left) * mpmath.ncdf(-low - shift))
    assert left > 0 or low < 0
    if low >= 0:
        assert exact <= number(budget.delta)
        assert profile(objective, ADD, found.noise.scale / 1.001)(epsilon) > delta


@every_budget
@pytest.mark.parametrize("choices", [1, 30])
def test_scales_of_choices(budget, choices):
    if isinstance(budget, Approx):
        return
    limit = number(range_per_choice(budget, choices))
    width = number(1.7)
    scale = number(score_scale(budget, choices, 1.7, 0.0))
    if isinstance(budget, Pure):
        assert TIGHT <= choices * limit / number(budget.epsilon) <= 1
        assert TIGHT <= choices * width / scale / number(budget.epsilon) <= 1
    else:
        assert TIGHT <= choices * limit**2 / 8 / number(budget.rho) <= 1
        assert TIGHT**2 <= choices * (width / scale) ** 2 / 8 / number(budget.rho) <= 1
    noise = sum_noise(budget, 1.7, choices)
    assert used(noise, Fraction(1.7), choices, event_of(budget)) <= 1


@every_budget
def test_scores_of_a_search(budget):
    if isinstance(budget, Approx):
        return
    plan = StoppingPlan(budget, budget, None)
    reach = number(0.3) * (1 + 4 * number(TOTAL_ERROR))
    assert TIGHT**2 <= used(plan.noise(0.3), reach, 1, event_of(budget)) <= 1
    limit = number(ChunkedSearch().plan(budget, 3, 1).log_range)
    if isinstance(budget, Pure):
        assert limit <= number(budget.epsilon)
    else:
        assert TIGHT <= limit**2 / 8 / number(budget.rho) <= 1


def test_fractions_become_the_next_double():
    for value in (Fraction(1, 3), Fraction(1, 10), Fraction(1, 2), Fraction(10**300 + 1)):
        low, high = round_down(value), round_up(value)
        assert low <= value <= high
        assert high == low or high == np.nextafter(low, np.inf)
    assert round_up(0.1) > 0.1 > round_down(0.1)


MUTATIONS = {
    "noise": lambda: all(
        used(noise, Fraction(1), copies, event) <= 1
        for budget in GAUSSIAN
        for copies in range(1, 20)
        for noise, event in [unit_noise(budget, copies)]
    ),
    "shares": lambda: all(
        within(budget, [unit_noise(budget, 1, s)[1] for s in (share, 1 - share)])
        for budget in BUDGETS
        for share in (Fraction(1, 3), Fraction(1, 7), Fraction(2, 5))
    ),
    "choices": lambda: all(
        choices * (number(1.7) / number(score_scale(Zcdp("0.3"), choices, 1.7, 0.0))) ** 2
        <= 8 * number(Fraction("0.3"))
        for choices in range(1, 40)
    ),
    "linear terms": lambda: all(
        exact_pure_loss(objective, round_up(1 / pure_rate(objective, 0.3, ADD)), ADD)
        <= number(0.3)
        for ridge in np.linspace(3.0, 9.0, 40)
        for objective in [line(CLIPPED, 1, 1.0, ridge)]
    ),
}


@pytest.mark.parametrize("group", MUTATIONS)
def test_without_margins_a_budget_breaks(group, monkeypatch):
    assert MUTATIONS[group]()
    for module in (rounding, objective_rules):
        monkeypatch.setattr(module, "MARGIN", 0.0)
    assert not MUTATIONS[group]()


def test_a_log_determinant_is_above_its_function():
    for ridge in (1e-6, 0.1, 1e6):
        objective = line(Logistic(), 2, 1.0, ridge)
        points = log_det(objective)
        for slope, height in list(zip(points.slopes, points.heights, strict=True))[::37]:
            a = number(slope)
            assert mpmath.log(1 + a * (1 - a) / number(ridge)) <= number(height)
