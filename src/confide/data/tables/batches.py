"""Tables that a function yields in batches, for example from a database."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

from confide.data.partitioned.division import Division, divided
from confide.data.partitioned.stream import Source
from confide.data.schema.arrow_columns import ARROW_FAULTS, is_arrow
from confide.data.schema.declared import check_columns, declared_columns
from confide.data.schema.schema import Schema
from confide.errors import InvalidData, InvalidParameter

BATCH_ROWS = 2**16
"""Largest number of rows per block; longer batches are divided."""

Batches: TypeAlias = Callable[[], Iterable[Any]]
"""Function that yields all batches of one part of a table whenever it is called."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BatchSource:
    """A table that need not fit in memory, read by user-defined functions.

    A fit makes several passes over the rows, and calls every function once per pass.
    Batches are pandas data frames, Arrow tables or record batches, or other objects that
    support the Arrow stream protocol, such as polars data frames. Every call must yield the
    same rows. A fit stops with an error if the number of rows changes.

    Parameters
    ----------
    names : tuple of str
        The columns of every batch.
    parts : tuple of callable
        Functions without arguments, each of which yields the batches of one part of the
        table. If there are at least two parts per processor, parts are read in parallel;
        otherwise one thread reads and the others compute.
    rows : int, optional
        Approximate number of rows, for the progress bar and for the sample at the beginning
        of a fit. By default, rows are counted first in a separate pass.
    cluster : distributed.Client, optional
        Dask client whose workers call the functions once and hold the rows. By default,
        the functions are called again in every pass.
    batch_rows : int, default=65536
        Largest number of rows per block in computations.
    division : Division, optional
        Random division of the rows in two, of which only one side is read.

    Raises
    ------
    InvalidParameter
        A name is repeated, a part is not a function, or the number of rows is not valid.

    Notes
    -----
    The privacy guarantee assumes that each row of a batch depends on a single record. It
    does not hold if a function computes values from several records.

    Examples
    --------
    The rows come from a function that could also read a database:

    >>> import numpy as np, pandas as pd
    >>> from confide import Approx, LogisticRegression, Number, Schema, Target
    >>> from confide.data import BatchSource
    >>> def january():
    ...     rng = np.random.default_rng(1)
    ...     for _ in range(3):
    ...         age = rng.uniform(18, 90, 1000)
    ...         again = np.where(age > 60, "yes", "no")
    ...         yield pd.DataFrame({"age": age, "again": again})
    >>> schema = Schema((Number("age", 18, 90),), Target("again", labels=("no", "yes")))
    >>> table = BatchSource(("age", "again"), (january,), rows=3000)
    >>> model = LogisticRegression(Approx(1, 1e-6), schema=schema).fit(table)
    >>> model.coef_.shape
    (1, 1)
    """

    names: tuple[str, ...]
    parts: tuple[Batches, ...]
    rows: int | None = None
    cluster: Any = None
    batch_rows: int = BATCH_ROWS
    division: Division | None = None

    def __post_init__(self) -> None:
        names, parts = _listed("names", self.names), _listed("parts", self.parts)
        if len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
            must = "distinct column names, each of them text"
            raise InvalidParameter("names", must, list(names))
        if not all(callable(part) for part in parts):
            must = "functions without arguments, each of which yields batches"
            got = [type(part).__name__ for part in parts]
            raise InvalidParameter("parts", must, got, "Pass the function, not its result.")
        whole = isinstance(self.rows, int) and not isinstance(self.rows, bool)
        if self.rows is not None and not (whole and self.rows >= 0):
            raise InvalidParameter("rows", "a whole number, or None", self.rows)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "parts", parts)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def expected(self) -> int | None:
        """Approximate number of rows, or None if it is unknown."""
        return self.rows

    def sources(
        self,
        schema: Schema | None,
        *,
        target: bool = True,
        only: str | Sequence[str] | None = None,
    ) -> tuple[Source, ...]:
        """Return the parts, with the columns of ``schema`` or ``only`` (by default all)."""
        wanted = list(self.names)
        if only is not None:
            wanted = [only] if isinstance(only, str) else list(only)
            check_columns(self.names, wanted)
        if schema is not None:
            wanted = declared_columns(schema, list(self.names), target=target)
        own = (tuple(wanted), self.batch_rows)
        return divided([BatchPart(part, *own) for part in self.parts], self.division)

    def __repr__(self) -> str:
        return f"<table in parts, {self.width} columns>"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BatchPart:
    """Selected columns of one part of a table, given by a function that yields batches."""

    batches: Batches
    names: tuple[str, ...]
    rows: int

    def read(self) -> Iterator[Any]:
        """Yield blocks of at most ``rows`` rows."""
        found = False
        for batch in self.batches():
            table = self._chosen(batch)
            for start in range(0, len(table), self.rows):
                found = True
                yield _rows(table, start, self.rows)
        if not found:
            yield pd.DataFrame({name: [] for name in self.names})

    def whole(self) -> Any:
        """Return all rows as one block."""
        pieces = list(self.read())
        if len(pieces) == 1:
            return pieces[0]
        return _joined([_as_frame(piece) for piece in pieces])

    def _chosen(self, batch: Any) -> Any:
        """Return a batch restricted to the selected columns."""
        table = _table(batch)
        held = table.column_names if is_arrow(table) else list(table.columns)
        absent = [name for name in self.names if held.count(name) != 1]
        if absent:
            raise InvalidData(
                f"every batch must hold each column of the table once; in one batch "
                f"{absent} are missing or repeated."
            )
        names = list(self.names)
        return table.select(names) if is_arrow(table) else table[names]


def _listed(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        must = "a sequence with at least one element"
        raise InvalidParameter(name, must, type(given).__name__)
    return tuple(given)


def _table(batch: Any) -> Any:
    """Return a batch as a pandas data frame or an Arrow table."""
    if isinstance(batch, pd.DataFrame) or (is_arrow(batch) and hasattr(batch, "select")):
        return batch
    if hasattr(batch, "__arrow_c_stream__"):
        import pyarrow as pa

        try:
            return pa.table(batch)
        except ARROW_FAULTS:
            pass
    raise InvalidData(
        "every batch must be a table with named columns: a pandas or polars data frame, or "
        f"an Arrow table or record batch; one is of type {type(batch).__name__}."
    )


def _rows(table: Any, start: int, count: int) -> Any:
    if start == 0 and len(table) <= count:
        return table
    if is_arrow(table):
        return table.slice(start, count)
    return table.iloc[start : start + count]


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate data frames without converting values in columns of mixed types."""
    kinds = [{frame[name].dtype for frame in frames} for name in frames[0].columns]
    pairs = zip(frames[0].columns, kinds, strict=True)
    mixed = {name: object for name, found in pairs if len(found) > 1}
    return pd.concat([frame.astype(mixed) for frame in frames], ignore_index=True)


def _as_frame(piece: Any) -> pd.DataFrame:
    frame: pd.DataFrame = (
        piece if isinstance(piece, pd.DataFrame) else piece.to_pandas(ignore_metadata=True)
    )
    return frame
