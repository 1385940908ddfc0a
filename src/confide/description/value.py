"""Descriptions: estimates with intervals, their guarantee, and a schema for later fits."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from confide.accounting import Event
from confide.data import Schema
from confide.description.estimates import LevelFigures, NumberFigures, PairFigures
from confide.description.intervals import IntervalEstimate
from confide.description.page import description_page, notebook_table
from confide.description.text import description_text
from confide.mechanisms.release import NoiseRecord
from confide.privacy import Guarantee
from confide.reporting import guarantee_record

FRAME_COLUMNS = ("column", "statistic", "of", "estimate", "lower", "upper")


@dataclass(frozen=True, slots=True)
class Line:
    """One estimate of a description; ``of`` names its level, bin or quantile."""

    column: str
    statistic: str
    of: str
    estimate: IntervalEstimate


@dataclass(frozen=True, slots=True)
class Description:
    """Privately released descriptive statistics of a table, without data.

    Use `describe` to create a description.

    Parameters
    ----------
    schema : Schema
        The schema with the estimated ranges, and with typical values for plans. Later fits
        and plans can use this schema at no further cost.
    guarantee : Guarantee
        Guarantee of the release.
    events : tuple of Event
        Privacy events of the release, for a ledger.
    noise : NoiseRecord
        The noise on every count.
    level : float
        Confidence level of each interval.
    rows : IntervalEstimate
        The number of rows.
    figures : tuple of LevelFigures or NumberFigures
        Estimates for each column.
    pairs : tuple of PairFigures, default=()
        Two-way tables.
    ranges : tuple of str, default=()
        Columns whose ranges were estimated.
    hidden : tuple of str, default=()
        Columns whose range could not be estimated because of the noise.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from confide import Boolean, Pure, Schema, Target, describe
    >>> table = pd.DataFrame({"smoker": np.arange(4000) % 5 == 0, "ill": "no"})
    >>> schema = Schema((Boolean("smoker"),), Target("ill", labels=("no", "yes")))
    >>> found = describe(table, schema, Pure(1), random_state=0)
    >>> list(found.to_frame().columns)[:3]
    ['column', 'statistic', 'of']
    """

    schema: Schema
    guarantee: Guarantee
    events: tuple[Event, ...]
    noise: NoiseRecord
    level: float
    rows: IntervalEstimate
    figures: tuple[LevelFigures | NumberFigures, ...]
    pairs: tuple[PairFigures, ...] = ()
    ranges: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def lines(self) -> Iterator[Line]:
        """Yield every estimate in the order of the schema, with pairs last.

        Yields
        ------
        Line
            Column, statistic, level or bin, and interval.
        """
        yield Line("", "rows", "", self.rows)
        for one in self.figures:
            if isinstance(one, LevelFigures):
                for line in one.lines:
                    yield Line(one.name, "count", line.label, line.count)
                    yield Line(one.name, "share", line.label, line.share)
            else:
                yield from _number_lines(one)
        for pair in self.pairs:
            name = " × ".join(pair.names)
            for row in pair.lines:
                for line in row:
                    yield Line(name, "count", line.label, line.count)
                    yield Line(name, "share", line.label, line.share)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row for every estimate and its interval.

        Returns
        -------
        DataFrame
            Columns "column", "statistic", "of", "estimate", "lower" and "upper".
        """
        lines = [
            (line.column, line.statistic, line.of, *_numbers(line.estimate))
            for line in self.lines()
        ]
        return pd.DataFrame(lines, columns=list(FRAME_COLUMNS))

    def record(self) -> dict[str, Any]:
        """Return the description as plain values for JSON.

        Returns
        -------
        dict
            The guarantee, the noise and all estimates.
        """
        lines = [
            dict(
                zip(
                    FRAME_COLUMNS,
                    (line.column, line.statistic, line.of, *_numbers(line.estimate)),
                    strict=True,
                )
            )
            for line in self.lines()
        ]
        return {
            "dataset": self.schema.name,
            "guarantee": guarantee_record(self.guarantee, str),
            "noise": {"kind": self.noise.kind, "scale": self.noise.scale},
            "level": self.level,
            "hidden": list(self.hidden),
            "lines": lines,
        }

    def summary(self) -> str:
        """Return the guarantee and the estimates as text.

        Returns
        -------
        str
            The text.
        """
        return description_text(self)

    def to_html(self) -> str:
        """Return a self-contained HTML page.

        Returns
        -------
        str
            HTML that loads no other files.
        """
        return description_page(self)

    def _repr_html_(self) -> str:
        return notebook_table(self)

    def __str__(self) -> str:
        return self.summary()


def _number_lines(one: NumberFigures) -> Iterator[Line]:
    yield Line(one.name, "missing", "", one.missing)
    yield Line(one.name, "beyond the range", "", one.beyond)
    yield Line(one.name, "mean", "", one.mean)
    yield Line(one.name, "deviation", "", one.deviation)
    for share, found in one.quantiles:
        yield Line(one.name, "quantile", f"{share:g}", found)
    for line in one.histogram:
        yield Line(one.name, "histogram count", line.label, line.count)
        yield Line(one.name, "histogram share", line.label, line.share)


def _numbers(estimate: IntervalEstimate) -> tuple[float, float, float]:
    return estimate.value, estimate.lower, estimate.upper
