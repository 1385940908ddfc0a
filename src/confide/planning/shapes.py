"""Distributions of columns in real tables, from which plans simulate unseen tables.

Seven public tables represent future ones (`docs/planning.md`). Their numeric columns are
stored as quantiles and their categorical columns as shares of levels. Targets are stored in
the same way. To simulate a column, a plan draws one of the tables at random and then one of
its columns. All columns are simulated several times, and the variation between the
simulations represents the uncertainty about a table that has not been read.
"""

import json
import math
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from confide._types import Array
from confide.data.schema.columns.column import TYPICAL_SHARE
from confide.noise import Generator

FEWEST_LEVELS = 3
"""Categorical columns with fewer levels are simulated like boolean columns."""
FINENESS = 8
"""Number of interpolation steps between two adjacent quantiles."""


@dataclass(frozen=True, slots=True)
class TargetShape:
    """Distribution of a target, and the variance that the columns explain.

    ``shares`` are the shares of labels, ``points`` the quantiles of a numeric target.
    ``spread`` is the standard deviation over the rows of the log-odds of labels.
    ``explained`` is the share of the variance of a numeric target that the columns explain.
    ``counts`` states whether the target is a count.
    """

    shares: tuple[float, ...] = ()
    points: tuple[float, ...] = ()
    spread: float = 1.0
    explained: float = 0.0
    counts: bool = False

    def by(self, part: float) -> "TargetShape":
        """Return the distribution for a target that depends on fewer columns.

        The explained variance and the variance of the log-odds are multiplied by ``part``.
        """
        return replace(
            self, spread=math.sqrt(part) * self.spread, explained=part * self.explained
        )


@dataclass(frozen=True, slots=True)
class TableShapes:
    """Distributions of the columns of one table.

    ``numbers`` holds equally likely values of every numeric column, as fractions of its
    declared range. ``levels`` holds the shares of the levels of every categorical column,
    largest first, and ``yes`` the share of true values of every boolean column. ``vary`` is
    true for a numeric column unless the middle four fifths of its values are all equal.
    """

    name: str
    numbers: tuple[Array, ...]
    levels: tuple[Array, ...]
    yes: tuple[float, ...]
    target: TargetShape

    vary: tuple[bool, ...]

    def numbers_that(self, *, vary: bool) -> list[Array]:
        """Return the numeric columns that vary or, if ``vary`` is false, all others."""
        pairs = zip(self.numbers, self.vary, strict=True)
        return [points for points, varies in pairs if varies is vary]

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.numbers) + len(self.levels) + len(self.yes)


@dataclass(frozen=True, slots=True)
class Shapes:
    """Library of column distributions in real tables, from which columns are simulated.

    Parameters
    ----------
    tables : tuple of TableShapes
        Distributions of the columns of each table.

    Examples
    --------
    >>> from confide.planning import real_shapes
    >>> len(real_shapes().tables)
    7
    """

    tables: tuple[TableShapes, ...]

    def without(self, name: str) -> "Shapes":
        """Return the library without one table.

        Parameters
        ----------
        name : str
            Name of the table.

        Returns
        -------
        Shapes
            Library of the other tables.
        """
        return Shapes(tuple(table for table in self.tables if table.name != name))

    def number(
        self,
        ends: tuple[float, float],
        typical: tuple[float, float] | None,
        draw: Generator,
    ) -> Array:
        """Simulate a numeric column, and return its equally likely values.

        Parameters
        ----------
        ends : tuple of two floats
            The ends of the range of the column.
        typical : tuple of two floats or None
            Typical range, to which the distribution is scaled. If its two ends are equal,
            nearly all values of the column are equal.
        draw : Generator
            Source of randomness.

        Returns
        -------
        ndarray
            The values.
        """
        lower, upper = ends
        if typical is None:
            points = _pick([table.numbers for table in self.tables], draw)
            return lower + (upper - lower) * _finer(points)
        low, high = typical
        alike = [table.numbers_that(vary=low < high) for table in self.tables]
        points = _finer(_pick(alike, draw))
        if low == high:
            return np.clip(low + (upper - lower) * (points - np.median(points)), *ends)
        tail = (1 - TYPICAL_SHARE) / 2
        first, last = np.quantile(points, [tail, 1 - tail])
        values = low + (high - low) * (points - first) / (last - first)
        return np.clip(values, lower, upper)

    def levels(self, count: int, draw: Generator) -> Array:
        """Return simulated shares of levels, in random order.

        Parameters
        ----------
        count : int
            Number of levels.
        draw : Generator
            Source of randomness.

        Returns
        -------
        ndarray
            Shares that add up to 1.
        """
        if count < FEWEST_LEVELS:
            share = _pick([_halves(table) for table in self.tables], draw)
            return np.asarray([share, 1 - share][:count])
        curve = _pick([_many(table) for table in self.tables], draw)
        heights = np.concatenate([[0.0], np.cumsum(curve)])
        places = np.linspace(0, len(curve), count + 1)
        shares = np.diff(np.interp(places, np.arange(len(heights)), heights))
        return np.asarray(draw.permutation(shares))

    def target(
        self, columns: int, *, labels: bool, counts: bool, draw: Generator
    ) -> TargetShape:
        """Draw the distribution of a target from the library.

        Parameters
        ----------
        columns : int
            Number of columns. If there are fewer columns than in the drawn table, they
            explain less of the variance of the target.
        labels : bool
            Whether the target has labels.
        counts : bool
            Whether a numeric target is a count. If the library has no count, another
            numeric target is drawn, and vice versa.
        draw : Generator
            Source of randomness.

        Returns
        -------
        TargetShape
            The distribution, and the variance that the columns explain.
        """
        found = [table for table in self.tables if bool(table.target.shares) is labels]
        alike = [table for table in found if table.target.counts is counts]
        table = _pick([alike or found], draw)
        return table.target.by(min(1.0, columns / table.columns))


def _pick(groups: list[Any], draw: Generator) -> Any:
    """Draw a group that is not empty, then one of its entries."""
    full = [group for group in groups if len(group)]
    group = full[int(draw.integers(len(full)))]
    return group[int(draw.integers(len(group)))]


def _finer(points: Array) -> Array:
    """Insert interpolated values between adjacent values."""
    count = len(points)
    places = np.linspace(0, count - 1, FINENESS * (count - 1) + 1)
    return np.asarray(np.interp(places, np.arange(count), points))


def _varies(points: Array) -> bool:
    """Return whether the middle four fifths of the values are not all equal."""
    tail = (1 - TYPICAL_SHARE) / 2
    low, high = np.quantile(points, [tail, 1 - tail])
    return bool(high > low)


def _halves(table: TableShapes) -> list[float]:
    """Return the share of one value in every boolean or two-level column."""
    return [*table.yes, *(float(one[-1]) for one in table.levels if len(one) == 2)]


def _many(table: TableShapes) -> list[Array]:
    return [one for one in table.levels if len(one) >= FEWEST_LEVELS]


@cache
def real_shapes() -> Shapes:
    """Return the library of column distributions that ships with confide.

    Returns
    -------
    Shapes
        Quantiles and shares of levels of seven public tables.

    Examples
    --------
    >>> from confide.planning import real_shapes
    >>> len(real_shapes().tables)
    7
    """
    text = files("confide.planning").joinpath("shapes.json").read_text("utf-8")
    return Shapes(tuple(_table(*item) for item in json.loads(text).items()))


def _table(name: str, entry: dict[str, Any]) -> TableShapes:
    numbers = tuple(np.array(points) for points in entry["numbers"].values())
    return TableShapes(
        name,
        numbers,
        tuple(np.array(shares) for shares in entry["levels"].values()),
        tuple(entry["yes"].values()),
        _target_shape(entry["target"]),
        tuple(map(_varies, numbers)),
    )


def _target_shape(entry: dict[str, Any]) -> TargetShape:
    return TargetShape(
        tuple(entry.get("shares", ())),
        tuple(entry.get("points", ())),
        entry.get("spread", 1.0),
        entry.get("explained", 0.0),
        entry.get("counts", False),
    )
