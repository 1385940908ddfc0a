"""Plans of fits with a schema: errors and interval widths predicted without data.

A plan takes an estimator with all its settings and a number of rows. It simulates many
tables that match the schema, predicts the result of the fit on each of them, and reports
medians and quartiles.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from textwrap import fill
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from confide.data.matrix.sums import MAX_ROWS
from confide.errors import Described, InvalidParameter
from confide.estimators import CalibratedFit
from confide.mechanisms import Calibration, IntervalCalibration
from confide.mechanisms.ranges.mechanism import RangesCalibration
from confide.planning.forecast import (
    MOST_TRIAL_ROWS,
    Forecast,
    follows,
    forecast,
    try_release,
)
from confide.planning.line_plan import (
    LinePlan,
    column_plan,
    line_plan,
    places_of,
)
from confide.planning.search import resized, size_of, smallest
from confide.planning.shapes import Shapes, real_shapes
from confide.planning.supposition import suppose_table
from confide.privacy import Budget, Guarantee

DRAWS = 25
"""Default number of simulated tables."""
MOSTLY_NOISE = 0.8
"""Smallest ratio of error to typical effect at which a model is called mostly noise."""
USEFUL_RATIO = 0.5
"""Ratio of error to typical effect at the recommended number of rows or budget."""
LARGEST_EPSILON = 1000.0
MOST_FEATURES = 500


@dataclass(frozen=True, slots=True)
class FitPlan:
    """Expected errors and interval widths, for each summary line and for each column.

    Use `plan_fit` to create a plan.

    Parameters
    ----------
    model : estimator
        The estimator whose fit is planned.
    rows : int
        Planned number of rows.
    fit : CalibratedFit
        Noise, ridge and guarantee of the fit.
    lines : tuple of LinePlan
        Expected error and interval width of each line of the summary.
    columns : tuple of LinePlan
        Expected error and interval width of each column, as medians over its lines.
    shapes : Shapes
        Distributions in real tables, from which columns were simulated.
    made : dict, optional
        Cache of plans for other budgets and numbers of rows.

    Examples
    --------
    >>> from confide import Approx, LogisticRegression, Number, Schema, Target
    >>> from confide.planning import plan_fit
    >>> schema = Schema((Number("age", 18, 90),), Target("ill", labels=("no", "yes")))
    >>> model = LogisticRegression(Approx(1, 1e-6), schema=schema, intervals=True)
    >>> plan = plan_fit(model, rows=20_000)
    >>> [line.name for line in plan.columns]
    ['age']
    """

    model: Any = field(repr=False, compare=False)
    rows: int
    fit: CalibratedFit = field(repr=False, compare=False)
    lines: tuple[LinePlan, ...]
    columns: tuple[LinePlan, ...]
    shapes: Shapes = field(repr=False, compare=False)
    made: dict[Any, "FitPlan"] = field(default_factory=dict, repr=False, compare=False)
    """Cache of plans for other numbers of rows and other budgets."""

    @property
    def budget(self) -> Budget:
        """The budget of the fit, per person."""
        return self.fit.spec.budget

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the planned fit."""
        promised = self.fit.calibration.guarantee
        count = self.fit.spec.rows_per_person
        if count == 1:
            return promised
        return replace(promised.of_persons(count), budget=self.budget)

    @property
    def main(self) -> Calibration:
        """Calibration for the coefficients only, without private ranges and intervals."""
        found: Any = self.fit.calibration
        while isinstance(found, RangesCalibration | IntervalCalibration):
            found = found.main
        calibration: Calibration = found
        return calibration

    @property
    def with_intervals(self) -> bool:
        """Whether the fit releases intervals."""
        return self.fit.spec.intervals is not None

    @property
    def bought_ranges(self) -> tuple[str, ...]:
        """Names of the columns whose ranges the fit will estimate privately."""
        found = self.fit.calibration
        if not isinstance(found, RangesCalibration):
            return ()
        return tuple(query.name for query in found.queries)

    @property
    def noise_ratio(self) -> float:
        """Ratio of error to typical effect, as a root mean square over the columns."""
        ratios = [min(column.ratio, 1e3) for column in self.columns]
        return math.sqrt(float(np.mean(np.square(ratios))))

    def line(self, name: str) -> LinePlan:
        """Return the expected error and interval width of a column or summary line.

        Parameters
        ----------
        name : str
            Name of the column or line.

        Returns
        -------
        LinePlan
            The expected error and interval width.

        Raises
        ------
        InvalidParameter
            There is no such column or line.
        """
        known = {one.name: one for one in (*self.lines, *self.columns)}
        if name not in known:
            names = [one.name for one in self.columns]
            raise InvalidParameter("name of a column", f"one of {names}", name)
        return known[name]

    def with_rows(self, rows: int, draws: int = DRAWS) -> "FitPlan":
        """Return the plan for another number of rows.

        Parameters
        ----------
        rows : int
            The number of rows.
        draws : int, default=25
            Number of simulated tables.

        Returns
        -------
        FitPlan
            The plan.
        """
        return self._other(self.model, rows, draws)

    def with_budget(self, budget: Budget, draws: int = DRAWS) -> "FitPlan":
        """Return the plan for another budget.

        Parameters
        ----------
        budget : Pure, Approx or Zcdp
            The budget.
        draws : int, default=25
            Number of simulated tables.

        Returns
        -------
        FitPlan
            The plan.
        """
        return self._other(clone(self.model).set_params(budget=budget), self.rows, draws)

    def _other(self, model: Any, rows: int, draws: int) -> "FitPlan":
        key = (model.budget, rows, draws)
        if key not in self.made:
            self.made[key] = plan_fit(model, rows, draws=draws, shapes=self.shapes)
        return self.made[key]

    def smallest_rows(
        self, name: str, width: float, *, cautious: bool = False
    ) -> int | None:
        """Return the smallest number of rows that gives an interval of the desired width.

        Parameters
        ----------
        name : str
            Name of a column or line.
        width : float
            Desired width of its interval.
        cautious : bool, default=False
            Whether the interval must be this narrow on three quarters of the simulated
            tables, instead of half of them.

        Returns
        -------
        int or None
            The number of rows, accurate to a few percent; None if no number suffices.
        """
        reached = _is_narrow(self, name, width, cautious=cautious)

        def enough(rows: float) -> bool:
            return reached(self.with_rows(round(rows)))

        found = smallest(enough, float(self.rows), 10.0, MAX_ROWS)
        return None if found is None else math.ceil(float(f"{found:.3g}"))

    def smallest_budget(
        self, name: str, width: float, *, cautious: bool = False
    ) -> Budget | None:
        """Return the smallest budget that gives an interval of the desired width.

        Parameters
        ----------
        name : str
            Name of a column or line.
        width : float
            Desired width of its interval.
        cautious : bool, default=False
            Whether the interval must be this narrow on three quarters of the simulated
            tables, instead of half of them.

        Returns
        -------
        Pure, Approx, Zcdp or None
            A budget of the same type, accurate to a few percent; None if no budget
            suffices.
        """
        reached = _is_narrow(self, name, width, cautious=cautious)

        def enough(epsilon: float) -> bool:
            return reached(self.with_budget(resized(self.budget, epsilon)))

        found = smallest(enough, size_of(self.budget), 1e-3, LARGEST_EPSILON)
        return None if found is None else resized(self.budget, found)

    def useful_rows(self) -> int | None:
        """Return the number of rows that reduces the error to half of a typical effect.

        Returns
        -------
        int or None
            The number of rows, at least the planned number; None if no number suffices.
        """

        def enough(rows: float) -> bool:
            return self.with_rows(round(rows)).noise_ratio <= USEFUL_RATIO

        found = smallest(enough, float(self.rows), self.rows, MAX_ROWS)
        return None if found is None else round(float(f"{found:.2g}"))

    def advice(self) -> str:
        """Return advice for a plan that is mostly noise.

        Returns
        -------
        str
            The advice; empty if the plan is not mostly noise.
        """
        if self.noise_ratio < MOSTLY_NOISE:
            return ""
        rows, budget = self.useful_rows(), self.useful_budget()
        needs = [] if rows is None else [f"about {rows:,} rows"]
        needs += [] if budget is None else [f"a budget of about {budget}"]
        needs += ["fewer columns and levels"]
        return (
            "At this budget the model will be mostly noise. Reducing the error to half of "
            f"a typical effect needs {' or '.join(needs)}."
        )

    def useful_budget(self) -> Budget | None:
        """Return the budget that reduces the error to half of a typical effect.

        Returns
        -------
        Pure, Approx, Zcdp or None
            The budget, at least the planned budget; None if no budget suffices.
        """

        def enough(epsilon: float) -> bool:
            return self.with_budget(resized(self.budget, epsilon)).noise_ratio <= (
                USEFUL_RATIO
            )

        start = size_of(self.budget)
        found = smallest(enough, start, start, LARGEST_EPSILON)
        return None if found is None else resized(self.budget, found)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the settings that are fixed before the fit.

        Returns
        -------
        tuple of pairs of str
            Names and values.
        """
        main = self.main
        found = [
            ("model", type(self.model).__name__),
            ("mechanism", main.mechanism.name),
            ("rows", f"{self.rows:,}"),
            ("columns", f"{len(self.columns)}, as {main.objective.dimension} coefficients"),
            ("noise", f"{main.noise.kind} {main.noise.scale:.4g}"),
            ("ridge (l2)", f"{main.objective.strong_convexity:.4g}"),
        ]
        if isinstance(self.fit.calibration, RangesCalibration):
            share = f"{float(self.fit.calibration.share):.0%}"
            found.append(
                ("ranges", f"{len(self.bought_ranges)}, from {share} of the budget")
            )
        inner: Any = self.fit.calibration
        inner = inner.main if isinstance(inner, RangesCalibration) else inner
        if isinstance(inner, IntervalCalibration):
            left = " of the remaining budget" if self.bought_ranges else " of the budget"
            found.append(("intervals", f"{float(1 - inner.split[0]):.0%}{left}"))
        if not follows(main) and self.rows > MOST_TRIAL_ROWS:
            found.append(
                ("simulated", f"{MOST_TRIAL_ROWS:,} rows; more rows give smaller errors")
            )
        return tuple(found)

    def record(self) -> dict[str, Any]:
        """Return the plan as a dictionary of plain values, with None for NaN.

        Returns
        -------
        dict
            The plan, for JSON.
        """
        main = self.main
        return {
            "model": type(self.model).__name__,
            "mechanism": main.mechanism.name,
            "rows": self.rows,
            "noise": {"kind": main.noise.kind, "scale": main.noise.scale},
            "l2": main.objective.strong_convexity,
            "bought_ranges": list(self.bought_ranges),
            "noise_ratio": self.noise_ratio,
            "columns": [_plain(asdict(one)) for one in self.columns],
            "lines": [_plain(asdict(one)) for one in self.lines],
        }

    def __str__(self) -> str:
        left = max(len(name) for name, _ in self.facts())
        facts = [f"{name:<{left}}  {text}" for name, text in self.facts()]
        supposed = [
            fill(one, WIDTH, initial_indent="  - ", subsequent_indent="    ")
            for one in SUPPOSED
        ]
        return "\n".join([str(self.guarantee), "", *facts, "", "Assuming", *supposed])


SUPPOSED = (
    (
        "numbers, levels and labels like those of seven public tables, drawn at random, "
        "where the schema does not give typical values or shares of levels"
    ),
    "randomly correlated columns that contribute equally to the target",
)
"""Assumptions of a plan about the table, which has not been read."""
WIDTH = 88


def plan_fit(
    model: Any, rows: int, *, draws: int = DRAWS, shapes: Shapes | None = None
) -> FitPlan:
    """Plan a fit with a schema, without reading data or spending budget.

    Parameters
    ----------
    model : estimator
        Estimator with its budget, schema and all other settings, as for a fit.
    rows : int
        Planned number of rows.
    draws : int, default=25
        Number of simulated tables.
    shapes : Shapes, optional
        Distributions used to simulate columns; by default those of real public tables.

    Returns
    -------
    FitPlan
        Expected errors and interval widths, by summary line and by column.

    Raises
    ------
    InvalidParameter
        The model has no schema or too many features, or the number of rows is not valid.

    Examples
    --------
    A larger budget makes intervals narrower, but not below the sampling error:

    >>> from confide import Approx, LogisticRegression, Number, Schema, Target
    >>> from confide.planning import plan_fit
    >>> schema = Schema((Number("age", 18, 90),), Target("ill", labels=("no", "yes")))
    >>> widths = [
    ...     plan_fit(
    ...         LogisticRegression(Approx(epsilon, 1e-6), schema=schema, intervals=True),
    ...         rows=20_000,
    ...     ).line("age").width
    ...     for epsilon in (0.3, 3)
    ... ]
    >>> widths[0] > widths[1] > 0
    True
    """
    whole = isinstance(rows, int | np.integer) and not isinstance(rows, bool)
    if not whole or not 1 <= rows <= MAX_ROWS:
        raise InvalidParameter("rows", f"a whole number from 1 to {MAX_ROWS:,}", rows)
    _check_width(model.schema)
    fit, library = model.calibrated(int(rows)), shapes or real_shapes()
    found = [_follow(model, fit, int(rows), library, k) for k in range(draws)]
    names = found[0].names
    effects = np.median([np.abs(one.effects) for one in found], axis=0)
    errors = np.median([one.errors for one in found], axis=0)
    widths = np.array([one.widths for one in found])
    lines = tuple(
        line_plan(name, "", effects[j], errors[j], widths[:, j])
        for j, name in enumerate(names)
    )
    schema = fit.spec.schema
    columns = tuple(
        column_plan(effect, places_of(effect, names), effects, errors, widths)
        for effect in schema.effects
    )
    return FitPlan(model, int(rows), fit, lines, columns, library)


def _check_width(schema: Any) -> None:
    """Raise if a schema has too many features, because planning takes cubic time."""
    features = 0 if schema is None else len(schema.features)
    if features > MOST_FEATURES:
        raise InvalidParameter(
            "schema",
            f"one with at most {MOST_FEATURES} features (each level counts as one), to "
            "plan for every column",
            Described(f"one with {features:,} features"),
            "Plan from the number of columns only: run confide plan --rows ROWS --columns "
            f"{features} with the same budget, or call make_plan in Python.",
        )


def _follow(model: Any, fit: CalibratedFit, rows: int, shapes: Shapes, k: int) -> Forecast:
    table = suppose_table(model, fit, rows, shapes, k)
    if follows(table.calibration):
        return forecast(table, rows, k)
    return try_release(table, rows, k)


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in record.items()
        if key != "widths"
    }


# --------------------------------------------------------------------------------- search

Search: TypeAlias = Callable[[FitPlan], bool]


def _is_narrow(plan: FitPlan, name: str, width: float, *, cautious: bool) -> Search:
    """Return a function that checks whether a plan predicts a narrow enough interval."""
    number = isinstance(width, int | float) and not isinstance(width, bool)
    if not number or not 0 < width < math.inf:
        raise InvalidParameter("width", "a positive finite number", width)
    if not plan.with_intervals:
        raise InvalidParameter(
            "width",
            "left out for a fit without intervals",
            width,
            "Add intervals=True, or --intervals auto on the command line.",
        )
    plan.line(name)

    def reached(other: FitPlan) -> bool:
        return other.line(name).narrower(width) >= (0.75 if cautious else 0.5)

    return reached
