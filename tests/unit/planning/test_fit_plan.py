"""A plan of a fit with a schema: settings are the fit's, forecasts come with quartiles."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from confide import (
    Approx,
    Category,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Number,
    PoissonRegression,
    Pure,
    Schema,
    Target,
    Zcdp,
    cli,
)
from confide.data import Boolean, Date
from confide.errors import InvalidParameter
from confide.inference import Intervals
from confide.mechanisms import MECHANISMS
from confide.planning import plan_fit, plot_fit_plan, real_shapes
from confide.planning.line_plan import line_plan
from confide.planning.supposition import suppose_table
from support.clinic import SCHEMA as CLINIC
from support.clinic import clinic

COLUMNS = (
    Number("age", 18, 90, unit="year"),
    Category("town", ("north", "south", "west")),
    Boolean("smoker"),
)
ILL = Schema(COLUMNS, Target("ill", labels=(0, 1)), "clinic")
DOSE = Schema(COLUMNS, Target("dose", lower=0, upper=100, unit="mg"), "clinic")
VISITS = Schema(COLUMNS, Target("visits", lower=0, upper=50), "clinic")
BUDGET = Approx(1, 1e-6)
FITS = {
    "labels": (LogisticRegression, ILL),
    "margin": (LinearSVC, ILL),
    "number": (LinearRegression, DOSE),
    "count": (PoissonRegression, VISITS),
}


@pytest.mark.parametrize("intervals", [None, True, 0.3], ids=repr)
@pytest.mark.parametrize("budget", [Pure(1), BUDGET, Zcdp("0.1")], ids=str)
def test_noise_ridge_ranges_and_promise_are_those_of_a_fit(budget, intervals):
    table = clinic(4000)
    model = LogisticRegression(budget, schema=CLINIC, intervals=intervals)
    plan = plan_fit(model, len(table), draws=1)
    release = model.set_params(random_state=1).fit(table).release_
    assert plan.main.noise.scale == release.noise[0].scale
    assert plan.main.objective.strong_convexity == release.l2
    bought = () if release.ranges is None else tuple(release.ranges.ranges)
    assert plan.bought_ranges == bought
    assert plan.guarantee.theorem == release.guarantee.theorem
    assert plan.budget == budget
    planned, shown = (
        [line.name for line in lines if "missing" not in line.name]
        for lines in (plan.lines, model.summary().rows)
    )
    assert planned == shown


@pytest.mark.parametrize("name", FITS)
def test_every_model_has_quartiles_around_the_likely_width(name):
    kind, schema = FITS[name]
    plan = plan_fit(kind(Approx(4, 1e-6), schema=schema, intervals=True), 200_000, draws=9)
    assert [column.name for column in plan.columns] == ["age", "town", "smoker"]
    for line in plan.columns:
        assert 0 < line.narrow <= line.width <= line.wide < math.inf
        assert line.effect > 0
        assert line.error > 0
    bare = plan_fit(kind(Approx(4, 1e-6), schema=schema), 200_000, draws=1)
    assert all(math.isnan(line.width) for line in bare.lines)


@pytest.mark.slow
def test_more_rows_and_more_budget_make_intervals_narrower():
    model = LogisticRegression(BUDGET, schema=ILL, intervals=True)
    plan = plan_fit(model, 100_000)
    assert plan.with_rows(1_000_000).line("age").width < plan.line("age").width / 2
    assert plan.with_budget(Approx(4, 1e-6)).line("age").width < plan.line("age").width


def test_a_budget_beyond_all_use_is_planned_too():
    """Nothing is left of the ridge beside so many rows, and indicators add up to one."""
    region = Category("region", ("north", "south", "east", "west"))
    schema = Schema((Number("age", 18, 90), region), ILL.target)
    model = LogisticRegression(Approx("1e12", 1e-6), schema=schema, intervals=True)
    plan = plan_fit(model, 1_000_000_000, draws=9)
    assert all(math.isfinite(line.error) for line in plan.lines)


def test_what_is_declared_counts():
    def errors(typical, share):
        age = Number("age", 18, 90, typical=typical)
        other = Boolean("smoker", share=share)
        schema = Schema((age, other), ILL.target)
        model = LogisticRegression(BUDGET, schema=schema, l2=1.0, ranges="public")
        plan = plan_fit(model, 100_000, draws=9)
        return plan.line("age").error, plan.line("smoker").error

    usual, narrow, rare = (
        errors(*facts) for facts in (((25, 75), 0.5), ((49, 51), 0.5), ((25, 75), 0.01))
    )
    assert narrow[0] > 10 * usual[0]
    assert rare[1] > 5 * usual[1]


def test_plain_intervals_that_a_budget_cannot_tell_are_foretold():
    few = plan_fit(LogisticRegression(BUDGET, schema=ILL, intervals=True), 300, draws=5)
    assert all(math.isnan(line.width) for line in few.columns)
    assert max(line.identified for line in few.columns) < 0.5
    wanted = Intervals(of="penalised")
    bound = plan_fit(LogisticRegression(BUDGET, schema=ILL, intervals=wanted), 300, draws=5)
    assert all(line.identified == 1 for line in bound.columns)


def test_rare_labels_widen_intervals():
    def width(share):
        schema = Schema(COLUMNS, Target("ill", labels=(0, 1), share=(1 - share, share)))
        model = LogisticRegression(BUDGET, schema=schema, intervals=True)
        return plan_fit(model, 100_000, draws=9).line("smoker").width

    assert width(0.01) > 2 * width(0.4)


def test_a_declared_column_is_the_same_on_every_supposed_table():
    age = Number("age", 18, 90, typical=(30, 60))
    town = Category("town", ("a", "b"), share={"a": 0.9})
    schema = Schema((age, town), Target("ill", labels=(0, 1), share={1: 0.2}))
    model = LogisticRegression(BUDGET, schema=schema)
    for k in range(5):
        fit = model.calibrated(5000)
        table = suppose_table(model, fit, 5000, real_shapes(), k)
        values = table.columns["age"].values
        assert np.quantile(values, [0.1, 0.9]) == pytest.approx([30, 60], abs=1e-6)
        assert table.columns["town"].shares == pytest.approx([0.9, 0.1])


def test_a_plan_reads_no_table_and_is_the_same_every_time():
    model = LogisticRegression(BUDGET, schema=ILL, intervals=True)
    assert plan_fit(model, 3000, draws=3).lines == plan_fit(model, 3000, draws=3).lines


def test_units_follow_the_range():
    def error(upper):
        schema = Schema((Number("age", 0, upper), *COLUMNS[1:]), ILL.target)
        model = LogisticRegression(BUDGET, schema=schema, ranges="public")
        return plan_fit(model, 3000, draws=3).columns[0].error

    assert error(720) == pytest.approx(error(72) / 10)


def test_every_kind_of_column_says_per_what():
    columns = (
        *COLUMNS,
        Date("joined", "2010-01-01", "2020-01-01"),
        Category("one", ("a",)),
        Number("plain", 0, 1),
        Number("open"),
    )
    model = LogisticRegression(BUDGET, schema=Schema(columns, ILL.target), intervals=True)
    told = plan_fit(model, 30_000, draws=3).columns
    assert [column.per for column in told] == [
        "year",
        "level, of 3",
        "yes against no",
        "year",
        "level against none",
        "1",
        "half of its range",
    ]
    assert all(0 < column.error < math.inf for column in told)


TRIED = ["momentum", "sgd", "ssadmm", "mpadmm", "dp-admm", "admm-objective"]
SUMS = ["ssp", "adassp", "mpadmm-published", "frank-wolfe"]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [*TRIED, *SUMS, "functional", "adaptive"])
def test_every_mechanism_is_planned(mechanism):
    assert mechanism in MECHANISMS
    kind, schema = FITS["labels" if mechanism in TRIED else "number"]
    budget = Pure(2) if mechanism == "functional" else Approx(2, 1e-6)
    settings = {"l1": 1.0} if mechanism == "adaptive" else {}
    model = kind(budget, schema=schema, mechanism=mechanism, **settings)
    plan = plan_fit(model, 2000, draws=1)
    assert plan.main.mechanism.name == mechanism
    assert all(0 <= line.error < math.inf for line in plan.lines)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_several_classes_have_lines_for_each(kind):
    labels = Target("ill", labels=("p", "q", "r"), share=(0.5, 0.3, 0.2))
    model = kind(Approx(4, 1e-6), schema=Schema(COLUMNS, labels), intervals=True)
    plan = plan_fit(model, 300_000, draws=3)
    assert "q: smoker" in [line.name for line in plan.lines]
    assert all(line.error > 0 for line in plan.lines)
    assert plan.line("smoker").width > 0


# -------------------------------------------------------------------------------- search


@pytest.mark.slow
def test_rows_and_budgets_for_a_width():
    little = Approx("0.1", "1e-6")
    model = LinearRegression(little, schema=DOSE, intervals=True)
    plan = plan_fit(model, 100_000, draws=9)
    goal = plan.line("smoker").width / 1.2
    rows = plan.smallest_rows("smoker", goal)
    assert plan.with_rows(rows).line("smoker").narrower(1.02 * goal) >= 0.5
    assert plan.with_rows(rows // 2).line("smoker").narrower(goal) < 0.5
    assert plan.smallest_rows("smoker", goal, cautious=True) >= rows
    budget = plan.smallest_budget("smoker", goal)
    assert type(budget) is Approx
    assert budget.delta == little.delta
    assert plan.with_budget(budget).line("smoker").narrower(1.02 * goal) >= 0.5


@pytest.mark.slow
def test_no_budget_makes_up_for_too_few_rows():
    plan = plan_fit(LinearRegression(Pure(1), schema=DOSE, intervals=True), 50, draws=3)
    assert plan.smallest_budget("smoker", 1e-6) is None


def test_a_width_needs_intervals_a_name_and_a_positive_number():
    bare = plan_fit(LinearRegression(BUDGET, schema=DOSE), 5000, draws=1)
    with pytest.raises(InvalidParameter, match="a fit without intervals"):
        bare.smallest_rows("smoker", 1.0)
    plan = plan_fit(LinearRegression(BUDGET, schema=DOSE, intervals=True), 5000, draws=1)
    with pytest.raises(InvalidParameter, match="name of a column"):
        plan.smallest_rows("smokes", 1.0)
    for wrong in (0, -1.0, math.nan, math.inf, "1"):
        with pytest.raises(InvalidParameter, match="width"):
            plan.smallest_budget("smoker", wrong)


def test_a_plan_needs_a_schema_and_rows():
    with pytest.raises(InvalidParameter, match="schema must be given: without a table"):
        plan_fit(LogisticRegression(BUDGET, row_norm=1.0), 100)
    for wrong in (0, 1.5, True, 10**9 + 1):
        with pytest.raises(InvalidParameter, match="rows"):
            plan_fit(LogisticRegression(BUDGET, schema=ILL), wrong)


# ------------------------------------------------------------------- picture and command


def test_the_picture_has_a_line_for_every_column():
    figure = pytest.importorskip("matplotlib.figure")
    plan = plan_fit(LinearRegression(BUDGET, schema=DOSE, intervals=True), 50_000, draws=5)
    axes = figure.Figure().subplots()
    assert plot_fit_plan(plan, ax=axes) is axes
    named = [text.get_text() for text in axes.get_yticklabels()]
    assert named == ["age", "town", "smoker"]
    age = plan.line("age")
    ends = [tuple(line.get_xdata()) for line in axes.get_lines()]
    assert (age.narrow / age.effect, age.wide / age.effect) in ends
    assert "quartiles" in axes.get_xlabel()


def test_an_axis_within_a_decade_has_labels():
    figure = pytest.importorskip("matplotlib.figure")
    plan = plan_fit(LinearRegression(BUDGET, schema=DOSE, intervals=True), 50_000, draws=1)
    age = replace(plan.line("age"), effect=1.0, narrow=0.2, width=0.3, wide=0.6)
    axes = plot_fit_plan(replace(plan, columns=(age,)), ax=figure.Figure().subplots())
    low, high = axes.get_xlim()
    assert {0.2, 0.5, 1.0} <= {float(tick) for tick in axes.get_xticks()}
    assert low <= 0.2
    assert high >= 1.0


def planned(folder, *words):
    (folder / "clinic.toml").write_text(DOSE.to_toml(), encoding="utf-8")
    base = ["plan", "--schema", str(folder / "clinic.toml"), "--delta", "1e-6"]
    return CliRunner().invoke(cli.app, [*base, *words]).output


@pytest.mark.slow
def test_the_command_shows_columns_in_their_units(tmp_path):
    words = ("--rows", "90000", "--epsilon", "1", "--intervals", "auto")
    text = planned(tmp_path, *words)
    assert "What to expect, in mg" in text
    assert "level, of 3" in text
    assert "quartiles" in text
    assert "Warning" not in text
    record = json.loads(planned(tmp_path, *words, "--json"))
    columns = record["plans"][0]["columns"]
    assert [column["name"] for column in columns] == ["age", "town", "smoker"]
    assert all(c["narrow"] <= c["width"] <= c["wide"] for c in columns)
    assert record["warning"] == ""


@pytest.mark.slow
def test_the_command_warns_of_noise_and_says_what_it_takes(tmp_path):
    text = planned(tmp_path, "--rows", "300", "--epsilon", "0.05")
    assert "Warning: at this budget the model will be mostly noise" in text
    assert re.search(r"typical effect needs about [\d,]+ rows or", " ".join(text.split()))
    assert "rows or fewer columns" in text.split("Warning")[1]
    assert "only with --intervals" in text


@pytest.mark.slow
def test_the_command_says_what_a_width_takes(tmp_path):
    words = ("--rows", "90000", "--epsilon", "1", "--intervals", "auto", "--width")
    text = " ".join(planned(tmp_path, *words, "smoker=2").split())
    assert "A width of 2 for the interval of smoker probably needs about" in text
    assert "interval of smoker in three of four simulated tables needs about" in text
    assert "a budget of ε" in text
    told = json.loads(planned(tmp_path, *words, "smoker=2", "--json"))["widths"]
    assert [one["cautious"] for one in told] == [False, True]
    assert told[0]["rows"] <= told[1]["rows"]


def test_the_command_plans_a_mechanism_that_was_asked_for(tmp_path):
    words = ("--rows", "2000", "--epsilon", "1", "--mechanism", "ssp", "--json")
    (plan,) = json.loads(planned(tmp_path, *words))["plans"]
    assert plan["mechanism"] == "ssp"


@pytest.mark.slow
def test_the_command_plans_a_purchase_of_ranges(tmp_path):
    words = ("--rows", "9000", "--epsilon", "0.1", "--buy-ranges")
    text = planned(tmp_path, *words)
    assert "Expected accuracy of ranges" in text
    assert "Noise on counts: gaussian" in text
    record = json.loads(planned(tmp_path, *words, "--json"))
    assert [line["name"] for line in record["columns"]] == ["age", "dose"]


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--width", "0.1"), ("--width", "age=x")])
def test_a_width_without_a_column_or_a_number_is_refused(tmp_path, words):
    (tmp_path / "clinic.toml").write_text(DOSE.to_toml(), encoding="utf-8")
    base = ["plan", "--schema", str(tmp_path / "clinic.toml"), "--rows", "900"]
    done = CliRunner().invoke(
        cli.app, [*base, "--epsilon", "1", "--intervals", "auto", *words]
    )
    assert isinstance(done.exception, InvalidParameter)


def test_quartiles_are_over_the_tables_that_have_an_interval():
    line = line_plan(
        "age", "year", 0.03, 0.01, np.array([1.0, 2.0, 3.0, math.inf, math.nan])
    )
    assert (line.narrow, line.width, line.wide, line.identified) == (1.5, 2.0, 2.5, 0.6)
