"""Wu and others' bounds: stability (Theorem 14) and generalisation (Theorems 20 and 21).

In the units of the paper: ρ is the Lipschitz constant of the loss of a record, λ its
strong convexity, the risk is a mean over n records, and neighbours replace a record.

Slips repaired: strong convexity at both minimisers halves Theorem 14, for noise that
hides 2ρ/(λn) instead of 4ρ/(λn); the last line of the proof of Theorem 20 has a factor 4
too many on the noise; Theorems 20 and 21 are stated up to constants, which their proofs
give and these functions keep.
"""

import math
from typing import Literal

from confide.errors import InvalidParameter

Constants = Literal["tight", "published"]


def stability(
    lipschitz: float, convexity: float, rows: int, constants: Constants = "tight"
) -> float:
    """Bound how far replacing a record moves a minimiser (Theorem 14).

    Parameters
    ----------
    lipschitz : float
        ρ. A regulariser that does not depend on the data does not count.
    convexity : float
        λ, of the regularised mean.
    rows : int
        n.
    constants : "tight" or "published"
        2ρ/(λn), which is attained, or 4ρ/(λn).
    """
    _check(lipschitz=lipschitz, convexity=convexity, rows=rows)
    factor = {"tight": 2.0, "published": 4.0}[constants]
    return factor * lipschitz / (convexity * rows)


def noise_tail(dimension: int, sensitivity: float, epsilon: float, failure: float) -> float:
    """Return a length that noise exceeds with probability at most ``failure``.

    Spherical Laplace noise of rate ε/Δ: d·ln(d/γ)·Δ/ε (Theorem 9).
    """
    _check(dimension=dimension, sensitivity=sensitivity, epsilon=epsilon)
    _check_chance(failure)
    return dimension * math.log(dimension / failure) * sensitivity / epsilon


def strongly_convex_excess(
    lipschitz: float,
    convexity: float,
    rows: int,
    dimension: int,
    epsilon: float,
    *,
    failure: float = 0.05,
    constants: Constants = "tight",
) -> float:
    """Bound the excess risk of output perturbation, strongly convex (Theorem 20).

    It holds with probability 1 − ``failure`` over sample and noise: half of that is for
    4ρ²/(δλn), what the minimiser itself is off by, half for ρ times the noise.
    """
    half = failure / 2
    _check_chance(half)
    move = stability(lipschitz, convexity, rows, constants)
    sample = 4 * lipschitz**2 / (half * convexity * rows)
    return sample + lipschitz * noise_tail(dimension, move, epsilon, half)


def best_penalty(
    lipschitz: float,
    radius: float,
    rows: int,
    dimension: int,
    epsilon: float,
    *,
    failure: float = 0.05,
) -> float:
    """Return the λ of Theorem 21: (ρ/R)·√(d·ln(d/δ)/(nδε))."""
    _check(lipschitz=lipschitz, radius=radius, rows=rows, epsilon=epsilon)
    _check_chance(failure)
    room = dimension * math.log(dimension / failure) / (rows * failure * epsilon)
    return lipschitz / radius * math.sqrt(room)


def convex_excess(
    lipschitz: float,
    radius: float,
    rows: int,
    dimension: int,
    epsilon: float,
    *,
    penalty: float | None = None,
    failure: float = 0.05,
    constants: Constants = "tight",
) -> float:
    """Bound the excess risk of output perturbation in a ball, convex (Theorem 21).

    The regularised loss is (ρ + λR)-Lipschitz in the ball of radius R and λ-strongly
    convex; its bound, plus ½λR² for what regularising costs. ``penalty`` is λ, None that
    of the theorem.
    """
    _check(lipschitz=lipschitz, radius=radius)
    chosen = penalty
    if chosen is None:
        chosen = best_penalty(lipschitz, radius, rows, dimension, epsilon, failure=failure)
    _check(penalty=chosen)
    whole = lipschitz + chosen * radius
    regularised = strongly_convex_excess(
        whole, chosen, rows, dimension, epsilon, failure=failure, constants=constants
    )
    return regularised + chosen * radius**2 / 2


def _check(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise InvalidParameter(name, "positive and finite", value)


def _check_chance(value: float) -> None:
    if not 0 < value < 1:
        raise InvalidParameter("failure", "between 0 and 1", value)
