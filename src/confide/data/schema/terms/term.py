"""The protocol of an effect: what a design, a summary and a plan ask of a term or column.

A column by itself is an effect. So is a term, which is made of one record's cells and of
public constants alone. Its features are bounded by construction: no row of them is longer
than 1, whatever the cells hold.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from confide._types import AnyArray, Array
from confide.data.schema.columns import Column
from confide.data.schema.columns.lines import Lines

MARGIN = 1 - 2.0**-40
"""Margin of bases below length 1: rounding never makes a row longer."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Cells of some rows, by the names of their columns.

    ``numbers`` lie in [−1, 1], 0 where they are missing; ``codes`` are the places of
    levels, −1 for none.
    """

    numbers: dict[str, Array] = field(default_factory=dict)
    codes: dict[str, AnyArray] = field(default_factory=dict)


class Effect(Protocol):
    """A part of the model: a column, or a term made of columns."""

    @property
    def coded(self) -> bool:
        """Whether at most one of its features is set."""
        ...

    @property
    def name(self) -> str:
        """What a schema file calls it."""
        ...

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the numbers it becomes."""
        ...

    @property
    def per(self) -> str:
        """The unit of its coefficients, in words."""
        ...

    def units(self) -> tuple[Array, float]:
        """Return what turns coefficients back: a factor per feature, and an origin."""
        ...

    def lines(self) -> Lines:
        """Return how its coefficients are shown."""
        ...

    def moments(self) -> tuple[Array, Array]:
        """Return mean and covariance of the features, for values spread evenly."""
        ...

    def mean_squares(self) -> Array:
        """Return the mean squares that `moments` imply, without their covariance."""
        ...


class Term(Effect, Protocol):
    """An effect that is made of columns."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns it is made of."""
        ...

    def encode(self, units: Units) -> AnyArray:
        """Return its features, a line for each; of a coded one the place that is set."""
        ...


def constant_of(part: Any) -> Array | None:
    """Return weights with which coefficients of a part average to its constant.

    Where a part can be the same for every row, all its coefficients are equal. None for a
    part that cannot be.
    """
    if isinstance(part, RangeTerm):
        return part.constant
    if not part.coded or len(part.features) < 2:
        return None
    return np.asarray(part.lines().intercept)


class RangeTerm:
    """A term of one column of numbers: some functions of its place in the range."""

    __slots__ = ()
    coded: ClassVar[bool] = False

    @property
    def columns(self: Any) -> tuple[Column, ...]:
        """The column it is made of."""
        return (self.column,)

    @property
    def constant(self) -> Array | None:
        """None: its functions cannot add up to a constant."""
        return None

    def units(self: Any) -> tuple[Array, float]:
        """Return ones: its functions have no unit."""
        return np.ones(len(self.features)), 0.0

    def encode(self: Any, units: Units) -> AnyArray:
        """Return the functions at every row's place."""
        return self.basis(units.numbers[self.column.name])

    def moments(self: Any) -> tuple[Array, Array]:
        """Return mean and covariance for values spread evenly over the range."""
        edges = np.linspace(-1, 1, 257)
        values = self.basis((edges[1:] + edges[:-1]) / 2)
        return values.mean(axis=1), np.atleast_2d(np.cov(values, bias=True))

    def mean_squares(self: Any) -> Array:
        """Return the mean squares of the features."""
        mean, spread = self.moments()
        return np.asarray(np.diag(spread) + mean**2)
