"""Expected error and interval width of a line of a model summary, or of a column."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from confide._types import Array

SELDOM = 0.5
"""A width is reported if at least this share of the simulated tables has an interval."""


@dataclass(frozen=True, slots=True)
class LinePlan:
    """Expected error and interval width of one line of a model summary, or of a column.

    The values for a column are medians over its lines.

    If the fit releases no intervals, all widths are NaN.

    Parameters
    ----------
    name : str
        Name of the line or column.
    per : str
        Unit of the effect.
    effect : float
        Size of a typical effect: the median absolute effect in the simulated tables.
    error : float
        Root mean square error of the released estimate, including bias.
    width : float
        Likely width of the interval: the median over the simulated tables.
    narrow : float
        Lower quartile of the width.
    wide : float
        Upper quartile of the width.
    identified : float
        Share of the simulated tables in which there is an interval. The median and the
        quartiles of the width are taken over these tables.
    widths : tuple of float, default=()
        Width in each simulated table.

    Examples
    --------
    >>> from confide import Approx, LogisticRegression, Number, Schema, Target
    >>> from confide.planning import plan_fit
    >>> schema = Schema((Number("age", 18, 90),), Target("ill", labels=("no", "yes")))
    >>> model = LogisticRegression(Approx(1, 1e-6), schema=schema, intervals=True)
    >>> line = plan_fit(model, rows=20_000).line("age")
    >>> line.narrow <= line.width <= line.wide
    True
    """

    name: str
    per: str
    effect: float
    error: float
    width: float
    narrow: float
    wide: float
    identified: float
    widths: tuple[float, ...] = field(default=(), repr=False, compare=False)

    def narrower(self, width: float) -> float:
        """Return the share of simulated tables with an interval at most this wide.

        Parameters
        ----------
        width : float
            The width.

        Returns
        -------
        float
            The share, from 0 to 1.
        """
        return float(np.mean([one <= width for one in self.widths]))

    @property
    def ratio(self) -> float:
        """The error as a multiple of the typical effect."""
        return self.error / self.effect if self.effect else math.inf


def places_of(column: Any, names: tuple[str, ...]) -> list[int]:
    """Return the indices in ``names`` of the summary lines of a column, for all classes."""
    shown = () if column.coded else column.lines().names
    own = {*column.features, *shown}
    return [j for j, name in enumerate(names) if name in own or name.split(": ")[-1] in own]


def column_plan(
    column: Any, places: list[int], effects: Array, errors: Array, widths: Array
) -> LinePlan:
    """Summarise the lines of a column by medians of their effects, errors and widths."""
    middle = median_of_known(widths[:, places], axis=1)
    effect, error = np.median(effects[places]), np.median(errors[places])
    known = float(np.mean(np.isfinite(widths[:, places])))
    return replace(
        line_plan(column.name, column.per, effect, error, middle), identified=known
    )


def line_plan(name: str, per: str, effect: float, error: float, widths: Array) -> LinePlan:
    """Summarise one line by the median and quartiles of its finite widths."""
    finite = np.isfinite(widths)
    known = float(np.mean(finite))
    quartiles = [math.nan] * 3
    if known >= SELDOM:
        quartiles = np.quantile(widths[finite], [0.25, 0.5, 0.75]).tolist()
    narrow, width, wide = quartiles
    each = tuple(widths.tolist())
    return LinePlan(
        name, per, float(effect), float(error), width, narrow, wide, known, each
    )


def median_of_known(values: Array, axis: int) -> Array:
    """Return medians in which missing values are treated as infinite.

    A median is NaN if more than half of its values are missing.
    """
    known = np.isfinite(values).mean(axis=axis) >= SELDOM
    safe = np.where(np.isfinite(values), values, np.inf)
    return np.where(known, np.median(safe, axis=axis), np.nan)
