"""Bounds of Wu et al.: stability (Theorem 14) and generalisation (Theorems 20 and 21).

As in the paper, ρ is the Lipschitz constant of the loss of a record, λ its strong
convexity, the risk is a mean over n records, and neighbouring tables differ in the values
of one record.

Corrections to the paper: using strong convexity at both minimisers halves the bound of
Theorem 14, from 4ρ/(λn) to 2ρ/(λn). The last line of the proof of Theorem 20 multiplies the
noise by a superfluous factor of 4. Theorems 20 and 21 are stated up to constants; the
functions here use the constants from the proofs of these theorems.
"""

import math
from typing import Literal

from confide.errors import InvalidParameter

Constants = Literal["tight", "published"]


def stability(
    lipschitz: float, convexity: float, rows: int, constants: Constants = "tight"
) -> float:
    """Bound the distance by which replacing a record moves a minimiser (Theorem 14).

    Parameters
    ----------
    lipschitz : float
        ρ of the loss alone, without regularisers that do not depend on the data.
    convexity : float
        λ, the strong convexity of the regularised mean loss.
    rows : int
        Number of records n.
    constants : "tight" or "published"
        2ρ/(λn), which is attained, or 4ρ/(λn), as published.
    """
    _check(lipschitz=lipschitz, convexity=convexity, rows=rows)
    factor = {"tight": 2.0, "published": 4.0}[constants]
    return factor * lipschitz / (convexity * rows)


def noise_tail(dimension: int, sensitivity: float, epsilon: float, failure: float) -> float:
    """Return a bound on the norm of the noise, exceeded with probability ``failure``.

    The bound is d·ln(d/γ)·Δ/ε for spherical Laplace noise of rate ε/Δ in d dimensions,
    where Δ is the sensitivity and γ the probability (Theorem 9).
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
    """Bound the excess risk of output perturbation under strong convexity (Theorem 20).

    The bound holds with probability 1 − ``failure`` over the sample and the noise. It is
    the sum of 4ρ²/(δλn), a bound on the excess risk of the minimiser, and ρ times a bound
    on the norm of the noise. Each of the two bounds fails with probability at most δ,
    which is half of ``failure``.
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
    """Return the λ of Theorem 21, (ρ/R)·√(d·ln(d/δ)/(nδε)), with δ = ``failure``."""
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
    """Bound the excess risk of output perturbation in a ball for convex losses (Thm. 21).

    The regularised loss is (ρ + λR)-Lipschitz in the ball of radius R and λ-strongly
    convex. The result is the bound of Theorem 20 on its excess risk, plus ½λR² for the
    regularisation.
    ``penalty`` is λ; None for the λ of Theorem 21.
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
