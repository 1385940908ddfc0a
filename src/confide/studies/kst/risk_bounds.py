"""Bounds of Kifer, Smith and Thakurta on the empirical risk of objective perturbation.

The objective is n·J(θ) = Σφ + r(θ), a sum over n records of losses φ plus a regulariser r,
and the ridge Λ is added to this sum, not to a mean. ζ bounds the gradient and λ the
curvature of the loss of a record, and b is the noise vector of the linear term. The bounds
are on the excess risk per record, J(θ private) − J(θ̂), over the non-private estimate θ̂.
``budget`` is the budget of the noise alone: the mechanism also reserves a small share of
the total for the solver's error.

Corrections to the paper:

- Theorem 4 requires Λ >= λ/(2ε), but the noise of Algorithm 1 needs Λ >= 2λ/ε.
- The bound in Lemma 3 is 2‖b‖²/Λ. If the objective is Λ-strongly convex, the noise b
  increases its value at the solution by at most ‖b‖²/(2Λ).
- Theorems 4 and 5 state expectations, but their proofs bound probabilities "ignoring γ".
  E‖b‖² is known, so the expectation follows directly, without the factor log p.
- The proof of the Gaussian tail bound (after Lemma 28) loses a factor of 2. The final
  bound, ‖b‖² <= 2pσ²·log(1/γ), holds for γ <= ½.
- The radius ‖b‖/(Δ + η) in Theorem 30 (a) is correct, and half that of Eq. 18; Δ is the
  paper's symbol for the ridge. Eq. 19 has a private θ in place of θ̂. Theorem 31 omits the
  constants of the radius. Monotonicity of the gradient along a segment gives the radius
  (‖b‖ + Λ‖θ̂‖)/(Λ + η), without the assumption that θ stays inside the ball.
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
    """Return E‖b‖² for the noise b of Algorithm 1, or a tail bound on ‖b‖².

    Parameters
    ----------
    objective : Objective
        Its dimension p and its bound ζ on the gradient of one record are used.
    budget : Pure or Approx
        Pure for noise with the Gamma density (spherical Laplace), Approx for Gaussian
        noise.
    failure : float, optional
        Probability γ that ‖b‖² exceeds the tail bound; None for the expectation.
    """
    if failure is not None:
        return noise_length(objective, budget, failure) ** 2
    size, unit = objective.dimension, objective.lipschitz / float(budget.epsilon)
    if isinstance(budget, Pure):
        return size * (size + 1) * (2 * unit) ** 2
    room = 8 * math.log(2 / float(budget.delta)) + 4 * float(budget.epsilon)
    return size * room * unit**2


def least_ridge(objective: Objective, budget: Pure | Approx) -> float:
    """Return 2λ/ε, the smallest ridge for which Algorithm 1 is private."""
    return 2 * objective.smoothness / float(budget.epsilon)


def balanced_ridge(objective: Objective, budget: Pure | Approx, norm: float) -> float:
    """Return the Λ of Theorem 4, √E‖b‖² / ``norm``, but at least `least_ridge`."""
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
        Number of records n.
    norm : float
        A public bound on ‖θ̂‖.
    ridge : float, optional
        The ridge Λ; None for `balanced_ridge`, as in Theorem 4. Theorem 5 uses
        `least_ridge`.
    curvature : float
        The strong convexity η of Σφ + r without the ridge, which is n times that per
        record. It is 0 in Theorem 4. If the sum is η-strongly convex only near θ̂, see
        `curved_radius`.
    failure : float, optional
        Probability γ that the bound is exceeded; None to bound the expectation.
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
    """Return the radius around θ̂ in which strong convexity is needed (Theorem 30).

    With probability 1 − γ, the private coefficients are within this radius. ``curvature``
    is η, and ``failure`` is γ.
    """
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
    """Return the exact expected excess risk for squared loss without a constraint.

    Parameters
    ----------
    spectrum : array
        Eigenvalues of Σxxᵀ.
    coordinates : array
        θ̂ in the basis of the eigenvectors of Σxxᵀ.
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
    """Return the number of rows for which `perturbed_risk` is ``excess`` (Table 1).

    Parameters
    ----------
    objective, budget, norm, ridge
        As in `perturbed_risk`.
    excess : float
        The tolerated expected excess risk per record.
    curvature : float
        η/n, the strong convexity per record.
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
    """Return the objective of Table 1, for rows and coefficients of norm at most √p.

    Targets are bounded by |y| <= p, so ζ = 2p^{3/2} and λ = p. If the entries of the rows
    have absolute value 1, the strong convexity per record is about 1.
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
