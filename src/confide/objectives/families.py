"""Families of targets: the distribution of a target that plans assume.

A family belongs to a loss. It holds no data: its assumptions take the place of what could
only be read from a table that nobody has looked at.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import expit, ndtr

from confide._types import Array

NORMAL_NODES = np.linspace(-5.5, 5.5, 33)
"""Where expectations over a standard normal variable are evaluated."""


class Family(Hashable, Protocol):
    """The distribution of a target given its predictor, over the nodes of a residual.

    Examples
    --------
    The assumption of a plan is public, and is shown with its results:

    >>> from confide.objectives import Logistic
    >>> Logistic.family.assumption(1.0)
    'balanced classes of a logistic model whose log-odds have standard deviation 1'
    """

    @property
    def identity_link(self) -> bool:
        """Whether the predictor is in units of the target, which a fit maps to [−1, 1]."""
        ...

    @property
    def predictor(self) -> str:
        """Description of the predictor; empty for an identity link."""
        ...

    @property
    def trial_bound(self) -> float | None:
        """A bound on targets for trials on simulated records; None for labels."""
        ...

    @property
    def residuals(self) -> Array:
        """The nodes of the residual."""
        ...

    def assumption(self, signal: float) -> str:
        """Describe the assumption.

        Parameters
        ----------
        signal : float
            The standard deviation of the predictor.

        Returns
        -------
        str
            A part of a sentence.
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
        """Return the weight of a residual, up to a factor.

        Parameters
        ----------
        residual : array
            Nodes of the residual.
        predictor : array
            Predictors.

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
            Nodes of the residual.
        predictor : array
            Predictors.
        signal : float
            The standard deviation of the predictor.
        bound : float or None
            The largest target.

        Returns
        -------
        array
            The targets.
        """
        ...


@dataclass(frozen=True, slots=True)
class Classes:
    """Two balanced classes of a logistic model; the residual is the label."""

    identity_link: ClassVar[bool] = False
    predictor: ClassVar[str] = "log-odds"
    trial_bound: ClassVar[float | None] = None
    residuals: ClassVar[Array] = np.array([-1.0, 1.0])

    def assumption(self, signal: float) -> str:
        """Name the logistic model."""
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
    """A number with normal residuals, scaled to three standard deviations."""

    identity_link: ClassVar[bool] = True
    predictor: ClassVar[str] = ""
    trial_bound: ClassVar[float | None] = 1.0
    residuals: ClassVar[Array] = NORMAL_NODES

    def assumption(self, signal: float) -> str:
        """Name the spread of the target and what columns explain of it."""
        return (
            "a target with a standard deviation of a third of its bound (of half its "
            f"range); what columns explain varies {signal:g} times as much as the rest"
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
    """A Poisson count; the residual is the normal variable with the same quantile."""

    identity_link: ClassVar[bool] = False
    predictor: ClassVar[str] = "logarithm of the expected count"
    trial_bound: ClassVar[float | None] = 3.0
    residuals: ClassVar[Array] = NORMAL_NODES

    def assumption(self, signal: float) -> str:
        """Name the middle and the spread of the counts."""
        return (
            "counts whose expected value has a median of 1, and a logarithm with standard "
            f"deviation {signal:g}"
        )

    def bound(self, lower: float, upper: float) -> float:
        """Return the largest count: a range of counts begins at 0."""
        return upper

    def weight(self, residual: Array, predictor: Array) -> Array:
        """Return the normal density."""
        return np.exp(-(residual**2) / 2)

    def target(
        self, residual: Array, predictor: Array, signal: float, bound: float | None
    ) -> Array:
        """Return the count, at most the bound."""
        from scipy.stats import poisson

        most = math.inf if bound is None else bound
        rate = np.exp(np.minimum(predictor, math.log(most) + 3))
        return np.minimum(poisson.ppf(ndtr(residual), rate), most)
