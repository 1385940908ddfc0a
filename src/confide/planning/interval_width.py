"""How wide a released interval will be, before anything is released.

A released interval is computed from noisy moments, and the noise widens it. So moments of
the expected size are made up, noise is added as a fit would add it, and intervals are
computed as a fit would compute them, a few times over. Nothing private is in it.
"""

from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.mechanisms import IntervalCalibration, WithIntervals
from confide.mechanisms.intervals.laws import plain_law, uncertainty
from confide.mechanisms.intervals.moments import add_noise
from confide.noise import Entropy
from confide.privacy import Neighbours

LEAST_DRAWS = 9
SIMULATED_COEFFICIENTS = 150
"""Draws times coefficients; many coefficients average the noise by themselves."""


@dataclass(frozen=True, slots=True)
class ExpectedMoments:
    """Assumptions about unseen data, in units of the objective.

    ``curvature`` and ``scatter`` are sums over all rows, at released ``coefficients``.
    """

    rows: int
    curvature: Array
    scatter: Array
    coefficients: Array


def interval_widths(
    calibration: IntervalCalibration,
    expected: ExpectedMoments,
    directions: Array,
    level: float,
    entropy: Entropy,
) -> Array:
    """Return how wide intervals turn out for one draw of the noise, by the fit's own code.

    A direction about which the release says nothing has NaN.
    """
    main, mechanism = calibration.main, calibration.mechanism
    on = "coefficients" if main.solver_noise is None else "linear term"
    theta = expected.coefficients
    moments = add_noise(
        calibration.moments, theta, expected.curvature, expected.scatter, entropy
    )
    public = expected.rows if main.neighbours is Neighbours.REPLACE_ONE else None
    settings = (calibration.objective, theta, main.records(on)[0], moments, public)
    assert isinstance(mechanism, WithIntervals)  # noqa: S101
    absent = mechanism.absent(calibration.objective)
    if mechanism.settings.of == "penalised":
        law = uncertainty(*settings, unidentified=absent)
        return 2 * law.half_lengths(directions, level)
    plain = plain_law(*settings, unidentified=absent)
    known = plain.identified(directions)
    return np.where(known, 2 * plain.half_lengths(directions, level), np.nan)


def planned_widths(
    calibration: IntervalCalibration,
    expected: ExpectedMoments,
    directions: Array,
    level: float,
) -> tuple[Array, Array]:
    """Return the median and the upper quartile of the widths for every direction.

    Where noise hides a direction more often than not there is no width: it is infinite.
    """
    draws = max(LEAST_DRAWS, SIMULATED_COEFFICIENTS // len(expected.coefficients))
    lengths = [
        interval_widths(calibration, expected, directions, level, Entropy.seeded(k))
        for k in range(draws)
    ]
    told = np.where(np.isnan(lengths), np.inf, lengths)
    median, wide = np.quantile(told, [0.5, 0.75], axis=0, method="higher")
    return median, wide
