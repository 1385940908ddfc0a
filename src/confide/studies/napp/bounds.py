"""NAPP-ERM's bounds: excess risk (Theorem 8) and sample complexity (Theorem 10).

The objective is a sum over records: n·J(θ) = Σφ + R(θ), and iteration t replaces R by
R⁽ᵗ⁾ = Σ wⱼθⱼ². Both bounds follow from Lemma 7: if w₁ is the smallest weight, the objective
is 2w₁-strongly convex, so the noise b increases it by at most ‖b‖²/(2w₁).

Corrections to the paper: the factor ‖b‖² multiplies only the first terms of Eqs. 18 and 19,
as in Lemma 7. The statements hold with probability 1 − π, not in expectation. The Gamma
distribution of ‖b‖ has shape p.
"""

import math

from confide.errors import InvalidParameter
from confide.objectives import Objective
from confide.privacy import Approx, Pure


def noise_length(
    objective: Objective, budget: Pure | Approx, failure: float, share: float = 0.5
) -> float:
    """Return a bound on the norm of NAPP's noise b, exceeded with probability ``failure``.

    Parameters
    ----------
    objective : Objective
        Its dimension and its bound on the gradient of one record are used.
    budget : Pure or Approx
        The total budget.
    failure : float
        Probability π that the norm exceeds the bound, below one half.
    share : float
        Share r of ε that is spent on the noise.
    """
    _check_chance("failure", failure)
    part = share * float(budget.epsilon)
    size = objective.dimension
    if isinstance(budget, Pure):
        return size * objective.lipschitz / part * math.log(size / failure)
    room = part + math.log(2 / float(budget.delta))
    return 2 * objective.lipschitz / part * math.sqrt(size * room * math.log(1 / failure))


def excess_risk(
    objective: Objective,
    budget: Pure | Approx,
    rows: int,
    *,
    least_weight: float,
    gap: float = 0.0,
    failure: float = 0.05,
    share: float = 0.5,
) -> float:
    """Bound J(θ private) − J(θ̂) with probability 1 − ``failure`` (Theorem 8).

    Parameters
    ----------
    objective, budget, failure, share
        As in `noise_length`.
    rows : int
        Number of records n.
    least_weight : float
        w₁, the smallest weight of the iteration; at least Λ₀.
    gap : float
        R⁽ᵗ⁾(θ̂) − R(θ̂), the excess of the realised penalty over the target penalty. The
        theorem requires R⁽ᵗ⁾ >= R at the private estimate, which holds at the fixed point.
    """
    _check_size(rows, least_weight)
    length = noise_length(objective, budget, failure, share)
    return (length**2 / (2 * least_weight) + gap) / rows


def sample_complexity(
    objective: Objective,
    budget: Pure | Approx,
    excess: float,
    *,
    least_weight: float,
    penalty: float,
    constant: float,
    failure: tuple[float, float] = (0.025, 0.025),
    share: float = 0.5,
) -> float:
    """Return the number of rows for an expected excess risk of ``excess`` (Theorem 10).

    Parameters
    ----------
    objective, budget, share
        As in `noise_length`.
    excess : float
        ϱ, the tolerated excess of the expected loss, L(θ private) − L(θ⁰), per record.
    least_weight : float
        w₁, the smallest weight.
    penalty : float
        R⁽ᵗ⁾(θ⁰), the penalty at θ⁰.
    constant : float
        C′ of Lemma 9, which the paper does not specify.
    failure : (float, float)
        Probabilities π for the noise and π′ for the sample.

    Returns
    -------
    float
        The number of rows; infinite if ϱ is below C′·log(1/π′)/(4w₁), because with summed
        losses that term does not shrink with n unless the weights grow.
    """
    _check_size(1, least_weight)
    _check_chance("failure", failure[1])
    if not excess > 0:
        raise InvalidParameter("excess", "positive", excess)
    length = noise_length(objective, budget, failure[0], share)
    room = excess + constant * math.log(failure[1]) / (4 * least_weight)
    if room <= 0:
        return math.inf
    return (penalty + 2 * length**2 / (2 * least_weight)) / room


def _check_chance(name: str, value: float) -> None:
    if not 0 < value < 0.5:
        raise InvalidParameter(name, "between 0 and ½", value)


def _check_size(rows: int, least_weight: float) -> None:
    if rows < 1:
        raise InvalidParameter("rows", "at least 1", rows)
    if not least_weight > 0:
        raise InvalidParameter("least_weight", "positive", least_weight)
