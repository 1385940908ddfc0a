"""(epsilon, delta) buys the shorter of two noises, and costs what was asked for."""

import math

import numpy as np
import pytest

from confide.accounting import (
    GaussianEvent,
    PureEvent,
    as_pure,
    compose,
    loss_remainder,
    pure_left,
)
from confide.attacks import exact_pair, max_log_ratio
from confide.errors import InvalidParameter
from confide.mechanisms import (
    AdaptiveObjectivePerturbation,
    ObjectivePerturbation,
    OutputPerturbation,
)
from confide.mechanisms.intervals import budget as interval_budget
from confide.mechanisms.objective import calibration as rules
from confide.objectives import L1, Logistic, Objective
from confide.privacy import Approx, Neighbours, Pure, gaussian_delta
from support.cases import LOSSES, add_remove_pairs, objective, replace_pairs
from support.intervals import calibrate_with_intervals
from support.whole import share_of_claim

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
every_relation = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
every_mechanism = pytest.mark.parametrize(
    "mechanism", [ObjectivePerturbation(), OutputPerturbation()], ids=lambda one: one.name
)
SMALL = Approx(1, 1e-6)


def spread(mechanism, columns, budget, relation, copies=1):
    """Return the root mean square of the noise that columns and an intercept get."""
    target = Objective(Logistic(), columns + 1, 1.0, 6.0)
    found = mechanism.calibrate(target, budget, relation, copies=copies)
    return found.noise.deviation(columns + 1)


@every_relation
@every_mechanism
@pytest.mark.parametrize(("columns", "before"), [(3, 1.88), (5, 1.59), (8, 1.33)])
def test_few_columns_get_the_noise_of_epsilon_alone(mechanism, relation, columns, before):
    pure = spread(mechanism, columns, Pure(1), relation)
    assert spread(mechanism, columns, SMALL, relation) <= pure
    gaussian = mechanism.with_noise("gaussian")
    assert spread(gaussian, columns, SMALL, relation) >= before * pure


@every_relation
@every_mechanism
@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("columns", [0, 6, 12, 15, 16, 40])
def test_no_choice_is_longer_than_another(mechanism, relation, columns, copies):
    facts = (columns, SMALL, relation, copies)
    shorter = spread(mechanism, *facts)
    assert shorter <= spread(mechanism.with_noise("gaussian"), *facts)
    assert shorter <= spread(mechanism, columns, Pure(1), relation, copies) * (1 + 1e-12)


def largest_log_ratio(name, relation, budget):
    """Return the largest privacy loss over epsilon, by exact densities on a line."""
    mechanism = ObjectivePerturbation()
    found = mechanism.calibrate(objective(name), budget, relation)
    assert found.noise.kind == "spherical-laplace"
    assert as_pure(found.events).epsilon == budget.epsilon
    main = float(budget.share(1 - mechanism.precision_share).epsilon)
    pairs = (add_remove_pairs if relation is ADD else replace_pairs)(name)
    laws = (exact_pair(found.objective, found.noise, a, b) for _, a, b in pairs)
    worst = max(max_log_ratio(p, q) for p, q in laws) / main
    assert worst <= 1 + 1e-6
    return worst


@every_relation
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_the_release_is_pure_at_the_epsilon_that_was_asked_for(name, relation):
    loose = name == "clipped-poisson" or (name, relation) == ("logistic", REPLACE)
    least = 0.49 if loose else 0.97  # 0.50 to 0.83 measured, and 0.998 or more elsewhere
    assert largest_log_ratio(name, relation, Approx(1, 1e-4)) > least


def test_half_the_noise_is_seen(monkeypatch):
    honest = rules.pure_rate
    rules.approx.cache_clear()
    monkeypatch.setattr(rules, "pure_rate", lambda *a, **k: 2 * honest(*a, **k))
    with pytest.raises(AssertionError):
        largest_log_ratio("logistic", ADD, Approx(1, 1e-4))
    rules.approx.cache_clear()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 1e-2])
@pytest.mark.parametrize("part", [0.05, 0.3, 0.6])
def test_what_fits_beside_a_shift_is_what_randomised_response_leaves(epsilon, delta, part):
    """The pair that attains the bound: an answer that is right with chance p, a normal."""
    mu = part * epsilon / math.sqrt(2 * math.log(1 / delta))
    rest = pure_left(epsilon, delta, mu)
    right = 1 / (1 + math.exp(-rest))
    apart = ((right, rest), (1 - right, -rest))
    found = sum(p * gaussian_delta(epsilon - loss, mu) for p, loss in apart)
    assert found <= delta * (1 + 1e-12)
    assert found > delta * (1 - 1e-6) or rest == pytest.approx(epsilon)
    events = (PureEvent(Pure(repr(rest)).epsilon), GaussianEvent(mu))
    total = float(compose(events, repr(delta)).epsilon)
    assert total <= epsilon * (1 + 2e-3)


@pytest.mark.parametrize(
    "setting", [(1.0, 1e-6, 0.09), (0.1, 1e-3, 0.02), (4.0, 0.01, 0.6)]
)
def test_few_certified_values_decide_what_fits_beside_a_shift(setting, monkeypatch):
    """Doubles say where to look: the same epsilon as by halving all of it."""
    asked = []

    def counted(*given):
        asked.append(given)
        return gaussian_delta(*given)

    monkeypatch.setattr(loss_remainder, "gaussian_delta", counted)
    found = pure_left(*setting)
    few = len(asked)
    monkeypatch.setattr(loss_remainder, "_pure_left_in_doubles", lambda *given: 0.0)
    assert pure_left(*setting) == found
    assert few <= 40 < len(asked) - few


def plan_for(name, relation):
    rows = 1000 if relation is REPLACE else None
    return calibrate_with_intervals(
        ObjectivePerturbation(),
        objective(name),
        Approx(1, 1e-3),
        relation,
        rows=rows,
        of="penalised",
    )


@pytest.mark.slow
@every_relation
@pytest.mark.parametrize("name", ["logistic", "huberized-hinge", "huber"])
def test_pure_coefficients_beside_moments_cost_no_more_than_both(name, relation):
    plan = plan_for(name, relation)
    assert plan.main.noise.kind == "spherical-laplace"
    pairs = (add_remove_pairs if relation is ADD else replace_pairs)(name)
    assert share_of_claim(plan, [p for p in pairs if "(0.0," not in p[0]]) > 0.3


def test_forgetting_the_shift_of_the_moments_is_seen(monkeypatch):
    monkeypatch.setattr(interval_budget, "pure_left", lambda epsilon, *rest: 1.5 * epsilon)
    plan = plan_for("huberized-hinge", ADD)
    pairs = list(add_remove_pairs("huberized-hinge"))
    with pytest.raises(AssertionError):
        share_of_claim(plan, pairs)


@every_mechanism
@pytest.mark.parametrize("size", [1, 4, 6])
def test_intervals_of_few_columns_have_shorter_noise_and_the_same_moments(mechanism, size):
    target = Objective(Logistic(), size, 1.0, 5.0)
    plans = [
        calibrate_with_intervals(one, target, SMALL, ADD, of="penalised")
        for one in (mechanism, mechanism.with_noise("gaussian"))
    ]
    shorter, gaussian = (plan.main.noise.deviation(size) for plan in plans)
    assert shorter < 0.98 * gaussian
    assert plans[0].moments == plans[1].moments


@pytest.mark.slow
def test_a_second_look_keeps_the_kind_of_noise_that_was_paid_for():
    mechanism = AdaptiveObjectivePerturbation(style="bridge")
    target = Objective(Logistic(), 4, 1.0, penalty=L1(2.0))
    for budget in (SMALL, Approx(1, 1e-2)):
        fixed = mechanism.calibrate(target, budget, ADD)
        second = mechanism._second(fixed, np.full(4, 50.0))
        assert second.noise.kind == fixed.noise.kind


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_other_noises_are_refused_by_name(kind):
    with pytest.raises(InvalidParameter, match="'shorter', 'composable' or 'gaussian'"):
        kind(noise="laplace")
