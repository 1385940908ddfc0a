"""What the estimators promise: accuracy without noise, honest budgets, no memory."""

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from confide import (
    Approx,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Neighbours,
    Number,
    PoissonRegression,
    Pure,
    Schema,
    Target,
    Zcdp,
)
from confide.estimators import _spec
from confide.mechanisms import ObjectivePerturbation, OutputPerturbation
from confide.objectives import HuberizedHinge
from confide.privacy.guarantee import PUBLIC_LABELS

PLENTY = {"budget": Pure(10**9), "mechanism": "output", "row_norm": 1.0}
MODELS = {
    "logistic": LogisticRegression(Approx(1, 1e-6), row_norm=1.0),
    "svc": LinearSVC(Approx(1, 1e-6), row_norm=1.0),
    "linear": LinearRegression(Approx(1, 1e-6), target_bound=1.0, row_norm=1.0),
    "poisson": PoissonRegression(
        Approx(1, 1e-6), target_bound=1.0, slope_bound=1.0, row_norm=1.0
    ),
}
EVERY = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def table(rows=137, classes=2):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(rows, 3))
    X /= 1.01 * np.linalg.norm(X, axis=1, keepdims=True)
    X *= rng.uniform(0.2, 1, size=(rows, 1))
    score = X @ [2.0, -1.0, 0.5] + 0.3 + 0.3 * rng.logistic(size=rows)
    return X, np.searchsorted(np.linspace(-0.6, 1.0, classes + 1)[1:-1], score)


def widened(X, row_norm=1.0):
    return np.hstack([X, np.full((len(X), 1), 0.3 * row_norm)])


def theta(model):
    return model.release_.value


def close(found, expected, within=1e-3):
    np.testing.assert_allclose(found, np.ravel(expected), rtol=0, atol=within)


# --- without noise, the model is the ordinary one


def test_logistic_regression_is_the_ordinary_one_at_a_huge_budget():
    X, y = table()
    peer = linear_model.LogisticRegression(C=1 / 0.7, fit_intercept=False, tol=1e-10)
    peer.fit(widened(X), y)
    model = LogisticRegression(l2=0.7, **PLENTY).fit(X, y)
    close(theta(model), peer.coef_)
    close(model.predict_proba(X).ravel(), peer.predict_proba(widened(X)))
    close(model.intercept_, 0.3 * peer.coef_[0, -1])
    model.set_params(mechanism="objective", budget=Pure(600)).fit(X, y)
    close(theta(model), peer.coef_, 0.3)


def test_linear_regression_is_ridge_at_a_huge_budget():
    X, y = table()
    target = 5.0 * X[:, 0] - 2.0 + y
    peer = linear_model.Ridge(alpha=0.7, fit_intercept=False).fit(widened(X), target)
    model = LinearRegression(l2=0.7, target_bound=10.0, slope_bound=1e3, **PLENTY)
    close(model.fit(X, target).predict(X), peer.predict(widened(X)))
    close(10.0 * theta(model), peer.coef_)
    confined = clone(model).set_params(slope_bound=None, coef_norm=1e3).fit(X, target)
    close(confined.coef_, model.coef_)


def test_linear_regression_is_hubers_by_default():
    X, y = table()
    target = np.where(y == 1, 1.0, -1.0)
    Z = widened(X)

    def huber(w):
        gap = np.abs(Z @ w - target)
        return np.where(gap < 0.5, gap**2 / 2, gap / 2 - 0.125).sum() + 0.35 * w @ w

    model = LinearRegression(l2=0.7, target_bound=1.0, **PLENTY).fit(X, target)
    close(theta(model), minimize(huber, np.zeros(4), tol=1e-12).x)


def test_poisson_regression_is_the_ordinary_one_at_a_huge_budget():
    X, _ = table()
    counts = np.random.default_rng(1).poisson(np.exp(X[:, 0] + 0.5))
    peer = linear_model.PoissonRegressor(alpha=2 / len(X), fit_intercept=False, tol=1e-10)
    peer.fit(widened(X), counts)
    model = PoissonRegression(l2=2.0, target_bound=50.0, slope_bound=1e3, **PLENTY)
    close(model.fit(X, counts).predict(X), peer.predict(widened(X)))
    confined = clone(model).set_params(slope_bound=None, coef_norm=3.0).fit(X, counts)
    close(confined.coef_, model.coef_)


def test_the_hinge_is_the_ordinary_one_at_a_huge_budget():
    X, y = table()
    peer = svm.LinearSVC(
        C=1 / 3, loss="hinge", dual=True, fit_intercept=False, tol=1e-9, max_iter=10**6
    )
    peer.fit(widened(X), y)
    model = LinearSVC(l2=3.0, loss="hinge", **PLENTY).fit(X, y)
    close(theta(model), peer.coef_, 2e-3)
    close(model.decision_function(X), peer.decision_function(widened(X)), 2e-3)


@pytest.mark.parametrize("loss", ["huber", "smoothed", HuberizedHinge(0.1)])
def test_smooth_hinges_classify_like_the_hinge(loss):
    X, y = table()
    exact = LinearSVC(l2=3.0, loss="hinge", **PLENTY).fit(X, y)
    smooth = LinearSVC(l2=3.0, loss=loss, **PLENTY).fit(X, y)
    assert np.mean(exact.predict(X) == smooth.predict(X)) > 0.9


@EVERY
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_the_intercept_can_be_left_out(model, mechanism):
    X, y = table()
    model = clone(model).set_params(fit_intercept=False, mechanism=mechanism).fit(X, y)
    assert theta(model).shape == (3,)
    assert np.all(model.intercept_ == 0)
    assert "(intercept)" not in str(model.summary())


# --- what goes in


@EVERY
def test_every_container_gives_the_same_model(model):
    X, y = table()
    X = X.astype(np.float32).astype(np.float64)
    model = clone(model).set_params(random_state=4)
    reference = clone(model).fit(X, y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for same in (
        X.astype(np.float32),
        np.asfortranarray(X),
        X.astype(object),
        X.tolist(),
        sparse.csr_array(X),
        sparse.csc_matrix(X),
        sparse.coo_array(X.astype(np.float32)),
        frame,
        frame.astype(np.float32),
    ):
        for labels in (y, y.tolist(), pd.Series(y), y.astype(float)):
            other = clone(model).fit(same, labels)
            np.testing.assert_allclose(theta(other), theta(reference), atol=1e-7)
        np.testing.assert_allclose(other.predict(same), reference.predict(X), atol=1e-6)
    assert other.feature_names_in_.tolist() == ["a", "b", "c"]


@EVERY
def test_long_rows_are_scaled_at_fit_and_at_prediction(model):
    X, y = table()
    long = X.copy()
    long[::2] *= (1 / np.linalg.norm(X[::2], axis=1))[:, None]
    model = clone(model).set_params(random_state=4)
    reference = clone(model).fit(long, y)
    longer = long.copy()
    longer[::2] *= 50.0
    for same in (longer, sparse.csr_array(longer), longer.astype(np.float32)):
        other = clone(model).fit(same, y)
        np.testing.assert_allclose(theta(other), theta(reference), atol=1e-5)
        np.testing.assert_allclose(other.predict(same), other.predict(long), atol=1e-5)


@EVERY
def test_row_norm_sets_the_unit(model):
    X, y = table()
    model = clone(model).set_params(random_state=4, l2=4.0)
    small = clone(model).fit(X, y)
    large = clone(model).set_params(row_norm=10.0, l2=400.0).fit(10 * X, y)
    np.testing.assert_allclose(10 * large.coef_, small.coef_, rtol=1e-4)
    np.testing.assert_allclose(large.intercept_, small.intercept_, rtol=1e-4)


def test_pipelines_grids_and_scores():
    X, y = table()
    model = LogisticRegression(Pure(100), row_norm=3.0)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    assert pipeline.score(X, y) > 0.7
    grid = GridSearchCV(model, {"l2": [0.5, 5.0], "mechanism": ["objective", "output"]})
    assert grid.fit(X, y).best_estimator_.score(X, y) > 0.7
    linear = LinearRegression(Pure(100), target_bound=1.0, row_norm=1.0)
    assert np.isfinite(cross_val_score(linear, X, y)).all()


@EVERY
def test_models_can_be_cloned_copied_and_stored(model):
    X, y = table()
    fitted = clone(model).fit(X, y)
    assert not hasattr(clone(fitted), "release_")
    for other in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):  # noqa: S301
        np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
        assert other.release_.guarantee == fitted.release_.guarantee


# --- classes


def test_labels_may_be_words_numbers_or_truth_values():
    X, y = table()
    model = LogisticRegression(Pure(100), random_state=0, row_norm=1.0)
    reference = clone(model).fit(X, y)
    for labels in (
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-3, 12]),
        np.array([0.0, 1.0], dtype=np.float32),
    ):
        other = clone(model).fit(X, labels[y])
        np.testing.assert_array_equal(other.classes_, labels)
        np.testing.assert_array_equal(theta(other), theta(reference))
        np.testing.assert_array_equal(other.predict(X), labels[reference.predict(X)])
        declared = clone(model).set_params(classes=labels.tolist()).fit(X, labels[y])
        np.testing.assert_array_equal(theta(declared), theta(reference))


def test_the_order_of_declared_classes_decides_which_is_positive():
    X, y = table()
    model = LogisticRegression(l2=1.0, **PLENTY)
    forth = clone(model).set_params(classes=[0, 1]).fit(X, y)
    back = clone(model).set_params(classes=[1, 0]).fit(X, y)
    np.testing.assert_allclose(back.coef_, -forth.coef_, atol=1e-5)
    np.testing.assert_array_equal(back.predict(X), forth.predict(X))


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_a_declared_class_may_be_absent(kind):
    X, y = table()
    model = kind(l2=1.0, classes=[0, 1, 2], **PLENTY).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.coef_.shape == (3, 3)
    assert 2 not in model.predict(X)
    one = kind(l2=1.0, classes=[0, 1], **PLENTY).fit(X, np.zeros(len(X)))
    assert np.all(one.predict(X) == 0)


def test_an_undeclared_label_counts_as_none_of_the_declared():
    X, y = table(classes=3)
    model = LogisticRegression(l2=1.0, classes=[0, 1], random_state=0, **PLENTY)
    np.testing.assert_array_equal(
        theta(clone(model).fit(X, y)), theta(clone(model).fit(X, np.where(y == 1, 1, 0)))
    )


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_several_classes_are_told_apart(kind, mechanism):
    X, y = table(600, classes=4)
    names = np.array(["a", "b", "c", "d"])[y]
    model = kind(Pure(400), mechanism=mechanism, l2=1.0, row_norm=1.0).fit(X, names)
    assert model.coef_.shape == (4, 3)
    assert model.intercept_.shape == (4,)
    assert model.decision_function(X).shape == (600, 4)
    assert model.score(X, names) > 0.4
    assert len(model.summary().records()) == 16
    assert model.summary().records()[0]["name"] == "a: x0"


def test_several_classes_need_no_ridge_to_be_given():
    X, y = table(classes=3)
    model = LinearSVC(Pure(20), row_norm=1.0).fit(X, y)
    assert model.release_.l2 > 0
    assert model.coef_.shape == (3, 3)


@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_add_up(classes):
    X, y = table(classes=classes)
    model = LogisticRegression(Pure(400), l2=1.0, row_norm=1.0).fit(X, y)
    chances = model.predict_proba(X)
    assert chances.shape == (len(X), classes)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(chances.argmax(axis=1), model.predict(X))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(chances))


@pytest.mark.parametrize(
    "mechanism",
    [ObjectivePerturbation(noise="gaussian"), OutputPerturbation(noise="gaussian")],
    ids=lambda one: one.name,
)
@pytest.mark.parametrize(
    ("budget", "ratio"), [(Approx(1, 1e-6), 2), (Zcdp("0.1"), 2), (Pure(1), 4)], ids=str
)
def test_the_classes_share_the_budget(mechanism, budget, ratio):
    scales = []
    for classes in (2, 4):
        model = LogisticRegression(
            budget, mechanism=mechanism, l2=1e4, multi_class="one-vs-rest", row_norm=1.0
        )
        release = model.fit(*table(classes=classes)).release_
        scales.append(release.noise_scale)
        assert release.guarantee.budget == budget
    assert scales[1] / scales[0] == pytest.approx(ratio, rel=0.03)


# --- penalties and constraints


@pytest.mark.parametrize("mechanism", ["objective", ObjectivePerturbation("separate")])
def test_an_l1_penalty_gives_exact_zeros(mechanism):
    X, y = table()
    model = LogisticRegression(
        Pure(300), mechanism=mechanism, l2=0.5, l1=15.0, row_norm=1.0
    ).fit(X, y)
    assert theta(model)[2] == 0.0
    assert theta(model)[0] != 0.0
    assert model.coef_[0, 2] == 0.0


@EVERY
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_coefficients_stay_in_their_ball(model, mechanism):
    X, y = table()
    model = clone(model).set_params(coef_norm=0.5, mechanism=mechanism)
    for _ in range(3):
        assert np.linalg.norm(theta(model.fit(X, y))) <= 0.5 * (1 + 1e-12)


def test_a_slope_bound_lowers_the_noise():
    X, y = table()
    model = LogisticRegression(Approx(1, 1e-6), l2=100.0, row_norm=1.0)
    clipped = clone(model).set_params(slope_bound=0.5).fit(X, y)
    assert clipped.release_.noise_scale < 0.7 * model.fit(X, y).release_.noise_scale


# --- the guarantee


@EVERY
def test_a_seed_is_stamped_and_its_absence_is_not(model):
    X, y = table()
    seeded = [clone(model).set_params(random_state=3).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(theta(seeded[0]), theta(seeded[1]))
    assert not seeded[0].release_.guarantee.private
    assert "NOT PRIVATE" in str(seeded[0].summary())
    assert "NOT PRIVATE" in seeded[0].summary()._repr_html_()
    fresh = [clone(model).fit(X, y) for _ in range(2)]
    assert np.all(theta(fresh[0]) != theta(fresh[1]))
    assert fresh[0].release_.guarantee.private
    assert "NOT PRIVATE" not in str(fresh[0].summary())


def test_labels_read_from_y_are_an_assumption():
    X, y = table()
    model = LogisticRegression(Approx(1, 1e-6), row_norm=1.0)
    assert PUBLIC_LABELS in model.fit(X, y).release_.guarantee.assumptions
    declared = model.set_params(classes=[0, 1]).fit(X, y)
    assert PUBLIC_LABELS not in declared.release_.guarantee.assumptions
    numbers = MODELS["linear"].fit(X, y)
    assert PUBLIC_LABELS not in numbers.release_.guarantee.assumptions


@EVERY
def test_the_relation_is_chosen_and_printed(model):
    X, y = table()
    for given, expected in (
        (None, Neighbours.ADD_REMOVE),
        ("add-remove", Neighbours.ADD_REMOVE),
        ("replace-one", Neighbours.REPLACE_ONE),
        (Neighbours.REPLACE_ONE, Neighbours.REPLACE_ONE),
    ):
        fitted = clone(model).set_params(neighbours=given).fit(X, y)
        assert fitted.release_.guarantee.neighbours is expected
        assert f"{expected} neighbours" in str(fitted.summary())


def test_a_mechanism_may_be_an_instance():
    X, y = table()
    model = LogisticRegression(Pure(1), l2=50.0, random_state=0, row_norm=1.0)
    by_name = clone(model).set_params(mechanism="output").fit(X, y)
    instance = clone(model).set_params(mechanism=OutputPerturbation()).fit(X, y)
    np.testing.assert_array_equal(theta(by_name), theta(instance))


# --- the summary


@EVERY
def test_the_summary_says_the_guarantee_first(model):
    X, y = table()
    model = clone(model).fit(pd.DataFrame(X, columns=["<b>age</b>", "a&b", "c"]), y)
    summary = model.summary()
    lines = str(summary).splitlines()
    assert lines[0] == type(model).__name__
    assert lines[1] == "Guarantee    ε = 1, δ = 1e-06, add-remove neighbours"
    assert lines[2].startswith("Status       PROVED (")
    records = summary.records()
    assert all(list(record) == ["name", "estimate", "lower", "upper"] for record in records)
    names = ["<b>age</b>", "a&b", "c", "(intercept)"]
    assert [record["name"] for record in records] == names
    values = [*np.ravel(model.coef_), *np.ravel(model.intercept_)]
    assert [record["estimate"] for record in records] == values
    html = summary._repr_html_()
    assert "<b>age</b>" not in html
    assert "&lt;b&gt;age&lt;/b&gt;" in html
    assert "a&amp;b" in html
    assert html.index("Guarantee") < html.index("coefficient")
    with pytest.raises(dataclasses.FrozenInstanceError):
        summary.title = "mine"


def test_the_summary_needs_a_fit():
    with pytest.raises(AttributeError, match="not fitted"):
        MODELS["svc"].__class__(Pure(1)).summary()


# --- no memory of the data


def everything_in(thing, seen):
    """Walk over all that can be reached from a fitted model."""
    if id(thing) in seen or isinstance(thing, str | bytes | type):
        return
    seen[id(thing)] = thing
    yield thing
    parts = []
    if isinstance(thing, dict):
        parts = [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset):
        parts = list(thing)
    elif isinstance(thing, np.ndarray):
        parts = thing.tolist()
    elif type(thing).__module__.startswith("confide"):
        parts = [getattr(thing, name, None) for name in _names(thing)]
    for part in parts:
        yield from everything_in(part, seen)


def _names(thing):
    slots = [getattr(kind, "__slots__", ()) for kind in type(thing).__mro__]
    flat = [s for slot in slots for s in ([slot] if isinstance(slot, str) else slot)]
    return [*getattr(thing, "__dict__", {}), *flat]


@EVERY
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_a_fitted_model_holds_no_data_and_counts_no_rows(model, mechanism):
    X, y = table(137)
    model = (
        clone(model).set_params(mechanism=mechanism).fit(pd.DataFrame(X).add_prefix("x"), y)
    )
    model.predict(pd.DataFrame(X).add_prefix("x"))
    found = list(everything_in(model, {}))
    assert len(found) > 20
    for thing in found:
        assert 137 not in np.shape(thing) if isinstance(thing, np.ndarray) else True
        assert not isinstance(thing, pd.DataFrame | pd.Series | sparse.sparray)
        if isinstance(thing, int | float):
            assert thing != 137
            assert thing not in X


def test_intervals_count_rows_without_a_target_too(monkeypatch):
    """How many rows have a target is private even where the number of rows is not."""
    target = Target("ill", labels=("no", "yes"), missing="drop")
    schema = Schema((Number("age", 0, 100),), target)
    ages = np.linspace(1, 99, 50)
    answers = [None] * 30 + ["yes", "no"] * 10
    seen, honest = [], _spec.WithIntervals

    def spy(mechanism, settings, rows, unidentified, heights):
        seen.append(rows)
        return honest(mechanism, settings, rows, unidentified, heights)

    monkeypatch.setattr(_spec, "WithIntervals", spy)
    table = pd.DataFrame({"age": ages, "ill": answers})
    model = LogisticRegression(Pure(1), schema=schema, intervals=True, random_state=0)
    model.fit(table)
    assert seen == [50]
