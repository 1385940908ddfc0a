"""Families: the distributions of the target that a plan assumes.

Each loss of a model has a family. A family holds no data: a plan is made before anybody
has looked at the table, so it uses assumptions in place of estimates.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import expit, ndtr

from confide._types import Array

NORMAL_NODES = np.linspace(-5.5, 5.5, 33)
"""The nodes at which expectations over a standard normal variable are evaluated."""


class Family(Hashable, Protocol):
    """The distribution of a target given the linear predictor, on a grid of residuals.

    Examples
    --------
    The assumption of a plan is public, and is reported with its results:

    >>> from confide.objectives import Logistic
    >>> Logistic.family.assumption(1.0)
    'balanced classes of a logistic model whose log-odds have standard deviation 1'
    """

    @property
    def identity_link(self) -> bool:
        """Whether the predictor has the units of the target, which is scaled to [−1, 1]."""
        ...

    @property
    def predictor(self) -> str:
        """Description of the predictor; empty for an identity link."""
        ...

    @property
    def trial_bound(self) -> float | None:
        """The bound on simulated targets in trial fits; None for labels."""
        ...

    @property
    def residuals(self) -> Array:
        """The grid of residuals."""
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
            A noun phrase.
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
        """Return the probability or density of residuals, up to a constant factor.

        Parameters
        ----------
        residual : array
            Residuals.
        predictor : array
            Linear predictors.

        Returns
        -------
        array
            The weights.
        """
        ...

    def target(
        self, residual: Array, predictor: Array, signal: float, bound: float | None
    ) -> Array:
        """Return the target, in the units of the loss.

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
        """Return half the width of the range."""
        return (upper - lower) / 2

    def weight(self, residual: Array, predictor: Array) -> Array:
        """Return the probability of the label."""
        return np.asarray(expit(residual * predictor))

    def target(
        self, residual: Array, predictor: Array, signal: float, bound: float | None
    ) -> Array:
        """Return the label."""
        return residual


@dataclass(frozen=True, slots=True)
class Numbers:
    """A numeric target with normal residuals; its bound is three standard deviations."""

    identity_link: ClassVar[bool] = True
    predictor: ClassVar[str] = ""
    trial_bound: ClassVar[float | None] = 1.0
    residuals: ClassVar[Array] = NORMAL_NODES

    def assumption(self, signal: float) -> str:
        """Describe the spread of the target and of the linear predictor."""
        return (
            "a target whose standard deviation is a third of its bound (half its range), "
            f"and a predictor that varies {signal:g} times as much as the residual"
        )

    def bound(self, lower: float, upper: float) -> float:
        """Return half the width of the range."""
        return (upper - lower) / 2

    def weight(self, residual: Array, predictor: Array) -> Array:
        """Return the normal density."""
        return np.exp(-(residual**2) / 2)

    def target(
        self, residual: Array, predictor: Array, signal: float, bound: float | None
    ) -> Array:
        """Return the number, clamped to [−1, 1]."""
        return np.clip((predictor + residual) / (3 * math.hypot(signal, 1.0)), -1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Counts:
    """A Poisson count; the residual is a normal variable at the same quantile level."""

    identity_link: ClassVar[bool] = False
    predictor: ClassVar[str] = "logarithm of the expected count"
    trial_bound: ClassVar[float | None] = 3.0
    residuals: ClassVar[Array] = NORMAL_NODES

    def assumption(self, signal: float) -> str:
        """Describe the median and the spread of the expected counts."""
        return (
            "counts whose expected value has median 1 and a logarithm with standard "
            f"deviation {signal:g}"
        )

    def bound(self, lower: float, upper: float) -> float:
        """Return the upper end: a range of counts begins at 0."""
        return upper

    def weight(self, residual: Array, predictor: Array) -> Array:
        """Return the normal density."""
        return np.exp(-(residual**2) / 2)

    def target(
        self, residual: Array, predictor: Array, signal: float, bound: float | None
    ) -> Array:
        """Return the count, capped at the bound."""
        from scipy.stats import poisson

        most = math.inf if bound is None else bound
        rate = np.exp(np.minimum(predictor, math.log(most) + 3))
        return np.minimum(poisson.ppf(ndtr(residual), rate), most)
