"""Fits with a schema: records of long rows count less, and the model stays linear."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as PlainRegression

from confide import (
    Approx,
    Boolean,
    Category,
    Date,
    LinearRegression,
    LogisticRegression,
    Number,
    Schema,
    Target,
)
from confide.data import INTERCEPT_HEIGHT
from confide.data.rows.in_memory import HEAVIEST
from confide.errors import InvalidParameter, UnmetNeeds
from confide.estimators import load_model
from confide.mechanisms import (
    MECHANISMS,
    Intervals,
    ObjectivePerturbation,
    WithIntervals,
)
from confide.mechanisms.needs import WEIGHTED_RECORDS
from confide.objectives import Clipped, Logistic, Objective, Squared
from confide.planning import plan_fit
from confide.privacy import Neighbours

WEIGHING = {
    "adaptive",
    "adassp",
    "admm-objective",
    "functional",
    "objective",
    "output",
    "ssp",
}
COLUMNS = (
    Number("age", 0, 100),
    Number("score", -1, 1),
    Category("town", ("a", "b", "c")),
)
SCHEMA = Schema(COLUMNS, Target("y", labels=("no", "yes")))


def people(count=4000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(0, 100, count),
            "score": np.clip(rng.normal(0, 0.4, count), -1, 1),
            "town": rng.choice(["a", "b", "c"], count),
        }
    )
    predictor = 0.03 * (frame.age - 50) + 2 * frame.score + (frame.town == "b")
    heads = rng.uniform(size=count) < 1 / (1 + np.exp(-predictor))
    return frame.assign(y=np.where(heads, "yes", "no"))


@pytest.mark.parametrize(
    ("columns", "square"),
    [
        ((Number("x", 0, 7),), 1 / 3),
        ((Date("x", "2000-01-01", "2020-01-01"), Number("z", 0, 1)), 1 / 3),
        ((Category("x", ("a", "b", "c")),), 1.0),
        ((Boolean("x"),), 1.0),
        ((Number("x", 0, 7), Category("z", ("a", "b", "c", "d"))), (1 / 3 + 1) / 2),
    ],
    ids=["number", "date", "category", "boolean", "both"],
)
def test_the_typical_length_follows_from_the_columns(columns, square):
    schema = Schema(columns, Target("y", labels=("no", "yes")))
    assert schema.typical_length == pytest.approx(math.sqrt(square))
    assert schema.record_norm(0.3) == pytest.approx(math.sqrt(square + 0.09))


def test_typical_rows_of_evenly_spread_columns_have_the_typical_length():
    rng = np.random.default_rng(1)
    table = people(20_000).assign(score=rng.uniform(-1, 1, 20_000))
    lengths = np.linalg.norm(SCHEMA.design(table), axis=1)
    assert math.sqrt(np.mean(lengths**2)) == pytest.approx(SCHEMA.typical_length, rel=0.01)


def test_those_mechanisms_weigh_records_that_have_a_proof_for_it():
    found = {name for name in MECHANISMS if WEIGHTED_RECORDS in MECHANISMS[name].needs}
    assert found == WEIGHING


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - WEIGHING - {"select"}))
def test_all_others_refuse_records_that_are_weighed(name):
    loss = Clipped(Squared(), 1.0)
    objective = Objective(loss, 3, target_bound=1.0, longest_row=2.0)
    with pytest.raises(UnmetNeeds, match="records of equal weight"):
        MECHANISMS[name]().calibrate(objective, Approx(1, 1e-6), Neighbours.ADD_REMOVE)


@pytest.mark.parametrize("mechanism", ["objective", "output", "momentum", "sgd"])
def test_rows_are_weighed_for_mechanisms_that_weigh_them(mechanism):
    settings = {"mechanism": mechanism, "ranges": "public"}
    model = LogisticRegression(Approx(1, 1e-6), schema=SCHEMA, **settings)
    table = people(50)
    ready = model._prepare(table, None)
    objective, rows = ready.calibration.objective, next(iter(ready.tasks))
    weighs = mechanism in WEIGHING
    assert rows.weighted is objective.weighted is weighs
    longest = math.hypot(1.0, INTERCEPT_HEIGHT)
    assert objective.reach == pytest.approx(longest)
    if not weighs:
        assert objective.row_norm == pytest.approx(longest)
        return
    lengths = np.hypot(np.linalg.norm(SCHEMA.design(table), axis=1), INTERCEPT_HEIGHT)
    assert objective.row_norm == SCHEMA.record_norm(INTERCEPT_HEIGHT)
    expected = np.minimum(HEAVIEST, objective.row_norm / lengths)
    np.testing.assert_allclose(rows.weight, expected, rtol=1e-12)


def test_a_fit_minimises_the_weighted_loss_in_original_units():
    """Against another library, at a budget so large that noise plays no part."""
    table = people()
    model = LogisticRegression(
        Approx(1e5, 0.5), schema=SCHEMA, l2=1e-2, ranges="public", random_state=0
    )
    model.fit(table)
    design = np.column_stack([SCHEMA.design(table), np.full(len(table), INTERCEPT_HEIGHT)])
    lengths = np.linalg.norm(design, axis=1)
    weights = SCHEMA.record_norm(INTERCEPT_HEIGHT) / lengths
    plain = PlainRegression(C=100.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
    plain.fit(design, table.y, sample_weight=weights)
    chances = plain.predict_proba(design)
    np.testing.assert_allclose(model.predict_proba(table), chances, atol=0.01)
    unweighted = plain.fit(design, table.y).predict_proba(design)
    gap, other = (
        np.abs(model.predict_proba(table) - c).max() for c in (chances, unweighted)
    )
    assert gap < other


def test_a_linear_fit_is_weighed_as_well():
    table = people()
    table["dose"] = 20 + 0.2 * table.age + 10 * table.score
    schema = Schema(COLUMNS, Target("dose", lower=0, upper=60))
    model = LinearRegression(
        Approx(1e5, 0.5), schema=schema, slope_bound=60, l2=1e-6, ranges="public"
    )
    model.set_params(random_state=0).fit(table)
    np.testing.assert_allclose(model.predict(table), table.dose, atol=0.2)


def test_a_plan_counts_records_as_a_fit_does():
    model = LogisticRegression(Approx(1, 1e-6), schema=SCHEMA, ranges="public")
    plan = plan_fit(model, 4000, draws=1)
    release = model.fit(people()).release_
    assert plan.main.noise.scale == release.noise[0].scale
    assert plan.main.objective.strong_convexity == release.l2


def test_a_summary_says_that_records_are_weighed_and_a_file_keeps_it(tmp_path):
    model = LogisticRegression(Approx(1, 1e-6), schema=SCHEMA, random_state=0)
    release = model.fit(people()).release_
    assert release.record_norm == SCHEMA.record_norm(INTERCEPT_HEIGHT)
    assert f"norm {release.record_norm:.3g} has weight 1" in str(model.summary())
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.release_.record_norm == release.record_norm
    assert str(again.summary()) == str(model.summary())
    plain = LogisticRegression(Approx(1, 1e-6), schema=SCHEMA, mechanism="momentum")
    plain.set_params(random_state=0).fit(people())
    assert plain.release_.record_norm is None
    assert "has weight 1" not in str(plain.summary())


def test_intervals_that_believe_the_model_weigh_no_records():
    """The curvature of weighted records is not their scatter."""
    budget = Approx(1, 1e-6)
    for variant, weighs in (("tight", True), ("model-based", False)):
        settings = {"variant": variant}
        model = LogisticRegression(
            budget, schema=SCHEMA, intervals=settings, random_state=0
        )
        assert (model.fit(people()).release_.record_norm is not None) is weighs
        plan = plan_fit(model, 4000, draws=1)
        assert plan.main.objective.weighted is weighs
    target = Objective(Logistic(), 3, longest_row=2.0)
    forced = WithIntervals(ObjectivePerturbation(), Intervals(variant="model-based"))
    with pytest.raises(InvalidParameter, match="when records are weighted"):
        forced.calibrate(target, budget, Neighbours.ADD_REMOVE)
