"""`confide predict`: a released model on a table, piece by piece."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import pandas as pd
import typer

from confide._types import AnyArray
from confide.cli.output import AsJson, ModelFile, console, err_console, print_json
from confide.cli.progress import SweepBar
from confide.cli.tables import TableName, check_table
from confide.data.tables.delimited import PACKED, PARQUET
from confide.errors import InvalidParameter
from confide.estimators import each_piece, load_model

DIGITS = 5
"""Significant digits of a predicted number."""
CHANCE_DIGITS = 4
GROUP_ROWS = 2**18
"""So many predictions make a row group of a Parquet file."""
Write: TypeAlias = Callable[[pd.DataFrame], None]


def predict(
    model: ModelFile,
    table: TableName,
    out: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet file to write; CSV is printed if absent."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict the target of every row of a table by a released model.

    A table need not fit in memory: predictions are written as it is read.

    Example: [bold]confide predict model.json new.csv --out predictions.csv[/bold]
    """
    check_table(table)
    estimator = load_model(model)

    def guess(piece: pd.DataFrame) -> pd.DataFrame:
        return predictions_for(estimator, piece)

    pieces = each_piece(estimator, table, guess)
    if out is None:
        _print_all(pieces, as_json=as_json)
        return
    count = 0
    bar = SweepBar(err_console, f"opening {Path(table).name}", once="predicting")
    with bar.shown(), _written(out) as write:
        for piece in pieces:
            count += len(piece)
            write(piece)
    if as_json:
        print_json({"rows": count, "out": str(out)})
    else:
        console.print(f"{count:,} predictions written to {out}.", soft_wrap=True)


def predictions_for(estimator: Any, rows: pd.DataFrame) -> pd.DataFrame:
    """Return predictions, and of a classifier with chances these as well."""
    guesses = estimator.predict(rows)
    columns: dict[str, Any] = {"prediction": guesses}
    if guesses.ndim == 2:
        columns = {f"y{j}": _rounded(column) for j, column in enumerate(guesses.T)}
    elif not hasattr(estimator, "classes_"):
        columns = {"prediction": _rounded(guesses)}
    if hasattr(estimator, "predict_proba"):
        chances = estimator.predict_proba(rows)
        for label, chance in zip(estimator.classes_, chances.T, strict=True):
            columns[f"probability of {label}"] = np.round(chance, CHANCE_DIGITS)
    return pd.DataFrame(columns)


def _rounded(predictions: AnyArray) -> AnyArray:
    """Return numbers with as many digits as a noisy model can stand for."""
    return np.array([float(f"{value:.{DIGITS}g}") for value in predictions])


def _print_all(pieces: Iterator[pd.DataFrame], *, as_json: bool) -> None:
    if as_json:
        print_json(pd.concat(list(pieces)).to_dict(orient="list"))
        return
    for place, piece in enumerate(pieces):
        print(piece.to_csv(index=False, header=place == 0), end="")


# -------------------------------------------------------------------------------- files


@contextmanager
def _written(out: Path) -> Iterator[Write]:
    """Yield what adds predictions to a file, which appears when all are written."""
    if out.is_dir() or not (out.parent.is_dir() and os.access(out.parent, os.W_OK)):
        raise InvalidParameter(
            "--out", "a file in a folder that can be written to", str(out)
        )
    unfinished = out.with_name(f".{out.name}.unfinished")
    kind = _parquet if out.suffix.lower() in PARQUET else _delimited
    try:
        with kind(unfinished, out.suffix.lower()) as write:
            yield write
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _delimited(path: Path, suffix: str) -> Iterator[Write]:
    separator = "\t" if suffix in (".tsv", ".tab") else ","
    started = False
    packer = PACKED.get(suffix, open)
    with packer(path, "wt", encoding="utf-8", newline="") as stream:

        def write(piece: pd.DataFrame) -> None:
            nonlocal started
            piece.to_csv(stream, index=False, header=not started, sep=separator)
            started = True

        yield write


@contextmanager
def _parquet(path: Path, _suffix: str) -> Iterator[Write]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise InvalidParameter(
            "--out",
            "CSV, because Parquet needs pyarrow",
            str(path.name),
            "Install it by: pip install 'confide[parquet]'",
        ) from None
    waiting: list[Any] = []
    writer: Any = None

    def flush() -> None:
        nonlocal writer
        group = pa.concat_tables(waiting)
        waiting.clear()
        writer = writer or parquet.ParquetWriter(path, group.schema)
        writer.write_table(group)

    def write(piece: pd.DataFrame) -> None:
        waiting.append(pa.Table.from_pandas(piece, preserve_index=False))
        if sum(map(len, waiting)) >= GROUP_ROWS:
            flush()

    try:
        yield write
        if waiting:
            flush()
    finally:
        if writer is not None:
            writer.close()
