"""`confide predict`: predictions of a released model, computed in batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import confide
from confide._files import check_apart
from confide.cli.output import AsJson, ModelFile, console, err_console, print_json
from confide.cli.progress import SweepBar
from confide.cli.screen import visible
from confide.cli.tables import TableName, check_apart_from_table, check_table

if TYPE_CHECKING:
    import pandas as pd

    from confide._types import AnyArray

DIGITS = 5
"""Significant digits of predictions."""
CHANCE_DIGITS = 4


def predict(
    model: ModelFile,
    table: TableName,
    out: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet file to write (default: print CSV)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Use a released model to predict the target of every row of a table.

    The table need not fit in memory: predictions are written while the table is read.

    Example: [bold]confide predict model.json new.csv --out predictions.csv[/bold]
    """
    check_table(table)
    if out is not None:
        check_apart("--out", out, {"the model": model})
        check_apart_from_table("--out", out, table)
    estimator = confide.load_model(model)

    def guess(piece: pd.DataFrame) -> pd.DataFrame:
        return predictions_for(estimator, piece)

    pieces = confide.estimators.each_piece(estimator, table, guess)
    if out is None:
        _print_all(pieces, as_json=as_json)
        return
    count = 0
    bar = SweepBar(err_console, f"opening {Path(table).name}", once="predicting")
    with bar.shown(), confide.data.table_writer(out) as write:
        for piece in pieces:
            count += len(piece)
            write(piece)
    if as_json:
        print_json({"rows": count, "out": str(out)})
    else:
        line = f"{count:,} predictions written to {out}."
        console.print(line, markup=False, soft_wrap=True)


def predictions_for(estimator: Any, rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table of predictions, with class probabilities if the model has them."""
    import pandas as pd

    guesses = estimator.predict(rows)
    columns: dict[str, Any] = {"prediction": guesses}
    if guesses.ndim == 2:
        columns = {f"y{j}": _rounded(column) for j, column in enumerate(guesses.T)}
    elif not hasattr(estimator, "classes_"):
        columns = {"prediction": _rounded(guesses)}
    if hasattr(estimator, "predict_proba"):
        chances = estimator.predict_proba(rows)
        for label, chance in zip(estimator.classes_, chances.T, strict=True):
            columns[f"probability of {label}"] = chance.round(CHANCE_DIGITS)
    return pd.DataFrame(columns)


def _rounded(predictions: AnyArray) -> list[float]:
    """Round predictions to the number of digits that a noisy model justifies."""
    return [float(f"{value:.{DIGITS}g}") for value in predictions]


def _print_all(pieces: Iterator[pd.DataFrame], *, as_json: bool) -> None:
    if as_json:
        import pandas as pd

        print_json(pd.concat(list(pieces)).to_dict(orient="list"))
        return
    for place, piece in enumerate(pieces):
        text = piece.to_csv(index=False, header=place == 0)
        print(visible(text) if console.is_terminal else text, end="")
