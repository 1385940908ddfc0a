"""Sample and aggregate: blocks of rows vote for columns, with noise on the votes."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, Protocol, assert_never

import numpy as np
from sklearn.base import clone

from confide._registry import Registry
from confide._types import AnyArray, Array
from confide.accounting import event_of
from confide.data.matrix.matrix import as_matrix
from confide.data.rows.in_memory import InMemoryRows, Rows
from confide.errors import Described, InvalidParameter
from confide.mechanisms.base import check_whole
from confide.noise import Entropy, Gumbel, Laplace, assign_groups, shuffle
from confide.objectives import Objective
from confide.privacy import Approx, Budget, Neighbours, Pure, Zcdp, round_down
from confide.selection.base import PAGE, SELECTORS, SelectorCalibration
from confide.selection.choice_cost import (
    OUTWARD,
    best_budget_kind,
    check_size,
    score_scale,
)


class Finder(Protocol):
    """Protocol for finding relevant columns in a block of rows.

    A finder must not keep any state between blocks. It may use its own randomness. If it
    returns fewer columns than requested, the block casts fewer votes. If it fails, the
    block casts none.

    Examples
    --------
    >>> from confide.selection import LassoPath, SampleAggregateSelector
    >>> SampleAggregateSelector(size=5, finder=LassoPath()).finder.stretch
    2
    """

    def find(self, features: Any, target: Array, size: int) -> Sequence[int]:
        """Return up to ``size`` relevant columns of a dense or CSR matrix.

        Parameters
        ----------
        features : ndarray or CSR matrix
            Features of the rows in a block.
        target : ndarray
            Targets of these rows.
        size : int
            Largest number of columns.

        Returns
        -------
        sequence of int
            Indices of the columns.
        """
        ...


FINDERS: Registry[type[Any]] = Registry("finder")


@FINDERS.register("lasso-path")
@dataclass(frozen=True, slots=True)
class LassoPath:
    """Find the columns with the largest coefficients on a lasso path.

    The columns and the target are centred within the block, but not rescaled. If two
    columns are equal, the path uses only one of them, so votes may be split between the two
    columns.

    Parameters
    ----------
    stretch : int, default=2
        Number of steps of the path per requested column.
    widest : int, default=1000
        Largest number of columns on the path. The columns with the largest covariances with
        the target are used.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.selection import LassoPath
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> [int(k) for k in LassoPath().find(X, X[:, 2], 1)]
    [2]
    """

    stretch: int = 2
    widest: int = 1000
    name: ClassVar[str] = "lasso-path"

    def __post_init__(self) -> None:
        check_whole("stretch", self.stretch)
        check_whole("widest", self.widest)

    def find(self, features: Any, target: Array, size: int) -> Sequence[int]:
        """Return up to ``size`` relevant columns of a dense or CSR matrix."""
        from sklearn.linear_model import lars_path  # slow to import

        residual = target - target.mean()
        pull = np.abs(features.T @ residual)
        most = min(self.widest, len(pull))
        used = np.sort(np.argpartition(-pull, most - 1)[:most])
        dense = as_matrix(features[:, used]).toarray()
        _, _, ends = lars_path(
            np.asfortranarray(dense - dense.mean(axis=0)),
            residual,
            max_iter=self.stretch * size,
            return_path=False,
            method="lasso",
            copy_X=False,
        )
        return used[_strongest(ends, size)].tolist()


@dataclass(frozen=True, slots=True)
class CoefficientFinder:
    """Find the columns with the largest coefficients of a scikit-learn estimator.

    A clone of the estimator is fitted on every block.

    Parameters
    ----------
    estimator : estimator of scikit-learn
        Estimator to clone, with an attribute ``coef_`` after a fit. The seed of the
        estimator, if it has one, is public.

    Examples
    --------
    The target depends on the third column:

    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from confide.selection import CoefficientFinder
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> [int(k) for k in CoefficientFinder(Ridge()).find(X, X[:, 2], 1)]
    [2]
    """

    estimator: Any

    def find(self, features: Any, target: Array, size: int) -> Sequence[int]:
        """Return up to ``size`` relevant columns of a dense or CSR matrix."""
        fitted = clone(self.estimator).fit(features, target)
        strength = np.abs(np.atleast_2d(fitted.coef_)).max(axis=0)
        return _strongest(strength, size).tolist()


def _strongest(coefficients: Array, size: int) -> AnyArray:
    """Return the indices of the largest coefficients that are not 0."""
    strength = np.abs(coefficients)
    top = np.argsort(-strength, kind="stable")[:size]
    return top[strength[top] > 0]


USUAL_BLOCKS = 100
VOTE_WIDTH = 2.0
"""Bound on how differently a change of one block can change the votes of two columns."""


@SELECTORS.register("sample-aggregate")
@dataclass(frozen=True, slots=True)
class SampleAggregateSelector:
    """Select columns by noisy counts of the votes cast by blocks of rows.

    Guarantee    pure, (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       size, blocks, finder, budget; under replace-one the number of rows.
    Sensitivity  one block's votes: 2·size in all, 1 for every column.
    Proof        docs/proofs/sparse-selection.md

    Parameters
    ----------
    size : int, default=10
        Number of columns to select.
    blocks : int, optional
        Public number of blocks. By default it is the square root of the number of rows
        under replace-one, where this number is public, and 100 under add-remove, where it
        is private. Under add-remove, the block of every record is drawn independently, and
        blocks without rows do not vote.
    noise : {"gumbel", "laplace"}, default="gumbel"
        "gumbel" is equivalent to choosing the columns one by one with the exponential
        mechanism; "laplace" adds Laplace noise of scale 2·size/epsilon to the votes.
    finder : Finder, optional
        Method to find columns in a block; by default `LassoPath`.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.selection import SampleAggregateSelector
    >>> SampleAggregateSelector(size=5, blocks=50).noise
    'gumbel'
    """

    size: int = 10
    blocks: int | None = None
    noise: Literal["gumbel", "laplace"] = "gumbel"
    finder: Finder = field(default_factory=LassoPath)

    name: ClassVar[str] = "sample-aggregate"
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "sample-aggregate-exact",
        PAGE + "gumbel-top",
        PAGE + "laplace-top",
    )

    def __post_init__(self) -> None:
        check_whole("size", self.size, "It is the number of columns to select.")
        if self.blocks is not None:
            check_whole("blocks", self.blocks)
        if self.noise not in ("gumbel", "laplace"):
            raise InvalidParameter("noise", "'gumbel' or 'laplace'", self.noise)

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> SelectorCalibration:
        """Choose the noise from public information only."""
        check_size(self.size, objective)
        choices = self.size * copies
        whole = best_budget_kind(budget, choices)
        scale = score_scale(whole, choices, VOTE_WIDTH, OUTWARD)
        noise: Gumbel | Laplace = Gumbel(scale)
        if self.noise == "laplace":
            whole = _as_pure(budget)
            noise = Laplace((1 + OUTWARD) * VOTE_WIDTH * choices / float(whole.epsilon))
        return SelectorCalibration(
            objective,
            budget,
            neighbours,
            PAGE + "sample-aggregate-exact",
            noise,
            (event_of(whole),),
            copies,
        )

    def check_rows(self, calibration: SelectorCalibration, rows: Rows) -> None:
        """Raise if the table has an unsuitable shape, before any budget is spent."""
        if not rows.pickable:
            raise InvalidParameter(
                "table",
                "in memory or on a cluster, to select with random blocks of rows",
                Described("a table that is streamed"),
                "Use the selector 'screening', fit on a cluster (--workers, --cluster), "
                "or read the whole table into memory.",
            )
        known = calibration.neighbours is Neighbours.REPLACE_ONE
        if known and self.blocks is not None and rows.table_count < self.blocks:
            raise InvalidParameter(
                "blocks", "at most the number of rows", self.blocks, "Use fewer blocks."
            )

    def select(
        self, calibration: SelectorCalibration, rows: Rows, entropy: Entropy
    ) -> Sequence[int]:
        """Select ``size`` columns privately, in increasing order."""
        parts = self.partition(rows, calibration.neighbours, entropy)
        columns = calibration.objective.columns
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ballots = rows.map_subsets(parts, partial(self.ballot, columns=columns))
        votes = np.bincount(np.concatenate(ballots), minlength=columns).astype(np.float64)
        return calibration.noise.largest(votes, self.size, entropy).tolist()

    def partition(
        self, rows: Rows, neighbours: Neighbours, entropy: Entropy
    ) -> list[AnyArray]:
        """Divide the rows into blocks, independently of the contents of records.

        Parameters
        ----------
        rows : Rows
            The rows.
        neighbours : Neighbours
            Neighbour relation to protect.
        entropy : Entropy
            Source of randomness.

        Returns
        -------
        list of ndarray
            Indices of the rows of each block.
        """
        if neighbours is Neighbours.REPLACE_ONE:
            slots = rows.table_count
            blocks = self.blocks or max(1, math.isqrt(slots))
            own = shuffle(slots, entropy)[: rows.count] * blocks // max(1, slots)
        else:
            blocks = self.blocks or USUAL_BLOCKS
            own = assign_groups(rows.count, blocks, entropy)
        order = np.argsort(own, kind="stable")
        edges = np.searchsorted(own[order], np.arange(1, blocks))
        return np.split(order, edges)

    def ballot(self, block: InMemoryRows, columns: int) -> AnyArray:
        """Return the votes of one block, or no votes if the finder fails.

        Parameters
        ----------
        block : InMemoryRows
            Rows of the block.
        columns : int
            Number of columns of the table.

        Returns
        -------
        ndarray of int
            Up to ``size`` different columns.
        """
        try:
            found = self.finder.find(*block.plain(), self.size)
            marked = np.unique(np.asarray(found, dtype=np.float64)[: self.size])
        except Exception:  # noqa: BLE001
            marked = np.zeros(0)
        whole = (marked >= 0) & (marked < columns) & (marked == np.floor(marked))
        return marked[whole].astype(np.intp)


def _as_pure(budget: Budget) -> Pure:
    """Return a pure budget whose guarantee implies that of the given budget."""
    match budget:
        case Pure():
            return budget
        case Approx(epsilon=epsilon):
            return Pure(epsilon)
        case Zcdp(rho=rho):
            return Pure(repr(round_down(math.sqrt(2 * rho))))
        case _:
            assert_never(budget)
