"""The effect protocol, which columns and terms implement.

An effect is a column, or a term computed from columns. The features of a record depend only
on its own values and on public constants. They are bounded by construction: the features of
an effect have Euclidean norm at most 1 for every record.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from confide._types import AnyArray, Array
from confide.data.schema.columns import Column
from confide.data.schema.columns.lines import Lines

MARGIN = 1 - 2.0**-40
"""Factor slightly below 1, so that the norm of rounded features never exceeds 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Scaled values of columns by name, from which terms are computed.

    ``numbers`` lie in [−1, 1], with 0 for missing values. ``codes`` are the indices of
    levels, with −1 for values without a level.
    """

    numbers: dict[str, Array] = field(default_factory=dict)
    codes: dict[str, AnyArray] = field(default_factory=dict)


class Effect(Protocol):
    """A part of the model: a column, or a term computed from columns."""

    @property
    def coded(self) -> bool:
        """Whether the features are indicators, of which at most one is 1."""
        ...

    @property
    def name(self) -> str:
        """The name of the effect in schema files."""
        ...

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        ...

    @property
    def per(self) -> str:
        """Description of the unit of the coefficients, such as "year"."""
        ...

    def units(self) -> tuple[Array, float]:
        """Return one factor per feature and the origin, for effects in original units."""
        ...

    def lines(self) -> Lines:
        """Return the lines of the coefficient table for this effect."""
        ...

    def moments(self) -> tuple[Array, Array]:
        """Return mean and covariance of the features for uniformly distributed values."""
        ...

    def mean_squares(self) -> Array:
        """Return the mean squares of the features without computing the covariance."""
        ...


class Term(Effect, Protocol):
    """An effect that is computed from one or more columns."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns from which the term is computed."""
        ...

    def encode(self, units: Units) -> AnyArray:
        """Return one row per feature; if coded, the index of the feature that is 1."""
        ...


def constant_of(part: Any) -> Array | None:
    """Return weights for averaging the coefficients of a part, or None.

    If the features of a part sum to a constant, equal coefficients give a constant effect,
    and the weighted average of the coefficients is the constant component of the effect.
    The weights sum to 1. If the features do not sum to a constant, the result is None.
    """
    if isinstance(part, RangeTerm):
        return part.constant
    if not part.coded or len(part.features) < 2:
        return None
    return np.asarray(part.lines().intercept)


class RangeTerm:
    """A term of one numeric column: functions of the position of a value in the range."""

    __slots__ = ()
    coded: ClassVar[bool] = False

    @property
    def columns(self: Any) -> tuple[Column, ...]:
        """The column from which the term is computed."""
        return (self.column,)

    @property
    def constant(self) -> Array | None:
        """None, because the functions do not sum to a constant."""
        return None

    def units(self: Any) -> tuple[Array, float]:
        """Return factors of 1, because the functions have no unit."""
        return np.ones(len(self.features)), 0.0

    def encode(self: Any, units: Units) -> AnyArray:
        """Return the functions, evaluated at the position of every record in the range."""
        return self.basis(units.numbers[self.column.name])

    def moments(self: Any) -> tuple[Array, Array]:
        """Return mean and covariance for values uniformly distributed over the range."""
        edges = np.linspace(-1, 1, 257)
        values = self.basis((edges[1:] + edges[:-1]) / 2)
        return values.mean(axis=1), np.atleast_2d(np.cov(values, bias=True))

    def mean_squares(self: Any) -> Array:
        """Return the mean squares of the features."""
        mean, spread = self.moments()
        return np.asarray(np.diag(spread) + mean**2)
