"""Rows that are never all in memory, because they are on disk or on several machines.

`PartitionedRows` has the same methods as rows in memory. A function of a block is applied
to all blocks of all parts of the table, and the results are added up. Only a sample of the
rows is kept in memory, for the first approximation of a solver.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.matrix import Matrix, stack
from confide.data.matrix.sums import (
    FEWEST_IN_A_BLOCK,
    MOST_ADDED,
    Partial,
    SumShape,
    addition_depth,
)
from confide.data.rows.block import Block
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import ConfideError, PrivacyLeak

T = TypeVar("T")
PartFunction: TypeAlias = Callable[[InMemoryRows], Partial]
"""Function of the rows of a part or block. Its results for several parts can be added."""

SAMPLE_ROWS = 2**18
SAMPLE_BYTES = 2**26
FEWEST_SAMPLED = 2**10


class Parts(Protocol):
    """Protocol for access to the parts of a table, on disk or on workers."""

    @property
    def pickable(self) -> bool:
        """Whether individual rows can be read without reading all rows."""
        ...

    @property
    def expected(self) -> int:
        """Approximate number of rows."""
        ...

    def sum(self, work: PartFunction | Sequence[PartFunction]) -> Partial:
        """Add up ``work(part)`` over all parts.

        ``work`` is one function for all parts, or a sequence with one function per part.
        """
        ...

    def survey(self, stride: int) -> Sequence["PartSummary"]:
        """Return a summary of every part, from one pass over its rows."""
        ...

    def gather(self, picks: Sequence["RowView"]) -> InMemoryRows:
        """Copy the selected rows of all parts to this process, in table order."""
        ...

    def map_subsets(
        self, picks: Sequence[Sequence["RowView"]], fn: Callable[[InMemoryRows], T]
    ) -> list[T]:
        """Apply ``fn`` to subsets of the rows, which may combine rows of several parts."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class PartSummary:
    """Results of a first pass: number of rows, numbers of additions, and a sample."""

    listed: int
    count: int
    sum_shape: SumShape
    pieces: int
    shortened: bool
    layout: Matrix
    sample: tuple[InMemoryRows, ...]

    @classmethod
    def of(cls, rows: InMemoryRows, stride: int) -> "PartSummary":
        """Return the summary of a block of rows in memory."""
        return cls(
            rows.table_count,
            rows.count,
            rows.sum_shape,
            1,
            rows.shortened,
            rows.layout,
            (rows.copy_sample(stride),),
        )

    def __add__(self, other: "PartSummary") -> "PartSummary":
        return PartSummary(
            self.listed + other.listed,
            self.count + other.count,
            self.sum_shape | other.sum_shape,
            self.pieces + other.pieces,
            self.shortened or other.shortened,
            self.layout,
            (*self.sample, *other.sample),
        )


@dataclass(frozen=True, slots=True, repr=False)
class RowView:
    """Selection of rows and columns of a part, with an optional transform of the target."""

    code: Callable[[AnyArray], Array] | None = None
    support: tuple[int, ...] | None = None
    places: AnyArray | None = None

    def __call__(self, rows: InMemoryRows) -> InMemoryRows:
        """Return the selected rows and columns, with the target transformed."""
        if self.places is not None:
            rows = rows.take(self.places)
        if self.code is not None:
            rows = rows.with_target(self.code)
        return rows if self.support is None else rows.columns(self.support)


@dataclass(frozen=True, slots=True, repr=False)
class OverBlocks:
    """Picklable callable that sums ``fn(block)`` over all blocks of a part."""

    fn: Callable[[Block], Partial]
    dtype: Any
    view: RowView

    def __call__(self, rows: InMemoryRows) -> Partial:
        """Return the number of rows of a part, and the sum of ``fn`` over its blocks."""
        seen = self.view(rows)
        return seen.count, *seen.sum_here(self.fn, self.dtype)


@dataclass(frozen=True, slots=True, repr=False)
class PartitionedRows:
    """Bounded private rows in parts; use `PartitionedRows.over` to create them.

    Parameters
    ----------
    parts : Parts
        Object that gives access to the rows and to sums over them.
    whole : PartSummary
        Combined summary of all parts.
    sizes : tuple of int
        Numbers of rows of the parts.
    links : int
        Bound on the number of additions in which the sum of a block takes part when the
        sums of blocks and parts are combined.
    sample : InMemoryRows
        Subsample of the rows with a fixed stride, for a first approximation.
    height : float
        Value of the intercept column; 0 if there is no intercept.
    view : RowView, optional
        Selection of columns and transform of the target that are applied to blocks.
    picked : tuple of ndarray, optional
        Positions of the selected rows in each part. By default, all rows are selected.

    Examples
    --------
    Rows in parts have the same methods as rows in memory, so mechanisms can use both:

    >>> from confide.data import InMemoryRows, PartitionedRows
    >>> hasattr(PartitionedRows, "sum"), hasattr(InMemoryRows, "sum")
    (True, True)
    """

    parts: Parts
    whole: PartSummary
    sizes: tuple[int, ...]
    links: int
    sample: InMemoryRows
    height: float
    view: RowView = RowView()
    picked: tuple[AnyArray, ...] | None = None

    @classmethod
    def over(cls, parts: Parts, height: float, width: int) -> "PartitionedRows":
        """Create rows from parts, after one pass over them for a summary and a sample."""
        most = max(FEWEST_SAMPLED, min(SAMPLE_ROWS, SAMPLE_BYTES // (4 * max(1, width))))
        found = parts.survey(max(1, parts.expected // most))
        whole = reduce(add, found)
        sizes = tuple(survey.count for survey in found)
        most = max(survey.pieces for survey in found)
        links = addition_depth(most) + 2 * addition_depth(len(found))
        sample = joined(whole.sample)
        return cls(parts, replace(whole, sample=()), sizes, links, sample, height)

    def with_parts(self, parts: Parts) -> "PartitionedRows":
        """Return the same rows, accessed through another `Parts` object."""
        return replace(self, parts=parts)

    @property
    def count(self) -> int:
        """Number of rows, which is private under add-remove neighbours."""
        return self.whole.count if self.picked is None else sum(map(len, self.picked))

    @property
    def table_count(self) -> int:
        """Number of rows before any are dropped; public under replace-one neighbours."""
        return self.count if self.picked is not None else self.whole.listed

    @property
    def dimension(self) -> int:
        """Number of coefficients, including the intercept."""
        return self.layout.shape[1] + (1 if self.height else 0)

    @property
    def responses(self) -> int:
        """Number of columns of the target; 0 if the target is a vector."""
        return self.sample.responses

    @property
    def layout(self) -> Matrix:
        """A matrix with the columns and the storage format of the features, but no rows."""
        whole, support = self.whole.layout, self.view.support
        return whole if support is None else whole.columns(support)

    @property
    def shortened(self) -> bool:
        """Whether any rows were scaled down to the public bound."""
        return self.whole.shortened

    @property
    def weighted(self) -> bool:
        """Whether records have case weights, or weights that depend on their norms."""
        return self.sample.weighted

    @property
    def pickable(self) -> bool:
        """Whether individual rows can be read without reading all rows."""
        return self.parts.pickable

    @property
    def sum_shape(self) -> SumShape:
        """Numbers of additions per sum over all rows and per linear predictor.

        After columns, or rows of a sparse matrix, have been selected, blocks differ in size
        from those of the first pass, so the numbers of additions differ as well.
        """
        shape, seen = self.whole.sum_shape, self.view.support is not None
        if seen or (self.picked is not None and self.whole.layout.is_sparse):
            chain = addition_depth(1) + addition_depth(-(-self.count // FEWEST_IN_A_BLOCK))
            terms = min(self.count, MOST_ADDED) + chain + 8
            shape = replace(shape, rows_added=MOST_ADDED, depth=chain, terms=terms)
        if seen:
            shape = replace(shape, entries=self.dimension, max_entries=self.dimension)
        return shape.deeper(self.links)

    def sum(self, fn: Callable[[Block], Partial], dtype: Any = np.float64) -> Partial:
        """Sum ``fn(block)`` over all blocks of all parts."""
        work: PartFunction | list[PartFunction] = OverBlocks(fn, dtype, self.view)
        if self.picked is not None:
            views = [replace(self.view, places=places) for places in self.picked]
            work = [OverBlocks(fn, dtype, view) for view in views]
        count, *total = self.parts.sum(work)
        if count != self.count:
            raise ConfideError(
                "all passes over a table must find the same rows; one found a different "
                "number of rows. Fit on a copy that nobody writes to, or on a collection "
                "that gives the same rows each time it is computed."
            )
        return tuple(total)

    def subsample(self, stride: int) -> InMemoryRows:
        """Return about one out of every ``stride`` rows, but at most the whole sample."""
        seen = replace(self.view, places=None)(self.sample)
        return seen.subsample(max(1, stride * seen.count // max(1, self.whole.count)))

    def with_target(self, code: Callable[[AnyArray], Array]) -> "PartitionedRows":
        """Return the same rows with the target transformed by the function ``code``."""
        return replace(self, view=replace(self.view, code=code))

    def columns(self, support: Sequence[int]) -> "PartitionedRows":
        """Return the same rows with only the given columns and any intercept column."""
        own = tuple(int(place) for place in support)
        if self.view.support is not None:
            own = tuple(self.view.support[place] for place in own)
        return replace(self, view=replace(self.view, support=own))

    def take(self, places: AnyArray) -> "PartitionedRows":
        """Return the rows at the given positions, in table order."""
        return replace(self, picked=self._by_part(places))

    def gather(self, places: AnyArray) -> InMemoryRows:
        """Copy the few rows at the given positions to this process, in table order."""
        views = [replace(self.view, places=own) for own in self._by_part(places)]
        return self.parts.gather(views)

    def map_subsets(
        self, subsets: Sequence[AnyArray], fn: Callable[[InMemoryRows], T]
    ) -> list[T]:
        """Apply ``fn`` in parallel to subsets of the rows, each given by its positions."""
        picks = [
            [replace(self.view, places=own) for own in self._by_part(places)]
            for places in subsets
        ]
        return self.parts.map_subsets(picks, fn)

    def _by_part(self, places: AnyArray) -> tuple[AnyArray, ...]:
        """Convert positions in the whole table to sorted positions within each part."""
        ends = np.cumsum(self.sizes)
        ordered = np.sort(places)
        cuts = np.searchsorted(ordered, ends)[:-1]
        starts = ends - np.asarray(self.sizes)
        split = np.split(ordered, cuts)
        return tuple(own - start for own, start in zip(split, starts, strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        raise PrivacyLeak("private rows cannot be copied or stored")

    def __repr__(self) -> str:
        return "<private rows>"


def joined(pieces: Sequence[InMemoryRows]) -> InMemoryRows:
    """Concatenate several blocks of rows."""
    if len(pieces) == 1:
        return pieces[0]
    first = pieces[0]
    factor = None
    if any(piece.factor is not None for piece in pieces):
        whole = [np.ones(p.count) if p.factor is None else p.factor for p in pieces]
        factor = np.concatenate(whole)
    weight = offset = None
    if first.weight is not None:
        weight = np.concatenate([piece.weight for piece in pieces])
    if first.offset is not None:
        offset = np.concatenate([piece.offset for piece in pieces])
    listed = None
    if any(piece.listed is not None for piece in pieces):
        listed = sum(piece.table_count for piece in pieces)
    return InMemoryRows(
        stack([piece.features for piece in pieces]),
        np.concatenate([piece.target for piece in pieces]),
        factor,
        first.height,
        listed,
        weight,
        offset,
    )
