"""The sound counterpart of NAPP's lasso, as the NAPP studies draw it."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from confide._types import Array
from confide.data.rows.in_memory import Rows
from confide.mechanisms import Calibration, ObjectivePerturbation
from confide.noise import Entropy
from confide.objectives import L1, Objective
from confide.privacy import Approx, Budget, Neighbours, Pure, Zcdp, gaussian_epsilon

MECHANISM = ObjectivePerturbation()


def sound(
    objective: Objective, budget: Budget, rows: Rows, strength: float, entropy: Entropy
) -> Array:
    """Return private coefficients for the published Λ, that is under 2Λ‖θ‖₁."""
    plan = _calibrated(objective, budget)
    penalised = replace(plan.objective, penalty=L1(2 * strength))
    release = MECHANISM.release(replace(plan, objective=penalised), [rows], entropy)
    return np.asarray(release.value)


def sound_retrieved(objective: Objective, budget: Budget) -> float:
    """Return how much of a half set aside for the log-determinant the noise got back.

    A public number: 1 if the determinant costs nothing, 0 if it costs half of ε or more.
    """
    plan = _calibrated(objective, budget)
    main = budget.share(1 - MECHANISM.precision_share)
    shift = objective.lipschitz / plan.noise.scale
    match main:
        case Pure(epsilon=epsilon):
            used = shift / float(epsilon)
        case Zcdp(rho=rho):
            used = shift**2 / (2 * float(rho))
        case Approx(epsilon=epsilon, delta=delta):
            used = gaussian_epsilon(shift, float(delta)) / float(epsilon)
    return min(1.0, max(0.0, 2 * used - 1))


@lru_cache(maxsize=64)
def _calibrated(objective: Objective, budget: Budget) -> Calibration:
    """Calibrate once: the weight of an l1 penalty changes neither noise nor ridge."""
    return MECHANISM.calibrate(
        replace(objective, penalty=L1(1.0)), budget, Neighbours.ADD_REMOVE
    )
