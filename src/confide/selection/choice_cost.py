"""Privacy cost of random choices by the exponential mechanism.

A choice has bounded range ε₀ if, for any two neighbouring tables, the logarithm of the
ratio of the probabilities of an outcome varies by at most ε₀ over all outcomes. Such a
choice is ε₀-DP and ε₀²/8-zCDP (docs/proofs/sparse-selection.md, bounded-range).
"""

import math
from typing import assert_never

from confide.data.matrix.sums import SUM_ERROR
from confide.errors import InvalidParameter
from confide.noise import (
    Gaussian,
    Noise,
    SphericalLaplace,
)
from confide.objectives import Objective
from confide.privacy import (
    Approx,
    Budget,
    Pure,
    Zcdp,
    approx_to_zcdp,
    round_down,
    round_up,
)

ROUNDING = 2 * SUM_ERROR
"""Relative increase of sensitivities, to allow for rounding errors in sums."""
OUTWARD = 1e-9
"""Relative increase of noise scales for rounding, if sums need no further allowance."""


def range_per_choice(budget: Pure | Zcdp, choices: int) -> float:
    """Return the bounded-range parameter ε₀ that the budget allows for each choice."""
    match budget:
        case Pure(epsilon=epsilon):
            return round_down(epsilon / choices)
        case Zcdp(rho=rho):
            return round_down(math.sqrt(8 * rho / choices))
        case _:
            assert_never(budget)


def best_budget_kind(budget: Budget, choices: int) -> Pure | Zcdp:
    """Return the budget as pure DP or zCDP, whichever allows the larger ε₀ per choice."""
    if not isinstance(budget, Approx):
        return budget
    alone, joint = Pure(budget.epsilon), approx_to_zcdp(budget.epsilon, budget.delta)
    return (
        alone
        if range_per_choice(alone, choices) >= range_per_choice(joint, choices)
        else joint
    )


def score_scale(
    budget: Pure | Zcdp, choices: int, width: float, rounding: float = ROUNDING
) -> float:
    """Return the scale of the Gumbel noise on scores.

    ``width`` is a bound on how differently one record can change two scores.
    """
    return round_up((1 + rounding) * width / range_per_choice(budget, choices))


def sum_noise(budget: Pure | Zcdp, reach: float, times: int) -> Noise:
    """Return the noise for ``times`` sums of Euclidean sensitivity ``reach``."""
    widened = (1 + ROUNDING) * reach
    match budget:
        case Pure(epsilon=epsilon):
            return SphericalLaplace(round_up(widened * times / float(epsilon)))
        case Zcdp(rho=rho):
            return Gaussian(round_up(widened * math.sqrt(times / (2 * rho))))
        case _:
            assert_never(budget)


def check_size(size: int, objective: Objective) -> None:
    """Raise if more columns are to be selected than the table has."""
    if size > objective.columns:
        raise InvalidParameter(
            "size",
            f"at most {objective.columns}, the number of columns",
            size,
            "Select fewer columns, or fit without selection.",
        )
