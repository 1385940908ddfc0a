"""Baselines of the NAPP studies: the lasso without privacy, and two private methods."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from confide._types import Array
from confide.data.rows.in_memory import Rows
from confide.mechanisms import (
    AdaptiveObjectivePerturbation,
    Calibration,
    ObjectivePerturbation,
)
from confide.mechanisms.objective.adaptive import AdaptiveCalibration
from confide.noise import Entropy
from confide.objectives import L1, Objective
from confide.privacy import Approx, Budget, Neighbours, Pure, Zcdp, gaussian_epsilon
from confide.solvers import minimise

LOOKS = AdaptiveObjectivePerturbation()
HARDLY_ANY = 1e-4
"""A tiny ridge for the lasso, whose accuracy cannot be certified without one."""


def lasso(objective: Objective, rows: Rows, strength: float) -> Array:
    """Minimise Σφ + 2Λ‖θ‖₁ without privacy.

    At the fixed point of NAPP's iterations, its weights Λ/|θ| are equivalent to this
    penalty.
    """
    penalised = replace(objective, l2=HARDLY_ANY, penalty=L1(2 * strength))
    found = minimise(penalised, rows, np.zeros(objective.dimension), 1e-3).theta
    return np.where(np.abs(found) <= 1e-8, 0.0, found)


def two_looks(
    objective: Objective, budget: Budget, rows: Rows, strength: float, entropy: Entropy
) -> Array:
    """Return private coefficients of adaptive objective perturbation.

    A first fit sets the l1 weights of a second one. An average coefficient has weight 2Λ.
    """
    plan = _calibrated_adaptive(objective, budget)
    penalised = replace(plan.objective, penalty=L1(2 * strength))
    release = replace(plan, objective=penalised).release([rows], entropy)
    return np.asarray(release.value)


def two_looks_retrieved(objective: Objective, budget: Budget) -> float:
    """Return the share of the ε/2 reserved by NAPP that the noise can use.

    NAPP reserves half of ε for the log-determinant term of the privacy loss.
    """
    plan = _calibrated_adaptive(objective, budget)
    return plan.retrieved(plan.noise)


@lru_cache(maxsize=64)
def _calibrated_adaptive(objective: Objective, budget: Budget) -> AdaptiveCalibration:
    """Calibrate once for all Λ, because the l1 weight changes neither noise nor ridge."""
    return LOOKS.calibrate(
        replace(objective, penalty=L1(1.0)), budget, Neighbours.ADD_REMOVE
    )


MECHANISM = ObjectivePerturbation()


def sound(
    objective: Objective, budget: Budget, rows: Rows, strength: float, entropy: Entropy
) -> Array:
    """Return private coefficients of objective perturbation with the penalty 2Λ‖θ‖₁."""
    plan = _calibrated(objective, budget)
    penalised = replace(plan.objective, penalty=L1(2 * strength))
    release = replace(plan, objective=penalised).release([rows], entropy)
    return np.asarray(release.value)


def sound_retrieved(objective: Objective, budget: Budget) -> float:
    """Return the share of the ε/2 reserved by NAPP that the noise can use.

    NAPP reserves half of ε for the log-determinant term of the privacy loss. The share is
    public: 1 if the term costs nothing, 0 if it costs ε/2 or more.
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
    """Calibrate once for all Λ, because the l1 weight changes neither noise nor ridge."""
    return MECHANISM.calibrate(
        replace(objective, penalty=L1(1.0)), budget, Neighbours.ADD_REMOVE
    )
