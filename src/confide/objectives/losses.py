"""Losses of one record, φ(η, y) with η = ⟨x, θ⟩, that know their own constants.

Every constant is a supremum over the public bounds, never a statistic of the data:

slope_bound              A, the largest |φ′|
max_curvature(a)         κ(a), the largest φ″ among points with |φ′| = a; concave in a
slope_of_peak_curvature  the slope where κ peaks, infinite where κ never falls
monotone                 whether the slope keeps its sign for a fixed label
smooth                   whether φ′ is Lipschitz, so that a curvature exists
canonical                whether φ″ is the variance of φ′ under the loss's own model

``inverse_slope(slope, y)`` inverts the slope; clipping uses it.

Cutting off the slope makes squared and Poisson losses Lipschitz.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from scipy.special import expit

from confide._registry import Registry
from confide._types import AnyArray
from confide.errors import InvalidParameter, MissingPublicBound
from confide.objectives.families import Classes, Counts, Family, Numbers
from confide.objectives.tabulated import EXP_ERROR, TANH_ERROR, exp_of, tanh_of_half
from confide.objectives.twofold import TWOFOLD_UNIT, Twofold

Targets: TypeAlias = Literal["signs", "numbers", "counts", "labels"]


@dataclass(frozen=True, slots=True)
class PublicBounds:
    """Bounds that hold for every record anybody could have.

    ``row_norm`` is the longest row with its intercept column, X where all records count
    once and X̄ where long ones count less; ``coef_norm`` is R, the radius of the
    constraint set (infinite without one); ``target_bound`` is B; ``offset_bound`` is O, the
    largest offset that a margin may have beside ⟨x, θ⟩.
    """

    row_norm: float
    coef_norm: float = math.inf
    target_bound: float | None = None
    offset_bound: float = 0.0

    @property
    def margin_bound(self) -> float:
        """The largest |⟨x, θ⟩|, and the offset."""
        return self.row_norm * self.coef_norm + self.offset_bound


class Loss(Protocol):
    """A convex function of the margin for every label."""

    @property
    def targets(self) -> Targets:
        """What labels it takes."""
        ...

    @property
    def monotone(self) -> bool:
        """Whether the slope keeps its sign for a fixed label."""
        ...

    @property
    def smooth(self) -> bool:
        """Whether the slope is Lipschitz."""
        ...

    @property
    def slope_of_peak_curvature(self) -> float:
        """The slope where κ peaks."""
        ...

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ."""
        ...

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ′ (some subgradient where there is a kink)."""
        ...

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ″ (one side of a jump)."""
        ...

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return a margin where the slope has this value, ±inf where it never has."""
        ...

    @property
    def quadratic(self) -> bool:
        """Whether φ is a polynomial of degree two in the margin."""
        ...

    @property
    def canonical(self) -> bool:
        """Whether φ″ is the variance of φ′ under the loss's own model."""
        ...

    @property
    def polynomial(self) -> tuple[float, float] | None:
        """κ and q of ½κη² − qyη where that is φ, or Taylor's polynomial of it, at 0."""
        ...

    def slope_bound(self, public: PublicBounds) -> float:
        """Return A."""
        ...

    def curvature_from_slope(self, slope: AnyArray, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ″ where φ′ is known already."""
        ...

    def steepest_slope(self, public: PublicBounds, margin: float) -> float:
        """Return the largest |φ′| over margins up to a bound."""
        ...

    def margin_reach(self, lowest: float, highest: float) -> float:
        """Return the size of margins that matter, of those from lowest to highest."""
        ...

    def extreme_targets(self, bound: float) -> AnyArray | None:
        """Return the targets where φ varies most; None where nobody knows them."""
        ...

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return κ for slopes in [0, A]."""
        ...

    @property
    def twofold_error(self) -> tuple[float, float]:
        """What `twofold_slope` may lose of the numbers that enter, and of a margin."""
        ...

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return φ′ beyond doubles."""
        ...


EXTENDED_UNIT = float(np.finfo(np.longdouble).eps) / 2
ARITHMETIC = (16 * TWOFOLD_UNIT, 2 * TWOFOLD_UNIT)
"""What slopes lose that need nothing but arithmetic."""


class LossTraits:
    """What most losses have in common; a loss overrides what it knows better."""

    __slots__ = ()

    quadratic: ClassVar[bool] = False
    canonical: ClassVar[bool] = False
    polynomial: ClassVar[tuple[float, float] | None] = None
    twofold_error: ClassVar[tuple[float, float]] = (4 * EXTENDED_UNIT, EXTENDED_UNIT)

    def twofold_slope(self: "Loss", eta: Twofold, y: AnyArray) -> Twofold:
        """Return φ′ beyond doubles, as far as the extended format goes."""
        slope = self.slope(eta.high.astype(np.longdouble) + eta.low, y)
        high = slope.astype(np.float64)
        return Twofold(high, (slope - high).astype(np.float64))

    def curvature_from_slope(
        self: "Loss", slope: AnyArray, eta: AnyArray, y: AnyArray
    ) -> AnyArray:
        """Return φ″ where φ′ is known already."""
        return self.curvature(eta, y)

    def steepest_slope(self: "Loss", public: PublicBounds, margin: float) -> float:
        """Return the largest |φ′| over margins up to a bound."""
        return self.slope_bound(public)

    def margin_reach(self: "Loss", lowest: float, highest: float) -> float:
        """Return the size of margins that matter, of those from lowest to highest."""
        return max(-lowest, highest)

    def extreme_targets(self: "Loss", bound: float) -> AnyArray | None:
        """Return the targets where φ varies most; None where nobody knows them."""
        return np.array([-1.0, 1.0]) if self.targets == "signs" else None


LOSSES: Registry[type[Any]] = Registry("loss")
MODELS: Registry[type[Any]] = Registry("model")
"""Losses by the model that minimises them; each has the ``family`` that a plan needs."""


@LOSSES.register("logistic")
@MODELS.register("logistic")
@dataclass(frozen=True, slots=True)
class Logistic(LossTraits):
    """log(1 + exp(−yη)) for y = ±1."""

    canonical: ClassVar[bool] = True
    polynomial: ClassVar[tuple[float, float] | None] = (0.25, 0.5)
    twofold_error: ClassVar[tuple[float, float]] = (TANH_ERROR / 2, 0.0)

    targets: ClassVar[Targets] = "signs"
    monotone: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    slope_of_peak_curvature: ClassVar[float] = 0.5
    family: ClassVar[Family] = Classes()

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ."""
        return np.logaddexp(0, -y * eta)

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ′ = (tanh(η/2) − y)/2, in few passes over the block."""
        slope = 0.5 * eta
        np.tanh(slope, out=slope)
        slope -= y
        slope *= 0.5
        return slope

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return φ′ beyond doubles."""
        return (tanh_of_half(eta) - y).scaled(0.5)

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ″ = p(1 − p)."""
        chance = np.abs(self.slope(eta, y))
        return chance * (1 - chance)

    def curvature_from_slope(self, slope: AnyArray, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ″ = |φ′|(1 − |φ′|), which spares an exponential."""
        size = np.abs(slope)
        return size - size * size

    def steepest_slope(self, public: PublicBounds, margin: float) -> float:
        """Return the chance of the other label at the largest margin."""
        return float(expit(margin)) * (1 + 1e-12)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return the margin where the slope has this value."""
        chance = slope + (y > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            margin = np.log(chance) - np.log1p(-chance)
        below, above = chance <= 0, chance >= 1
        return np.where(below, -np.inf, np.where(above, np.inf, margin))

    def slope_bound(self, public: PublicBounds) -> float:
        """Return A = 1."""
        return 1.0

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return κ(a) = a(1 − a): large slope and large curvature exclude each other."""
        return slope * (1 - slope)


@LOSSES.register("squared")
@MODELS.register("linear")
@dataclass(frozen=True, slots=True)
class Squared(LossTraits):
    """(η − y)²/2 for |y| <= B."""

    quadratic: ClassVar[bool] = True
    polynomial: ClassVar[tuple[float, float] | None] = (1.0, 1.0)
    twofold_error: ClassVar[tuple[float, float]] = ARITHMETIC

    targets: ClassVar[Targets] = "numbers"
    monotone: ClassVar[bool] = False
    smooth: ClassVar[bool] = True
    slope_of_peak_curvature: ClassVar[float] = math.inf
    family: ClassVar[Family] = Numbers()

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ."""
        return (eta - y) ** 2 / 2

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ′."""
        return eta - y

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return φ′ beyond doubles."""
        return eta - y

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ″."""
        return np.ones_like(eta)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return the margin where the slope has this value."""
        return y + slope

    def extreme_targets(self, bound: float) -> AnyArray | None:
        """Return the ends of the target's range."""
        return np.array([-bound, bound])

    def slope_bound(self, public: PublicBounds) -> float:
        """Return A = RX + B, if R and B are declared."""
        bound = target_bound(public, "squared")
        if not math.isfinite(public.margin_bound):
            raise MissingPublicBound(
                "the squared loss has a bounded slope only where the coefficients are "
                "bounded: constrain them (coef_norm) or clip the slope (slope_bound)."
            )
        return public.margin_bound + bound

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return 1 whatever the slope."""
        return np.full_like(slope, 1.0)


@LOSSES.register("poisson")
@MODELS.register("poisson")
@dataclass(frozen=True, slots=True)
class Poisson(LossTraits):
    """exp(η) − yη for counts 0 <= y <= B."""

    canonical: ClassVar[bool] = True
    twofold_error: ClassVar[tuple[float, float]] = (EXP_ERROR, 0.0)

    targets: ClassVar[Targets] = "counts"
    monotone: ClassVar[bool] = False
    smooth: ClassVar[bool] = True
    slope_of_peak_curvature: ClassVar[float] = math.inf
    family: ClassVar[Family] = Counts()

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ."""
        return np.exp(eta) - y * eta

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ′."""
        return np.exp(eta) - y

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return φ′ beyond doubles."""
        return exp_of(eta) - y

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ″."""
        return np.exp(eta)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return the margin where the slope has this value."""
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(slope + y, 0))

    def margin_reach(self, lowest: float, highest: float) -> float:
        """Return the highest margin: towards the lowest, slope and curvature vanish."""
        return max(highest, 0.0)

    def extreme_targets(self, bound: float) -> AnyArray | None:
        """Return the ends of the target's range."""
        return np.array([0.0, bound])

    def slope_bound(self, public: PublicBounds) -> float:
        """Return A = max(e^{RX}, B), if R and B are declared."""
        bound = target_bound(public, "Poisson")
        if not math.isfinite(public.margin_bound):
            raise MissingPublicBound(
                "the Poisson loss has a bounded slope only where the coefficients are "
                "bounded: constrain them (coef_norm) or clip the slope (slope_bound)."
            )
        return max(_exp(public.margin_bound), bound)

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return κ(a) = a + B, at most e^{RX}."""
        bound = target_bound(public, "Poisson")
        return np.minimum(slope + bound, _exp(public.margin_bound))


def curvature_bound(loss: Loss, public: PublicBounds) -> float:
    """Return the largest κ over slopes in [0, A]."""
    widest = min(loss.slope_bound(public), loss.slope_of_peak_curvature)
    return float(loss.max_curvature(np.array([widest]), public)[0])


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent < 709 else math.inf


def target_bound(public: PublicBounds, loss: str) -> float:
    """Return B, or say that nobody declared it."""
    if public.target_bound is None:
        raise MissingPublicBound(
            f"the {loss} loss needs a public bound on the target: set target_bound "
            "(or declare it in the schema)."
        )
    return public.target_bound


def is_logistic(loss: Loss) -> bool:
    """Whether a loss is the logistic one, not clipped: it has theorems of its own."""
    return isinstance(loss, Logistic)


USUAL_CLIP = 0.5
"""Where linear regression cuts slopes off, for targets in [−1, 1]: most residuals are
smaller, and noise is half of what the longest residual would need."""


@dataclass(frozen=True, slots=True)
class Clipped(LossTraits):
    """A loss whose slope is cut off at ±bound; still convex, and Lipschitz everywhere."""

    loss: Loss
    bound: float

    def __post_init__(self) -> None:
        if not 0 < self.bound < math.inf:
            raise InvalidParameter("slope_bound", "positive and finite", self.bound)

    @property
    def targets(self) -> Targets:
        """What the labels are: as the loss."""
        return self.loss.targets

    @property
    def monotone(self) -> bool:
        """Whether the slope keeps its sign: as the loss."""
        return self.loss.monotone

    @property
    def smooth(self) -> bool:
        """Whether the slope is Lipschitz: as the loss."""
        return self.loss.smooth

    @property
    def slope_of_peak_curvature(self) -> float:
        """Which slope goes with the largest curvature: as the loss."""
        return self.loss.slope_of_peak_curvature

    @property
    def polynomial(self) -> tuple[float, float] | None:  # type: ignore[override]
        """Those of the squared loss, which sums of products do not clip."""
        return self.loss.polynomial if is_squared(self.loss) else None

    def margin_reach(self, lowest: float, highest: float) -> float:
        """Return the size of margins that matter: as the loss."""
        return self.loss.margin_reach(lowest, highest)

    def extreme_targets(self, bound: float) -> AnyArray | None:
        """Return those of the loss, but for a clipped Poisson loss."""
        return None if self.loss.targets == "counts" else self.loss.extreme_targets(bound)

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ, continued by its tangent lines where the slope is cut off."""
        cut = np.full_like(np.asarray(eta), self.bound)
        inside = np.clip(
            eta, self.loss.inverse_slope(-cut, y), self.loss.inverse_slope(cut, y)
        )
        beyond = eta - inside
        return self.loss.value(inside, y) + self.bound * np.abs(beyond)

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ′."""
        with np.errstate(over="ignore"):
            return np.clip(self.loss.slope(eta, y), -self.bound, self.bound)

    @property
    def twofold_error(self) -> tuple[float, float]:  # type: ignore[override]
        """What `twofold_slope` may lose: as the loss."""
        return self.loss.twofold_error

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return φ′ beyond doubles."""
        return self.loss.twofold_slope(eta, y).clip(-self.bound, self.bound)

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return φ″: 0 where the slope is cut off."""
        with np.errstate(over="ignore"):
            inside = np.abs(self.loss.slope(eta, y)) <= self.bound
            return np.where(inside, self.loss.curvature(eta, y), 0)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return the margin where the slope has this value."""
        margin = self.loss.inverse_slope(slope, y)
        outside = np.copysign(np.inf, slope)
        return np.where(np.abs(slope) > self.bound, outside, margin)

    def slope_bound(self, public: PublicBounds) -> float:
        """Return the bound, or the loss's own where that is smaller."""
        if self.loss.targets == "counts":
            target_bound(public, "Poisson")
        try:
            return min(self.bound, self.loss.slope_bound(public))
        except MissingPublicBound:
            return self.bound

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return κ of the loss, for slopes up to the bound."""
        return self.loss.max_curvature(slope, public)


def is_clipped(loss: Loss) -> bool:
    """Whether the slope of a loss is bounded by itself, whatever the target is."""
    return isinstance(loss, Clipped)


def is_squared(loss: Loss) -> bool:
    """Whether a loss is the squared one, its slope cut off or not."""
    return isinstance(loss.loss if isinstance(loss, Clipped) else loss, Squared)
