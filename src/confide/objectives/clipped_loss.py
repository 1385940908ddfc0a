"""Cutting off the slope of a loss: what makes squared and Poisson losses Lipschitz."""

import math
from dataclasses import dataclass

import numpy as np

from confide._types import AnyArray
from confide.errors import InvalidParameter, MissingPublicBound
from confide.objectives.losses import (
    Loss,
    LossTraits,
    PublicBounds,
    Squared,
    Targets,
    target_bound,
)
from confide.objectives.twofold import Twofold

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
