"""Reading of tables and their targets, in memory or in parts.

If ranges are to be estimated, histograms are computed in the same pass over the data.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.data import InMemoryRows, PartitionedRows, Schema, read_table
from confide.data.matrix.matrix import Matrix
from confide.data.matrix.sums import Partial, pairwise_sum
from confide.data.partitioned.cluster_rows import ClusterParts, collected
from confide.data.partitioned.dask_collections import DaskTable, dask_table, is_dask
from confide.data.partitioned.rows import Parts
from confide.data.partitioned.stream import Prepare, Source, Stream
from confide.data.schema.case_weights import NO_CASES, Cases, read_sample_weight
from confide.data.schema.declared import check_columns
from confide.data.schema.range_grid import PARTS
from confide.data.tables.batches import BatchSource
from confide.data.tables.files import (
    FileTable,
    as_frame,
    column_names,
    is_in_parts,
    open_table,
    walk,
)
from confide.errors import Described, InvalidData, InvalidParameter
from confide.estimators._bounding import Bounding
from confide.estimators._spec import FitSpec
from confide.estimators._target import ReadTarget, TargetInfo, TargetSpec
from confide.estimators._validate import (
    labels_in,
    read_features,
    read_matrix,
    read_numbers,
)
from confide.mechanisms.ranges.read_range import RangeQuery


@dataclass(frozen=True, slots=True)
class CountCells:
    """Picklable function that computes the histograms from which ranges are estimated."""

    schema: Schema
    queries: tuple[RangeQuery, ...]

    def __call__(self, table: Any, target: Any) -> tuple[Array, ...]:
        """Return one histogram per query; ``target`` is None if the table contains it."""
        columns = {column.name: column for column in self.schema.predictors}
        found = []
        for query in self.queries:
            if query.name in columns:
                values = columns[query.name].read(self.schema.column(table, query.name))
            else:
                own = self.schema.target_column(table) if target is None else target
                values = read_numbers(own, len(table), clamped=True)
            found.append(query.grid.count(values))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class CountChunk:
    """Picklable function that computes the histograms and row count of a chunk."""

    count: CountCells

    def __call__(self, piece: Any) -> Partial:
        """Return histograms of the rows that a fit would use, and the total row count."""
        if isinstance(piece, tuple):
            return *self.count(*piece), np.array(len(piece[0]))
        return *self.count(self.count.schema.kept(piece), None), np.array(len(piece))


class RangeTally:
    """Function that bounds the rows of chunks and adds up histograms in the same pass."""

    def __init__(self, prepare: Prepare, count: CountChunk) -> None:
        self._prepare, self._count, self._lock = prepare, count, Lock()
        queries = count.count.queries
        self.counts: list[Array] = [np.zeros((q.grid.cells, PARTS)) for q in queries]

    def __call__(self, piece: Any) -> InMemoryRows:
        """Return the bounded rows of a chunk, after adding its histograms to the totals."""
        rows = self._prepare(piece)
        *found, _ = self._count(piece)
        with self._lock:
            self.add(found)
        return rows

    def add(self, found: Sequence[Array]) -> None:
        """Add the histograms of a chunk to the totals."""
        pairs = zip(self.counts, found, strict=True)
        self.counts = [whole + part for whole, part in pairs]


PartedTable: TypeAlias = FileTable | BatchSource | DaskTable


def count_in_parts(
    table: PartedTable, cells: CountCells, *, beside: bool
) -> tuple[list[Array], int]:
    """Return the histograms and the row count of a table that is read in parts.

    ``beside`` states whether the target is separate from the table.
    """
    sources, count = table.sources(cells.schema, target=not beside), CountChunk(cells)
    if table.cluster is None:
        *counts, rows = pairwise_sum(walk(sources, count, table.expected))
    else:
        *counts, rows = pairwise_sum(collected(table.cluster, sources, count))
    return counts, int(rows)


Check: TypeAlias = Callable[..., Any]


class Reading(Protocol):
    """Protocol for a table with a known target coding and rows that are not yet bounded."""

    @property
    def task(self) -> TargetSpec:
        """Loss and coding of the target."""
        ...

    @property
    def width(self) -> int:
        """Number of columns of the design matrix, without the constant column."""
        ...

    def enclose(self, bounding: Bounding) -> InMemoryRows | PartitionedRows:
        """Return bounded rows for mechanisms only; the target is not yet coded."""
        ...

    def enclose_and_count(
        self, bounding: Bounding, queries: Sequence[RangeQuery]
    ) -> tuple[InMemoryRows | PartitionedRows, list[Array]]:
        """Return bounded rows, and one histogram per range query."""
        ...

    def reread(self, spec: FitSpec, count: int) -> "Reading":
        """Return the same table, read with the ranges of another specification.

        ``count`` is the number of rows found in the first reading.
        """
        ...


def reading_of(
    spec: FitSpec, X: Any, y: Any, check: Check, sample_weight: Any = None
) -> Reading:
    """Read as much of a table as is needed before its rows are bounded.

    ``check`` is the scikit-learn function that validates features in memory.
    """
    table = parted_table(X, y)
    if table is None:
        return _read_whole(spec, X, y, check, sample_weight)
    if sample_weight is not None:
        raise InvalidParameter(
            "sample_weight",
            "left out for a table that is read in parts",
            type(sample_weight).__name__,
            "Declare a column of weights as the [case_weights] of a schema.",
        )
    return _read_in_parts(spec, table, y)


# ------------------------------------------------------------------------------ in memory


@dataclass(frozen=True, slots=True, repr=False)
class InMemory:
    """Features and target in memory.

    ``listed`` is the number of rows including those without a target. ``table`` and ``y``
    are the inputs of the fit.
    """

    task: TargetSpec
    features: Matrix
    target: AnyArray
    cases: Cases
    listed: int
    table: Any
    y: Any
    schema: Schema | None
    check: Check

    @property
    def width(self) -> int:
        """Number of columns of the design matrix, without the constant column."""
        return self.features.shape[1]

    def enclose(self, bounding: Bounding) -> InMemoryRows:
        """Return bounded rows, wrapped in an object that only mechanisms may read."""
        rows = bounding.enclose(self.features, self.target, self.cases)
        return replace(rows, listed=self.listed)

    def enclose_and_count(
        self, bounding: Bounding, queries: Sequence[RangeQuery]
    ) -> tuple[InMemoryRows, list[Array]]:
        """Return bounded rows, and one histogram per range query."""
        assert self.schema is not None, "ranges can only be estimated with a schema"  # noqa: S101
        count = CountCells(self.schema, tuple(queries))
        kept = self.schema.kept(self.table) if self.y is None else self.table
        return self.enclose(bounding), list(count(kept, self.y))

    def reread(self, spec: FitSpec, count: int) -> "InMemory":
        """Return the same table, read with the ranges of another specification."""
        again = _read_frame(spec, self.table, self.y, self.check)
        return replace(again, cases=self.cases)


def _check_weights(schema: Schema | None, y: Any) -> None:
    """Raise an error if ``y`` is given with a table that contains the weights."""
    if y is None or isinstance(y, str) or schema is None:
        return
    if schema.case_weights is not None and schema.case_weights.column:
        raise InvalidParameter(
            "y", "left out: the table holds the weights and the target", Described("one")
        )


def _read_whole(
    spec: FitSpec, X: Any, y: Any, check: Check, sample_weight: Any
) -> InMemory:
    schema = spec.schema
    unnamed = schema is None and y is None
    if isinstance(X, str | Path) and (unnamed or isinstance(y, str)):
        _check_name(schema, y)
        names, name = column_names(X), y
        check_columns(names, [name])
        X = read_table(X, schema, numbers=_numbers(spec, names, name))
        X, y = (X.drop(columns=name), X[name]) if schema is None else (X, None)
    if schema is not None:
        X = read_table(X, schema, target=y is None)
    return _read_frame(spec, X, y, check, sample_weight)


def _read_frame(
    spec: FitSpec, table: Any, y: Any, check: Check, sample_weight: Any = None
) -> InMemory:
    schema = spec.schema
    _check_weights(schema, y)
    in_table = schema is not None and y is None
    kept = table
    if schema is not None and y is None:
        kept = schema.kept(table)
    features = read_features(kept, schema, check)
    # The number of rows with a target is private under every relation: count all rows.
    listed = features.shape[0] if schema is None else len(table)
    found = schema.target_column(kept) if schema is not None and in_table else y
    task = spec.target.spec(spec.target.look(found, features.shape[0]))
    target = task.read(found, features.shape[0])
    cases = NO_CASES if schema is None else schema.cases(kept, target)
    if sample_weight is not None:
        cap = float(spec.weight_cap or 1.0)
        cases = Cases(read_sample_weight(sample_weight, features.shape[0], cap))
    return InMemory(task, features, target, cases, listed, table, y, schema, check)


def _numbers(spec: FitSpec, names: Sequence[str], target: str) -> tuple[str, ...]:
    """Return the columns to read as numbers if there is no schema."""
    return tuple(name for name in names if name != target or not spec.classifies)


def _check_name(schema: Schema | None, y: Any) -> None:
    """Raise an error unless ``y`` is valid for a table that contains the target."""
    if schema is None and isinstance(y, str):
        return
    if schema is not None and (y is None or y == schema.target.column):
        return
    must = "left out: the schema names the target"
    if schema is None:
        must = "the name of the target's column in the table"
    got = y if y is None or isinstance(y, str) else type(y).__name__
    raise InvalidParameter("y", must, got)


# ------------------------------------------------------------------------------- in parts


def parted_table(X: Any, y: Any) -> PartedTable | None:
    """Return the input as a table to be read in parts, or None if it is read at once."""
    if isinstance(X, DaskTable):
        return X
    if not is_in_parts(X):
        return None
    if is_dask(X):
        return dask_table(X, y)
    return X if isinstance(X, FileTable | BatchSource) else open_table(X)


@dataclass(frozen=True, slots=True, repr=False)
class InParts:
    """Table that is read in parts, with a function that splits off the target.

    ``names`` are the features of a table without a schema, if its columns have names.
    ``about`` is the approximate number of rows, or None.
    """

    task: TargetSpec
    width: int
    names: tuple[str, ...] | None
    table: PartedTable
    split: "SplitChunk"
    y: Any
    about: int | None

    def reread(self, spec: FitSpec, count: int) -> "InParts":
        """Return the same table, read with the ranges of another specification."""
        return replace(_read_in_parts(spec, self.table, self.y), about=count)

    def enclose(self, bounding: Bounding) -> PartitionedRows:
        """Read all parts once and return bounded rows; a cluster keeps them in memory."""
        prepare = PrepareChunk(self.split, self.task.read, bounding, self.width)
        return self._over(prepare, bounding)

    def enclose_and_count(
        self, bounding: Bounding, queries: Sequence[RangeQuery]
    ) -> tuple[PartitionedRows, list[Array]]:
        """Return bounded rows, and one histogram per range query.

        Histograms are computed in the pass that counts the rows, or in that of `enclose`.
        """
        schema = self.split.schema
        assert schema is not None, "ranges can only be estimated with a schema"  # noqa: S101
        cells = CountCells(schema, tuple(queries))
        prepare = PrepareChunk(self.split, self.task.read, bounding, self.width)
        if self.table.cluster is not None:
            count = CountChunk(cells)
            held = ClusterParts.of(self.table.cluster, self._sources, prepare, count)
            rows = PartitionedRows.over(held, bounding.height, self.width)
            *counts, _ = held.sum_beside()
            return rows, counts
        if self.about is None:
            counts, found = count_in_parts(self.table, cells, beside=self.split.beside)
            return replace(self, about=found).enclose(bounding), counts
        tally = RangeTally(prepare, CountChunk(cells))
        rows = self._over(tally, bounding)
        return rows.with_parts(self._parts(prepare)), tally.counts

    def _over(self, prepare: Prepare, bounding: Bounding) -> PartitionedRows:
        return PartitionedRows.over(self._parts(prepare), bounding.height, self.width)

    @property
    def _sources(self) -> tuple[Source, ...]:
        return self.table.sources(self.split.schema, target=not self.split.beside)

    def _parts(self, prepare: Prepare) -> Parts:
        if self.table.cluster is None:
            return Stream(self._sources, prepare, self.about)
        return ClusterParts.of(self.table.cluster, self._sources, prepare)


@dataclass(frozen=True, slots=True)
class SplitChunk:
    """Picklable function that splits a chunk of a table into features and target.

    The target is identified by the schema or by the column name ``target``. If the target
    is a separate collection (``beside``), chunks are already pairs of features and target.
    """

    schema: Schema | None
    target: str | None
    beside: bool

    def __call__(self, piece: Any) -> tuple[Matrix, Any, int, Any]:
        """Return features, target, the row count of the chunk, and the rows as a table.

        If the schema drops rows without a target, these are counted but not returned.
        """
        if isinstance(piece, tuple):
            features = self._features(piece[0])
            return features, piece[1], features.shape[0], piece[0]
        listed = len(piece)
        if self.schema is not None:
            piece = self.schema.kept(piece)
            features = self.schema.compact_design(piece)
            return features, self.schema.target_column(piece), listed, piece
        frame = as_frame(piece)
        features = self._features(frame.drop(columns=self.target))
        return features, frame[self.target], listed, frame

    def _features(self, table: Any) -> Matrix:
        if self.schema is not None:
            return self.schema.compact_design(table)
        return read_matrix(table)


@dataclass(frozen=True, slots=True)
class PrepareChunk:
    """Picklable function that turns a chunk of a table into bounded rows."""

    split: SplitChunk
    read: ReadTarget
    bounding: Bounding
    width: int

    def __call__(self, piece: Any) -> InMemoryRows:
        """Read one chunk and bound its rows."""
        features, target, listed, table = self.split(piece)
        if features.shape[1] != self.width:
            raise InvalidData(
                f"every part of a table must have {self.width} features; one part has "
                f"{features.shape[1]}."
            )
        kept = self.read(target, features.shape[0])
        schema = self.split.schema
        cases = NO_CASES if schema is None else schema.cases(table, kept)
        return replace(self.bounding.enclose(features, kept, cases), listed=listed)


def _read_in_parts(spec: FitSpec, table: PartedTable, y: Any) -> InParts:
    schema = spec.schema
    _check_weights(schema, y)
    named = isinstance(y, str)
    if named or not isinstance(table, DaskTable):
        _check_name(schema, y)
    if isinstance(table, FileTable):
        table = table.keep_parsed()
    if schema is None and isinstance(table, FileTable):
        table = replace(table, numbers=_numbers(spec, table.names, y))
    elif schema is None and y is None:
        raise InvalidData(
            "fit requires y to be passed: another Dask collection or the name of a "
            "column, unless a schema names the target."
        )
    beside = not (named or y is None)
    split = SplitChunk(schema, y if named else None, beside=beside)
    task = spec.target.spec(_look_in_parts(spec, table, split, y))
    names = _names(table, split)
    width = int(table.width) if names is None else len(names)
    if schema is not None:
        names, width = None, len(schema.features)
    return InParts(task, width, names, table, split, y, table.expected)


def _names(table: PartedTable, split: "SplitChunk") -> tuple[str, ...] | None:
    """Return the names of the features; None with a schema or for unnamed columns."""
    if split.schema is not None or table.names is None:
        return None
    if split.target is not None:
        check_columns(table.names, [split.target])
    return tuple(name for name in table.names if name != split.target)


def _look_in_parts(
    spec: FitSpec, table: PartedTable, split: SplitChunk, y: Any
) -> TargetInfo:
    """Read the target part by part to find labels, if none were declared."""
    responses = int(y.shape[1]) if getattr(y, "ndim", 1) == 2 else 1
    if not spec.target.seeks_labels:
        return TargetInfo(responses=responses)
    if isinstance(table, DaskTable) and split.beside:
        sources = table.targets()
    else:
        sources = table.sources(split.schema, only=split.target)
    look = LabelsOfChunk(split.target)
    if table.cluster is None:
        found = [look(piece) for source in sources for piece in source.read()]
    else:
        found = collected(table.cluster, sources, look)
    labels = [part for part in found if len(part)] or found
    if len({part.dtype.kind in "iufb" for part in labels}) > 1:
        # Concatenation would turn the numbers into text.
        labels = [part.astype(object) for part in labels]
        return TargetInfo(labels_in(np.concatenate(labels), sum(map(len, labels))))
    return TargetInfo(np.unique(np.concatenate(labels)))


@dataclass(frozen=True, slots=True)
class LabelsOfChunk:
    """Picklable function that returns the labels in a chunk of a table.

    If ``target`` is None, the chunk is the target column itself.
    """

    target: str | None

    def __call__(self, piece: Any) -> AnyArray:
        """Return the distinct labels in sorted order."""
        if self.target is None:
            return labels_in(piece, len(piece))
        frame = as_frame(piece)
        return labels_in(frame[self.target], len(frame))
