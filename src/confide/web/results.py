"""The results of a released model, and its files for download."""

import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confide
from confide.errors import ConfideError, InvalidParameter
from confide.estimators.catalogue import ESTIMATORS
from confide.reporting import ScoreSection, Summary
from confide.reporting.coefficient_svg import picture
from confide.reporting.text import GuaranteeText, describe
from confide.web.orders import COMMAND, ERROR, Order, OrderBook, command_text, open_book
from confide.web.workspace import new_identifier

PREDICTIONS = re.compile(r"predictions-[0-9a-f]+\.csv")
SCRIPT = '''\
"""Fit the model again: this charges the ledger again, and draws new noise."""

import confide

schema = confide.Schema.from_toml({schema!r})
ledger = confide.Ledger.open({ledger!r})
model = confide.{kind}(
    {budget!r},
    schema=schema,
    neighbours=ledger.account(schema.name).neighbours,
    intervals={intervals},
    ledger=ledger,
)
model.fit({rows}, holdout={holdout})
model.save("model.json")
{score}print(model.summary())
'''


SAVED_SCORE = 'confide.evaluation.save_score(model.holdout_score_, "model.score.json")\n'


@dataclass(frozen=True, slots=True)
class ResultView:
    """Content of the result page."""

    model: Any
    title: str
    summary: Summary
    text: GuaranteeText
    headline: str
    svg: Any
    score: ScoreSection | None


def result_of(orders: OrderBook, order: Order) -> ResultView:
    """Return the results of an order, checked against the ledger."""
    path = orders.released(order)
    try:
        confide.estimators.check_booked(path, open_book(order.ledger))
    except InvalidParameter:
        raise ConfideError(
            f"{path} differs from the ledger, because it was changed after the fit. Delete "
            "it and reload: the recorded model is then restored from the ledger."
        ) from None
    model = confide.load_model(path)
    summary = model.summary()
    return ResultView(
        model,
        ESTIMATORS[type(model).__name__].title,
        summary,
        describe(summary.guarantee),
        f"{summary.guarantee.budget}, {summary.guarantee.neighbours} neighbours",
        picture(summary.rows, summary.scale),
        _score(order),
    )


def _score(order: Order) -> ScoreSection | None:
    file = score_file(order)
    if not file.exists():
        return None
    found: ScoreSection = confide.evaluation.section_of(confide.load_score(file))
    return found


def score_file(order: Order) -> Path:
    """Return the path of the file with the score on held-out rows."""
    return order.model.with_suffix(".score.json")


def coefficient_csv(summary: Summary) -> str:
    """Return the coefficients as CSV."""
    text: str = summary.table.to_frame().to_csv()
    return text


def report_page(orders: OrderBook, order: Order) -> bytes:
    """Return the report that ``confide report`` would write."""
    words = ["report", str(orders.released(order)), "--ledger", order.ledger]
    if score_file(order).exists():
        words += ["--score", str(score_file(order))]
    out = order.folder / "report.html"
    _run([*words, "--out", str(out)], order)
    return out.read_bytes()


def predictions(orders: OrderBook, order: Order, table: Path) -> Path:
    """Write predictions for a table to a file, which is as confidential as the table."""
    out = order.folder / f"predictions-{new_identifier()}.csv"
    words = ["predict", str(orders.released(order)), str(table), "--out", str(out)]
    _run(words, order)
    return out


def prediction_file(order: Order, name: str) -> Path:
    """Return the path of a finished file of predictions."""
    path = order.folder / name
    if not (PREDICTIONS.fullmatch(name) and path.is_file()):
        raise InvalidParameter("prediction file", "one that was written for this fit", name)
    return path


def score_command(order: Order) -> str:
    """Return the command that scores the model on a later table, with a new budget."""
    words = ["confide", "score", str(order.model), "LATER-TABLE.csv", "--epsilon", "0.2"]
    ledger = str(confide.ledger.redacted(order.ledger))
    return shlex.join([*words, "--ledger", ledger, "--out", "later-score.json"])


def _run(words: list[str], order: Order) -> None:
    """Run a command that spends no budget; if it fails, raise its last error message."""
    done = subprocess.run(  # noqa: S603 - our own command, without a shell
        [*COMMAND, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=order.folder,
        check=False,
    )
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = told[-1].removeprefix(ERROR) if told else ""
        raise ConfideError(reason or f"confide {words[0]} failed.")


def script_text(order: Order) -> str:
    """Return a Python script that repeats the order."""
    settings = order.settings
    bars = f"confide.Intervals(level={settings.level})" if settings.intervals else "None"
    budget = settings.budget
    parts = {"epsilon": settings.epsilon, "delta": settings.delta}
    values = ", ".join(repr(value) for value in parts.values() if value)
    text = SCRIPT.replace("{budget!r}", f"confide.{type(budget).__name__}({values})")
    return text.format(
        schema=str(order.schema_file),
        ledger=str(confide.ledger.redacted(order.ledger)),
        kind=type(
            settings.estimator(confide.Schema.from_toml(order.schema_file), None)
        ).__name__,
        intervals=bars,
        rows=_rows_text(order),
        holdout=settings.holdout or "None",
        score=SAVED_SCORE if settings.holdout else "",
    )


def _rows_text(order: Order) -> str:
    """Return Python code that reads a table into memory or, if it is large, in blocks."""
    table = str(order.table)
    if confide.data.is_in_parts(table):
        return f"confide.data.open_table({table!r})"
    return f"confide.data.read_files({table!r}, schema)"


def shell_text(order: Order) -> str:
    """Return the command of an order, with a comment on what it does."""
    note = "# Runs the fit again: this charges the ledger again, and draws new noise."
    return f"{note}\n{command_text(order)}\n"
