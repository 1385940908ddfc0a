"""Projected histogram: noisy counts in public cells, then a fit to the cell centres."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Self, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.accounting import PureEvent
from confide.data import Schema
from confide.data.matrix.sums import MAX_ROWS, Partial
from confide.data.rows.block import Block
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import Calibration, checked_copies, make_release, publish
from confide.mechanisms.needs import Need, check_needs
from confide.mechanisms.release import Release
from confide.mechanisms.statistics.sums import (
    BOUNDED_TARGET,
    NO_PENALTY,
    PAGE,
    SQUARED_LOSS,
    SumsCalibration,
    ridge_solution,
    within,
)
from confide.noise import Entropy, Laplace
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours, Pure, round_up

Centres: TypeAlias = tuple[tuple[float, ...], ...]
"""Cell centres of a group of adjacent columns of the design matrix. A row belongs to the
cell with the nearest centre."""
MOST_CELLS = 10**6


@dataclass(frozen=True, slots=True)
class ProjectedHistogram:
    """Histogram regression: noisy counts of records in public cells, and a weighted fit.

    Guarantee    pure; add-remove or replace-one.
    Public       cells, bounds, ridge, budget.
    Private      rows and targets, and under add-remove the number of rows.
    Sensitivity  1 under add-remove, where one count changes; 2 under replace-one, where
                 two counts change.
    Noise        Laplace on every count, empty cells included.
    Proof        docs/proofs/sufficient-statistics.md

    The fit is to the centres of the cells, weighted by the noisy counts. Negative counts
    are kept, because raising them to 0 would on average add records to every empty cell.

    Parameters
    ----------
    blocks : tuple
        Cell centres of every group of adjacent columns of the design matrix. The cells are
        all combinations of these centres and the intervals of the target.
    target_cells : int, default=8
        Number of equal intervals of the target's range. More cells mean a finer resolution
        and more noise.

    Raises
    ------
    InvalidParameter
        There are too many cells, or there is no cell.

    Examples
    --------
    >>> from confide import Number, Schema, Target
    >>> from confide.mechanisms import ProjectedHistogram
    >>> schema = Schema([Number("age", 18, 90)], Target("score", lower=0, upper=1))
    >>> ProjectedHistogram.of_schema(schema, number_cells=4, target_cells=5).cells
    20

    Four intervals of age and five intervals of the score give 20 counts, each with noise.
    """

    blocks: tuple[Centres, ...]
    target_cells: int = 8

    name: ClassVar[str] = "histogram"
    needs: ClassVar[tuple[Need, ...]] = (SQUARED_LOSS, BOUNDED_TARGET, NO_PENALTY)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (PAGE + "histogram-exact",)

    def __post_init__(self) -> None:
        if not 1 <= self.cells <= MOST_CELLS:
            raise InvalidParameter("cells", f"from 1 to {MOST_CELLS} in all", self.cells)

    @classmethod
    def of_schema(
        cls,
        schema: Schema,
        height: float = 0.0,
        *,
        number_cells: int = 2,
        target_cells: int = 8,
    ) -> Self:
        """Build the cells from the columns of a schema.

        Categories are divided into their levels, and the ranges of numbers into equal
        parts.

        Parameters
        ----------
        schema : Schema
            Schema without terms.
        height : float, default=0.0
            Value of the constant column, 0 without one.
        number_cells : int, default=2
            Number of equal parts of the range of every numeric column.
        target_cells : int, default=8
            Number of equal parts of the target's range.

        Returns
        -------
        ProjectedHistogram
            The mechanism with these cells.

        Raises
        ------
        InvalidParameter
            The schema has interactions, splines or polynomials.
        """
        if schema.terms:
            must = "left out: a histogram needs columns without terms"
            raise InvalidParameter("terms of the schema", must, list(schema.terms))
        blocks: list[Centres] = []
        start = 0
        for column in schema.columns:
            centres = column.centres(float(schema.weights[start]), number_cells)
            blocks.append(tuple(map(tuple, centres.tolist())))
            start += len(column.features)
        if height:
            blocks.append(((height,),))
        return cls(tuple(blocks), target_cells)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(map(len, self.blocks)) * self.target_cells

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> Calibration:
        """Choose noise and ridge from public information alone.

        Parameters
        ----------
        objective : Objective
            Loss, ridge, penalty and public bounds.
        budget : Pure, Approx or Zcdp
            Privacy budget of the release. A larger one means less noise.
        neighbours : Neighbours
            Neighbour relation for which the guarantee is to hold.
        copies : int, default=1
            Number of objectives, such as one per class, that share the rows and the
            budget.

        Returns
        -------
        Calibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise distribution is available for this budget, neighbour relation or ridge.
        """
        check_needs(type(self).__name__, self.needs, objective)
        if not isinstance(budget, Pure):
            raise InvalidParameter("budget", "Pure for a histogram", budget)
        columns = sum(len(centres[0]) for centres in self.blocks)
        if columns != objective.dimension:
            must = f"{objective.dimension}, counting the intercept"
            raise InvalidParameter("number of columns in blocks", must, columns)
        noise = Laplace(round_up(copies * neighbours.shifts / budget.epsilon))
        fixed = objective
        if objective.l2 is None:
            spread = math.sqrt(2 * self.cells) * noise.scale
            ridge = spread * objective.row_norm**2 * math.sqrt(2 / objective.dimension)
            fixed = objective.with_l2(ridge)
        return SumsCalibration(
            self,
            fixed,
            budget,
            neighbours,
            PAGE + "histogram-exact",
            noise,
            None,
            math.inf,
            (PureEvent(budget.epsilon),),
            copies,
        )

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Add noise to the counts of every objective, and fit the coefficients.

        Parameters
        ----------
        calibration : Calibration
            Result of `calibrate`.
        tasks : iterable of Rows
            Private rows with the targets of each objective, one item per objective.
        entropy : Entropy
            Source of random bits.

        Returns
        -------
        Release
            Differentially private coefficients with their guarantee.
        """
        paid = checked_copies(tasks, calibration.copies)
        values = [self._one(calibration, rows, entropy) for rows in paid]
        return make_release(calibration, values, entropy, "counts")

    def counts(self, rows: Rows, bound: float) -> Array:
        """Count the records in every cell; the result is private.

        Parameters
        ----------
        rows : Rows
            Private rows.
        bound : float
            Public bound on the target.

        Returns
        -------
        ndarray
            Exact counts, without noise.
        """

        def part(block: Block) -> Partial:
            codes = self._codes(block, bound)
            return (np.bincount(codes, minlength=self.cells).astype(np.float64),)

        (found,) = rows.sum(part)
        return np.asarray(found)

    def _codes(self, block: Block, bound: float) -> AnyArray:
        """Return the index of the cell of every record, computed from that record alone.

        Squares are added column by column. The rounding of NumPy's own sum may depend on
        the number of records, so other records could influence which centre is nearest.
        """
        features = block.toarray()
        codes = np.zeros(len(features), dtype=np.intp)
        start = 0
        for centres in self.blocks:
            table = np.array(centres)
            columns = features[:, start : start + table.shape[1]].T
            far = np.zeros((len(features), len(table)))
            for column, centre in zip(columns, table.T, strict=True):
                far += (column[:, None] - centre) ** 2
            codes = codes * len(table) + far.argmin(axis=1)
            start += table.shape[1]
        place = (block.target / bound + 1) / 2 * self.target_cells
        return codes * self.target_cells + np.clip(place, 0, self.target_cells - 1).astype(
            np.intp
        )

    def _one(self, calibration: Calibration, rows: Rows, entropy: Entropy) -> Array:
        objective = calibration.objective
        bound = objective.target_bound or 1.0
        counts = publish(self.counts(rows, bound), calibration.noise, entropy, MAX_ROWS)
        table = counts.reshape(-1, self.target_cells)
        points = np.array([sum(parts, ()) for parts in product(*self.blocks)])
        middles = bound * ((np.arange(self.target_cells) + 0.5) * 2 / self.target_cells - 1)
        gram = points.T @ (points * table.sum(axis=1)[:, None])
        ridge = objective.l2 or 0.0
        theta = ridge_solution(gram, points.T @ (table @ middles), ridge, LEAST_EIGENVALUE)
        return within(objective, theta)


LEAST_EIGENVALUE = 1e-3
"""Lower bound on the eigenvalues of the noisy matrix after the ridge is added."""
