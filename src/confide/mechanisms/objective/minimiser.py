"""Private minimiser: random linear term, certified solution, and second noise.

The first noise is the random linear term. The second noise is added to the solution and
covers the tolerance of the solver.
"""

import math
from typing import assert_never

import numpy as np

from confide._types import Array
from confide.accounting import (
    Event,
    GaussianEvent,
    PureEvent,
    ZcdpEvent,
)
from confide.data.matrix.sums import MAX_ROWS
from confide.data.rows.in_memory import Rows
from confide.errors import Described, InvalidParameter
from confide.mechanisms.base import (
    Calibration,
    gaussian_shift_of,
    publish,
)
from confide.mechanisms.tolerance import certain_tolerance
from confide.noise import Entropy, Gaussian, Noise, SphericalLaplace
from confide.noise.lattice import FARTHEST, approximate
from confide.objectives import Objective
from confide.objectives.twofold import Twofold
from confide.privacy import (
    Approx,
    Budget,
    Pure,
    Zcdp,
    round_up,
)
from confide.solvers import LONGEST_LINEAR, minimise

MEAN_LENGTHS = 1e4
"""Permitted ratio of the norm of the random linear term to its expected norm, if there is a
constraint."""


def check_linear_length(objective: Objective, noise: Noise) -> None:
    """Reject budgets that make the linear term too large to certify under a constraint.

    See docs/proofs/finite-precision.md#publication.
    """
    usual = noise.expected_norm(objective.dimension)
    if objective.constraint is None or (
        MEAN_LENGTHS * usual <= LONGEST_LINEAR * objective.lipschitz
    ):
        return
    raise InvalidParameter(
        "budget",
        "large enough that the norm of the noise is at most 100,000 times that of the "
        "gradient of one record",
        Described(f"one for which it is {usual / objective.lipschitz:.2g} times as large"),
        "Raise the budget, or leave out the constraint (coef_norm).",
    )


LEAST_NOISE = 2.0**14 / FARTHEST
"""Least scale of the second noise, so that its lattice extends at least to ±2¹⁴."""


UNSEEN = 0.09
"""Desired ratio of the second noise to the effect of the first on the coefficients. The
second noise is larger if such a small tolerance cannot be certified."""


LINEAR_SHARE = 0.125
"""Permitted effect of rounding the linear term, as a share of the solver's tolerance."""


ZERO_BELOW = 10.0


def unseen_tolerance(
    objective: Objective, noise: Noise, unit: Noise, usual: float
) -> float:
    """Return a tolerance so small that its noise is negligible next to the first noise.

    For every permitted table, the second noise is then below a tenth of the effect of the
    first noise on the coefficients. This effect is least if the table has the largest
    permitted number of rows, all with the largest curvature, equally in all directions.
    ``unit`` is the second noise for a tolerance of 1. The result is at least the smallest
    tolerance that can be certified, and at most ``usual``.
    """
    size = objective.dimension
    most = MAX_ROWS * objective.smoothness / size + objective.strong_convexity
    wanted = UNSEEN * noise.deviation(size) / (most * unit.deviation(size))
    return min(usual, max(wanted, certain_tolerance(objective)))


def perturbed_minimiser(
    calibration: Calibration, rows: Rows, entropy: Entropy, tilt: Array | float = 0.0
) -> Array:
    """Minimise with a random linear term, and add the second noise to the minimiser.

    ``tilt`` is another linear term, which is public.
    """
    objective, solver_noise = calibration.objective, calibration.solver_noise
    assert solver_noise is not None  # noqa: S101
    linear = linear_term(calibration, entropy) + tilt
    solved = minimise(objective, rows, linear, calibration.tolerance).theta
    noised = publish(solved, solver_noise, entropy)
    return _restore_zeros(objective, noised, solver_noise)


def linear_term(calibration: Calibration, entropy: Entropy) -> Twofold:
    """Draw a real-valued random linear term, and return doubles close to it.

    The noise that is added to the minimiser afterwards masks the difference between the
    two. A change in the linear term moves the minimiser by at most 1/Λ times the norm of
    the change. The permitted difference is therefore Λ times the allowance in
    `solver_noise_for` (docs/proofs/finite-precision.md).
    """
    objective = calibration.objective
    allowed = LINEAR_SHARE * calibration.tolerance * objective.strong_convexity
    noise = calibration.noise.sample(objective.dimension, entropy)
    found = approximate(noise, allowed)
    return Twofold.sum_of(found.value, found.rest)


def solver_noise_for(budget: Budget, tolerance: float, copies: int) -> tuple[Noise, Event]:
    """Return the noise that covers the solver's tolerance, and its privacy event.

    The sensitivity per objective is 2·tolerance, increased by the share `LINEAR_SHARE` for
    the rounding of the linear term.
    """
    reach = 2 * tolerance * (1 + LINEAR_SHARE)
    match budget:
        case Pure(epsilon=epsilon):
            scale = max(round_up(reach * copies / float(epsilon)), LEAST_NOISE)
            return SphericalLaplace(scale), PureEvent(epsilon)
        case Approx():
            event: Event = GaussianEvent(gaussian_shift_of(budget))
        case Zcdp(rho=rho):
            event = ZcdpEvent(rho)
        case _:
            assert_never(budget)
    scale = round_up(reach * math.sqrt(copies) / gaussian_shift_of(budget))
    return Gaussian(max(scale, LEAST_NOISE)), event


def _restore_zeros(objective: Objective, noised: Array, solver_noise: Noise) -> Array:
    """Restore exact zeros and the constraint after the second noise.

    The result depends only on the noisy vector and on public information.
    """
    value = noised
    if objective.nonsmooth_part is not None:
        reach = solver_noise.expected_norm(objective.dimension)
        reach = ZERO_BELOW * max(solver_noise.scale, reach / math.sqrt(objective.dimension))
        value = np.where(np.abs(value) <= reach, 0.0, value)
    if objective.constraint is not None:
        value = objective.constraint.project(value)
    return value
