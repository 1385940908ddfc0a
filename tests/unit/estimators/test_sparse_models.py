"""Estimators on few of many columns: end to end, in files, with schemas, bad input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso

from confide import (
    Approx,
    LinearRegression,
    LogisticRegression,
    Number,
    PoissonRegression,
    Pure,
    Schema,
    SparseLinearRegression,
    Target,
    load_model,
)
from confide.errors import InvalidParameter
from confide.selection import (
    CoefficientFinder,
    FrankWolfe,
    HardThresholding,
    LassoPath,
    SampleAggregateSelector,
    ScreeningSelector,
    SelectThenFit,
)

BUDGET = Approx(2, 1e-6)


def numbers(rows=4000, columns=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, columns))
    y = X[:, 5] - X[:, 17] + 0.8 * X[:, 40] + 0.2 * rng.standard_normal(rows)
    return X, y


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("mechanism", ["screening", "thresholding"])
def test_linear_regression_finds_its_columns(mechanism, relation):
    X, y = numbers()
    model = SparseLinearRegression(
        BUDGET, size=3, mechanism=mechanism, neighbours=relation, random_state=0
    ).fit(X, y)
    assert model.support_.tolist() == [5, 17, 40]
    assert model.coef_[[5, 17, 40]] == pytest.approx([1, -1, 0.8], abs=0.25)
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("mechanism", ["published", "sample-aggregate"])
def test_votes_find_the_columns_of_a_richer_budget(mechanism, relation):
    X, y = numbers()
    model = SparseLinearRegression(
        Approx(8, 1e-6),
        size=3,
        mechanism=mechanism,
        fit_intercept=False,
        neighbours=relation,
        random_state=0,
    ).fit(X, y)
    assert model.support_.tolist() == [5, 17, 40]
    assert np.abs(model.coef_).max() <= 1.3


def test_the_published_recipe_keeps_its_box_and_scales_rows():
    X, y = numbers()
    model = SparseLinearRegression(
        Approx(50, 1e-6), size=3, mechanism="published", fit_intercept=False, random_state=1
    ).fit(20 * X, 20 * y)
    assert np.abs(model.coef_).max() <= 1 + 1e-9
    assert "rows of larger norm are scaled" in str(model.summary())
    assert model.release_.row_bounds.entries.length == pytest.approx(np.sqrt(3))


@pytest.mark.slow
def test_every_loss_can_select_first():
    X, y = numbers()
    mechanism = SelectThenFit(ScreeningSelector(3))
    logistic = LogisticRegression(BUDGET, mechanism=mechanism, classes=[0, 1])
    logistic.fit(X, (y > 0).astype(int))
    counts = np.random.default_rng(1).poisson(np.exp(y))
    poisson = PoissonRegression(
        BUDGET, mechanism=mechanism, target_bound=20, slope_bound=5.0
    )
    poisson.fit(X, counts)
    linear = LinearRegression(BUDGET, mechanism=mechanism, target_bound=3.0).fit(X, y)
    for model in (logistic, poisson, linear):
        assert model.support_.tolist() == [5, 17, 40]
        assert model.selected_ == ("x5", "x17", "x40")
        assert "3 of 60 variables" in str(model.summary())


def test_classes_select_their_own_columns():
    X, _ = numbers(6000)
    y = np.argmax(X[:, [5, 17, 40]], axis=1)
    mechanism = SelectThenFit(ScreeningSelector(2))
    model = LogisticRegression(Approx(6, 1e-6), mechanism=mechanism, classes=[0, 1, 2])
    model.fit(X, y)
    assert np.atleast_2d(model.release_.value).shape == (3, 61)
    assert all(len(support) == 2 for support in model.release_.support)
    assert set(model.support_) <= {5, 17, 40}


MECHANISMS = [
    SelectThenFit(SampleAggregateSelector(3, 20, finder=LassoPath(3))),
    SelectThenFit(ScreeningSelector(2), column_bound=0.5),
    SelectThenFit(ScreeningSelector(2), scaled=True),
    HardThresholding(3, 2, 0.7),
    FrankWolfe(3.0, 12),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name}")
def test_a_model_file_brings_back_mechanism_and_predictions(mechanism, tmp_path):
    X, y = numbers(500)
    model = LogisticRegression(BUDGET, mechanism=mechanism, classes=[0, 1])
    model.fit(X, (y > 0).astype(int))
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.mechanism == mechanism
    assert np.array_equal(loaded.predict_proba(2 * X), model.predict_proba(2 * X))
    assert str(loaded.summary()) == str(model.summary())
    assert loaded.selected_ == model.selected_


def test_a_finder_of_ones_own_works_and_is_not_stored(tmp_path):
    X, y = numbers(2000)
    finder = CoefficientFinder(Lasso(alpha=0.02))
    mechanism = SelectThenFit(SampleAggregateSelector(3, 20, finder=finder))
    model = LinearRegression(
        Approx(40, 1e-6), mechanism=mechanism, target_bound=3.0, random_state=0
    ).fit(X, y)
    assert model.support_.tolist() == [5, 17, 40]
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.mechanism == "select"
    assert np.array_equal(loaded.predict(2 * X), model.predict(2 * X))


def test_a_sparse_model_file_brings_back_its_settings(tmp_path):
    X, y = numbers(500)
    model = SparseLinearRegression(Pure(2), size=2, column_bound=0.5).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert (loaded.size, loaded.column_bound) == (2, 0.5)
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_entries_beyond_the_bound_are_clipped_in_fits_and_predictions():
    X, y = numbers(500)
    X[0] = 1e6
    fits = [
        SparseLinearRegression(BUDGET, size=2, random_state=2).fit(x, y)
        for x in (X, np.clip(X, -1, 1))
    ]
    assert np.array_equal(fits[0].coef_, fits[1].coef_)
    assert np.array_equal(fits[0].predict(X), fits[0].predict(np.clip(X, -1, 1)))


@pytest.mark.parametrize(
    "mechanism",
    [SelectThenFit(ScreeningSelector(3)), HardThresholding(3, 2), FrankWolfe(4.0, 30)],
    ids=lambda m: m.name,
)
def test_a_hundred_thousand_sparse_columns(mechanism):
    rng = np.random.default_rng(2)
    rows, columns, entries = 2000, 100_000, 100_000
    places = rng.integers(0, rows, entries), rng.integers(3, columns, entries)
    noise = sparse.csr_array((rng.uniform(0.2, 1, entries), places), shape=(rows, columns))
    common = sparse.lil_array((rows, columns))
    common[:, :3] = rng.choice([-1.0, 1.0], (rows, 3))
    X = sparse.csr_array(noise + sparse.csr_array(common))
    y = (X[:, [0]].toarray().ravel() - X[:, [2]].toarray().ravel() > 0).astype(int)
    model = LogisticRegression(Approx(4, 1e-6), mechanism=mechanism, classes=[0, 1])
    model.fit(X, y)
    assert {0, 2} <= set(model.support_.tolist())
    assert model.score(X, y) > 0.6
    assert len(str(model.summary()).splitlines()) < 80


def test_columns_of_a_schema_are_selected_in_its_units():
    import pandas as pd

    rng = np.random.default_rng(4)
    frame = pd.DataFrame({f"v{j}": rng.uniform(0, 10, 3000) for j in range(8)})
    frame["y"] = np.where(frame["v2"] + frame["v6"] > 10, "yes", "no")
    schema = Schema(
        columns=[Number(f"v{j}", 0, 10) for j in range(8)],
        target=Target("y", labels=["no", "yes"]),
    )
    mechanism = SelectThenFit(ScreeningSelector(2))
    model = LogisticRegression(Approx(4, 1e-6), schema=schema, mechanism=mechanism)
    model.fit(frame)
    assert model.selected_ == ("v2", "v6")
    assert model.score(frame.drop(columns="y"), frame["y"]) > 0.9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 61}, "at most 60, the number of columns"),
        ({"size": 0}, "size must be a whole number"),
        ({"mechanism": "exponential"}, "mechanism must be one of"),
        ({"mechanism": "published"}, "fit_intercept must be False"),
        ({"column_bound": 0.0}, "column_bound must be"),
        ({"column_bound": "wide"}, "column_bound must be"),
        (
            {"mechanism": "sample-aggregate", "blocks": 999, "neighbours": "replace-one"},
            "blocks must be at most the number of rows",
        ),
    ],
    ids=str,
)
def test_bad_settings_are_refused_with_what_must_hold(settings, message):
    X, y = numbers(100)
    model = SparseLinearRegression(BUDGET, **{"size": 3, **settings})
    with pytest.raises(InvalidParameter, match=message):
        model.fit(X, y)


def test_intervals_after_a_selection_are_refused():
    X, y = numbers(100)
    model = LogisticRegression(
        BUDGET, mechanism=SelectThenFit(ScreeningSelector(2)), intervals=True
    )
    with pytest.raises(InvalidParameter, match="intervals"):
        model.fit(X, (y > 0).astype(int))


def test_nothing_is_selected_without_a_selection():
    X, y = numbers(100)
    model = LogisticRegression(BUDGET, row_norm=1.0).fit(X, (y > 0).astype(int))
    with pytest.raises(AttributeError, match="SelectThenFit"):
        _ = model.selected_
