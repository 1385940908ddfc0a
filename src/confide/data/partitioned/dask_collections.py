"""Dask data frames and arrays, read one partition at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from confide.data.partitioned.division import Division, divided
from confide.data.partitioned.stream import Source
from confide.data.schema.declared import check_columns, declared_columns
from confide.data.schema.schema import Schema
from confide.errors import InvalidData
from confide.parallel.dask_cluster import current_client


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DaskPart:
    """A partition of a Dask data frame, or a chunk of a Dask array, not yet computed.

    ``target`` is the corresponding part of the target if the target is a separate
    collection, and None otherwise.
    """

    features: Any
    target: Any

    def read(self) -> Iterator[Any]:
        """Compute the partition in this thread, and yield it as one block."""
        yield self.whole()

    def whole(self) -> Any:
        """Compute the partition in this thread, and return it."""
        base = import_module("dask.base")
        values = base.compute(self.features, self.target, scheduler="synchronous")
        return as_piece(*values)


def as_piece(features: Any, target: Any) -> Any:
    """Return the features, or features and target if the target is separate."""
    if isinstance(features, tuple):
        features, target = features
    if target is None:
        return features
    if features.shape[0] != len(target):
        raise InvalidData(
            "X and the target y must have chunks with the same numbers of rows. Take "
            "both from one collection, or rechunk y like X."
        )
    return features, target


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DaskTable:
    """A Dask data frame or array, whose target is a column or a separate collection."""

    names: tuple[str, ...] | None
    width: int
    cluster: Any
    _features: Any
    _target: Any
    division: Division | None = None

    @property
    def expected(self) -> None:
        """None, because the number of rows is unknown until Dask has computed the rows."""
        return

    def sources(
        self,
        schema: Schema | None,
        *,
        target: bool = True,
        only: str | Sequence[str] | None = None,
    ) -> tuple[Source, ...]:
        """Return the parts, with the columns of ``schema`` or ``only`` (by default all)."""
        return divided(self._whole_parts(schema, target, only), self.division)

    def _whole_parts(
        self, schema: Schema | None, target: bool, only: str | Sequence[str] | None
    ) -> tuple[Source, ...]:
        features = self._features
        if schema is not None:
            if self.names is None:
                raise InvalidData(
                    "with a schema the data must be a table with named columns. Pass a "
                    "dask.dataframe."
                )
            features = features[declared_columns(schema, list(self.names), target=target)]
        elif only is not None:
            wanted = [only] if isinstance(only, str) else list(only)
            check_columns(self.names, wanted)
            features = features[wanted]
        if self._target is None:
            blocks = np.ravel(features.to_delayed()).tolist()
            return tuple(DaskPart(block, None) for block in blocks)
        if _parts(features) != _parts(self._target):
            raise InvalidData(
                "X and the target y must have the same number of partitions. Rechunk or "
                "repartition one like the other."
            )
        if is_frame(features) and is_frame(self._target):
            frames = import_module("dask.dataframe")
            # If features and target were computed separately, Dask might merge partitions
            # of one but not of the other.
            pairs = frames.map_partitions(
                _pair,
                features,
                self._target,
                meta=pd.DataFrame(),
                align_dataframes=False,
                enforce_metadata=False,
            )
            return tuple(DaskPart(pair, None) for pair in pairs.to_delayed())
        return tuple(map(DaskPart, _as_cut(features), _as_cut(self._target)))

    def targets(self) -> tuple[Source, ...]:
        """Return the parts of a target that is a separate collection."""
        blocks = np.ravel(self._target.to_delayed())
        return divided([DaskPart(block, None) for block in blocks], self.division)

    def __repr__(self) -> str:
        return f"<table in parts, {self.width} columns>"


def is_frame(value: Any) -> bool:
    """Whether a Dask collection is a data frame or series."""
    return hasattr(value, "npartitions") and not hasattr(value, "numblocks")


def _parts(collection: Any) -> int:
    return int(collection.npartitions)


def _as_cut(collection: Any) -> list[Any]:
    """Return the partitions of a collection, and prevent Dask from merging any."""
    found: list[Any] = np.ravel(collection.to_delayed(optimize_graph=False)).tolist()
    return found


def _pair(features: Any, target: Any) -> tuple[Any, Any]:
    return features, target


def is_dask(value: Any) -> bool:
    """Whether an object is a Dask collection, without importing Dask."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def dask_table(X: Any, y: Any) -> DaskTable:
    """Wrap a Dask collection as a table, computed by the active client if there is one."""
    named = isinstance(y, str) and is_frame(X)
    if y is not None and not (named or is_dask(y)):
        raise InvalidData(
            "if X is a Dask collection, the target y must be one as well, or the name of a "
            "column if X is a data frame."
        )
    if getattr(X, "ndim", 0) != 2:
        raise InvalidData("X must have two dimensions; it has more or fewer.")
    if is_frame(X):
        names = tuple(str(name) for name in X.columns)
        return DaskTable(names, len(names), current_client(), X, None if named else y)
    whole = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    target = y
    if y is not None and hasattr(y, "chunks") and y.chunks[0] != whole.chunks[0]:
        known = not np.isnan([*y.chunks[0], *whole.chunks[0]]).any()
        if known and y.shape[0] != X.shape[0]:
            raise InvalidData("X and the target y must have the same number of rows.")
        target = y.rechunk({0: whole.chunks[0]}) if known else y
    if getattr(target, "ndim", 1) == 2 and target.numblocks[1] > 1:
        target = target.rechunk({1: -1})
    return DaskTable(None, int(X.shape[1]), current_client(), whole, target)
