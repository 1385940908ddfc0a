"""Predictions for tables that are not in memory, chunk by chunk."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from confide._types import Array
from confide.data import Schema
from confide.data.matrix.matrix import Matrix
from confide.data.partitioned.cluster_rows import collected
from confide.data.schema.arrow_columns import is_arrow
from confide.data.schema.case_weights import NO_CASES, Cases
from confide.data.schema.declared import check_columns
from confide.data.tables.files import as_frame, open_table, walk
from confide.data.tables.read import local_path
from confide.errors import InvalidData
from confide.estimators._bounding import Bounding
from confide.estimators._readings import PartedTable, parted_table
from confide.estimators._validate import read_matrix, refuse_empty

T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class Margins:
    """Picklable function that computes the linear predictors of the rows of a chunk.

    ``names`` are the columns that a model without a schema was fitted on, if they have
    names. ``width`` is the number of features.
    """

    schema: Schema | None
    names: tuple[str, ...] | None
    width: int
    bounding: Bounding
    slopes: Array
    levels: Array

    def __call__(self, piece: Any) -> Array:
        """Return the linear predictors of all rows, with one column per coefficient set."""
        if self.schema is not None:
            return self.of(self.schema.compact_design(piece), self.schema.cases(piece))
        if not (isinstance(piece, pd.DataFrame) or is_arrow(piece)):
            return self.of(read_matrix(piece))
        frame = as_frame(piece)
        return self.of(read_matrix(frame[list(self.names or frame.columns)]))

    def of(self, features: Matrix, cases: Cases = NO_CASES) -> Array:
        """Return the linear predictors of rows that have already been read.

        The result for a row does not depend on other rows, not even in the last bit. In a
        private score, a record therefore cannot change the loss of another record.
        """
        nothing = np.zeros(features.shape[0])
        rows = self.bounding.enclose(features, nothing, cases, constant=False)
        parts = [
            np.column_stack(
                [block.margin(slopes, row_independent=True) for slopes in self.slopes]
            )
            for block in rows.blocks(0, rows.count)
        ]
        return np.concatenate(parts) + self.levels


def table_to_predict(X: Any, *, schema: bool) -> PartedTable | None:
    """Return the input as a table to be read in parts, or None if it is read at once.

    Without a schema, every file is read in parts.
    """
    if not schema and isinstance(X, str | Path) and local_path(X).is_file():
        return open_table(X)
    return parted_table(X, None)


def margins_in_parts(table: PartedTable, margins: Margins) -> Array:
    """Return the linear predictors of all rows of a table that is not in memory."""
    only = None
    if margins.schema is None:
        only = _columns(table, margins.names, margins.width)
    sources = table.sources(margins.schema, target=False, only=only)
    if table.cluster is None:
        found = list(walk(sources, margins, table.expected))
    else:
        found = collected(table.cluster, sources, margins)
    whole = np.concatenate(found)
    refuse_empty(len(whole))
    return whole


def each_piece(
    model: Any, source: str | Path, work: Callable[[pd.DataFrame], T]
) -> Iterator[T]:
    """Apply a function to a large table in chunks, without loading it into memory.

    Parameters
    ----------
    model : estimator
        Fitted model. Chunks have the columns that the model needs for predictions.
    source : str or Path
        File or folder of the table.
    work : callable
        Function of a data frame with consecutive rows of the table.

    Yields
    ------
    object
        Result of ``work`` for each chunk.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from confide import LinearRegression, Pure
    >>> from confide.estimators import each_piece
    >>> table = pd.DataFrame({"x": [0.0, 0.5, 1.0] * 40, "y": [0.0, 0.5, 1.0] * 40})
    >>> model = LinearRegression(Pure(1), row_norm=1, target_bound=1)
    >>> model = model.fit(table[["x"]], table["y"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_csv(f"{folder}/table.csv", index=False)
    ...     sum(each_piece(model, f"{folder}/table.csv", len))
    120

    All 120 rows were visited.
    """
    table = open_table(source)
    names, only = getattr(model, "feature_names_in_", None), None
    if model.schema is None:
        known = None if names is None else tuple(names)
        only = _columns(table, known, model.n_features_in_)

    def done(piece: Any) -> T | None:
        frame = as_frame(piece)
        if not len(frame):
            return None
        return work(frame if only is None else frame[list(only)])

    sources = table.sources(model.schema, target=False, only=only)
    found = 0
    for result in walk(sources, done, table.expected):
        if result is not None:
            found += 1
            yield result
    refuse_empty(found)


def _columns(
    table: PartedTable, names: tuple[str, ...] | None, width: int
) -> tuple[str, ...] | None:
    """Return the columns to read, or None to read all after checking their number."""
    if names is not None and table.names is not None:
        check_columns(table.names, list(names))
        return names
    check_width(table.width, width)
    return None


def check_width(found: int, width: int) -> None:
    """Raise an error unless rows have as many features as the model was fitted on."""
    if found != width:
        raise InvalidData(
            f"X has {found} features, but the model is expecting {width} features as input."
        )
