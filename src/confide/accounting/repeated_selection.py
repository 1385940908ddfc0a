"""What it costs to run a private mechanism a random number of times and keep the best.

docs/proofs/private-tuning.md (random-stopping) has the theorem; the number of runs is
truncated negative binomial with shape η, parameter γ and mean E K.
"""

import math

from confide._types import Array
from confide.accounting.loss_bound import ORDERS, approx_delta
from confide.errors import InvalidParameter

SMALLEST_RHO = 1e-20


def best_of_many_renyi(
    orders: Array, rho: float, *, shape: float, gamma: float, mean: float
) -> Array:
    """Bound the Renyi divergences of the best of K runs, each of them rho-zCDP.

    ρα + (1 + η)·min over β ≥ 1 of [ρ(β − 1) + log(1/γ)/β] + log(E K)/(α − 1).
    """
    rare = -math.log(gamma)
    other = max(1.0, math.sqrt(rare / rho))
    constant = (1 + shape) * (rho * (other - 1) + rare / other)
    return rho * orders + constant + math.log(mean) / (orders - 1)


def rho_of_one_run(
    epsilon: float, delta: float, *, shape: float, gamma: float, mean: float
) -> float:
    """Return a rho of one run so that the best of K runs is (epsilon, delta)-DP."""

    def holds(rho: float) -> bool:
        curve = best_of_many_renyi(ORDERS, rho, shape=shape, gamma=gamma, mean=mean)
        return approx_delta(ORDERS, curve, epsilon) <= delta

    low, high = math.log(SMALLEST_RHO), math.log(2 * epsilon)
    if not holds(math.exp(low)):
        raise InvalidParameter(
            "budget",
            "large enough for so many runs",
            {"epsilon": epsilon, "delta": delta, "runs": mean},
            "Try fewer runs, or a larger delta.",
        )
    for _ in range(60):
        middle = (low + high) / 2
        if holds(math.exp(middle)):
            low = middle
        else:
            high = middle
    return math.exp(low)
