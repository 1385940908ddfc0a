"""The hinge loss of one record, and smooth approximations to it."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide._types import AnyArray
from confide.errors import InvalidParameter
from confide.objectives.families import Classes, Family
from confide.objectives.loss import (
    ARITHMETIC,
    Loss,
    LossTraits,
    PublicBounds,
    Targets,
)
from confide.objectives.losses import LOSSES, MODELS
from confide.objectives.twofold import Twofold


@LOSSES.register("huberized-hinge")
@MODELS.register("svm")
@dataclass(frozen=True, slots=True)
class HuberizedHinge(LossTraits):
    """The hinge loss with its kink replaced by a parabola, for y = ±1.

    Parameters
    ----------
    width : float, default 0.5
        The half-width h of the parabola, which covers yη from 1 − h to 1 + h. A larger
        width means a smaller curvature 1/(2h), hence less noise, but a loss that differs
        more from the hinge loss.

    Raises
    ------
    InvalidParameter
        If the width is not positive.

    Examples
    --------
    Outside the parabola, the loss equals the hinge loss:

    >>> import numpy as np
    >>> from confide.objectives import HuberizedHinge
    >>> HuberizedHinge(0.5).value(np.array([-1.0, 2.0]), np.ones(2))
    array([2., 0.])
    """

    width: float = 0.5
    targets: ClassVar[Targets] = "signs"
    monotone: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    slope_of_peak_curvature: ClassVar[float] = math.inf
    twofold_error: ClassVar[tuple[float, float]] = ARITHMETIC
    family: ClassVar[Family] = Classes()

    def __post_init__(self) -> None:
        if not 0 < self.width < math.inf:
            raise InvalidParameter("width", "positive", self.width)

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the loss φ."""
        short = 1 - y * eta
        inside = (self.width + np.clip(short, -self.width, self.width)) ** 2
        return inside / (4 * self.width) + np.maximum(short - self.width, 0)

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the slope φ′."""
        short = 1 - y * eta
        return -y * np.clip((short + self.width) / (2 * self.width), 0, 1)

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return the slope φ′ in double-double precision."""
        ahead = Twofold.sum_of(1.0, self.width) - eta.scaled(y)
        return (ahead / (2 * self.width)).clip(0.0, 1.0).scaled(-y)

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the curvature φ″."""
        return (np.abs(1 - y * eta) <= self.width) / (2 * self.width)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return a margin at which the slope has the given value."""
        part = -y * slope
        margin = y * (1 + self.width - 2 * self.width * part)
        return np.where(part < 0, y * np.inf, np.where(part > 1, -y * np.inf, margin))

    def slope_bound(self, public: PublicBounds) -> float:
        """Return A = 1, the largest absolute slope."""
        return 1.0

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return κ = 1/(2h) for every slope."""
        return np.full_like(slope, 1 / (2 * self.width))


@LOSSES.register("smoothed-hinge")
@dataclass(frozen=True, slots=True)
class SmoothedHinge(LossTraits):
    """The hinge loss with its kink replaced by a parabola between yη = 0 and yη = 1.

    With z = yη and y = ±1, the loss is 0 for z >= 1, (1 − z)²/2 for z between 0 and 1, and
    ½ − z for z <= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.objectives import SmoothedHinge
    >>> SmoothedHinge().value(np.array([-1.0, 0.0, 2.0]), np.ones(3))
    array([1.5, 0.5, 0. ])
    """

    targets: ClassVar[Targets] = "signs"
    monotone: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    slope_of_peak_curvature: ClassVar[float] = math.inf
    twofold_error: ClassVar[tuple[float, float]] = ARITHMETIC

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the loss φ."""
        z = y * eta
        return np.clip(1 - z, 0, 1) ** 2 / 2 + np.maximum(-z, 0)

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the slope φ′."""
        return -y * np.clip(1 - y * eta, 0, 1)

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return the slope φ′ in double-double precision."""
        return (1 - eta.scaled(y)).clip(0.0, 1.0).scaled(-y)

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the curvature φ″."""
        z = y * eta
        return ((z >= 0) & (z <= 1)).astype(np.asarray(eta).dtype)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return a margin at which the slope has the given value."""
        part = -y * slope
        return np.where(
            part < 0, y * np.inf, np.where(part > 1, -y * np.inf, y * (1 - part))
        )

    def slope_bound(self, public: PublicBounds) -> float:
        """Return A = 1, the largest absolute slope."""
        return 1.0

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return κ = 1 for every slope."""
        return np.full_like(slope, 1.0)


@LOSSES.register("hinge")
@dataclass(frozen=True, slots=True)
class Hinge(LossTraits):
    """The hinge loss, max(0, 1 − yη) for y = ±1.

    Its curvature is unbounded because of the kink, so only output perturbation and
    mechanisms that use noisy gradients accept it.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.objectives import Hinge
    >>> Hinge().value(np.array([-1.0, 0.5, 2.0]), np.ones(3))
    array([2. , 0.5, 0. ])
    """

    targets: ClassVar[Targets] = "signs"
    monotone: ClassVar[bool] = True
    smooth: ClassVar[bool] = False
    slope_of_peak_curvature: ClassVar[float] = math.inf

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the loss φ."""
        return np.maximum(1 - y * eta, 0)

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the subgradient that is 0 at the kink."""
        return -y * (y * eta < 1)

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return 0, which is the curvature away from the kink."""
        return np.zeros_like(eta)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return the margin of the kink for slopes from 0 to −y, and ±inf for others."""
        part = -y * slope
        return np.where(
            part < 0,
            y * np.inf,
            np.where(part > 1, -y * np.inf, y * np.ones_like(part)),
        )

    def slope_bound(self, public: PublicBounds) -> float:
        """Return A = 1, the largest absolute slope."""
        return 1.0

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return infinity, because the slope jumps at the kink."""
        return np.full_like(slope, np.inf)


def is_hinge(loss: Loss) -> bool:
    """Return whether a loss is the hinge loss without smoothing.

    Parameters
    ----------
    loss : Loss
        The loss.

    Returns
    -------
    bool
        True for `Hinge`.

    Examples
    --------
    >>> from confide.objectives import Hinge, HuberizedHinge, is_hinge
    >>> is_hinge(Hinge()), is_hinge(HuberizedHinge())
    (True, False)
    """
    return isinstance(loss, Hinge)


WIDE = 0.3


def wider(loss: Loss) -> Loss | None:
    """Return a smoother loss that has a similar minimiser, or None.

    Parameters
    ----------
    loss : Loss
        The loss to be minimised.

    Returns
    -------
    Loss or None
        A huberized hinge with ten times the width, if the loss is a huberized hinge with a
        width below 0.3; otherwise None.

    Examples
    --------
    >>> from confide.objectives import HuberizedHinge, Logistic, wider
    >>> wider(HuberizedHinge(0.01)), wider(Logistic())
    (HuberizedHinge(width=0.1), None)
    """
    if isinstance(loss, HuberizedHinge) and loss.width < WIDE:
        return HuberizedHinge(10 * loss.width)
    return None
