"""The content of a plan page, from public facts alone, before anything is spent."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import confide
from confide.errors import ConfideError, InvalidParameter
from confide.estimators._holdout import COINS, SHARED
from confide.planning import MOSTLY_NOISE, FitPlan, plan_fit
from confide.planning.fit_plan import DRAWS
from confide.privacy import Budget, Guarantee
from confide.privacy.budgets import exact
from confide.reporting.format import even_odds_text, factor_text, short
from confide.reporting.text import GuaranteeText, describe
from confide.web.fits import FitSettings
from confide.web.forms import read_number

EPSILONS = ("0.1", "0.3", "1", "3", "10")
"""Values of epsilon that are shown in addition to the requested one."""
DIGITS = 3
LEAST_DRAWS, COLUMN_DRAWS = 5, 250


@dataclass(frozen=True, slots=True)
class LedgerForecast:
    """Spending in the ledger now and after a fit, or the reason why the fit is refused."""

    dataset: str
    limit: str = ""
    spent: str = ""
    left: str = ""
    after: str = ""
    refusal: str = ""
    anchor: str = ""

    @property
    def known(self) -> bool:
        """Whether the dataset has a limit."""
        return bool(self.limit)


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """Privacy and accuracy at one value of epsilon."""

    epsilon: str
    odds: str
    factor: str
    verdict: str
    asked: bool
    widths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanView:
    """Content of a plan page."""

    plan: FitPlan
    text: GuaranteeText
    headline: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    hidden: tuple[str, ...]
    warning: str
    budgets: tuple[BudgetLine, ...]


@dataclass(frozen=True, slots=True)
class DesiredWidth:
    """A desired width of an interval."""

    column: str
    width: float


@lru_cache(maxsize=32)
def plan_of(settings: FitSettings, schema_text: str, neighbours: str | None) -> FitPlan:
    """Return the plan of a fit; recent plans are cached."""
    public = schema_of(schema_text)
    return plan_fit(settings.estimator(public, neighbours), settings.fitted_rows)


def schema_of(text: str) -> confide.Schema:
    """Return the schema that a text declares."""
    return confide.Schema.from_mapping(tomllib.loads(text))


def view(plan: FitPlan, settings: FitSettings) -> PlanView:
    """Return the content of the page about a plan."""
    guarantee = promised(plan, settings)
    columns = plan.columns
    heads: tuple[str, ...] = ("column", "per", "typical effect", "expected error")
    heads += ("width of interval", "quartiles") if plan.with_intervals else ()
    hidden = [c.name for c in columns if plan.with_intervals and c.identified < 0.75]
    return PlanView(
        plan,
        describe(guarantee),
        headline(guarantee),
        heads,
        tuple(_cells(plan, column) for column in columns),
        tuple(hidden),
        plan.advice(),
        tuple(_budget_lines(plan, settings)),
    )


def promised(plan: FitPlan, settings: FitSettings) -> Guarantee:
    """Return the guarantee of the fit, including the assumptions that a holdout adds."""
    found = plan.guarantee
    if not settings.holdout:
        return found
    more = tuple(one for one in (COINS, SHARED) if one not in found.assumptions)
    return replace(found, assumptions=(*found.assumptions, *more))


def headline(guarantee: Guarantee) -> str:
    """Return the budget and the neighbour relation of a guarantee in one line."""
    return f"{guarantee.budget}, {guarantee.neighbours} neighbours"


def _cells(plan: FitPlan, column: Any) -> tuple[str, ...]:
    effect, error = short(column.effect, DIGITS), short(column.error, DIGITS)
    cells = (column.name, column.per, effect, error)
    if not plan.with_intervals:
        return cells
    if math.isnan(column.width):
        return (*cells, "not identified", "")
    quartiles = f"{short(column.narrow, DIGITS)} to {short(column.wide, DIGITS)}"
    return (*cells, short(column.width, DIGITS), quartiles)


def _budget_lines(plan: FitPlan, settings: FitSettings) -> list[BudgetLine]:
    """Return the privacy and the accuracy of the fit at several values of epsilon."""
    asked = exact(settings.epsilon, "epsilon")
    values = {exact(text, "epsilon"): text for text in (*EPSILONS, settings.epsilon)}
    return [
        BudgetLine(
            text,
            even_odds_text(float(value)),
            factor_text(float(value)),
            _verdict(other),
            value == asked,
            tuple(_width(column) for column in other.columns),
        )
        for value, text in sorted(values.items())
        for other in [_with_epsilon(plan, settings, text)]
    ]


def _with_epsilon(plan: FitPlan, settings: FitSettings, epsilon: str) -> FitPlan:
    delta = settings.delta
    budget: Budget = confide.Approx(epsilon, delta) if delta else confide.Pure(epsilon)
    if budget == plan.budget:
        return plan
    # the time grows with the number of columns: use fewer draws for wide tables
    draws = min(DRAWS, max(LEAST_DRAWS, COLUMN_DRAWS // len(plan.columns)))
    return plan.with_budget(budget, draws)


def _width(column: Any) -> str:
    return "–" if math.isnan(column.width) else short(column.width, DIGITS)


def _verdict(plan: FitPlan) -> str:
    ratio = plan.noise_ratio
    if ratio >= MOSTLY_NOISE:
        return "mostly noise"
    return "rough" if ratio > 0.3 else "clear" if ratio > 0.1 else "very clear"


def read_width(plan: FitPlan, fields: Mapping[str, str]) -> DesiredWidth | None:
    """Return the desired width from a form; None if it is not filled in."""
    names = {str(place): column.name for place, column in enumerate(plan.columns)}
    name, text = names.get(fields.get("column", "")), fields.get("width", "")
    if not (name and text):
        return None
    width = read_number(text)
    if isinstance(width, str) or not 0 < width < math.inf:
        must = "a positive number, in the unit of the table below"
        raise InvalidParameter("desired width", must, text)
    return DesiredWidth(name, width)


def answer(plan: FitPlan, settings: FitSettings, desired: DesiredWidth) -> str:
    """Return a sentence on the rows or the budget that a desired interval width needs."""
    fitted = plan.smallest_rows(desired.column, desired.width)
    budget = plan.smallest_budget(desired.column, desired.width)
    what = f"A width of {desired.width:g} for the interval of {desired.column}"
    if fitted is None and budget is None:
        return (
            f"{what} cannot be reached by changing only the budget or only the number of "
            "rows."
        )
    if fitted is None:
        return (
            f"{what} probably needs {budget}; with the present budget, no number of rows "
            "is enough."
        )
    rows = f"about {settings.rows_with(fitted):,} rows with this budget"
    if budget is None:
        return (
            f"{what} probably needs {rows}; with the present number of rows, no budget is "
            "enough."
        )
    return f"{what} probably needs {rows}, or {budget} with the present number of rows."


def forecast(book: confide.Ledger, dataset: str, settings: FitSettings) -> LedgerForecast:
    """Return the spending in the ledger now and after the fit."""
    if dataset not in book.datasets():
        return LedgerForecast(dataset, anchor=book.anchor())
    account = book.account(dataset)
    relation = neighbours_of(book, dataset) or "add-remove"
    after = refusal = ""
    try:
        after = str(book.forecast(dataset, settings.budget, neighbours=relation))
    except ConfideError as error:
        refusal = str(error)
    return LedgerForecast(
        dataset,
        str(account.limit),
        str(account.spent),
        str(account.left),
        after,
        refusal,
        book.anchor(),
    )


def neighbours_of(book: confide.Ledger, dataset: str) -> str | None:
    """Return the neighbour relation of a dataset; None if none is recorded yet."""
    if dataset not in book.datasets():
        return None
    kept = book.account(dataset).neighbours
    return None if kept is None else kept.value
