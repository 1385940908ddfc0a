"""Kifer, Smith and Thakurta: what objective perturbation costs in empirical risk.

Rows and ridge are on the scale of a sum; what is bounded is J(θ private) − J(θ̂) with
n·J(θ) = Σφ + r(θ), that is, the excess per record. ``budget`` is what the noise gets: the
mechanism sets a small share of a fit's budget aside for the solver's error.

Repaired, against the paper:

- Theorem 4 asks for Λ >= λ/(2ε); the noise of Algorithm 1 needs Λ >= 2λ/ε.
- Lemma 3 has 2‖b‖²/Λ. Noise b moves a Λ-strongly convex minimum by ‖b‖²/(2Λ) at most.
- Theorems 4 and 5 are about expectations, their proofs about probabilities "ignoring γ".
  E‖b‖² is known, so the expectation follows directly, and without the factor log p.
- The tail of the Gaussian (after Lemma 28) loses a factor 2 on its way; what is printed
  in the end, ‖b‖² <= 2pσ²·log(1/γ), holds for γ <= ½.
- Theorem 30 (a) is half of what Eq. 18 proves, and right; Eq. 19 has a private θ for θ̂;
  Theorem 31 drops the constants of the radius. Monotone gradients along a segment give a
  radius of (‖b‖ + Λ‖θ̂‖)/(Λ + η), without presuming that θ stays inside.
- The bounds hold for every θ̂, but a ridge that is chosen from ‖θ̂‖ is not private:
  ``norm`` must be a public bound.
"""

import math

import numpy as np

from confide._types import Array
from confide.errors import InvalidParameter
from confide.objectives import L2Ball, Objective, Squared
from confide.privacy import Approx, Pure
from confide.studies.napp.bounds import noise_length


def noise_square(
    objective: Objective, budget: Pure | Approx, failure: float | None = None
) -> float:
    """Return E‖b‖² of Algorithm 1's noise, or what ‖b‖² rarely exceeds.

    Parameters
    ----------
    objective : Objective
        Its dimension p and the longest gradient of one record, ζ, count.
    budget : Pure or Approx
        Pure means the Gamma density (spherical Laplace), Approx the Gaussian one.
    failure : float, optional
        γ: the chance with which ‖b‖² may be larger; None for the expectation.
    """
    if failure is not None:
        return noise_length(objective, budget, failure) ** 2
    size, unit = objective.dimension, objective.lipschitz / float(budget.epsilon)
    if isinstance(budget, Pure):
        return size * (size + 1) * (2 * unit) ** 2
    room = 8 * math.log(2 / float(budget.delta)) + 4 * float(budget.epsilon)
    return size * room * unit**2


def least_ridge(objective: Objective, budget: Pure | Approx) -> float:
    """Return 2λ/ε, without which Algorithm 1 is not private."""
    return 2 * objective.smoothness / float(budget.epsilon)


def balanced_ridge(objective: Objective, budget: Pure | Approx, norm: float) -> float:
    """Return the Λ of Theorem 4: root of E‖b‖² over a public bound on ‖θ̂‖."""
    _check_positive("norm", norm)
    balanced = math.sqrt(noise_square(objective, budget)) / norm
    return max(balanced, least_ridge(objective, budget))


def perturbed_risk(
    objective: Objective,
    budget: Pure | Approx,
    rows: int,
    *,
    norm: float,
    ridge: float | None = None,
    curvature: float = 0.0,
    failure: float | None = None,
) -> float:
    """Bound the excess risk of objective perturbation (Theorems 4 and 26, 5 and 31).

    Parameters
    ----------
    objective, budget
        As in `noise_square`.
    rows : int
        n.
    norm : float
        A public bound on ‖θ̂‖.
    ridge : float, optional
        Λ; None for `balanced_ridge`, with which this is Theorem 4. Theorem 5 has
        `least_ridge`.
    curvature : float
        η: how strongly convex Σφ + r is by itself, n times the average over records.
        Theorem 4 has none. Where η holds only near θ̂, see `curved_radius`.
    failure : float, optional
        γ; None bounds the expectation.
    """
    _check_rows(rows)
    _check_positive("norm", norm)
    weight = _checked_ridge(objective, budget, norm, ridge)
    if not curvature >= 0:
        raise InvalidParameter("curvature", "0 or positive", curvature)
    square = noise_square(objective, budget, failure)
    return (square / (2 * (weight + curvature)) + weight * norm**2 / 2) / rows


def curved_radius(
    objective: Objective,
    budget: Pure | Approx,
    *,
    norm: float,
    ridge: float,
    curvature: float,
    failure: float,
) -> float:
    """Return how far around θ̂ the curvature must reach (Theorem 30), with chance 1 − γ."""
    _check_positive("norm", norm)
    _check_positive("curvature", curvature)
    weight = _checked_ridge(objective, budget, norm, ridge)
    length = noise_length(objective, budget, failure)
    return (length + weight * norm) / (weight + curvature)


def quadratic_risk(
    spectrum: Array,
    coordinates: Array,
    objective: Objective,
    budget: Pure | Approx,
    rows: int,
    *,
    ridge: float,
) -> float:
    """Return the expected excess risk itself: squared loss, no constraint, no penalty.

    Parameters
    ----------
    spectrum : array
        Eigenvalues of Σxxᵀ.
    coordinates : array
        θ̂ in the basis of its eigenvectors.
    objective, budget, rows, ridge
        As in `perturbed_risk`.
    """
    _check_rows(rows)
    each = noise_square(objective, budget) / objective.dimension
    moved = (each + (ridge * coordinates) ** 2) / (spectrum + ridge) ** 2
    return float(np.sum(spectrum * moved)) / (2 * rows)


def rows_for_risk(
    objective: Objective,
    budget: Pure | Approx,
    excess: float,
    *,
    norm: float,
    ridge: float | None = None,
    curvature: float = 0.0,
) -> float:
    """Return the rows from which on `perturbed_risk` is at most ``excess`` (Table 1).

    Parameters
    ----------
    objective, budget, norm, ridge
        As in `perturbed_risk`.
    excess : float
        The tolerated expected excess per record.
    curvature : float
        η/n: strong convexity per record.
    """
    _check_positive("excess", excess)
    _check_positive("norm", norm)
    weight = _checked_ridge(objective, budget, norm, ridge)
    square = noise_square(objective, budget)
    bias = weight * norm**2 / 2
    # square / 2 = (n·excess − bias)·(weight + n·curvature), a parabola in n.
    first = excess * curvature
    second = excess * weight - bias * curvature
    third = bias * weight + square / 2
    root = math.sqrt(second**2 + 4 * first * third)
    return 2 * third / (root + second) if second > 0 else (root - second) / (2 * first)


def linear_regression(size: int) -> Objective:
    """Return the setting of Table 1: rows and coefficients of length √p, |y| <= p.

    ζ = 2p^{3/2} and λ = p; with entries of size 1 the curvature per record is about 1.
    """
    radius = math.sqrt(size)
    return Objective(Squared(), size, radius, constraint=L2Ball(radius), target_bound=size)


def _checked_ridge(
    objective: Objective, budget: Pure | Approx, norm: float, ridge: float | None
) -> float:
    least = least_ridge(objective, budget)
    if ridge is None:
        return balanced_ridge(objective, budget, norm)
    if ridge < least * (1 - 1e-12):
        raise InvalidParameter(
            "ridge", f"at least {least:.6g}, or the fit is not private", ridge
        )
    return ridge


def _check_rows(rows: int) -> None:
    if rows < 1:
        raise InvalidParameter("rows", "at least 1", rows)


def _check_positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise InvalidParameter(name, "positive and finite", value)
