"""Random choices: their laws, their ranges and what they cost."""

from fractions import Fraction

import numpy as np
import pytest

from confide.accounting import PureEvent, as_zcdp, compose
from confide.mechanisms import ObjectivePerturbation
from confide.noise import Entropy, Gumbel, Laplace, assign_groups, shuffle
from confide.objectives import Clipped, Logistic, Poisson, Squared
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from confide.selection import (
    ExponentialSelector,
    SampleAggregateSelector,
    ScreeningSelector,
)
from confide.selection import choice_cost as choices
from confide.selection.exponential import loss_range
from confide.selection.select_then_fit import Stages, split_budget
from support.sparse_tables import objective

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


# --- random choices
@pytest.mark.parametrize("noise", [Gumbel(0.5), Laplace(0.5)], ids=str)
def test_noise_has_its_distribution(noise):
    """Kolmogorov's distance of 200 000 draws; false alarm 1e-9."""
    drawn = np.sort(noise.draw(200_000, Entropy.seeded(1)) / noise.scale)
    if isinstance(noise, Gumbel):
        exact = np.exp(-np.exp(-drawn))
    else:
        exact = np.where(drawn < 0, 0.5 * np.exp(drawn), 1 - 0.5 * np.exp(-drawn))
    far = np.abs(exact - np.arange(len(drawn)) / len(drawn)).max()
    assert far < np.sqrt(np.log(2 / 1e-9) / (2 * len(drawn)))
    length = np.sqrt(np.mean(noise.draw(200_000, Entropy.seeded(2)) ** 2))
    assert length == pytest.approx(noise.expected_norm(1), rel=0.02)


def test_places_are_shuffled_and_assigned():
    entropy = Entropy.seeded(4)
    assert sorted(shuffle(100, entropy).tolist()) == list(range(100))
    own = assign_groups(40_000, 4, entropy)
    assert np.abs(np.bincount(own) - 10_000).max() < 5 * np.sqrt(7500)
    found = Gumbel(1e-9).largest(np.array([0, 9, 8.0]), 2, entropy)
    assert found.tolist() == [1, 2]


# --- what choices cost
def test_ranges_in_closed_form():
    assert choices.range_per_choice(Pure(2), 4) == 0.5
    assert choices.range_per_choice(Zcdp("0.02"), 4) == pytest.approx(0.2)
    assert choices.best_budget_kind(Approx(1, "1e-6"), 1) == Pure(1)
    assert isinstance(choices.best_budget_kind(Approx(1, "1e-6"), 50), Zcdp)
    scale = choices.score_scale(Pure(2), 4, 3.0)
    assert scale == pytest.approx(6.0, rel=3e-3)
    assert scale > 6.0


@pytest.mark.parametrize(
    ("selector", "neighbours", "scale"),
    [
        (ScreeningSelector(5, 0), ADD, 2 * 5 / 2),
        (ScreeningSelector(5, 0), REPLACE, 4 * 5 / 2),
        (SampleAggregateSelector(5), ADD, 2 * 5 / 2),
        (SampleAggregateSelector(5, noise="laplace"), REPLACE, 2 * 5 / 2),
        (ExponentialSelector(1), ADD, np.log1p(np.exp(1)) - np.log1p(np.exp(-1))),
    ],
    ids=str,
)
def test_noise_of_selectors_in_closed_form(selector, neighbours, scale):
    found = selector.calibrate(objective(), Pure(2), neighbours)
    expected = scale / 2 if selector.name == "exponential" else scale
    assert expected < found.noise.scale == pytest.approx(expected, rel=5e-3)
    assert found.events == (PureEvent(Fraction(2)),)


def test_squared_loss_has_the_range_of_the_published_bound():
    """α = 2s² for |y| ≤ s, entries and coefficients within ±1."""
    for size in (1, 3, 5):
        target = objective(loss=Squared(), target_bound=float(size))
        assert loss_range(target, float(size)) == pytest.approx(2 * size**2)


@pytest.mark.parametrize(
    "loss", [Squared(), Clipped(Squared(), 0.7), Poisson(), Logistic()]
)
@pytest.mark.parametrize("margin", [0.5, 2.0])
def test_loss_ranges_hold_on_a_grid(loss, margin):
    bound = 1.0 if isinstance(loss, Logistic) else 1.5
    target = objective(loss=loss, target_bound=bound)
    low = 0.0 if isinstance(loss, Poisson) else -bound
    y = np.array([-1.0, 1.0]) if isinstance(loss, Logistic) else np.linspace(low, bound, 61)
    eta = np.linspace(-margin, margin, 401)
    values = loss.value(eta[:, None], y[None, :])
    assert np.ptp(values, axis=0).max() == pytest.approx(loss_range(target, margin))


def test_other_losses_have_the_range_of_their_slope():
    target = objective(loss=Clipped(Poisson(), 2.0), target_bound=3.0)
    assert loss_range(target, 0.5) == pytest.approx(2 * 0.5 * 2.0)


@pytest.mark.parametrize("budget", [Pure(1), Approx("0.3", "1e-6"), Zcdp("0.05")], ids=str)
@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize(
    "selector",
    [ScreeningSelector(4), SampleAggregateSelector(4), ExponentialSelector(2)],
    ids=lambda s: s.name,
)
def test_selectors_spend_their_budget_and_no_more(selector, budget, copies):
    found = selector.calibrate(objective(), budget, ADD, copies=copies)
    if isinstance(budget, Approx):
        together = compose(found.events, budget.delta)
        assert float(together.epsilon) <= float(budget.epsilon) * 1.001
    elif isinstance(budget, Pure):
        assert sum(event.epsilon for event in found.events) == budget.epsilon
    else:
        assert float(as_zcdp(found.events).rho) == pytest.approx(float(budget.rho))


def test_a_joint_budget_leaves_more_for_both_stages_than_cuts_do():
    """At (0.3, 1e-6) the selection's noise would be half as large again, or the fit's."""
    selector, relation = ScreeningSelector(8, 0), ADD
    coupled = Stages(selector, ObjectivePerturbation(), objective(100), relation, 1)
    cut = Stages(selector, ObjectivePerturbation("separate"), objective(100), relation, 1)
    budget, share = Approx("0.3", "1e-6"), Fraction(2, 5)
    joint, apart = split_budget(coupled, budget, share), split_budget(cut, budget, share)
    assert joint[0].noise.scale < 0.6 * apart[0].noise.scale
    assert joint[1].noise.scale < apart[1].noise.scale
