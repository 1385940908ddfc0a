"""How wide a released interval will be, before anything is released.

A released interval is computed from noisy moments, and the noise widens it. So moments of
the expected size are made up, noise is added as a fit would add it, and intervals are
computed as a fit would compute them, a few times over. Nothing private is in it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from confide._types import Array
from confide.accounting import pure_left
from confide.mechanisms import IntervalCalibration
from confide.mechanisms.intervals.laws import uncertainty
from confide.mechanisms.intervals.moments import add_noise
from confide.noise import Entropy, Gaussian
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    Zcdp,
    gaussian_mu,
)

LEAST_DRAWS = 9
LEAST_EPSILON = 1e-9
SIMULATED_COEFFICIENTS = 150
"""Draws times coefficients; many coefficients average the noise by themselves."""


@dataclass(frozen=True, slots=True)
class ExpectedMoments:
    """What is expected of data that nobody has looked at, in units of the objective.

    ``second`` holds the mean products of two features of a row, the intercept's last;
    ``curvature`` and ``scatter`` the loss's mean curvature and squared slope.
    ``unidentified`` has directions that no row has, as a fit knows them from a schema.
    """

    rows: int
    second: Array
    curvature: float
    scatter: float
    coefficients: Array
    unidentified: Array | None = None


def left_for_coefficients(
    budget: Budget, part: Fraction, kind: str = Gaussian.kind
) -> Budget:
    """Return about which budget alone would do for the coefficients what a part does.

    ``kind`` is that of their noise, which the budget keeps.
    """
    if isinstance(budget, Approx):
        delta = float(budget.delta)
        whole = gaussian_mu(float(budget.epsilon), delta)
        if kind != Gaussian.kind:
            beside = whole * math.sqrt(float(1 - part))
            left = pure_left(float(budget.epsilon), delta, beside)
            return Pure(f"{max(left, LEAST_EPSILON):.6g}")
        return Zcdp(f"{whole**2 * float(part) / 2:.6g}")
    return budget.share(part)


def planned_widths(
    calibration: IntervalCalibration,
    expected: ExpectedMoments,
    directions: Array,
    level: float,
) -> tuple[Array, Array]:
    """Return the median and the upper quartile of the widths for every direction."""
    main, moments = calibration.main, calibration.moments
    on = "coefficients" if main.solver_noise is None else "linear term"
    noise = main.records(on)[0]
    public = expected.rows if main.neighbours is Neighbours.REPLACE_ONE else None
    whole = expected.rows * expected.second
    draws = max(LEAST_DRAWS, SIMULATED_COEFFICIENTS // len(whole))
    lengths = []
    for k in range(draws):
        found = add_noise(
            moments,
            expected.coefficients,
            expected.curvature * whole,
            expected.scatter * whole,
            Entropy.seeded(k),
        )
        point = expected.coefficients
        law = uncertainty(
            main.objective, point, noise, found, public, unidentified=expected.unidentified
        )
        lengths.append(2 * law.half_lengths(directions, level))
    median, wide = np.quantile(lengths, [0.5, 0.75], axis=0)
    return median, wide
