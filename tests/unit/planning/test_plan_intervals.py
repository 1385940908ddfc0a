"""A plan with intervals divides the budget as a fit does, and foretells their widths."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from confide import Category, Number, Schema, Target, cli
from confide.estimators import LinearRegression, LogisticRegression
from confide.inference import Intervals
from confide.planning import (
    compare_mechanisms,
    left_for_coefficients,
    make_plan,
    plan_columns,
)
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from confide.privacy.guarantee import SEEDED

runner = CliRunner()
BUDGETS = [Pure(1), Approx(1, 1e-6), Zcdp(0.05)]
SCHEMA = Schema(
    columns=(
        Number("age", lower=18, upper=90),
        Category("region", levels=("north", "south", "east"), missing="refuse", other=True),
    ),
    target=Target("late", labels=("no", "yes")),
    name="loans",
)


def some_rows(count, columns):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((count, columns))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, np.where(rng.random(count) < 0.5, 1, 0)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("wish", [True, 0.3], ids=repr)
def test_noise_ridge_and_promise_are_those_of_a_fit(mechanism, budget, wish):
    x, y = some_rows(300, 4)
    settings = {"mechanism": mechanism, "intervals": wish}
    fit = LogisticRegression(budget, classes=[0, 1], random_state=1, **settings).fit(x, y)
    plan = make_plan(300, 4, budget, **settings)
    release = fit.release_
    assert plan.noise_scale == release.noise[0].scale
    assert plan.ridge == release.l2
    assert plan.intervals.split == release.intervals.split
    assert plan.neighbours is Neighbours.ADD_REMOVE
    assert plan.guarantee == release.guarantee.__class__(
        budget,
        plan.neighbours,
        plan.guarantee.status,
        release.guarantee.theorem,
        tuple(a for a in release.guarantee.assumptions if a != SEEDED),
        reason=release.guarantee.reason,
    )
    assert plan.budget == budget


def test_intervals_cost_the_coefficients_something():
    relation = {"neighbours": "replace-one"}
    alone, both = (
        make_plan(5000, 5, Pure(1), intervals=w, **relation) for w in (None, 0.4)
    )
    assert both.privacy_error > 1.2 * alone.privacy_error
    assert both.interval_width > alone.interval_width
    assert both.with_rows(50_000).interval_width < both.interval_width
    assert both.with_rows(50_000).intervals is both.intervals
    assert 5000 < both.smallest_rows(both.interval_width / 2) < 50_000


def test_the_level_is_that_of_the_intervals():
    narrow, wide = (
        make_plan(5000, 5, Pure(1), intervals=Intervals(share=0.2, level=level))
        for level in (0.8, 0.99)
    )
    assert narrow.level == 0.8
    assert narrow.interval_width < wide.interval_width
    assert "width of a 80 % interval" in str(narrow)
    assert "share of the budget for intervals  " in str(narrow)


def test_every_mechanism_is_planned_with_intervals():
    plans = compare_mechanisms(5000, 5, Pure(1), intervals=True)
    assert {plan.mechanism for plan in plans} == {"objective", "output"}
    assert all(plan.intervals is not None for plan in plans)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_what_is_left_for_coefficients_is_about_their_part(budget):
    plan = make_plan(5000, 5, budget, intervals=0.3, mechanism="output")
    left = left_for_coefficients(budget, plan.intervals.split[0], plan.noise_kind)
    alone = make_plan(5000, 5, left, mechanism="output")
    assert alone.noise_scale == pytest.approx(plan.noise_scale, rel=0.02)


def test_widths_of_columns_are_those_of_the_summary():
    """On rows as the plan supposes them; numbers in the columns' own units."""
    rows, budget = 20_000, Approx(4, 1e-6)
    schema = Schema(SCHEMA.columns[:1], Target("dose", lower=0, upper=200), "doses")
    plan = make_plan(
        rows, 1, budget, model="linear", target_bound=100.0, intervals=0.3, signal=0.5
    )
    (age,) = plan_columns(plan, schema)
    widths = []
    for seed in range(9):
        rng = np.random.default_rng(seed)
        ages = rng.uniform(18, 90, rows)
        unit = 100 / 3 / math.hypot(0.5, 1)
        signal = 0.5 * (ages - 54) / (72 / math.sqrt(12))
        dose = 100 + unit * (signal + rng.standard_normal(rows))
        table = pd.DataFrame({"age": ages, "dose": dose})
        model = LinearRegression(budget, schema=schema, intervals=0.3, random_state=seed)
        line = model.fit(table).intervals_.rows[0]
        widths.append(line.upper - line.lower)
    assert age.width == pytest.approx(np.median(widths), rel=0.2)
    assert age.wide >= age.width


def test_columns_get_a_width_each_and_without_intervals_no_quartile():
    features = len(SCHEMA.features)
    plan = make_plan(30_000, features, Pure(2), intervals=True)
    columns = plan_columns(plan, SCHEMA)
    assert [c.column for c in columns] == ["age", "region"]
    assert all(0 < c.width <= c.wide < math.inf for c in columns)
    bare = plan_columns(make_plan(30_000, features, Pure(2)), SCHEMA)
    assert all(math.isnan(c.wide) for c in bare)


WORDS = ("plan", "--rows", "9000", "--columns", "6", "--epsilon", "2")


def run(*words):
    return runner.invoke(cli.app, list(words))


def test_the_command_plans_intervals(tmp_path):
    shown = run(*WORDS, "--intervals", "0.25", "--level", "0.9")
    assert shown.exit_code == 0, shown.output
    assert "add-remove neighbours" in shown.output
    assert "25%" in shown.output
    assert "width of a 90 % interval" in shown.output
    assert "--intervals" not in shown.output
    assert "--intervals" in run(*WORDS).output
    content = json.loads(run(*WORDS, "--intervals", "auto", "--json").output)
    names = [entry["name"] for entry in content["plans"][0]]
    assert "share of the budget for intervals" in names


def test_the_command_warns_of_widths_that_tell_nothing(tmp_path):
    (tmp_path / "few.toml").write_text(
        'name = "few"\n[target]\ncolumn = "y"\nlower = 0\nupper = 10\n'
        '[columns.a]\nkind = "number"\nlower = 0\nupper = 1\n'
        '[columns.b]\nkind = "category"\nlevels = ["u", "v"]\n'
    )
    schema = ("--schema", str(tmp_path / "few.toml"))
    relation = ("--neighbours", "replace-one")
    words = ("plan", "--epsilon", "1", *schema, "--intervals", "auto", *relation)
    few = " ".join(run(*words, "--rows", "60").output.split())
    assert "Too wide to tell a typical effect from none: a, b." in few
    many = run(*words, "--rows", "2000").output
    assert "vary" not in many
    assert "Too wide" not in many


@pytest.mark.parametrize("words", [("--intervals", "2"), ("--level", "0.9")])
def test_nonsense_is_refused(words):
    assert isinstance(run(*WORDS, *words).exception, ValueError)


def test_a_picture_of_no_known_kind_is_refused():
    assert isinstance(run(*WORDS, "--plot", "plan.xyz").exception, ValueError)
