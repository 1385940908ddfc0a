"""One (epsilon, delta) for a selection and a perturbed objective on what it selects.

Cutting epsilon in two wastes much of it, and zCDP asks a perturbed objective for a large
ridge. Renyi divergences of both stages add up order by order instead
(docs/proofs/sparse-selection.md, select-then-fit).
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from confide._types import Array
from confide.accounting import ORDERS, ApproxEvent, Event, approx_delta, sharp_renyi
from confide.errors import InvalidParameter
from confide.mechanisms import Calibration, ObjectivePerturbation
from confide.mechanisms.objective.analysis import gaussian_bounds, replace_one_bound
from confide.mechanisms.objective.calibration import smallest_scale
from confide.mechanisms.objective.perturbation import solver_noise_for
from confide.noise import Gaussian
from confide.objectives import Objective
from confide.privacy import Approx, Neighbours, Zcdp, approx_to_zcdp, gaussian_mu

SOME_ORDERS = ORDERS[150:450:3]
"""Every order gives a valid delta; between these the best one hardly changes."""


@lru_cache(maxsize=256)
def fit_beside_selection(
    mechanism: ObjectivePerturbation,
    objective: Objective,
    budget: Approx,
    neighbours: Neighbours,
    *,
    copies: int,
    share: Fraction,
) -> tuple[Zcdp, Calibration, tuple[Event, ...]]:
    """Return what the selection may spend, the fit beside it, and what both are together.

    The selection gets ``share`` of the zCDP budget that would imply the whole. The ridge is
    that of a fit on its own whose squared shift is the rest.
    """
    precise = mechanism.precision_share
    main = budget.share(1 - precise)
    epsilon, delta = float(main.epsilon), float(main.delta)
    selection = approx_to_zcdp(main.epsilon, main.delta).share(share)
    left = Approx(repr(epsilon * math.sqrt(1 - share)), main.delta)
    alone = mechanism.calibrate(objective, left, neighbours, copies=copies)
    mu = gaussian_mu(epsilon, delta) / math.sqrt(copies)

    def cost(sigma: float) -> float:
        curve = copies * divergences(alone.objective, sigma, neighbours)
        whole = curve + float(selection.rho) * SOME_ORDERS
        return approx_delta(SOME_ORDERS, whole, epsilon)

    try:
        sigma = smallest_scale(cost, delta, neighbours.shifts * objective.lipschitz / mu)
    except OverflowError:
        raise InvalidParameter("l2", "larger for this budget", objective.l2) from None
    finish, event = solver_noise_for(budget.share(precise), alone.tolerance, copies)
    fit = replace(alone, noise=Gaussian(sigma), finish=finish, budget=budget)
    return selection, fit, (ApproxEvent(main.epsilon, main.delta), event)


def divergences(objective: Objective, sigma: float, neighbours: Neighbours) -> Array:
    """Bound the Renyi divergences of a perturbed objective's minimiser at `SOME_ORDERS`."""
    if neighbours is Neighbours.REPLACE_ONE:
        return replace_one_bound(objective, sigma).renyi(SOME_ORDERS)
    present, absent = gaussian_bounds(objective, sigma)
    there = sharp_renyi(present, absent, SOME_ORDERS)
    return np.maximum(there, sharp_renyi(absent, present, SOME_ORDERS))
