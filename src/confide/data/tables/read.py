"""Tables from CSV and Parquet files, pandas, polars and Arrow."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from confide._files import MOST_IN_MEMORY, check_regular, size_limit, too_large
from confide.data.schema.declared import declared_columns
from confide.data.schema.schema import Schema
from confide.data.tables.delimited import (
    PACKED,
    PARQUET,
    read_delimited,
    translate_read_errors_locked,
)
from confide.errors import Described, InvalidData, InvalidParameter

DELIMITED = (".csv", ".tsv", ".tab", ".txt", ".data", "")


def read_table(
    source: Any,
    schema: Schema | None = None,
    *,
    target: bool = True,
    numbers: Sequence[str] = (),
) -> pd.DataFrame:
    r"""Return a table as a pandas DataFrame.

    Parameters
    ----------
    source : str, Path, DataFrame or other table
        Path of a file; or a pandas DataFrame, which is returned unchanged; or any other
        table that supports the Arrow stream or dataframe interchange protocol, such as a
        polars data frame. Files are in Parquet format, or are text separated by commas,
        semicolons or tabs, which may be compressed as .gz, .bz2 or .xz.
    schema : Schema, optional
        Schema whose columns are read, in their declared types.
    target : bool, default=True
        Whether the target column is required; use False for predictions.
    numbers : sequence of str, default=()
        Columns of a CSV file that are read as numbers if there is no schema.

    Returns
    -------
    DataFrame
        The table.

    Raises
    ------
    InvalidData
        The source is not a table, or a column does not agree with the schema. The message
        names the column but never shows a value.
    InvalidParameter
        The file cannot be read, or its format is unknown.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from confide.data import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pathlib.Path(folder, "people.csv")
    ...     _ = table.write_text("age;ill\n30;no\n")
    ...     print(list(read_table(table).columns))
    ['age', 'ill']
    """
    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, str | Path):
        path = local_path(source)
        if is_parquet(path):
            return _read_parquet(path, schema, target=target)
        return read_delimited(path, schema, target=target, numbers=numbers)
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__"):
        return _from_protocol(source, schema, target=target)
    raise InvalidData(
        "the data must be a table with named columns. Pass a DataFrame, or a path to a CSV "
        "or Parquet file."
    )


def local_path(source: str | Path) -> Path:
    """Return the path of a local file; reject URLs.

    Parameters
    ----------
    source : str or Path
        Path of a file.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    InvalidParameter
        The text is a URL, such as "s3://bucket/table.csv".

    Examples
    --------
    >>> from confide.data import local_path
    >>> local_path("people.csv").name
    'people.csv'
    """
    if "://" in str(source):
        raise InvalidParameter(
            "table",
            "the path of a local file",
            str(source),
            "Copy it to a local disk, or pass a Dask collection, for example from "
            "dask.dataframe.read_parquet.",
        )
    return Path(source)


def is_parquet(path: Path) -> bool:
    """Return whether a file name is that of a Parquet file; reject unknown formats."""
    if path.suffix.lower() in PARQUET:
        return True
    inner = path.with_suffix("") if path.suffix.lower() in PACKED else path
    if inner.suffix.lower() not in DELIMITED:
        must = f"a file that ends in one of {', '.join([*DELIMITED[:-1], *PARQUET])}"
        hint = "Save a spreadsheet as CSV first."
        raise InvalidParameter("table", must, str(path), hint)
    return False


def parquet_names(path: Path) -> list[str]:
    """Return the column names of a Parquet file from its metadata."""
    arrow = _parquet()
    check_regular(path, "table")
    with translate_read_errors_locked(path):
        return [str(name) for name in arrow.read_schema(path).names]


def _read_parquet(path: Path, schema: Schema | None, *, target: bool) -> pd.DataFrame:
    arrow, names = _parquet(), parquet_names(path)
    wanted = _wanted(names, schema, target=target)
    most = size_limit(MOST_IN_MEMORY)
    with translate_read_errors_locked(path):
        rows = arrow.read_metadata(path).num_rows
        if 8 * rows * len(names if wanted is None else wanted) > most:
            raise too_large(path, most)
        table = arrow.read_table(path, columns=wanted)
        return _to_pandas(table)


def arrow_dataset(paths: list[Path], folder: Path | None) -> Any:
    """Open Parquet files as one dataset; a folder may be partitioned by subfolders."""
    _parquet()
    from pyarrow import dataset

    with translate_read_errors_locked(folder or paths[0]):
        if folder is not None:
            return dataset.dataset(folder, format="parquet", partitioning="hive")
        return dataset.dataset([str(path) for path in paths], format="parquet")


def _parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise InvalidParameter(
            "table",
            "a CSV file unless pyarrow is installed",
            Described("a Parquet file"),
            "Install it with: pip install 'confide[parquet]'",
        ) from None
    return parquet


def _from_protocol(source: Any, schema: Schema | None, *, target: bool) -> pd.DataFrame:
    """Convert a table from another library, using Arrow if it is installed."""
    try:
        import pyarrow as pa
    except ImportError:
        return pd.DataFrame(pd.api.interchange.from_dataframe(source))
    try:
        if hasattr(source, "__arrow_c_stream__"):
            table = pa.table(source)
        else:
            from pyarrow.interchange import (
                from_dataframe,
            )

            table = from_dataframe(source)
        names = [str(name) for name in table.column_names]
        wanted = _wanted(names, schema, target=target)
        return _to_pandas(table if wanted is None else table.select(wanted))
    except (pa.ArrowException, TypeError, NotImplementedError, AttributeError):
        raise InvalidData(
            "the data must be a table with named columns of simple types; Arrow cannot "
            "convert this one. Convert it to a pandas DataFrame first."
        ) from None


def _wanted(names: list[str], schema: Schema | None, *, target: bool) -> list[str] | None:
    """Return the names of the declared columns, or None for all columns."""
    return None if schema is None else declared_columns(schema, names, target=target)


def _to_pandas(table: Any) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    return frame
