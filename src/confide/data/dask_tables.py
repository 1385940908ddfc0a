"""Dask's own tables: data frames and arrays, part by part as Dask cut them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from confide.data.cluster import current_client
from confide.data.schema import Schema, declared_columns
from confide.data.stream import Source
from confide.errors import InvalidData


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DaskPart:
    """A partition of a data frame or a block of an array, still to be computed.

    ``target`` is the same part of the target where that is a collection of its own.
    """

    features: Any
    target: Any

    def read(self) -> Iterator[Any]:
        """Compute it as one piece, in this thread."""
        yield self.whole()

    def whole(self) -> Any:
        """Compute it, in this thread."""
        base = import_module("dask.base")
        values = base.compute(self.features, self.target, scheduler="synchronous")
        return as_piece(*values)


def as_piece(features: Any, target: Any) -> Any:
    """Return a table, or a pair of features and target that belong together."""
    if target is None:
        return features
    if features.shape[0] != len(target):
        raise InvalidData(
            "X and the target y must be cut into parts of the same numbers of rows."
        )
    return features, target


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DaskTable:
    """A `dask.dataframe` or a `dask.array`, with its target in it or beside it."""

    names: tuple[str, ...] | None
    width: int
    cluster: Any
    _features: Any
    _target: Any

    @property
    def expected(self) -> None:
        """Dask does not know how many rows there are before they are computed."""
        return

    def sources(
        self,
        schema: Schema | None,
        *,
        target: bool = True,
        only: str | Sequence[str] | None = None,
    ) -> tuple[Source, ...]:
        """Return the parts, with the columns that a schema declares or with all."""
        features = self._features
        if schema is not None:
            if self.names is None:
                raise InvalidData(
                    "with a schema the data must be a table with named columns. Pass a "
                    "dask.dataframe."
                )
            features = features[declared_columns(schema, list(self.names), target=target)]
        blocks = np.ravel(features.to_delayed()).tolist()
        if self._target is None:
            return tuple(DaskPart(block, None) for block in blocks)
        beside = np.ravel(self._target.to_delayed()).tolist()
        if len(beside) != len(blocks):
            raise InvalidData(
                "X and the target y must be cut into the same number of parts. Rechunk or "
                "repartition one like the other."
            )
        return tuple(map(DaskPart, blocks, beside))

    def __repr__(self) -> str:
        return f"<table in parts, {self.width} columns>"


def is_dask(value: Any) -> bool:
    """Whether something is a Dask collection, without importing Dask."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def dask_table(X: Any, y: Any) -> DaskTable:
    """Take a Dask collection for a table; the active client, if any, holds its parts."""
    if y is not None and not is_dask(y):
        raise InvalidData("where X is a Dask collection the target y must be one as well.")
    if hasattr(X, "columns"):
        names = tuple(str(name) for name in X.columns)
        return DaskTable(names, len(names), current_client(), X, y)
    if X.ndim != 2:
        raise InvalidData("X must have two dimensions; it has another number of them.")
    whole = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    target = y
    if y is not None and hasattr(y, "chunks") and y.chunks[0] != whole.chunks[0]:
        known = not np.isnan([*y.chunks[0], *whole.chunks[0]]).any()
        target = y.rechunk({0: whole.chunks[0]}) if known else y
    if getattr(target, "ndim", 1) == 2 and target.numblocks[1] > 1:
        target = target.rechunk({1: -1})
    return DaskTable(None, int(X.shape[1]), current_client(), whole, target)
