"""Questions about a released model that have no answer, and what is said instead."""

import numpy as np
import pandas as pd
import pytest

from confide import (
    Approx,
    Category,
    LinearRegression,
    LogisticRegression,
    Number,
    PoissonRegression,
    Schema,
    Target,
)
from confide.data import CaseWeights
from confide.errors import InvalidParameter
from confide.estimators import load_model

ROWS = 6000
BUDGET = Approx(30, 1e-6)
COLUMNS = (
    Number("age", 18, 90),
    Category("region", ("north", "south"), missing="refuse", reference="north"),
)
TARGETS = {
    LinearRegression: Target("dose", lower=-30, upper=30),
    PoissonRegression: Target("visits", lower=0, upper=15),
}
CLASSES = Target("ill", labels=("no", "some", "much"))


def table():
    rng = np.random.default_rng(5)
    age, region = rng.uniform(18, 90, ROWS), rng.choice(["north", "south"], ROWS)
    eta = 0.03 * (age - 50) + 0.8 * (region == "south")
    heights = np.column_stack([0 * eta, eta, -eta]) + rng.gumbel(size=(ROWS, 3))
    return pd.DataFrame(
        {
            "age": age,
            "region": region,
            "weight": 1.0,
            "dose": 4 * eta + 3 * rng.normal(size=ROWS),
            "visits": np.minimum(rng.poisson(np.exp(0.3 + eta / 2)), 15),
            "ill": np.array(CLASSES.labels)[heights.argmax(axis=1)],
        }
    )


def fitted(kind, schema, **more):
    settings = {"intervals": True, "ranges": "public", "random_state": 1, **more}
    return kind(BUDGET, schema=schema, **settings).fit(table())


@pytest.mark.parametrize("kind", TARGETS)
def test_weighted_records_have_no_prediction_intervals(kind, tmp_path):
    """Weights of a third shrink the scatter ninefold, and the curvature threefold."""
    schema = Schema(COLUMNS, TARGETS[kind], case_weights=CaseWeights("weight", cap=3))
    model, rows = fitted(kind, schema), table().head()
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.wald_test("region") == model.wald_test("region")
    assert np.isfinite(again.mean_intervals(rows).lower).all()
    for one in (model, again):
        with pytest.raises(InvalidParameter, match="weighted records"):
            one.prediction_intervals(rows)


@pytest.mark.slow
def test_probabilities_of_a_multinomial_model_are_refused_and_those_of_one_vs_rest_not():
    schema, rows = Schema(COLUMNS, CLASSES), table().head()
    model = fitted(LogisticRegression, schema)
    asks = {
        "odds ratios": model.odds_ratios,
        "marginal effects": model.marginal_effects,
        "means": lambda label: model.mean_intervals(rows, label=label),
    }
    for what, ask in asks.items():
        with pytest.raises(InvalidParameter, match=f"{what}.*multinomial.*one-vs-rest"):
            ask(label="some")
    apart = fitted(LogisticRegression, schema, multi_class="one-vs-rest")
    means = apart.mean_intervals(rows, label="some")
    assert ((means.lower > 0) & (means.upper < 1)).all()
    assert apart.odds_ratios(label="some")["age"].estimate > 1
    assert apart.marginal_effects(label="some")["age"].estimate > 0


def test_an_unknown_label_is_told_the_labels_as_they_are_written():
    labels = Target("ill", labels=("no", "some"))
    rows = table().query("ill != 'much'")
    model = LogisticRegression(
        BUDGET, schema=Schema(COLUMNS, labels), intervals=True, random_state=1
    ).fit(rows)
    with pytest.raises(InvalidParameter, match=r"one of \['no', 'some'\]"):
        model.contrast("age", label="maybe")


@pytest.fixture(scope="module")
def line():
    return fitted(LinearRegression, Schema(COLUMNS, TARGETS[LinearRegression]))


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (None, "text such as"),
        (3, "text such as"),
        ([], "text such as"),
        ({"age": "much"}, "finite number"),
        ({"age": None}, "finite number"),
        ("age - age", "cancel out"),
        ("region=north", "0 by definition"),
    ],
    ids=str,
)
def test_contrasts_that_are_none_are_refused(line, asked, reason):
    for ask in (line.contrast, line.wald_test):
        with pytest.raises(InvalidParameter, match=reason):
            ask(asked)


def test_amounts_that_are_none_are_refused(line):
    for amount in ("ten", None, 0, np.nan):
        with pytest.raises(
            InvalidParameter, match="amount for 'age' must be a number other than 0"
        ):
            line.effects({"age": amount})
    with pytest.raises(InvalidParameter, match=r"smaller model or without=.*got neither"):
        line.compare(without=None)


def test_weights_by_name_are_tested_as_one_contrast(line):
    weights = {"age": 10, "region=south": -1}
    found = line.wald_test(weights)
    assert (found.degrees, found.rank) == (1, 1)
    row = line.contrast(weights).rows[0]
    assert found.p_value == pytest.approx(row.p_value, rel=1e-6)
    assert line.wald_test([weights, "age"]).degrees == 2


def test_a_model_of_arrays_is_compared_by_columns_only():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 2))
    plain = LogisticRegression(BUDGET, row_norm=1.5, intervals=True, random_state=0)
    plain.fit(X, (X[:, 0] > 0).astype(int))
    with pytest.raises(InvalidParameter, match="Use without="):
        plain.compare(Schema(COLUMNS, CLASSES))
