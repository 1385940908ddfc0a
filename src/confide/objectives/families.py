"""Families: the distributions of the target that planning assumes.

The loss of every registered model has a family. A family contains no data: a plan is made
before the table is read, so it uses assumptions in place of estimates.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import expit, ndtr

from confide._types import Array

NORMAL_NODES = np.linspace(-5.5, 5.5, 33)
"""The quadrature nodes for expectations over a standard normal variable."""


class Family(Hashable, Protocol):
    """The distribution of a target given the linear predictor, discretised over residuals.

    Examples
    --------
    The assumption of a plan is public, and is reported with its results:

    >>> from confide.objectives import Logistic
    >>> Logistic.family.assumption(1.0)
    'balanced classes of a logistic model whose log-odds have standard deviation 1'
    """

    @property
    def identity_link(self) -> bool:
        """Whether the link is the identity; the target is then scaled to [−1, 1]."""
        ...

    @property
    def predictor(self) -> str:
        """Scale of the linear predictor, such as log-odds; empty for an identity link."""
        ...

    @property
    def trial_bound(self) -> float | None:
        """The bound on simulated targets in audits; None if targets are class labels."""
        ...

    @property
    def residuals(self) -> Array:
        """The residuals over which expectations are summed."""
        ...

    def assumption(self, signal: float) -> str:
        """Describe the assumed distribution.

        Parameters
        ----------
        signal : float
            The standard deviation of the predictor.

        Returns
        -------
        str
            A noun phrase that describes the targets.
        """
        ...

    def bound(self, lower: float, upper: float) -> float:
        """Return the bound on the target that a declared range implies.

        Parameters
        ----------
        lower : float
            The lower end of the range.
        upper : float
            The upper end.

        Returns
        -------
        float
            The bound, in units of the target.
        """
        ...

    def weight(self, residual: Array, predictor: Array) -> Array:
        """Return the probability or density of residuals given linear predictors.

        Parameters
        ----------
        residual : array
            Residuals.
        predictor : array
            Linear predictors.

        Returns
        -------
        array
            The probabilities or densities, up to a constant factor.
        """
        ...

    def target(
        self, residual: Array, predictor: Array, signal: float, bound: float | None
    ) -> Array:
        """Return the targets for given residuals, in the units of the loss.

        Parameters
        ----------
        residual : array
            Residuals.
        predictor : array
            Linear predictors.
        signal : float
            The standard deviation of the predictor.
        bound : float or None
            The largest target, if there is a bound.

        Returns
        -------
        array
            The targets.
        """
        ...


@dataclass(frozen=True, slots=True)
class Classes:
    """Two balanced classes of a logistic model; the label is used as the residual."""

    identity_link: ClassVar[bool] = False
    predictor: ClassVar[str] = "log-odds"
    trial_bound: ClassVar[float | None] = None
    residuals: ClassVar[Array] = np.array([-1.0, 1.0])

    def assumption(self, signal: float) -> str:
        """Describe the logistic model."""
        return (
            "balanced classes of a logistic model whose log-odds have standard deviation "
            f"{signal:g}"
        )

    def bound(self, lower: float, upper: float) -> float:
        """Return half the width of the declared range."""
        return (upper - lower) / 2

    def weight(self, residual: Array, predictor: Array) -> Array:
        """Return the probability of each label."""
        return np.asarray(expit(residual * predictor))

    def target(
        self, residual: Array, predictor: Array, signal: float, bound: float | None
    ) -> Array:
        """Return the labels, which are the residuals."""
        return residual


@dataclass(frozen=True, slots=True)
class Numbers:
    """A numeric target with normal residuals, bounded at three standard deviations."""

    identity_link: ClassVar[bool] = True
    predictor: ClassVar[str] = ""
    trial_bound: ClassVar[float | None] = 1.0
    residuals: ClassVar[Array] = NORMAL_NODES

    def assumption(self, signal: float) -> str:
        """Describe the spread of the target and of the linear predictor."""
        return (
            "a target whose standard deviation is a third of its bound (half its range), "
            f"and a linear predictor with {signal:g} times the standard deviation of the "
            "residual"
        )

    def bound(self, lower: float, upper: float) -> float:
        """Return half the width of the declared range."""
        return (upper - lower) / 2

    def weight(self, residual: Array, predictor: Array) -> Array:
        """Return the normal density, up to a constant factor."""
        return np.exp(-(residual**2) / 2)

    def target(
        self, residual: Array, predictor: Array, signal: float, bound: float | None
    ) -> Array:
        """Return the targets, scaled and clamped to [−1, 1]."""
        return np.clip((predictor + residual) / (3 * math.hypot(signal, 1.0)), -1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Counts:
    """A Poisson count, with a standard normal residual at the same quantile level."""

    identity_link: ClassVar[bool] = False
    predictor: ClassVar[str] = "logarithm of the expected count"
    trial_bound: ClassVar[float | None] = 3.0
    residuals: ClassVar[Array] = NORMAL_NODES

    def assumption(self, signal: float) -> str:
        """Describe the median and the spread of the expected counts."""
        return (
            "counts whose expected values are log-normal, with median 1 and a standard "
            f"deviation of {signal:g} on the log scale"
        )

    def bound(self, lower: float, upper: float) -> float:
        """Return the upper end of the declared range, because counts begin at 0."""
        return upper

    def weight(self, residual: Array, predictor: Array) -> Array:
        """Return the normal density, up to a constant factor."""
        return np.exp(-(residual**2) / 2)

    def target(
        self, residual: Array, predictor: Array, signal: float, bound: float | None
    ) -> Array:
        """Return the counts, capped at the bound."""
        from scipy.stats import poisson

        most = math.inf if bound is None else bound
        rate = np.exp(np.minimum(predictor, math.log(most) + 3))
        return np.minimum(poisson.ppf(ndtr(residual), rate), most)
