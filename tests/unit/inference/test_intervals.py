"""Intervals of a fitted model: what is asked for, what is shown, and what it costs."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from confide import (
    Approx,
    Category,
    Intervals,
    Ledger,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Number,
    PoissonRegression,
    Pure,
    Schema,
    Target,
    Zcdp,
    load_model,
)
from confide.accounting import compose
from confide.errors import ConfideError, InvalidParameter, UnmetNeeds
from confide.mechanisms import ObjectivePerturbation, OutputPerturbation
from confide.objectives import HuberizedHinge, Logistic, Objective
from confide.privacy import Neighbours
from support.intervals import calibrate_with_intervals

BUDGETS = [Pure(2), Approx(2, 1e-6), Zcdp("0.5")]
VARIANTS = ["tight", "model-based", "published"]


def table(rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.uniform(-0.5, 0.5, size=(rows, 3))
    score = features @ [2.0, -1.0, 0.0] + rng.logistic(size=rows)
    return features, (score > 0).astype(int)


BUDGET = Approx(2, 1e-6)


def fitted(budget=BUDGET, **settings):
    settings.setdefault("intervals", True)
    settings.setdefault("random_state", 7)
    settings.setdefault("row_norm", 1.0)
    return LogisticRegression(budget, classes=[0, 1], **settings).fit(*table())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda b: type(b).__name__)
def test_every_estimate_lies_in_its_interval(budget, mechanism, variant):
    model = fitted(
        budget, mechanism=mechanism, intervals=Intervals(variant=variant, of="penalised")
    )
    records = model.intervals_.records()
    assert [line["name"] for line in records] == ["x0", "x1", "x2", "(intercept)"]
    for line in records:
        assert line["lower"] < line["estimate"] < line["upper"]
        assert line["level"] == 0.95
        assert 0 <= line["sampling"] <= 1.05 * (line["upper"] - line["lower"]) / 2
        assert line["widened_by"] in ("privacy", "sampling")
        assert line["of"] == "penalised"
        assert line["identified"]
    assert model.release_.guarantee.budget == budget
    relation = Neighbours.REPLACE_ONE if variant == "published" else Neighbours.ADD_REMOVE
    assert model.release_.guarantee.neighbours is relation


@pytest.mark.parametrize(
    "wish", [True, "auto", 0.3, (0.5, 0.25, 0.25), Intervals(share="0.3", level=0.9)]
)
def test_a_wish_is_a_share_a_split_or_settings(wish):
    lines = fitted(intervals=wish).summary().records()
    assert all(line["lower"] < line["upper"] for line in lines)


def test_more_of_the_budget_for_intervals_means_more_noise_on_coefficients():
    scales = [fitted(intervals=share).release_.noise_scale for share in (0.1, 0.3, 0.6)]
    assert scales == sorted(scales)
    assert fitted(intervals=None).release_.noise_scale < scales[0]


def test_a_higher_level_makes_longer_intervals():
    short, long = (
        fitted(intervals=Intervals(share="0.2", level=level)).intervals_.rows[0]
        for level in (0.5, 0.99)
    )
    assert short.estimate == long.estimate
    assert long.lower < short.lower < short.upper < long.upper


def test_without_intervals_there_are_none_to_look_at():
    model = fitted(intervals=None)
    with pytest.raises(AttributeError, match="intervals=True"):
        _ = model.intervals_
    assert "lower" not in str(model.summary())


def test_the_summary_shows_bounds_and_whose_doing_they_are():
    text = str(fitted().summary())
    assert "widened by" in text
    assert "for the plain coefficients, without the ridge penalty" in text
    assert "ridge pull" in text
    assert "95 %" in text
    assert str(fitted().intervals_).count("\n") == 5
    assert '<th scope="row">x0 <abbr' in fitted().intervals_._repr_html_()


def test_other_models_have_intervals_too():
    features, labels = table()
    numbers = features @ [1.0, -1.0, 0.0] + np.random.default_rng(1).normal(size=3000) / 5
    counts = np.random.default_rng(2).poisson(np.exp(features @ [1.0, 0.0, -1.0]))
    budget = Approx(4, 1e-6)
    models = [
        LinearSVC(budget, intervals=True, classes=[0, 1], row_norm=1.0).fit(
            features, labels
        ),
        LinearRegression(budget, intervals=True, target_bound=2, row_norm=1.0).fit(
            features, numbers
        ),
        PoissonRegression(
            budget, intervals=True, target_bound=6, slope_bound=3, row_norm=1.0
        ).fit(features, counts),
    ]
    for model in models:
        assert all(line.lower < line.upper for line in model.intervals_)


def test_every_class_has_its_own_intervals():
    features, _ = table()
    labels = np.arange(len(features)) % 3
    model = LogisticRegression(Zcdp(2), intervals=True, classes=[0, 1, 2], row_norm=1.0)
    names = [line.name for line in model.fit(features, labels).intervals_]
    assert len(names) == 12
    assert names[4] == "1: x0"


def test_a_model_file_keeps_the_intervals(tmp_path):
    for variant in VARIANTS:
        model = fitted(Pure(2), intervals=Intervals(share="0.4", variant=variant))
        model.save(tmp_path / "model.json")
        again = load_model(tmp_path / "model.json")
        assert again.intervals_.records() == model.intervals_.records()
        assert str(again.summary()) == str(model.summary())
        again.save(tmp_path / "twice.json")
        first, second = ((tmp_path / f"{n}.json").read_text() for n in ("model", "twice"))
        assert first == second


def test_a_ledger_is_charged_once_for_both(tmp_path):
    ledger = Ledger.open(tmp_path / "book.db").for_dataset("people")
    ledger.set_limit("people", Approx(2, 1e-5))
    fitted(ledger=ledger)
    assert ledger.account("people").spent.epsilon == 2
    with pytest.raises(ConfideError):
        fitted(ledger=ledger)


def test_intervals_are_refused_where_estimates_are_not_normal():
    with pytest.raises(UnmetNeeds, match="l1"):
        fitted(l1=1.0)
    features, labels = table()
    hinge = LinearSVC(
        Pure(1), loss="hinge", mechanism="output", intervals=True, row_norm=1.0
    )
    with pytest.raises(UnmetNeeds, match="huberized"):
        hinge.fit(features, labels)


def test_as_published_needs_replace_one():
    with pytest.raises(InvalidParameter, match="replace-one"):
        fitted(intervals=Intervals(variant="published"), neighbours="add-remove")


def test_the_model_is_believed_only_where_it_can_be():
    features, labels = table()
    model = LinearSVC(Pure(1), intervals=Intervals(variant="model-based"), row_norm=1.0)
    with pytest.raises(InvalidParameter, match="tight"):
        model.fit(features, labels)


def test_a_ball_that_binds_is_mentioned():
    summary = str(fitted(coef_norm=0.5).summary())
    assert "have reached the bound" in summary


@pytest.mark.parametrize("l2", [1e-3, 1e-8])
def test_nothing_is_identified_of_coefficients_that_a_tiny_ridge_leaves_too_long(l2):
    """Levels and the intercept add up: only the ridge holds noise along that direction."""
    rng = np.random.default_rng(5)
    dose = rng.uniform(0, 10, 5000)
    rows = pd.DataFrame({"dose": dose, "ward": rng.choice(["a", "b", "c"], 5000)})
    rows["gain"] = 0.3 * dose + (rows["ward"] == "a") + rng.normal(size=5000)
    columns = (Number("dose", 0, 10), Category("ward", ("a", "b", "c"), missing="refuse"))
    schema = Schema(columns, Target("gain", lower=-20, upper=20))
    model = LinearRegression(
        Approx(1000, 1e-6),
        schema=schema,
        ranges="public",
        intervals=True,
        l2=l2,
        random_state=3,
    ).fit(rows)
    too_long = l2 < 1e-6
    assert model.release_.intervals.on_boundary is too_long
    dose = model.intervals_["dose"]
    assert dose.identified is not too_long
    assert too_long or dose.lower < 0.3 < dose.upper
    assert model.wald_test("ward").identified is not too_long
    assert ("have reached the bound" in str(model.summary())) is too_long


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("mechanism", [ObjectivePerturbation(), OutputPerturbation()])
@pytest.mark.parametrize("loss", [Logistic(), HuberizedHinge()])
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda b: type(b).__name__)
def test_the_parts_cost_no_more_than_the_budget(budget, loss, mechanism, neighbours):
    plan = calibrate_with_intervals(
        mechanism, Objective(loss, 4, 1.0), budget, neighbours, rows=5000
    )
    match budget:
        case Pure():
            assert sum(event.epsilon for event in plan.events) == budget.epsilon
        case Zcdp():
            costs = [getattr(e, "rho", None) or e.mu**2 / 2 for e in plan.events]
            assert float(sum(costs)) <= float(budget.rho) * (1 + 1e-9)
        case _:
            cost = compose(plan.events, budget.delta)
            assert float(cost.epsilon) <= float(budget.epsilon) * (1 + 1e-3)
    assert sum(plan.split) == 1


def test_the_share_is_chosen_from_public_facts():
    chosen = {}
    for rows in (3000, 300_000):
        plan = calibrate_with_intervals(
            ObjectivePerturbation(),
            Objective(Logistic(), 12, 1.0, 0.002 * rows),
            Pure(1),
            Neighbours.REPLACE_ONE,
            rows=rows,
            of="penalised",
        )
        chosen[rows] = 1 - plan.split[0]
    assert Fraction(1, 10) <= chosen[300_000] < chosen[3000] <= Fraction(7, 20)


@pytest.mark.slow
def test_levels_that_add_up_to_the_intercept_do_not_blur_the_rest():
    """Noise in directions that no row has would turn into width that varies at random."""
    rng = np.random.default_rng(4)
    rows = 20_000
    people = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, rows),
            "town": rng.choice(["n", "s", "e", "w"], rows),
            "job": rng.choice(list("abcdef"), rows),
            "ill": rng.choice(["no", "yes"], rows),
        }
    )
    schema = Schema(
        (
            Number("age", 18, 90),
            Category("town", ("n", "s", "e", "w")),
            Category("job", tuple("abcdef")),
        ),
        Target("ill", labels=("no", "yes")),
    )
    still = schema.unidentified_directions(0.3)
    design = np.column_stack([schema.design(people), np.full(rows, 0.3)])
    np.testing.assert_allclose(design @ still, 0, atol=1e-12)
    assert still.shape[1] == 2
    assert schema.unidentified_directions(0.0).shape[1] == 1
    widths = []
    for seed in range(8):
        model = LogisticRegression(BUDGET, schema=schema, intervals=True, random_state=seed)
        lines = model.fit(people).intervals_
        widths.append([row.upper - row.lower for row in lines])
        assert not any("missing" in row.name for row in lines)
    assert np.max(np.ptp(widths, axis=0) / np.mean(widths, axis=0)) < 0.25


def test_several_rows_per_person_are_cautioned_about():
    people = pd.DataFrame(
        {"age": [20.0, 40.0, 60.0] * 400, "ill": ["no", "yes", "no"] * 400}
    )
    schema = Schema(
        (Number("age", 18, 90),), Target("ill", labels=("no", "yes")), rows_per_person=2
    )
    model = LogisticRegression(BUDGET, schema=schema, intervals=True).fit(people)
    assert "independent" in model.summary().caution


def test_plot_draws_a_bar_for_every_coefficient():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = fitted().plot()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[-1] == "x2"  # an intercept would squeeze the rest
    assert len(axes.lines) == 3 * 3 + 1
