"""The budget that remains after a release with a known privacy profile or shift."""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from confide._types import Array
from confide.privacy.rounding import (
    FUNCTION_ERROR,
    MARGIN,
    gaussian_delta,
    round_down,
    round_up,
)

PROFILE_CELLS = 96
REACH_DEVIATIONS = 9.0
LARGEST_EXPONENT = 700.0
HALVINGS = 50
NEARBY = 1e-12
"""An approximate root is checked at this relative distance on both sides of it."""


def gaussian_left(
    profile: Callable[[float], float], epsilon: float, delta: float, most: float
) -> float:
    """Return the largest Gaussian shift that a budget allows after an earlier release.

    The earlier release is given by its privacy profile. The only property used is that a
    profile is a decreasing, convex function of e^ε, so its chords are upper bounds
    (docs/proofs/private-intervals.md#interval-release).

    Parameters
    ----------
    profile : callable
        Delta of the earlier release as a function of epsilon.
    epsilon : float
        The epsilon of both releases together.
    delta : float
        The delta of both releases together.
    most : float
        The largest shift to consider, above 0.

    Returns
    -------
    float
        A shift between 0 and ``most``; 0 if the earlier release uses up the budget.

    Examples
    --------
    Squares of shifts add up, so a shift of 0.3 leaves 0.4 of a total shift of 0.5:

    >>> from confide.accounting import gaussian_left
    >>> from confide.privacy import gaussian_delta
    >>> left = gaussian_left(
    ...     lambda epsilon: gaussian_delta(epsilon, 0.3), 2.0, gaussian_delta(2.0, 0.5), 1.0
    ... )
    >>> 0.39 < left < 0.4
    True
    """
    start = max(0.0, epsilon - REACH_DEVIATIONS * most - most**2 / 2)
    grid = np.linspace(start, epsilon + REACH_DEVIATIONS * most, PROFILE_CELLS)
    heights = np.minimum.accumulate([profile(float(point)) for point in grid])
    if _total(grid, heights, epsilon, most) <= delta:
        return most
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _total(grid, heights, epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    return low


def grown_delta(delta: float, epsilon: float) -> float:
    """Return delta times e^epsilon, or 1 if e^epsilon exceeds the range of doubles.

    Parameters
    ----------
    delta : float
        A probability.
    epsilon : float
        A privacy loss.

    Returns
    -------
    float
        The product, or 1.

    Examples
    --------
    >>> from confide.accounting import grown_delta
    >>> round(grown_delta(1e-6, 1.0), 9)
    2.718e-06
    """
    return math.exp(epsilon) * delta if epsilon <= LARGEST_EXPONENT else 1.0


def pure_left(epsilon: float, delta: float, mu: float) -> float:
    """Return the largest pure epsilon that a budget allows after a Gaussian release.

    Of all pairs of distributions with likelihood ratios up to exp(e), that of randomised
    response is the worst. So the joint delta of a pure release with epsilon e and a
    Gaussian release with shift μ is at most pΨ(ε − e, μ) + (1 − p)Ψ(ε + e, μ), where
    p = 1/(1 + exp(−e)) and Ψ(ε, μ) is the delta of the Gaussian release alone.

    Parameters
    ----------
    epsilon : float
        The epsilon of both releases together.
    delta : float
        The delta of both releases together.
    mu : float
        The shift of the Gaussian release.

    Returns
    -------
    float
        The epsilon; 0 if the Gaussian release uses up the budget.

    Examples
    --------
    A Gaussian release that costs an epsilon of 1.06 leaves almost all the rest of a budget
    of 2:

    >>> from confide.accounting import pure_left
    >>> round(pure_left(2.0, 1e-6, 0.25), 2)
    0.96
    """

    def total(part: float) -> float:
        often = round_up(1 / (1 + math.exp(-part)))
        near = gaussian_delta(round_down(epsilon - part), mu)
        far = gaussian_delta(round_down(epsilon + part), mu)
        return round_up(often * near + round_up(1 - often + MARGIN) * far)

    # The condition is monotone, so two checks near the root decide most of the halvings.
    held, failed = 0.0, math.inf
    near = _pure_left_in_doubles(epsilon, delta, mu)
    for part in (near * (1 - NEARBY), min(near * (1 + NEARBY), epsilon)):
        if total(part) > delta:
            failed = part
            break
        held = part
    low, high = 0.0, epsilon
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle <= held or (middle < failed and total(middle) <= delta):
            low = middle
        else:
            high = middle
    return low


def _pure_left_in_doubles(epsilon: float, delta: float, mu: float) -> float:
    """Return an approximation of `pure_left` in doubles, without a proved error bound."""

    def quick_delta(whole: float) -> float:
        near, far = (float(ndtr(-whole / mu + half)) for half in (mu / 2, -mu / 2))
        return near - grown_delta(far, whole)

    low, high = 0.0, epsilon
    for _ in range(HALVINGS):
        part = (low + high) / 2
        often = 1 / (1 + math.exp(-part))
        found = often * quick_delta(epsilon - part)
        found += (1 - often) * quick_delta(epsilon + part)
        low, high = (part, high) if found <= delta else (low, part)
    return low


def _total(grid: Array, heights: Array, epsilon: float, mu: float) -> float:
    """Return an upper bound on the joint delta of the earlier release and a shift mu.

    ``heights`` holds the privacy profile of the earlier release at the epsilons in
    ``grid``.
    """
    below, error = _chances(grid, epsilon, mu, mu / 2)
    below, error = np.append(below, 1.0), np.append(error, 2 * FUNCTION_ERROR)
    total = below[0] + error[0] + (np.diff(below) + error[1:]) @ heights
    return round_up(float(total - _below_steps(grid, heights, epsilon, mu)))


def _below_steps(grid: Array, heights: Array, epsilon: float, mu: float) -> float:
    """Return the gain of bounding the profile by chords instead of steps, rounded down.

    On a grid interval [a, b], the chord at s is the left height minus a share λ of the
    decrease to the right height, with λ = (e^s − e^a)/(e^b − e^a). The mean of λ over the
    losses of the Gaussian shift has a closed form, because weighting these losses by their
    likelihood ratio gives the losses of the opposite shift.
    """
    plain, plain_error = _chances(grid, epsilon, mu, mu / 2)
    tilted, tilted_error = _chances(grid, epsilon, mu, -mu / 2)
    with np.errstate(over="ignore"):
        rise = np.expm1(np.diff(grid))
    odds = np.exp(np.minimum(epsilon - grid[:-1], LARGEST_EXPONENT))
    gain = odds * np.diff(tilted) - np.diff(plain)
    wrong = odds * (tilted_error[1:] + tilted_error[:-1])
    wrong += (
        plain_error[1:]
        + plain_error[:-1]
        + 4 * FUNCTION_ERROR * (odds * tilted[1:] + plain[1:]) * (1 + epsilon)
    )
    share = np.maximum(gain - wrong, 0.0) / rise
    return float((1 - MARGIN) * share @ -np.diff(heights))


def _chances(grid: Array, epsilon: float, mu: float, middle: float) -> tuple[Array, Array]:
    """Return P(ε − ℓ <= s) for every grid point s, and bounds on the errors.

    The loss ℓ is normal with mean ``middle``·mu and standard deviation mu.
    """
    places = (grid - epsilon) / mu + middle
    found = ndtr(places)
    return found, FUNCTION_ERROR * (2 + places**2 + epsilon / mu) * found
