"""The interface of a loss φ(η, y) of one record with margin η = ⟨x, θ⟩.

The constants of a loss hold for all records within the public bounds, and never depend on
the data:

slope_bound              A, the largest |φ′|
max_curvature(a)         κ(a), the largest φ″ among points with |φ′| = a; concave in a
slope_of_peak_curvature  the slope at which κ is largest; infinite if κ never decreases
monotone                 whether the slope has the same sign everywhere for a fixed target
smooth                   whether φ′ is Lipschitz, so that the curvature is bounded
canonical                whether φ″ is the variance of φ′ under the model of the loss

Clipping also requires ``inverse_slope(slope, y)``, a margin with the given slope.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from confide._types import AnyArray
from confide.objectives.twofold import TWOFOLD_UNIT, Twofold

Targets: TypeAlias = Literal["signs", "numbers", "counts", "labels"]


@dataclass(frozen=True, slots=True)
class PublicBounds:
    r"""Public bounds that hold for every possible record.

    Parameters
    ----------
    row_norm : float
        X, the largest Euclidean norm of a row, including the constant column. If records
        are weighted by norm, this is X̄, the largest norm before weighting.
    coef_norm : float, default infinity
        R, the largest norm of coefficients in the constraint set.
    target_bound : float or None, default None
        B, the largest \|y\|.
    offset_bound : float, default 0.0
        O, the largest absolute offset that is added to ⟨x, θ⟩.

    Examples
    --------
    Rows of norm at most 2 and coefficients of norm at most 3 give margins up to 6:

    >>> from confide.objectives import PublicBounds
    >>> PublicBounds(row_norm=2.0, coef_norm=3.0).margin_bound
    6.0
    """

    row_norm: float
    coef_norm: float = math.inf
    target_bound: float | None = None
    offset_bound: float = 0.0

    @property
    def margin_bound(self) -> float:
        r"""The largest absolute margin \|⟨x, θ⟩\|, including the offset."""
        return self.row_norm * self.coef_norm + self.offset_bound


class Loss(Protocol):
    """A loss: for every target, a convex function of the margin.

    Examples
    --------
    Every loss has the same methods, for example one that bounds its slope:

    >>> from confide.objectives import Logistic, PublicBounds, SmoothedHinge
    >>> bounds = PublicBounds(row_norm=1.0)
    >>> Logistic().slope_bound(bounds), SmoothedHinge().slope_bound(bounds)
    (1.0, 1.0)
    """

    @property
    def targets(self) -> Targets:
        """The type of target: "signs", "numbers", "counts" or "labels"."""
        ...

    @property
    def monotone(self) -> bool:
        """Whether the slope has the same sign at all margins, for a fixed label."""
        ...

    @property
    def smooth(self) -> bool:
        """Whether the slope is a Lipschitz function of the margin."""
        ...

    @property
    def slope_of_peak_curvature(self) -> float:
        """The absolute slope at which κ is largest; infinite if κ never decreases."""
        ...

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the loss φ.

        Parameters
        ----------
        eta : array
            Margins.
        y : array
            Targets.

        Returns
        -------
        array
            One loss for each record.
        """
        ...

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the slope φ′ (a subgradient at a kink).

        Parameters
        ----------
        eta : array
            Margins.
        y : array
            Targets.

        Returns
        -------
        array
            One slope for each record.
        """
        ...

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the curvature φ″ (at a jump, the value on one side).

        Parameters
        ----------
        eta : array
            Margins.
        y : array
            Targets.

        Returns
        -------
        array
            One curvature for each record.
        """
        ...

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Return a margin at which the slope has a given value, or ±inf if there is none.

        Parameters
        ----------
        slope : array
            Slopes.
        y : array
            Targets.

        Returns
        -------
        array
            One margin for each slope.
        """
        ...

    @property
    def quadratic(self) -> bool:
        """Whether φ is a polynomial of degree two in the margin."""
        ...

    @property
    def canonical(self) -> bool:
        """Whether φ″ is the variance of φ′ under the model of the loss."""
        ...

    @property
    def polynomial(self) -> tuple[float, float] | None:
        """Coefficients (κ, q) of a quadratic polynomial in η that replaces φ, or None.

        Up to a constant, φ or its second-order Taylor polynomial at 0 is ½κη² − qyη.
        """
        ...

    def slope_bound(self, public: PublicBounds) -> float:
        r"""Return A, the largest \|φ′\|.

        Parameters
        ----------
        public : PublicBounds
            Bounds on rows, coefficients and targets.

        Returns
        -------
        float
            The bound.

        Raises
        ------
        MissingPublicBound
            If a bound that is needed is not declared.
        """
        ...

    def curvature_from_slope(self, slope: AnyArray, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the curvature φ″, given the slope φ′.

        Parameters
        ----------
        slope : array
            Slopes.
        eta : array
            Margins.
        y : array
            Targets.

        Returns
        -------
        array
            One curvature for each record.
        """
        ...

    def steepest_slope(self, public: PublicBounds, margin: float) -> float:
        r"""Return the largest \|φ′\| over margins up to a bound on their absolute value.

        Parameters
        ----------
        public : PublicBounds
            Bounds on rows, coefficients and targets.
        margin : float
            The largest absolute margin.

        Returns
        -------
        float
            The largest absolute slope, rounded up.
        """
        ...

    def margin_reach(self, lowest: float, highest: float) -> float:
        """Return m such that slope and curvature bounds on [−m, m] hold on a given range.

        Parameters
        ----------
        lowest : float
            The lower end of the range of margins.
        highest : float
            The upper end of the range.

        Returns
        -------
        float
            The half-width m of the symmetric range.
        """
        ...

    def extreme_targets(self, bound: float) -> AnyArray | None:
        r"""Return the targets for which φ has the widest range of values; None if unknown.

        Parameters
        ----------
        bound : float
            The largest \|y\|.

        Returns
        -------
        array or None
            The targets.
        """
        ...

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        r"""Return κ(a), the largest φ″ among points with \|φ′\| = a.

        Parameters
        ----------
        slope : array
            Absolute slopes a, from 0 to A.
        public : PublicBounds
            Bounds on rows, coefficients and targets.

        Returns
        -------
        array
            One curvature for each slope.
        """
        ...

    @property
    def twofold_error(self) -> tuple[float, float]:
        """Two components of the error of `twofold_slope`.

        The first is relative to the terms that are added to compute the slope, and the
        second to the margin.
        """
        ...

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return the slope φ′ in double-double precision.

        Parameters
        ----------
        eta : Twofold
            Margins, as sums of two doubles.
        y : array
            Targets.

        Returns
        -------
        Twofold
            One slope for each record.
        """
        ...


EXTENDED_UNIT = float(np.finfo(np.longdouble).eps) / 2
ARITHMETIC = (16 * TWOFOLD_UNIT, 2 * TWOFOLD_UNIT)
"""The `Loss.twofold_error` of slopes that require only elementary arithmetic."""


class LossTraits:
    """Base class with defaults that most losses share; a loss can override them.

    Examples
    --------
    By default, a loss is not quadratic:

    >>> from confide.objectives import Logistic, LossTraits, Squared
    >>> LossTraits.quadratic, Logistic.quadratic, Squared.quadratic
    (False, False, True)
    """

    __slots__ = ()

    quadratic: ClassVar[bool] = False
    canonical: ClassVar[bool] = False
    polynomial: ClassVar[tuple[float, float] | None] = None
    twofold_error: ClassVar[tuple[float, float]] = (4 * EXTENDED_UNIT, EXTENDED_UNIT)

    def twofold_slope(self: "Loss", eta: Twofold, y: AnyArray) -> Twofold:
        """Return the slope φ′, computed in the extended precision of the processor."""
        slope = self.slope(eta.high.astype(np.longdouble) + eta.low, y)
        high = slope.astype(np.float64)
        return Twofold(high, (slope - high).astype(np.float64))

    def curvature_from_slope(
        self: "Loss", slope: AnyArray, eta: AnyArray, y: AnyArray
    ) -> AnyArray:
        """Return the curvature φ″ at the given margins; the slope is not used."""
        return self.curvature(eta, y)

    def steepest_slope(self: "Loss", public: PublicBounds, margin: float) -> float:
        """Return the slope bound, which holds at all margins."""
        return self.slope_bound(public)

    def margin_reach(self: "Loss", lowest: float, highest: float) -> float:
        """Return the largest absolute margin from ``lowest`` to ``highest``."""
        return max(-lowest, highest)

    def extreme_targets(self: "Loss", bound: float) -> AnyArray | None:
        """Return −1 and 1 if targets are signs, and None otherwise."""
        return np.array([-1.0, 1.0]) if self.targets == "signs" else None
