"""Expected widths of released intervals, computed before anything is released.

A released interval is computed from noisy moments of the loss, and the noise widens it. To
predict the width, this module assumes moments of the expected size, adds noise as in a fit,
and computes intervals as in a fit. This is repeated with several draws of the noise. No
private data are used.
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
"""Target for the number of noise draws times the number of coefficients.

With many coefficients, fewer draws suffice.
"""


@dataclass(frozen=True, slots=True)
class ExpectedMoments:
    """Moments of the loss, assumed without reading the data, in units of the objective.

    ``curvature`` is the sum over all rows of the Hessians of the loss, and ``scatter`` the
    sum of the outer products of its gradients, both at the released ``coefficients``.
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
    """Return the interval widths for one draw of the noise, computed as in a fit.

    ``directions`` holds one linear function of the coefficients per row. The width is NaN
    if the noisy moments do not identify the function.
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
    """Return the median and upper quartile of each interval width over the noise.

    ``directions`` holds one linear function of the coefficients per row. In draws of the
    noise that do not identify the function, its interval is treated as infinitely wide.
    """
    draws = max(LEAST_DRAWS, SIMULATED_COEFFICIENTS // len(expected.coefficients))
    lengths = [
        interval_widths(calibration, expected, directions, level, Entropy.seeded(k))
        for k in range(draws)
    ]
    told = np.where(np.isnan(lengths), np.inf, lengths)
    median, wide = np.quantile(told, [0.5, 0.75], axis=0, method="higher")
    return median, wide
