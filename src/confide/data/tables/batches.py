"""Tables that a program hands out in batches: databases, object stores, simulations."""

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
"""Rows per piece; longer batches are divided."""

Batches: TypeAlias = Callable[[], Iterable[Any]]
"""A part of a table: every call yields its batches from the first to the last."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BatchSource:
    """A table that need not fit in memory, read by functions of your own.

    A fit reads the rows several times, and calls every part once each time. Batches are
    pandas data frames, tables or record batches of Arrow, or anything else that supports
    Arrow's stream, such as polars data frames. Every call must yield the same rows: a fit
    that finds a different number of rows stops.

    Parameters
    ----------
    names : tuple of str
        The columns of every batch.
    parts : tuple of callable
        Functions without arguments, each of which yields the batches of one part of the
        table. If there are at least two parts for every processor, parts are read in
        parallel; otherwise one thread reads and the others compute.
    rows : int, optional
        Approximate number of rows, for the progress bar and for the sample at the beginning
        of a fit. By default rows are first counted in a separate sweep.
    cluster : distributed.Client, optional
        Client whose workers call the parts once and hold their rows. By default parts are
        called again in every sweep.
    batch_rows : int, default=65536
        Number of rows of a block in computations.
    division : Division, optional
        How the table is divided, where that is known already.

    Raises
    ------
    InvalidParameter
        Names repeat, parts are not functions, or the number of rows is not valid.

    Notes
    -----
    The guarantee assumes that a batch contains records unchanged: a program that computes
    a value from several records breaks it.

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
            must = "different names of columns"
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
        """How many columns there are."""
        return len(self.names)

    @property
    def expected(self) -> int | None:
        """Approximate number of rows, None if unknown."""
        return self.rows

    def sources(
        self,
        schema: Schema | None,
        *,
        target: bool = True,
        only: str | Sequence[str] | None = None,
    ) -> tuple[Source, ...]:
        """Return the parts, with the columns that a schema declares, some, or all."""
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
    """Some columns of one part of a table, a function that yields batches."""

    batches: Batches
    names: tuple[str, ...]
    rows: int

    def read(self) -> Iterator[Any]:
        """Yield pieces of at most a given number of rows."""
        found = False
        for batch in self.batches():
            table = self._chosen(batch)
            for start in range(0, len(table), self.rows):
                found = True
                yield _rows(table, start, self.rows)
        if not found:
            yield pd.DataFrame({name: [] for name in self.names})

    def whole(self) -> Any:
        """Return all rows as one piece."""
        pieces = list(self.read())
        if len(pieces) == 1:
            return pieces[0]
        return _joined([_as_frame(piece) for piece in pieces])

    def _chosen(self, batch: Any) -> Any:
        """Return a batch with the wanted columns alone."""
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
        must = "a sequence of at least one"
        raise InvalidParameter(name, must, type(given).__name__)
    return tuple(given)


def _table(batch: Any) -> Any:
    """Return a batch as a data frame of pandas or a table of Arrow."""
    if isinstance(batch, pd.DataFrame) or (is_arrow(batch) and hasattr(batch, "select")):
        return batch
    if hasattr(batch, "__arrow_c_stream__"):
        import pyarrow as pa

        try:
            return pa.table(batch)
        except ARROW_FAULTS:
            pass
    raise InvalidData(
        "every batch must be a table with named columns: a data frame of pandas or polars, "
        f"or a table or record batch of Arrow; one is {type(batch).__name__}."
    )


def _rows(table: Any, start: int, count: int) -> Any:
    if start == 0 and len(table) <= count:
        return table
    if is_arrow(table):
        return table.slice(start, count)
    return table.iloc[start : start + count]


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Combine frames; a column with several types keeps its values unchanged."""
    kinds = [{frame[name].dtype for frame in frames} for name in frames[0].columns]
    pairs = zip(frames[0].columns, kinds, strict=True)
    mixed = {name: object for name, found in pairs if len(found) > 1}
    return pd.concat([frame.astype(mixed) for frame in frames], ignore_index=True)


def _as_frame(piece: Any) -> pd.DataFrame:
    frame: pd.DataFrame = (
        piece if isinstance(piece, pd.DataFrame) else piece.to_pandas(ignore_metadata=True)
    )
    return frame
