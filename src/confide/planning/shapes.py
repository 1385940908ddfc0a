"""Shapes of columns of real tables, as a guess for unseen tables.

Seven public tables represent future ones (`docs/planning.md`): their numbers by
quantiles, their categories by the shares of their levels, their targets. A plan draws
columns from them at random, a table first and then a column of it, several times over: what
differs between draws is what is not known before a table is read.
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
"""Categories with fewer levels look like booleans."""
FINENESS = 8
"""Number of steps between two quantiles."""


@dataclass(frozen=True, slots=True)
class TargetShape:
    """A target: shares of labels or quantiles, and what the columns explain of it.

    ``spread`` is the deviation of the log-odds that explain labels, ``explained`` the share
    of the variance of a number.
    """

    shares: tuple[float, ...] = ()
    points: tuple[float, ...] = ()
    spread: float = 1.0
    explained: float = 0.0
    counts: bool = False

    def by(self, part: float) -> "TargetShape":
        """Return the target's shape when only a part of the columns explains it."""
        return replace(
            self, spread=math.sqrt(part) * self.spread, explained=part * self.explained
        )


@dataclass(frozen=True, slots=True)
class TableShapes:
    """The columns of one table.

    ``numbers`` have equally likely values, as shares of a declared range; ``levels`` the
    shares of the levels of every category, largest first; ``yes`` those of booleans.
    ``vary`` says of every number whether four in five of its values are not the same.
    """

    name: str
    numbers: tuple[Array, ...]
    levels: tuple[Array, ...]
    yes: tuple[float, ...]
    target: TargetShape

    vary: tuple[bool, ...]

    def numbers_that(self, *, vary: bool) -> list[Array]:
        """Return numbers of which four in five are not one and the same, or are."""
        pairs = zip(self.numbers, self.vary, strict=True)
        return [points for points, varies in pairs if varies is vary]

    @property
    def columns(self) -> int:
        """How many there are."""
        return len(self.numbers) + len(self.levels) + len(self.yes)


@dataclass(frozen=True, slots=True)
class Shapes:
    """A library of real tables from which columns are simulated.

    Parameters
    ----------
    tables : tuple of TableShapes
        Shapes of the columns of each table.

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
            The other tables.
        """
        return Shapes(tuple(table for table in self.tables if table.name != name))

    def number(
        self,
        ends: tuple[float, float],
        typical: tuple[float, float] | None,
        draw: Generator,
    ) -> Array:
        """Return equally likely values of a number between two ends.

        Parameters
        ----------
        ends : tuple of two floats
            The ends of the range.
        typical : tuple of two floats or None
            Typical range, to which the shape is scaled; a range of one value means that
            nearly all values are equal.
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
        """Return shares for a number of levels, in random order.

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
        """Return the shape of a target.

        Parameters
        ----------
        columns : int
            Number of columns; fewer columns than in its table explain less of a target.
        labels : bool
            Whether the target has labels.
        counts : bool
            Whether it is a count. A count may be used for a number, and vice versa.
        draw : Generator
            Source of randomness.

        Returns
        -------
        TargetShape
            The shape.
        """
        found = [table for table in self.tables if bool(table.target.shares) is labels]
        alike = [table for table in found if table.target.counts is counts]
        table = _pick([alike or found], draw)
        return table.target.by(min(1.0, columns / table.columns))


def _pick(groups: list[Any], draw: Generator) -> Any:
    """Draw a group that has entries, then one of them."""
    full = [group for group in groups if len(group)]
    group = full[int(draw.integers(len(full)))]
    return group[int(draw.integers(len(group)))]


def _finer(points: Array) -> Array:
    """Return more values between those that are there."""
    count = len(points)
    places = np.linspace(0, count - 1, FINENESS * (count - 1) + 1)
    return np.asarray(np.interp(places, np.arange(count), points))


def _varies(points: Array) -> bool:
    """Whether four in five values are not one and the same."""
    tail = (1 - TYPICAL_SHARE) / 2
    low, high = np.quantile(points, [tail, 1 - tail])
    return bool(high > low)


def _halves(table: TableShapes) -> list[float]:
    """Return the shares of one of two values: of yes, and of levels that are two."""
    return [*table.yes, *(float(one[-1]) for one in table.levels if len(one) == 2)]


def _many(table: TableShapes) -> list[Array]:
    return [one for one in table.levels if len(one) >= FEWEST_LEVELS]


@cache
def real_shapes() -> Shapes:
    """Return the library of shapes that ships with confide.

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
