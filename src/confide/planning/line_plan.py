"""What to expect of one line of a summary."""

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True)
class LinePlan:
    """What to expect of one line of a summary, or of all lines of a column.

    Without intervals all widths are NaN.

    Parameters
    ----------
    name : str
        Name of the line or column.
    per : str
        Unit of the effect.
    effect : float
        Size of a typical effect.
    error : float
        Standard error of what is released.
    width : float
        Likely width of an interval: the median over the simulated tables.
    narrow : float
        Lower quartile of the width.
    wide : float
        Upper quartile of the width.
    identified : float
        Share of the simulated tables on which there is an interval; quartiles are over
        these.
    widths : tuple of float, default=()
        Width on every simulated table.

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
        """Return on which share of the supposed tables the interval is no wider."""
        return float(np.mean([one <= width for one in self.widths]))

    @property
    def ratio(self) -> float:
        """The error as a multiple of the typical effect."""
        return self.error / self.effect if self.effect else math.inf
