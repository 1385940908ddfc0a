"""`confide infer`: tests, contrasts, ratios and effects of a released model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import confide
from confide.cli.output import AsJson, Level, ModelFile, print_json, wide_console
from confide.cli.tables import check_table
from confide.errors import InvalidParameter

if TYPE_CHECKING:
    from confide.inference import Inference, IntervalTable, MeanTable, WaldTest


def infer(
    model: ModelFile,
    test: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to test, or several to test jointly: region, or age,region."
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare with a model without these columns, such as age,region."
        ),
    ] = None,
    contrast: Annotated[
        list[str] | None,
        typer.Option(
            help='Contrast of coefficients, such as "region=north - region=south".'
        ),
    ] = None,
    ratios: Annotated[
        bool,
        typer.Option(
            "--ratios",
            "--odds-ratios",
            "--rate-ratios",
            help="Show odds ratios or rate ratios.",
        ),
    ] = False,
    effects: Annotated[
        bool,
        typer.Option(
            "--effects",
            help="Show the effects of comparable changes in all columns (see --per).",
        ),
    ] = False,
    per: Annotated[
        str,
        typer.Option(
            help="Change in a numeric column for which effects are shown: unit, range, "
            "deviation (about one standard deviation), or amounts such as "
            "age=10,income=1000 (default: range for effects, unit for ratios)."
        ),
    ] = "",
    marginal: Annotated[
        bool,
        typer.Option(
            "--marginal", help="Show average marginal effects on the mean or probability."
        ),
    ] = False,
    means: Annotated[
        str | None,
        typer.Option(
            help="Table of new rows: estimate the mean of the target for each row."
        ),
    ] = None,
    predictions: Annotated[
        str | None,
        typer.Option(
            help="Table of new rows: give a prediction interval for the target of each row."
        ),
    ] = None,
    covariance: Annotated[
        bool, typer.Option("--covariance", help="Show the covariance matrix.")
    ] = False,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Use simultaneous intervals.")
    ] = False,
    reference: Annotated[
        list[str] | None,
        typer.Option(help="Reference level of a categorical column, such as region=north."),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Class to show, if there are three or more classes.")
    ] = None,
    level: Level = None,
    as_json: AsJson = False,
) -> None:
    """Compute tests, contrasts and effects from a released model, with standard errors.

    Everything is computed from the model file: no budget is spent, and the table to which
    the model was fitted is not read. Without options, the coefficients and a test of every
    column are shown.

    Example: [bold]confide infer model.json --test region --contrast "region=north -
    region=south" --odds-ratios[/bold]
    """
    if per and not (ratios or effects):
        raise InvalidParameter("--per", "used together with --effects or --ratios", per)
    estimator = confide.load_model(model)
    if reference:
        estimator = estimator.with_reference(**_references(reference))
    asked = Questions(estimator, _label(estimator, label), level, simultaneous)
    tests = asked.tests(test or (), without or ())
    tables = asked.tables(contrast or (), _amounts(per), ratios, effects, marginal)
    rows = asked.rows(means, predictions)
    matrix = estimator.covariance(label=asked.label) if covariance else None
    if not (tests or tables or rows or covariance):
        tables, tests = asked.coefficients(), asked.every_test()
    if as_json:
        _print_as_json(tests, tables, rows, matrix)
        return
    print_scale(asked.inference)
    for name, table in tables.items():
        at_once = simultaneous and name != "marginal effects"
        print_estimates(name, table, simultaneous=at_once)
    if tests:
        print_tests(tests)
    for name, found in rows.items():
        print_rows(name, found)
    if matrix is not None:
        _print_lines("Covariance", matrix.to_string(float_format=lambda x: f"{x:.4g}"))


@dataclass(frozen=True, slots=True)
class Questions:
    """A released model, and the options that apply to all results computed from it."""

    estimator: Any
    label: Any
    level: float | None
    simultaneous: bool

    @property
    def inference(self) -> Inference:
        """The inference object of the model, or of one class if there are several."""
        found: Inference = self.estimator.inference(self.label)
        return found

    def tests(self, columns: Sequence[str], without: Sequence[str]) -> list[WaldTest]:
        """Return one Wald test per list of columns in ``columns`` and in ``without``.

        Each list is a text in which commas separate the columns. The columns in a list are
        tested jointly; those in ``without`` by comparison with the smaller model that omits
        them.
        """
        ask = self.estimator
        found = [ask.wald_test(self._names(one), label=self.label) for one in columns]
        return found + [
            ask.compare(without=self._names(one), label=self.label) for one in without
        ]

    def _names(self, text: str) -> list[str]:
        """Split a text at its commas, except for those inside brackets.

        A text that is the name of a term of the model is not split.
        """
        if text in [term.name for term in self.inference.terms.terms]:
            return [text]
        parts, depth = [""], 0
        for sign in text:
            depth += (sign in "([") - (sign in ")]")
            if sign == "," and not depth:
                parts.append("")
            else:
                parts[-1] += sign
        return [part.strip() for part in parts]

    def every_test(self) -> list[WaldTest]:
        """Return one Wald test per column."""
        return list(self.inference.tests())

    def coefficients(self) -> dict[str, IntervalTable]:
        """Return the table of coefficients in a dictionary, with its heading as the key."""
        asked = self.inference
        table = asked.coefficients(self.level, simultaneous=self.simultaneous)
        return {"coefficients": table}

    def tables(
        self,
        contrasts: Sequence[str],
        per: Any,
        ratios: bool,
        effects: bool,
        marginal: bool,
    ) -> dict[str, IntervalTable]:
        """Return the requested tables of estimates, keyed by their headings."""
        asked, found = self.inference, {}
        whole: dict[str, Any] = {"level": self.level, "simultaneous": self.simultaneous}
        if contrasts:
            found["contrasts"] = asked.contrast(contrasts, **whole)
        if ratios:
            table = asked.ratios(per or "unit", **whole)
            found[f"{asked.scale.ratio}s"] = table
        if effects:
            found["effects"] = asked.effects(per or "range", **whole)
        if marginal:
            ask = self.estimator.marginal_effects
            found["marginal effects"] = ask(None, self.level, label=self.label)
        return found

    def rows(self, means: str | None, predictions: str | None) -> dict[str, MeanTable]:
        """Return the requested intervals for means and predictions, keyed by heading."""
        found = {}
        if means is not None:
            ask = self.estimator.mean_intervals
            found["means"] = ask(_table(means), self.level, label=self.label)
        if predictions is not None:
            ask = self.estimator.prediction_intervals
            found["predictions"] = ask(_table(predictions), self.level)
        return found


def _print_as_json(
    tests: Sequence[WaldTest],
    tables: dict[str, IntervalTable],
    rows: dict[str, MeanTable],
    matrix: Any,
) -> None:
    found: dict[str, Any] = {
        name.replace(" ", "_"): table.records() for name, table in tables.items()
    }
    found["tests"] = [one.record() for one in tests]
    for name, one in rows.items():
        frame: Any = one.to_frame()
        found[name] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    if matrix is not None:
        names = list(matrix.index)
        values = matrix.astype(object).where(matrix.notna(), None).to_numpy().tolist()
        found["covariance"] = {"names": names, "values": values}
    print_json(found)


def print_scale(asked: Inference) -> None:
    """Print the scale of the effects, and whether they are plain or penalised."""
    about = {
        "plain": "without the ridge penalty",
        "penalised": "of the penalised model",
    }[asked.of]
    console = wide_console()
    console.print(
        f"[dim]{asked.scale.meaning} These are the coefficients {about}. No budget was "
        "spent.[/dim]"
    )


def print_estimates(name: str, table: IntervalTable, *, simultaneous: bool = False) -> None:
    """Print a table of estimates under a heading."""
    console = wide_console()
    level = f"{100 * (table.level or 0):g} %{' simultaneous' if simultaneous else ''}"
    console.print(f"\n[bold]{name.capitalize()}[/bold], {level}")
    console.print(confide.reporting.terminal.coefficient_table(table))
    if not all(row.identified for row in table.rows):
        reason = confide.reporting.wald.REASON
        console.print(f"[dim]Not identified: {reason}.[/dim]")


def print_tests(tests: Sequence[WaldTest]) -> None:
    """Print Wald tests, one per line."""
    console = wide_console()
    console.print("\n[bold]Wald tests[/bold] that all coefficients of a column are 0")
    heads = ("column", "chi-square", "df", "p", "")
    lines = [
        (
            one.name,
            "" if one.statistic is None else f"{one.statistic:.4g}",
            str(one.degrees),
            one.p_text,
            one.remark,
        )
        for one in tests
    ]
    console.print(confide.reporting.terminal.plain_table(heads, lines))


def print_rows(name: str, found: MeanTable) -> None:
    """Print estimated means or prediction intervals, one line per row."""
    frame: Any = found.to_frame()
    heading = f"{name.capitalize()} ({found.what}), {100 * found.level:g} %"
    _print_lines(heading, frame.to_string(float_format=lambda x: f"{x:.4g}"))


def _print_lines(heading: str, text: str) -> None:
    console = wide_console()
    console.print(f"\n[bold]{heading}[/bold]")
    console.print(text, markup=False)


def _table(path: str) -> Path:
    check_table(path)
    return Path(path)


def _references(given: Sequence[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    if not all(name and level for name, _, level in pairs):
        raise InvalidParameter("--reference", "of the form region=north", list(given))
    return {name.strip(): level.strip() for name, _, level in pairs}


def _amounts(text: str) -> Any:
    """Parse ``--per``: a word such as "unit", or the amount of change in each column."""
    if "=" not in text:
        return text
    try:
        pairs = [one.rpartition("=") for one in text.split(",")]
        return {name.strip(): float(amount) for name, _, amount in pairs}
    except ValueError:
        must = "unit, range, deviation, or amounts such as age=10"
        raise InvalidParameter("--per", must, text) from None


def _label(estimator: Any, text: str | None) -> Any:
    """Return the class label that is written as ``text``, or the text if there is none."""
    if text is None:
        return None
    known = {str(one): one for one in getattr(estimator, "classes_", ())}
    return known.get(text, text)
