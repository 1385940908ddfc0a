"""Scores of linear regressions: R², mean errors and the distribution of residuals.

All values are fractions of the width of the target's range. Predictions and targets are
clipped to this range, as in a fit. First, noisy counts of absolute residuals are computed
in octaves, which are the intervals between successive powers of two. For the sums,
residuals are then clipped at twice the upper end of the largest octave that is clearly not
empty. This reduces the sensitivity of the sums and hence their noise.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.sums import MAX_ROWS, Partial
from confide.evaluation.cells import even_cells
from confide.evaluation.estimates import (
    VISIBLE,
    ScoreEstimate,
    between,
    hidden,
    quantile,
)
from confide.evaluation.noises import (
    UNIT,
    BoundedSums,
    Look,
    LookNoise,
    NoisySums,
    sums_look,
    table_look,
)
from confide.evaluation.score import Curve, CurvePoint, ScoreParts
from confide.mechanisms.base import publish
from confide.noise import Entropy
from confide.privacy import Neighbours

SUMS = BoundedSums(
    ("rows", "target", "target²", "residual²", "|residual|", "residual"),
    (0.0, -0.5, 0.0, 0.0, 0.0, -1.0),
    (1.0, 0.5, 0.25, 1.0, 1.0, 1.0),
    (0.25, 0.25, 1.0, 1.0, 0.25, 0.25),
)
"""Bounds and weights of the sums, with residuals as fractions of their clipping bound."""
SIZE_SHARE, SUM_SHARE = Fraction(1, 10), Fraction(1, 2)
CLEAR = 2.0
"""Counts up to this many noise standard deviations are treated as 0."""
PREDICTION_CELLS = 64
STEPS, OCTAVES = 4, 12
"""Residuals are counted in four bins per octave, down to 2⁻¹² of the width of the range."""
TAIL_BITS = 50
"""Low bits of a double to drop, leaving two fraction bits for four bins per octave."""
BELOW_CELLS = STEPS * (1023 - OCTAVES) - 1
"""Integer value of the remaining bits for the largest residuals below these bins."""
MULTIPLES = (0.25, 0.75, 1.5, 2.5, 4.0)
"""Edges of the released bins of residuals, in units of the root mean square residual."""
DEVIATIONS = (-1.5, -0.9, -0.4, 0.0, 0.4, 0.9, 1.5)
"""Edges of the released bins of predictions, in standard deviations from their mean."""
BEYOND = 1.2
"""Representative residual of an outermost bin, as a multiple of the bin's inner edge."""


SIGNED = STEPS * OCTAVES + 1
"""Number of bins on either side of 0; the bin next to 0 holds all smaller residuals."""
SCALES = np.ldexp(1.0, OCTAVES - (np.arange(SIGNED) + STEPS - 1) // STEPS)
"""Reciprocal of the upper end of each bin's octave, from small to large residuals."""


def residual_edges() -> Array:
    """Return the inner edges of the fine bins of residuals."""
    quarters = 1 - np.arange(1, STEPS + 1) / (2 * STEPS)
    sizes = np.ldexp(quarters[None, :], -np.arange(OCTAVES)[:, None]).ravel()
    return np.concatenate([-sizes, [0.0], sizes[::-1]])


def residual_cells(error: Array) -> AnyArray:
    """Return the fine bin of every residual, computed from the bits of the residual."""
    cells = np.abs(error).view(np.int64)
    cells >>= TAIL_BITS
    cells -= BELOW_CELLS
    np.clip(cells, 0, SIGNED - 1, out=cells)
    below = error <= 0
    cells ^= -below.astype(np.int64)  # the bits of −1 − cells
    cells += SIGNED
    return cells


def prediction_edges() -> Array:
    """Return the inner edges of the fine bins of predictions."""
    return np.linspace(-0.5, 0.5, PREDICTION_CELLS + 1)[1:-1]


def nearest(edges: Array, wanted: Array) -> AnyArray:
    """Return the indices of the edges nearest to given values, and of both ends."""
    at = np.abs(edges[None, :] - np.asarray(wanted)[:, None]).argmin(axis=1)
    return np.array([0, *np.unique(at + 1).tolist(), len(edges) + 1])


def merged(counts: Array, first: AnyArray, second: AnyArray) -> Array:
    """Merge adjacent rows and adjacent columns of a table between the given indices."""
    rows = np.add.reduceat(counts, first[:-1], axis=0)
    return np.asarray(np.add.reduceat(rows, second[:-1], axis=1))


def octave_sums(error: Array, cells: AnyArray) -> Array:
    """Return counts and sums of residuals in octaves, in units of the octave's upper end.

    Octave k contains the absolute residuals from 2⁻ᵏ⁻¹ to 2⁻ᵏ, and the last octave all
    smaller ones. The columns of the result are the counts, and the sums of the squares,
    absolute values, values and signs of the residuals. Summands are rounded to multiples of
    2⁻²⁰, so that the sums are exact.
    """
    scaled = np.concatenate([SCALES[::-1], SCALES])[cells]
    scaled *= error
    found: list[AnyArray] = [np.bincount(cells, minlength=2 * SIGNED).astype(np.float64)]
    for values in (scaled, scaled**2):
        sums = np.bincount(cells, np.rint(values / UNIT), minlength=2 * SIGNED)
        found.append(sums * UNIT)
    sides = [(part[SIGNED:], part[SIGNED - 1 :: -1]) for part in found]
    starts = [0, *range(1, SIGNED, STEPS)]
    held, plain, square = (
        tuple(np.add.reduceat(side, starts)[::-1] for side in pair) for pair in sides
    )
    return np.column_stack(
        [
            held[0] + held[1],
            square[0] + square[1],
            plain[0] - plain[1],
            plain[0] + plain[1],
            held[0] - held[1],
        ]
    )


def last_octave(sizes: Array, deviation: float) -> int:
    """Return the index of the octave at whose upper end residuals are clipped.

    This is the octave above the largest one that is clearly not empty. ``sizes`` are the
    noisy counts of the octaves, from large to small residuals.
    """
    beyond = np.cumsum(sizes)
    spread = deviation * np.sqrt(np.arange(1, len(sizes) + 1))
    full = np.flatnonzero(beyond > CLEAR * spread)
    first = int(full[0]) if len(full) else 0
    return min(max(first - 1, 0), OCTAVES - 4)


def cut_sums(octaves: Array, last: int) -> Array:
    """Return the sums of clipped residuals, as fractions of the clipping bound.

    The bound is the upper end of the octave with index ``last``.
    """
    found = np.zeros(len(SUMS.names))
    beyond = float(octaves[:last, 0].sum())
    signs = float(octaves[:last, 4].sum())
    shrink = 2.0 ** -np.arange(len(octaves) - last)
    square, size, plain = octaves[last:, 1:4].T
    found[3] = beyond + float(square @ shrink**2)
    found[4] = beyond + float(size @ shrink)
    found[5] = float(plain @ shrink) + signs
    return found


@dataclass(frozen=True, slots=True)
class NumberErrors:
    """Score of a regression: R², mean errors and the distribution of residuals.

    Parameters
    ----------
    origin : float
        Middle of the public range of the target.
    unit : float
        Half the width of that range.
    title : str, optional
        Title of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.evaluation import NumberErrors
    >>> rule = NumberErrors(origin=100.0, unit=50.0)
    >>> known, predicted, error = rule.errors(np.array([[120.0]]), np.array([0.5]))
    >>> rule.width * error
    array([5.])

    The target is 125, which is 0.5 units above the origin, and the prediction is 120.
    """

    origin: float
    unit: float
    title: str = "Score of a regression"

    @property
    def width(self) -> float:
        """Width of the public range, in the unit of the target."""
        return 2 * self.unit

    def errors(self, margins: Array, target: AnyArray) -> tuple[Array, Array, Array]:
        """Return the targets, predictions and residuals, as fractions of the width.

        Parameters
        ----------
        margins : ndarray
            Linear predictors of the rows.
        target : ndarray
            Targets, in the unit of the objective.

        Returns
        -------
        known : ndarray
            Targets.
        predicted : ndarray
            Predictions, within the range.
        error : ndarray
            Residuals.
        """
        known = np.asarray(target, dtype=np.float64) / 2
        said = np.clip((margins[:, 0] - self.origin) / self.unit, -1.0, 1.0) / 2
        return known, said, known - said

    def tally(self, margins: Array, target: AnyArray) -> Partial:
        """Return sums of targets, sums of residuals in octaves, and a table of counts.

        Octaves are intervals between successive powers of two. The table holds the number
        of rows by prediction and residual.
        """
        known, said, error = self.errors(margins, target)
        sums = SUMS.add([known, known**2])
        cells = residual_cells(error)
        sizes = octave_sums(error, cells)
        places = even_cells(said, -0.5, 0.5, PREDICTION_CELLS)
        places *= 2 * SIGNED
        places += cells
        counts = np.bincount(places, minlength=2 * SIGNED * PREDICTION_CELLS)
        return sums, sizes, counts.astype(np.float64).reshape(PREDICTION_CELLS, -1)

    def looks(self, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return the sensitivities of octave counts, sums and the table of counts."""
        return (
            table_look(neighbours, SIZE_SHARE),
            sums_look(SUMS, neighbours, SUM_SHARE),
            table_look(neighbours, 1 - SIZE_SHARE - SUM_SHARE),
        )

    def release(
        self,
        sums: Partial,
        noises: tuple[LookNoise, ...],
        entropy: Entropy,
        level: float,
    ) -> ScoreParts:
        """Release octave counts, sums, and a table of counts with bins based on sums."""
        totals, octaves, counts = sums
        sizes = publish(octaves[:, 0], noises[0], entropy, MAX_ROWS)
        last = last_octave(sizes, noises[0].deviation(1))
        seen = SUMS.publish(totals + cut_sums(octaves, last), noises[1], entropy)
        moments = ErrorMoments.of(seen, 2.0**-last)
        residuals, predictions = residual_edges(), prediction_edges()
        ends = np.array(MULTIPLES) * moments.spread
        cuts = (
            nearest(predictions, moments.said + moments.said_spread * np.array(DEVIATIONS)),
            nearest(residuals, np.concatenate([-ends[::-1], ends])),
        )
        table = publish(merged(counts, *cuts), noises[2], entropy, MAX_ROWS)
        variance = noises[2].deviation(1) ** 2
        cells = ErrorTable(
            table,
            np.concatenate([[-0.5], predictions, [0.5]])[cuts[0]],
            np.concatenate([[-1.0], residuals, [1.0]])[cuts[1]],
            variance,
        )
        lines = moments.estimates(cells, level, self.width)
        curves = (
            cells.histogram(self.width, level),
            cells.against_predictions(self.width, self.origin, level),
        )
        notes: tuple[str, ...] = ()
        if last:
            most = self.width * 2.0**-last
            notes = (f"Residuals beyond ±{most:.3g} are clipped.",)
        return ScoreParts(lines, tuple(curve for curve in curves if curve.points), notes)


@dataclass(frozen=True, slots=True, eq=False)
class ErrorTable:
    """Noisy numbers of rows by prediction and residual, with the edges of the bins."""

    table: Array
    prediction_ends: Array
    residual_ends: Array
    variance: float

    @property
    def predictions(self) -> Array:
        """Midpoint of every bin of predictions."""
        return (self.prediction_ends[1:] + self.prediction_ends[:-1]) / 2

    @property
    def residuals(self) -> Array:
        """Representative value of every bin of residuals.

        In an outermost bin, which is mostly empty, the value is close to the inner edge.
        """
        found = (self.residual_ends[1:] + self.residual_ends[:-1]) / 2
        if len(found) > 2:
            found[0] = max(BEYOND * self.residual_ends[1], -1.0)
            found[-1] = min(BEYOND * self.residual_ends[-2], 1.0)
        return found

    def mean(self, values: Array) -> float:
        """Return the mean over the rows of a quantity that is given per table cell.

        Noise can make the mean of a positive quantity negative.
        """
        return float((self.table * values).sum() / max(float(self.table.sum()), 1.0))

    def histogram(self, width: float, level: float) -> Curve:
        """Return the density of the residuals in every bin."""
        counts = self.table.sum(axis=0)
        total = float(counts.sum())
        if total <= VISIBLE * math.sqrt(self.variance * self.table.size):
            return Curve("Residuals", "", "", ())
        wide = np.diff(self.residual_ends) * width
        half = quantile(level) * np.sqrt(
            np.maximum(counts, 0.0) + self.variance * len(self.table)
        )
        points = [
            CurvePoint(
                float(middle * width),
                max(float(count / total / w), 0.0),
                max(float((count - h) / total / w), 0.0),
                max(float((count + h) / total / w), 0.0),
                float(start * width),
                float(end * width),
            )
            for middle, count, w, h, start, end in zip(
                self.residuals,
                counts,
                wide,
                half,
                self.residual_ends[:-1],
                self.residual_ends[1:],
                strict=True,
            )
        ]
        return Curve("Residuals", "residual", "density", tuple(points[1:-1] or points))

    def against_predictions(self, width: float, origin: float, level: float) -> Curve:
        """Return the mean residual in every bin of predictions."""
        points = []
        for row, said, start, end in zip(
            self.table,
            self.predictions,
            self.prediction_ends[:-1],
            self.prediction_ends[1:],
            strict=True,
        ):
            count = float(row.sum())
            if count <= VISIBLE * math.sqrt(self.variance * row.size):
                continue
            mean = float(row @ self.residuals) / count
            apart = (self.residuals - mean) ** 2
            variance = float(row @ apart) + self.variance * float(apart.sum())
            half = quantile(level) * math.sqrt(max(variance, 0.0)) / count
            x, ends = origin + said * width, (start * width, end * width)
            points.append(
                CurvePoint(
                    x,
                    mean * width,
                    (mean - half) * width,
                    (mean + half) * width,
                    origin + float(ends[0]),
                    origin + float(ends[1]),
                )
            )
        return Curve(
            "Residuals against predictions",
            "prediction",
            "mean residual",
            tuple(points),
            joined=False,
            guide="zero",
        )


@dataclass(frozen=True, slots=True, eq=False)
class ErrorMoments:
    """Moments of residuals, predictions and the target, from the released sums.

    ``cut`` is the clipping bound of residuals, and ``level`` the mean of the target.
    ``total`` is the sum of squared deviations of the target from its mean, and ``square``
    the sum of squared residuals. All values are fractions of the width of the target's
    range or of its square.
    """

    seen: NoisySums
    cut: float
    rows: float
    level: float
    total: float
    square: float

    @classmethod
    def of(cls, seen: NoisySums, cut: float) -> "ErrorMoments":
        """Compute moments from the sums, assuming at least one row."""
        rows = max(seen["rows"], 1.0)
        middle = seen["target"] / rows
        total = max(seen["target²"] - rows * middle**2, 0.0)
        return cls(seen, cut, rows, middle, total, cut**2 * max(seen["residual²"], 0.0))

    @property
    def spread(self) -> float:
        """Root mean square residual, limited to the range of the bins."""
        return min(max(math.sqrt(self.square / self.rows), 2.0 ** (1 - OCTAVES)), 0.5)

    @property
    def said(self) -> float:
        """Mean prediction."""
        mean = (self.seen["target"] - self.cut * self.seen["residual"]) / self.rows
        return min(max(mean, -0.5), 0.5)

    @property
    def said_spread(self) -> float:
        """Approximate standard deviation of predictions: √(Var(target) − Var(residual))."""
        left = max(self.total - self.square, 0.1 * self.total) / self.rows
        return min(max(math.sqrt(left), 1 / PREDICTION_CELLS), 0.5)

    def estimates(
        self, cells: ErrorTable, level: float, width: float
    ) -> tuple[ScoreEstimate, ...]:
        """Return R² and mean errors with their intervals, in the unit of the target."""
        names = ("R²", "mean squared error", "mean absolute error", "mean residual")
        if self.seen["rows"] <= VISIBLE * math.sqrt(self.seen.variance("rows")):
            limits = ((None, 1.0), (0.0, width**2), (0.0, width), (-width, width))
            return tuple(
                hidden(name, *ends) for name, ends in zip(names, limits, strict=True)
            )
        unit, square = self.cut * width, self.square / self.rows / self.cut**2
        errors = np.minimum(np.abs(cells.residuals) / self.cut, 1.0)[None, :] ** 2
        quartic = max(cells.mean((errors - square) ** 2), 2 * square**2)
        size, shift = (self.seen[of] / self.rows for of in ("|residual|", "residual"))
        spread = (square - min(size**2, square), square - min(shift**2, square))
        return (
            self._r_squared(cells, level),
            self._mean(names[1], "residual²", quartic, level, 0.0).scaled(unit**2),
            self._mean(names[2], "|residual|", spread[0], level, 0.0).scaled(unit),
            self._mean(names[3], "residual", spread[1], level, -1.0).scaled(unit),
        )

    def _mean(
        self, name: str, of: str, variance: float, level: float, lowest: float
    ) -> ScoreEstimate:
        """Return a mean with its interval, given the variance over the rows."""
        mean = self.seen[of] / self.rows
        noise = self.seen.variance(of) + mean**2 * self.seen.variance("rows")
        half = self.seen.half_length(level, variance * self.rows, noise) / self.rows
        return between(name, mean, half, lowest, 1.0)

    def _r_squared(self, cells: ErrorTable, level: float) -> ScoreEstimate:
        """Return R², the share of the target's variance that predictions explain."""
        seen = self.seen
        slack = VISIBLE * math.sqrt(seen.variance("target²"))
        if self.total <= slack:
            return hidden("R²", None, 1.0)
        left = self.square / self.total
        target = cells.predictions[:, None] + cells.residuals[None, :]
        errors = np.minimum(np.abs(cells.residuals), self.cut)[None, :] ** 2
        lack = left * (target - self.level) ** 2 - errors
        per_row = cells.mean(lack**2)
        normal = 4 * max(1 - left, 0.0) * left**2 * (self.total / self.rows) ** 2
        noise = (
            self.cut**4 * seen.variance("residual²")
            + left**2 * seen.variance("target²")
            + (2 * left * self.level) ** 2 * seen.variance("target")
            + (left * self.level**2) ** 2 * seen.variance("rows")
        )
        sampling = max(per_row, normal) * self.rows
        half = seen.half_length(level, sampling, noise) / self.total
        return between("R²", 1 - left, half, highest=1.0)
