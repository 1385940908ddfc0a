"""Accuracy on real data, with budgets and settings chosen before looking.

Figures were measured with twenty runs (docs/benchmarks.md); a handful of seeded runs must
stay within a margin of them.
"""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.metrics import mean_poisson_deviance

from confide import (
    Approx,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegression,
    Pure,
    Schema,
)
from confide.data import load, load_a9a, load_warfarin
from confide.noise import generator


@pytest.fixture(scope="module")
def adult(data_folder):
    schema = Schema.bundled("adult")
    train, test = load("adult", "train"), load("adult", "test")
    return schema, train, test


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "most"),
    [
        (Approx(1, 1e-6), 0.158),
        (Approx(0.1, 1e-6), 0.176),
        (Pure(1), 0.165),
        (Pure(0.3), 0.179),
    ],
    ids=str,
)
def test_adult_error_with_defaults(adult, budget, most):
    schema, train, test = adult
    X, target = schema.encode(train), train["income"].to_numpy()
    there, truth = schema.encode(test), test["income"].to_numpy()
    assert X.shape[1] == 105
    errors = [
        np.mean(
            LogisticRegression(budget, random_state=s, row_norm=1.0)
            .fit(X, target)
            .predict(there)
            != truth
        )
        for s in range(4)
    ]
    assert np.mean(errors) < most


@pytest.mark.slow
def test_adult_by_two_looks_needs_half_of_the_coefficients(adult):
    """As accurate as one look, with exact zeros for about half of the columns."""
    schema, train, test = adult
    X, target = schema.encode(train), train["income"].to_numpy()
    there, truth = schema.encode(test), test["income"].to_numpy()
    errors, sizes = [], []
    for seed in range(4):
        model = LogisticRegression(
            Approx(1, 1e-6), l1=5.0, mechanism="adaptive", random_state=seed, row_norm=1.0
        ).fit(X, target)
        errors.append(np.mean(model.predict(there) != truth))
        sizes.append(len(model.selected_))
    assert np.mean(errors) < 0.159
    assert np.mean(sizes) < 65


def test_adult_through_the_schema(adult):
    schema, train, test = adult
    model = LogisticRegression(Approx(1, 1e-6), schema=schema, random_state=0).fit(train)
    assert np.mean(model.predict(test) != test["income"].to_numpy()) < 0.162
    categories = sum(column.kind == "category" for column in schema.columns)
    assert len(model.summary().rows) == 105 + categories + 1


@pytest.mark.slow
def test_sparse_adult(data_folder):
    X, y = load_a9a("train")
    there, truth = load_a9a("test")
    for kind in (LogisticRegression, LinearSVC):
        model = kind(Approx(1, 1e-6), row_norm=np.sqrt(14), random_state=0).fit(X, y)
        assert np.mean(model.predict(there) != truth) < 0.17


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "relation", "least"),
    [
        (0.1, "add-remove", 0.829),
        (1, "add-remove", 0.848),
        (0.1, "replace-one", 0.816),
        (1, "replace-one", 0.846),
    ],
)
def test_momentum_descent_with_defaults(data_folder, epsilon, relation, least):
    """Three deviations of a mean of six below what 20 runs gave: false alarm 0.2 % each.

    At epsilon 1, add-remove, seeds 6 to 25 gave 0.8496 with a deviation of 0.0010.
    """
    X, y = load_a9a("train")
    there, truth = load_a9a("test")
    budget = Approx(epsilon, 1e-8)
    right = [
        np.mean(
            LogisticRegression(
                budget,
                row_norm=np.sqrt(14),
                mechanism="momentum",
                neighbours=relation,
                random_state=seed,
            )
            .fit(X, y)
            .predict(there)
            == truth
        )
        for seed in range(6)
    ]
    assert np.mean(right) > least


@pytest.mark.slow
def test_poisson_keeps_most_of_the_deviance_reduction(data_folder):
    schema, table = Schema.bundled("randhie"), load("randhie")
    visits = table["mdvis"].to_numpy(float)
    worst = mean_poisson_deviance(visits, np.full_like(visits, visits.mean()))
    best = 4.157218318992942  # scikit-learn's PoissonRegressor(alpha=0) on the same columns
    kept = []
    for seed in range(6):
        model = PoissonRegression(
            Approx(1, 1e-6),
            schema=schema,
            slope_bound=10,
            target_bound=20,
            random_state=seed,
        ).fit(table)
        loss = mean_poisson_deviance(visits, model.predict(table))
        kept.append((worst - loss) / (worst - best))
    assert np.mean(kept) > 0.7


def test_more_than_two_classes():
    X, y = load_digits(return_X_y=True)
    X = X / 16 / 8
    model = LogisticRegression(Approx(8, 1e-5), random_state=0, row_norm=1.0).fit(
        X[::2], y[::2]
    )
    assert model.score(X[1::2], y[1::2]) > 0.7
    assert model.release_.value.shape == (10, 65)


def test_iris_with_a_generous_budget():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(Pure(300), row_norm=10, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9


def test_diabetes_progression():
    X, y = load_diabetes(return_X_y=True)
    centred = y - 150  # a public guess of the middle of the scale from 25 to 346
    model = LinearRegression(
        Approx(8, 1e-5), target_bound=200, row_norm=0.3, random_state=0
    )
    assert model.fit(X, centred).score(X, centred) > 0.3


@pytest.mark.parametrize(
    ("epsilon", "most"), [(0.2, 2.4), (1, 1.9)], ids=["eps 0.2", "eps 1"]
)
@pytest.mark.usefixtures("data_folder")
def test_warfarin_doses(epsilon, most):
    """Pure, add-remove; in (10 mg/week)². Measured 1.97 and 1.70; the mean alone 2.94."""
    frame = load_warfarin()
    errors = []
    for seed in range(5):
        order = generator(1000 + seed).permutation(len(frame))
        train, test = frame.iloc[order[:3213]], frame.iloc[order[3213:]]
        model = LinearRegression(
            Pure(epsilon), schema=Schema.bundled("warfarin"), random_state=seed
        ).fit(train)
        errors.append(np.mean((model.predict(test) - test["dose"]) ** 2) / 100)
    assert np.mean(errors) < most
