"""A plan with intervals divides the budget as a fit does, and foretells their widths."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from confide import cli
from confide.estimators import LogisticRegression
from confide.inference import Intervals
from confide.planning import compare_mechanisms, make_plan
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from confide.privacy.guarantee import SEEDED

runner = CliRunner()
BUDGETS = [Pure(1), Approx(1, 1e-6), Zcdp(0.05)]


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
    settings = {"mechanism": mechanism, "intervals": wish, "row_norm": 1.0}
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


@pytest.mark.slow
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


WORDS = ("plan", "--rows", "9000", "--columns", "6", "--epsilon", "2")


def run(*words):
    return runner.invoke(cli.app, list(words))


def test_the_command_plans_intervals():
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


@pytest.mark.parametrize("words", [("--intervals", "2"), ("--level", "0.9")])
def test_nonsense_is_refused(words):
    assert isinstance(run(*WORDS, *words).exception, ValueError)


def test_a_picture_of_no_known_kind_is_refused():
    assert isinstance(run(*WORDS, "--plot", "plan.xyz").exception, ValueError)
