"""Published noise of objective perturbation under add-remove, for comparison."""

import math

from confide.accounting import PureEvent, event_of
from confide.errors import InvalidParameter
from confide.mechanisms.objective.calibration import Perturbation
from confide.noise import Gaussian, SphericalLaplace
from confide.objectives import Objective
from confide.privacy import Approx, Pure, round_down, round_up


def published_noise(objective: Objective, budget: Pure | Approx) -> Perturbation:
    """Return the noise of Kifer, Smith and Thakurta (2012) under add-remove."""
    epsilon = float(budget.epsilon)
    enough = 2 * objective.smoothness / epsilon
    if objective.strong_convexity < round_down(enough):
        raise InvalidParameter(
            "l2",
            f"at least {enough:.6g} for analysis='kst' at this budget",
            objective.strong_convexity,
            "Raise l2 or use analysis='coupled'.",
        )
    theorem = "objective-perturbation.md#objective-separate-exact"
    if isinstance(budget, Pure):
        noise = SphericalLaplace(round_up(round_up(2 * objective.lipschitz / epsilon)))
        return Perturbation(noise, theorem, PureEvent(budget.epsilon))
    delta = float(budget.delta)
    sigma = objective.lipschitz * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon
    return Perturbation(Gaussian(round_up(sigma)), theorem, event_of(budget))
