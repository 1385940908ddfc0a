"""Logistic, squared and Poisson losses of one record, and clipped losses.

Clipping the slope makes squared and Poisson losses Lipschitz.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from confide._registry import Registry
from confide._types import AnyArray
from confide.errors import InvalidParameter, MissingPublicBound
from confide.objectives.families import Classes, Counts, Family, Numbers
from confide.objectives.loss import (
    ARITHMETIC,
    Loss,
    LossTraits,
    PublicBounds,
    Targets,
)
from confide.objectives.tabulated import EXP_ERROR, TANH_ERROR, exp_of, tanh_of_half
from confide.objectives.twofold import Twofold

LOSSES: Registry[type[Any]] = Registry("loss")
MODELS: Registry[type[Any]] = Registry("model")
"""Losses by model name; each has the ``family`` that planning needs."""


@LOSSES.register("logistic")
@MODELS.register("logistic")
@dataclass(frozen=True, slots=True)
class Logistic(LossTraits):
    """The logistic loss, log(1 + exp(−yη)) for y = ±1.

    Its largest slope is 1 and its largest curvature 1/4.

    Examples
    --------
    At a margin of 0 both labels have probability 1/2, and the loss is log 2:

    >>> import numpy as np
    >>> from confide.objectives import Logistic
    >>> loss, zero, one = Logistic(), np.zeros(1), np.ones(1)
    >>> round(float(loss.value(zero, one)[0]), 4), float(loss.slope(zero, one)[0])
    (0.6931, -0.5)
    """

    canonical: ClassVar[bool] = True
    polynomial: ClassVar[tuple[float, float] | None] = (0.25, 0.5)
    twofold_error: ClassVar[tuple[float, float]] = (TANH_ERROR / 2, 0.0)

    targets: ClassVar[Targets] = "signs"
    monotone: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    slope_of_peak_curvature: ClassVar[float] = 0.5
    family: ClassVar[Family] = Classes()

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the loss φ."""
        return np.logaddexp(0, -y * eta)

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the slope φ′ = (tanh(η/2) − y)/2, with few temporary arrays."""
        slope = 0.5 * eta
        np.tanh(slope, out=slope)
        slope -= y
        slope *= 0.5
        return slope

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return the slope φ′ in double-double precision."""
        return (tanh_of_half(eta) - y).scaled(0.5)

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the curvature φ″ = p(1 − p)."""
        chance = np.abs(self.slope(eta, y))
        return chance * (1 - chance)

    def curvature_from_slope(self, slope: AnyArray, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the curvature φ″ = |φ′|(1 − |φ′|), without computing an exponential."""
        size = np.abs(slope)
        return size - size * size

    def steepest_slope(self, public: PublicBounds, margin: float) -> float:
        """Return the slope for y = −1 at the largest margin, rounded up."""
        return float(expit(margin)) * (1 + 1e-12)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return the margin at which the slope has the given value."""
        chance = slope + (y > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            margin = np.log(chance) - np.log1p(-chance)
        below, above = chance <= 0, chance >= 1
        return np.where(below, -np.inf, np.where(above, np.inf, margin))

    def slope_bound(self, public: PublicBounds) -> float:
        """Return A = 1, the largest absolute slope."""
        return 1.0

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return κ(a) = a(1 − a), because the slope determines the curvature."""
        return slope * (1 - slope)


@LOSSES.register("squared")
@MODELS.register("linear")
@dataclass(frozen=True, slots=True)
class Squared(LossTraits):
    r"""The squared loss, (η − y)²/2, for targets with \|y\| <= B.

    Its slope is unbounded unless the coefficients are bounded or the slope is clipped (see
    `Clipped`).

    Examples
    --------
    The largest residual is the sum of the largest margin, 2, and the largest target, 1:

    >>> from confide.objectives import PublicBounds, Squared
    >>> Squared().slope_bound(PublicBounds(row_norm=1.0, coef_norm=2.0, target_bound=1.0))
    3.0
    """

    quadratic: ClassVar[bool] = True
    polynomial: ClassVar[tuple[float, float] | None] = (1.0, 1.0)
    twofold_error: ClassVar[tuple[float, float]] = ARITHMETIC

    targets: ClassVar[Targets] = "numbers"
    monotone: ClassVar[bool] = False
    smooth: ClassVar[bool] = True
    slope_of_peak_curvature: ClassVar[float] = math.inf
    family: ClassVar[Family] = Numbers()

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the loss φ."""
        return (eta - y) ** 2 / 2

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the slope φ′."""
        return eta - y

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return the slope φ′ in double-double precision."""
        return eta - y

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the curvature φ″."""
        return np.ones_like(eta)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return the margin at which the slope has the given value."""
        return y + slope

    def extreme_targets(self, bound: float) -> AnyArray | None:
        """Return the ends of the range of the target."""
        return np.array([-bound, bound])

    def slope_bound(self, public: PublicBounds) -> float:
        """Return A = RX + O + B, or raise an error if R or B is not declared."""
        bound = target_bound(public, "squared")
        if not math.isfinite(public.margin_bound):
            raise MissingPublicBound(
                "the squared loss has a bounded slope only if the coefficients are "
                "bounded: constrain them (coef_norm) or clip the slope (slope_bound)."
            )
        return public.margin_bound + bound

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return κ = 1 for every slope."""
        return np.full_like(slope, 1.0)


@LOSSES.register("poisson")
@MODELS.register("poisson")
@dataclass(frozen=True, slots=True)
class Poisson(LossTraits):
    """The Poisson loss, exp(η) − yη, for counts with 0 <= y <= B.

    Its slope is unbounded unless the coefficients are bounded or the slope is clipped (see
    `Clipped`).

    Examples
    --------
    Its slope is 0 where the expected count exp(η) equals the count:

    >>> import numpy as np
    >>> from confide.objectives import Poisson
    >>> slope = Poisson().slope(np.log(np.array([2.0, 3.0])), np.array([2.0, 2.0]))
    >>> [round(float(value), 6) for value in slope]
    [0.0, 1.0]
    """

    canonical: ClassVar[bool] = True
    twofold_error: ClassVar[tuple[float, float]] = (EXP_ERROR, 0.0)

    targets: ClassVar[Targets] = "counts"
    monotone: ClassVar[bool] = False
    smooth: ClassVar[bool] = True
    slope_of_peak_curvature: ClassVar[float] = math.inf
    family: ClassVar[Family] = Counts()

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the loss φ."""
        return np.exp(eta) - y * eta

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the slope φ′."""
        return np.exp(eta) - y

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return the slope φ′ in double-double precision."""
        return exp_of(eta) - y

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the curvature φ″."""
        return np.exp(eta)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return the margin at which the slope has the given value."""
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(slope + y, 0))

    def margin_reach(self, lowest: float, highest: float) -> float:
        """Return ``highest``, but at least 0: low margins do not affect the bounds."""
        return max(highest, 0.0)

    def extreme_targets(self, bound: float) -> AnyArray | None:
        """Return the ends of the range of the target."""
        return np.array([0.0, bound])

    def slope_bound(self, public: PublicBounds) -> float:
        """Return A = max(e^{RX + O}, B), or raise an error if R or B is not declared."""
        bound = target_bound(public, "Poisson")
        if not math.isfinite(public.margin_bound):
            raise MissingPublicBound(
                "the Poisson loss has a bounded slope only if the coefficients are "
                "bounded: constrain them (coef_norm) or clip the slope (slope_bound)."
            )
        return max(_exp(public.margin_bound), bound)

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return κ(a) = a + B, but at most e^{RX + O}."""
        bound = target_bound(public, "Poisson")
        return np.minimum(slope + bound, _exp(public.margin_bound))


def curvature_bound(loss: Loss, public: PublicBounds) -> float:
    """Return the largest curvature of a loss over all records.

    Parameters
    ----------
    loss : Loss
        The loss.
    public : PublicBounds
        Bounds on rows, coefficients and targets.

    Returns
    -------
    float
        The largest κ(a) over slopes a from 0 to the slope bound A.

    Examples
    --------
    >>> from confide.objectives import Logistic, PublicBounds, curvature_bound
    >>> curvature_bound(Logistic(), PublicBounds(row_norm=1.0))
    0.25
    """
    widest = min(loss.slope_bound(public), loss.slope_of_peak_curvature)
    return float(loss.max_curvature(np.array([widest]), public)[0])


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent < 709 else math.inf


def target_bound(public: PublicBounds, loss: str) -> float:
    """Return the bound B on the target, or raise an error if it is not declared."""
    if public.target_bound is None:
        raise MissingPublicBound(
            f"the {loss} loss needs a public bound on the target: set target_bound "
            "(or declare it in the schema)."
        )
    return public.target_bound


def is_logistic(loss: Loss) -> bool:
    """Return whether a loss is the unclipped logistic loss, which has its own theorems.

    Parameters
    ----------
    loss : Loss
        The loss.

    Returns
    -------
    bool
        True for `Logistic`.

    Examples
    --------
    >>> from confide.objectives import Clipped, Logistic, is_logistic
    >>> is_logistic(Logistic()), is_logistic(Clipped(Logistic(), 0.5))
    (True, False)
    """
    return isinstance(loss, Logistic)


USUAL_CLIP = 0.5
"""The default clipping bound on slopes in linear regression, for targets in [−1, 1]. Most
residuals are smaller than this, and the noise is half as large as with a bound of 1."""


@dataclass(frozen=True, slots=True)
class Clipped(LossTraits):
    """A loss whose slope is clipped to ±bound; it is convex and Lipschitz.

    Parameters
    ----------
    loss : Loss
        The loss to clip, such as `Squared`.
    bound : float
        The largest absolute slope. A smaller bound needs less noise, and gives less weight
        to records with large residuals (the clipped squared loss is Huber's loss).

    Raises
    ------
    InvalidParameter
        If the bound is not positive and finite.

    Examples
    --------
    The slope at a residual of 3 is clipped to 0.5:

    >>> import numpy as np
    >>> from confide.objectives import Clipped, Squared
    >>> Clipped(Squared(), bound=0.5).slope(np.array([0.25, 3.0]), np.zeros(2))
    array([0.25, 0.5 ])
    """

    loss: Loss
    bound: float

    def __post_init__(self) -> None:
        if not 0 < self.bound < math.inf:
            raise InvalidParameter("slope_bound", "positive and finite", self.bound)

    @property
    def targets(self) -> Targets:
        """The type of target of the unclipped loss."""
        return self.loss.targets

    @property
    def monotone(self) -> bool:
        """Whether the slope of the unclipped loss has the same sign at all margins."""
        return self.loss.monotone

    @property
    def smooth(self) -> bool:
        """Whether the slope of the unclipped loss is Lipschitz."""
        return self.loss.smooth

    @property
    def slope_of_peak_curvature(self) -> float:
        """The slope at which κ of the unclipped loss is largest."""
        return self.loss.slope_of_peak_curvature

    @property
    def polynomial(self) -> tuple[float, float] | None:  # type: ignore[override]
        """The polynomial of the unclipped loss if it is squared, and None otherwise.

        Mechanisms that use the polynomial release moments, which clipping does not affect.
        """
        return self.loss.polynomial if is_squared(self.loss) else None

    def margin_reach(self, lowest: float, highest: float) -> float:
        """Return the half-width of the symmetric range for the unclipped loss."""
        return self.loss.margin_reach(lowest, highest)

    def extreme_targets(self, bound: float) -> AnyArray | None:
        """Return the extreme targets of the unclipped loss; None for a Poisson loss."""
        return None if self.loss.targets == "counts" else self.loss.extreme_targets(bound)

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the loss φ, extended by tangent lines where the slope is clipped."""
        cut = np.full_like(np.asarray(eta), self.bound)
        inside = np.clip(
            eta, self.loss.inverse_slope(-cut, y), self.loss.inverse_slope(cut, y)
        )
        beyond = eta - inside
        return self.loss.value(inside, y) + self.bound * np.abs(beyond)

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the slope φ′."""
        with np.errstate(over="ignore"):
            return np.clip(self.loss.slope(eta, y), -self.bound, self.bound)

    @property
    def twofold_error(self) -> tuple[float, float]:  # type: ignore[override]
        """The error bounds of `twofold_slope` for the unclipped loss."""
        return self.loss.twofold_error

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return the slope φ′ in double-double precision."""
        return self.loss.twofold_slope(eta, y).clip(-self.bound, self.bound)

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the curvature φ″, which is 0 where the slope is clipped."""
        with np.errstate(over="ignore"):
            inside = np.abs(self.loss.slope(eta, y)) <= self.bound
            return np.where(inside, self.loss.curvature(eta, y), 0)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return the margin at which the slope has the given value."""
        margin = self.loss.inverse_slope(slope, y)
        outside = np.copysign(np.inf, slope)
        return np.where(np.abs(slope) > self.bound, outside, margin)

    def slope_bound(self, public: PublicBounds) -> float:
        """Return the smaller of the clipping bound and the unclipped loss's slope bound."""
        if self.loss.targets == "counts":
            target_bound(public, "Poisson")
        try:
            return min(self.bound, self.loss.slope_bound(public))
        except MissingPublicBound:
            return self.bound

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return κ of the unclipped loss, for slopes up to the bound."""
        return self.loss.max_curvature(slope, public)


def is_clipped(loss: Loss) -> bool:
    """Return whether a loss is clipped, so that its slope is bounded for every target.

    Parameters
    ----------
    loss : Loss
        The loss.

    Returns
    -------
    bool
        True for `Clipped`.

    Examples
    --------
    >>> from confide.objectives import Clipped, Squared, is_clipped
    >>> is_clipped(Clipped(Squared(), 0.5)), is_clipped(Squared())
    (True, False)
    """
    return isinstance(loss, Clipped)


def is_squared(loss: Loss) -> bool:
    """Return whether a loss is the squared loss, clipped or not.

    Parameters
    ----------
    loss : Loss
        The loss.

    Returns
    -------
    bool
        True for `Squared`, and for `Clipped` if it clips a squared loss.

    Examples
    --------
    >>> from confide.objectives import Clipped, Squared, is_squared
    >>> is_squared(Squared()), is_squared(Clipped(Squared(), 0.5))
    (True, True)
    """
    return isinstance(loss.loss if isinstance(loss, Clipped) else loss, Squared)
