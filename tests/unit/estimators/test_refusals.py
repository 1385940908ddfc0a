"""Bad input: a clear error or a documented clamp, nothing drawn, nothing leaked."""

import pickle
import re
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier

from confide import (
    Approx,
    Category,
    ConfideError,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Number,
    PoissonRegression,
    Pure,
    Schema,
    Target,
    Zcdp,
)
from confide.errors import (
    InvalidData,
    InvalidParameter,
    MissingPublicBound,
    UnmetNeeds,
)
from confide.mechanisms import OutputPerturbation
from confide.noise import entropy
from confide.objectives import HuberizedHinge

WORD, NUMBER = "SECRET123", 987654321.5
CANARIES = (WORD, "987654321", "9.87654", "987654")
BUDGET = Approx(1, 1e-6)
CLASSIFIERS = (LogisticRegression(BUDGET, row_norm=1.0), LinearSVC(BUDGET, row_norm=1.0))
REGRESSORS = (
    LinearRegression(BUDGET, target_bound=2.0, row_norm=1.0),
    PoissonRegression(BUDGET, target_bound=2.0, slope_bound=3.0, row_norm=1.0),
)
EVERY = pytest.mark.parametrize(
    "model", CLASSIFIERS + REGRESSORS, ids=lambda model: type(model).__name__
)
EVERY_CLASSIFIER = pytest.mark.parametrize(
    "model", CLASSIFIERS, ids=lambda model: type(model).__name__
)
EVERY_REGRESSOR = pytest.mark.parametrize(
    "model", REGRESSORS, ids=lambda model: type(model).__name__
)
QUIET = pytest.mark.usefixtures("no_noise")
SCHEMA = Schema(
    (Number("age", 0, 100), Category("town", ("north", "south"))),
    Target("ill", labels=("no", "yes")),
)


def table(rows=12, columns=3):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, columns))
    y = np.arange(rows) % 2
    return X, y


def frame():
    return pd.DataFrame(
        {
            "age": [20.0, 50.0, 80.0, 30.0],
            "town": ["north", "south", "north", "north"],
            "ill": ["no", "yes", "yes", "no"],
        }
    )


@pytest.fixture
def no_noise(monkeypatch):
    """Turn every draw of randomness into a failure that no test expects."""

    def words(count):
        raise AssertionError(f"{count} words were drawn before the fit was refused")

    monkeypatch.setattr(entropy, "_system_words", words)


def refusal(model, X, y=None, kind=ConfideError):
    """Return the message with which a fit is refused, after looking for leaks."""
    model = clone(model)
    with pytest.raises(kind) as caught:
        model.fit(X, y)
    assert not hasattr(model, "release_")
    message = str(caught.value)
    for canary in CANARIES:
        assert canary not in message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert str(pickle.loads(pickle.dumps(caught.value))) == message  # noqa: S301
    assert message[-1] in ".)" or "\n" in message
    return message


def spoiled(value, dtype=object):
    X, y = table()
    X = X.astype(dtype)
    X[3, 1] = value
    return X, y


BAD_FEATURES = {
    "nan": (spoiled(np.nan, float)[0], "contains NaN"),
    "infinity": (spoiled(np.inf, float)[0], "contains infinity"),
    "minus infinity": (spoiled(-np.inf, float)[0], "contains infinity"),
    "sparse nan": (sparse.csr_array(spoiled(np.nan, float)[0]), "contains NaN"),
    "float32 infinity": (spoiled(np.inf, np.float32)[0], "contains infinity"),
    "huge integer": (spoiled(10**400)[0], "too large"),
    "word": (spoiled(WORD)[0], "must hold numbers"),
    "word array": (spoiled(WORD)[0].astype(str), "must hold numbers"),
    "object": (spoiled({WORD: NUMBER})[0], "must hold numbers"),
    "nested": (spoiled([NUMBER, 1.0])[0], "must"),
    "none": (spoiled(None)[0], "contains NaN"),
    "missing": (spoiled(pd.NA)[0], "contains NaN"),
    "complex": (spoiled(NUMBER, complex)[0], "Complex data not supported"),
    "complex entry": (spoiled(complex(NUMBER, 1))[0], "must hold numbers"),
    "dates": (np.full((12, 3), "2001-02-03", dtype="datetime64[s]"), "dates"),
    "date entry": (spoiled(datetime(2001, 2, 3))[0], "must hold numbers"),  # noqa: DTZ001
    "ragged": ([[NUMBER], *([[1.0, 2.0]] * 11)], "rows differ in length"),
    "one dimension": (np.full(12, NUMBER), "Reshape your data"),
    "scalar": (NUMBER, "Reshape your data"),
    "three dimensions": (np.full((12, 2, 2), NUMBER), "dim 3"),
    "no columns": (np.empty((12, 0)), "0 feature"),
    "no table": (None, "must"),
    "text": (WORD, "must"),
    "text column": (
        pd.DataFrame(table()[0], columns=list("abc")).assign(b=[WORD] * 12),
        "['b']",
    ),
    "category column": (
        pd.DataFrame(table()[0]).assign(b=pd.Categorical([WORD] * 12)),
        "['b']",
    ),
    "date column": (
        pd.DataFrame(table()[0], columns=list("abc")).assign(
            b=pd.date_range("2001-02-03", periods=12)
        ),
        "['b']",
    ),
    "object column": (
        pd.DataFrame(table()[0], columns=list("abc")).assign(
            b=np.array([WORD, NUMBER] * 6, dtype=object)
        ),
        "must hold numbers",
    ),
    "mixed column names": (pd.DataFrame({"a": [1.0] * 12, 5: 1.0}), "eature names"),
}


@EVERY
@pytest.mark.parametrize("case", BAD_FEATURES)
@QUIET
def test_bad_features_are_refused(model, case):
    X, says = BAD_FEATURES[case]
    assert says in refusal(model, X, table()[1], InvalidData)


@EVERY
def test_bad_features_are_refused_at_prediction_too(model):
    X, y = table()
    fitted = clone(model).fit(X, y)
    for bad, says in (
        (np.full(3, NUMBER), "Reshape your data"),
        (np.full((1, 2), NUMBER), "X has 2 features"),
        (spoiled(np.nan, float)[0], "contains NaN"),
        (spoiled(WORD)[0], "must hold numbers"),
    ):
        with pytest.raises(InvalidData, match=re.escape(says)) as caught:
            fitted.predict(bad)
        assert not any(canary in str(caught.value) for canary in CANARIES)


BAD_TARGETS = {
    "none": (None, "the target y is None"),
    "too short": (np.zeros(11), "same number of rows"),
    "two columns": (np.full((12, 2), NUMBER), "1d array"),
    "scalar": (NUMBER, "1d array"),
    "sparse": (sparse.csr_array(np.full((12, 1), NUMBER)), "1d array"),
    "ragged": ([[NUMBER], *([[1.0, 2.0]] * 11)], "1d array"),
    "nan": ([np.nan, 1.0] * 6, "contains NaN"),
    "none entry": ([None, 1.0] * 6, "missing"),
    "missing": (np.array([pd.NA, 1] * 6, dtype=object), "missing"),
    "infinity": ([np.inf, 1.0] * 6, "contains infinity"),
    "complex": (np.full(12, complex(NUMBER, 1)), "1d array"),
    "dates": (np.full(12, "2001-02-03", dtype="datetime64[s]"), "dates"),
}


@EVERY
@pytest.mark.parametrize("case", BAD_TARGETS)
@QUIET
def test_bad_targets_are_refused(model, case):
    y, says = BAD_TARGETS[case]
    assert says in refusal(model, table()[0], y, InvalidData)


@EVERY_CLASSIFIER
@QUIET
def test_bad_labels_are_refused(model):
    X, _ = table()
    assert "one class only" in refusal(model, X, [WORD] * 12, InvalidData)
    assert "continuous" in refusal(model, X, [NUMBER, 1.0] * 6, InvalidData)
    mixed = np.array([WORD, 1] * 6, dtype=object)
    assert "mixes types" in refusal(model, X, mixed, InvalidData)
    for declared in ([0], [0, 0], "ab", 5, [0, None], [0, "a"], [[0], [1]], []):
        message = refusal(clone(model).set_params(classes=declared), X, [0, 1] * 6)
        assert message.startswith("classes must be")
    words = clone(model).set_params(classes=["a", "b"])
    assert "holds numbers" in refusal(words, X, [0, 1] * 6, InvalidData)
    digits = clone(model).set_params(classes=[0, 1])
    assert "holds text" in refusal(digits, X, [WORD, "b"] * 6, InvalidData)


@EVERY_REGRESSOR
@QUIET
def test_bad_numbers_are_refused(model):
    X, _ = table()
    assert "must hold numbers" in refusal(model, X, [WORD, "1"] * 6, InvalidData)
    huge = np.array([10**400, 1] * 6, dtype=object)
    assert "too large" in refusal(model, X, huge, InvalidData)


BAD_PARAMETERS = [
    ("budget", None),
    ("budget", 1.0),
    ("budget", "1"),
    ("row_norm", 0.0),
    ("row_norm", -1.0),
    ("row_norm", np.nan),
    ("row_norm", np.inf),
    ("row_norm", "1"),
    ("row_norm", True),
    ("row_norm", 10**400),
    ("row_norm", 1e160),
    ("row_norm", 1e-160),
    ("l1", -1.0),
    ("l1", np.nan),
    ("l1", None),
    ("l2", -1.0),
    ("l2", np.nan),
    ("l2", np.inf),
    ("l2", "automatic"),
    ("l2", None),
    ("l2", [1.0, 2.0]),
    ("coef_norm", 0.0),
    ("coef_norm", np.inf),
    ("coef_norm", "1"),
    ("slope_bound", 0.0),
    ("slope_bound", np.nan),
    ("slope_bound", "1"),
    ("fit_intercept", "yes"),
    ("fit_intercept", None),
    ("mechanism", "laplace"),
    ("mechanism", None),
    ("mechanism", 3),
    ("mechanism", OutputPerturbation),
    ("neighbours", "swap"),
    ("neighbours", ""),
    ("neighbours", 0),
    ("neighbours", []),
    ("schema", "adult"),
    ("schema", pd.DataFrame({WORD: [NUMBER]})),
    ("intervals", 1.0),
    ("intervals", -0.1),
    ("intervals", "many"),
    ("intervals", (0.5, 0.5)),
    ("intervals", (0.5, 0.3, 0.3)),
    ("ledger", 3),
    ("random_state", -1),
    ("random_state", "seed"),
    ("random_state", 1.5),
]


@EVERY
@pytest.mark.parametrize(("name", "value"), BAD_PARAMETERS, ids=str)
@QUIET
def test_bad_parameters_are_refused(model, name, value):
    bad = clone(model).set_params(**{name: value})
    assert refusal(bad, *table(), InvalidParameter).startswith(f"{name} must be")


@EVERY
@QUIET
def test_arrays_without_a_declared_length_are_refused(model):
    """Nothing is assumed about raw columns; the message names both remedies."""
    said = refusal(clone(model).set_params(row_norm=None), *table(), MissingPublicBound)
    assert "row_norm" in said
    assert "schema" in said


@EVERY_REGRESSOR
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, "1", 10**400])
@QUIET
def test_a_bad_target_bound_is_refused(model, value):
    bad = clone(model).set_params(target_bound=value)
    assert refusal(bad, *table(), InvalidParameter).startswith("target_bound must be")


@pytest.mark.parametrize("value", ["squared", HuberizedHinge, None, 3])
@QUIET
def test_a_bad_loss_is_refused(value):
    bad = LinearSVC(BUDGET, loss=value, row_norm=1.0)
    assert refusal(bad, *table(), InvalidParameter).startswith("loss must be")


@pytest.mark.parametrize("kind", [Pure, Zcdp, lambda epsilon: Approx(epsilon, 1e-6)])
@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, None, "much", True, [1]])
def test_a_budget_must_be_a_positive_number(kind, value):
    with pytest.raises(InvalidParameter, match="must be"):
        kind(value)


@pytest.mark.parametrize("delta", [0, -1e-6, 1, 1.5, np.nan, None])
def test_delta_must_lie_between_0_and_1(delta):
    with pytest.raises(InvalidParameter, match="delta must be"):
        Approx(1.0, delta)


@EVERY_REGRESSOR
@QUIET
def test_a_missing_public_bound_is_named(model):
    unbound = clone(model).set_params(target_bound=None)
    message = refusal(unbound, *table(), MissingPublicBound)
    assert "set target_bound" in message
    labels = clone(unbound).set_params(schema=SCHEMA)
    assert "bound" in refusal(labels, frame(), None, MissingPublicBound)


@EVERY_CLASSIFIER
@QUIET
def test_a_classifier_needs_labels_from_its_schema(model):
    schema = Schema((Number("age", 0, 100),), Target("ill", bound=3.0))
    message = refusal(clone(model).set_params(schema=schema), frame())
    assert "needs public labels" in message


@QUIET
def test_the_hinge_lists_its_unmet_needs_with_remedies():
    message = refusal(LinearSVC(BUDGET, loss="hinge", row_norm=1.0), *table(), UnmetNeeds)
    assert "continuous slope" in message
    assert "mechanism='output'" in message


SMALLEST = re.compile(r"^l2 must be (?:greater than|at least) (\S+) .*; got 1e-09")


@EVERY
@pytest.mark.filterwarnings("ignore::confide.errors.NoiseChanged")
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    "budget", [Pure(1), Approx(1, 1e-6), Zcdp("0.1")], ids=["pure", "approx", "zcdp"]
)
def test_too_little_ridge_names_the_smallest_that_works(
    model, budget, neighbours, monkeypatch
):
    small = clone(model).set_params(budget=budget, neighbours=neighbours, l2=1e-9)
    with monkeypatch.context() as patched:
        patched.setattr(entropy, "_system_words", None)
        message = refusal(small, *table(), InvalidParameter)
    found = SMALLEST.match(message)
    assert found, message
    assert "'auto'" in message
    small.set_params(l2=1.01 * float(found[1])).fit(*table())


@EVERY
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-6), Zcdp("0.1")], ids=repr)
@QUIET
def test_no_ridge_at_all_is_refused_too(model, budget):
    small = clone(model).set_params(budget=budget, l2=0.0)
    message = refusal(small, *table(), InvalidParameter)
    assert message.startswith("l2 must be greater than")


@EVERY
@QUIET
def test_output_perturbation_needs_some_ridge(model):
    small = clone(model).set_params(mechanism="output", l2=0.0)
    message = refusal(small, *table(), InvalidParameter)
    assert message.startswith("l2 must be greater than 0")


@EVERY
def test_odd_but_legal_tables_are_fitted(model):
    X, y = table()
    for odd in (
        np.ones((12, 3)),
        np.zeros((12, 3)),
        X > 0,
        X.astype(int),
        X.astype(np.float16),
        np.hstack([X] * 10),
        1e6 * X,
        X[:2],
        sparse.csr_array((12, 3)),
        pd.DataFrame(X > 0, columns=list("abc")),
        pd.DataFrame(X, columns=list("abc")).astype(object),
    ):
        fitted = clone(model).fit(odd, y[: odd.shape[0]])
        assert np.isfinite(fitted.coef_).all()
        assert fitted.predict(odd).shape == (odd.shape[0],)


@EVERY_REGRESSOR
def test_targets_beyond_the_bound_are_clamped(model):
    X, y = table()
    wide, clamped = np.where(y > 0, NUMBER, 0.0), np.where(y > 0, 2.0, 0.0)
    seeded = clone(model).set_params(random_state=0)
    np.testing.assert_array_equal(
        clone(seeded).fit(X, wide).coef_, clone(seeded).fit(X, clamped).coef_
    )


def test_negative_counts_are_clamped():
    X, y = table()
    model = REGRESSORS[1].set_params(random_state=0)
    np.testing.assert_array_equal(
        clone(model).fit(X, y - 1.0).coef_, clone(model).fit(X, 0.0 * y).coef_
    )


@QUIET
def test_a_refused_fit_leaves_an_earlier_one_alone():
    X, y = table()
    model = LogisticRegression(BUDGET, random_state=0, row_norm=1.0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(InvalidData):
        model.fit(spoiled(np.nan, float)[0], np.array(["a", "b"])[y])
    np.testing.assert_array_equal(model.predict(X), before)


BAD_FRAMES = {
    "no table": (np.full((4, 3), NUMBER), "named columns"),
    "column absent": (frame().drop(columns="town"), "['town']"),
    "target absent": (frame().drop(columns="ill"), "['ill']"),
    "column twice": (pd.concat([frame(), frame()[["age"]]], axis=1), "repeats ['age']"),
    "words for numbers": (frame().assign(age=[WORD, "1", "2", "3"]), "column 'age'"),
    "objects for numbers": (frame().assign(age=[[NUMBER], {}, 2, 3]), "column 'age'"),
    "dates for numbers": (
        frame().assign(age=pd.date_range("2001-02-03", periods=4)),
        "column 'age'",
    ),
    "complex for numbers": (frame().assign(age=complex(NUMBER, 1)), "column 'age'"),
    "numbers for words": (frame().assign(town=NUMBER), "column 'town'"),
    "numbers for labels": (frame().assign(ill=[0, 1, 1, 0]), "the target y holds numbers"),
    "label missing": (frame().assign(ill=["no", None, "yes", "no"]), "missing"),
}


@EVERY_CLASSIFIER
@pytest.mark.parametrize("case", BAD_FRAMES)
@QUIET
def test_bad_frames_are_refused(model, case):
    data, says = BAD_FRAMES[case]
    model = clone(model).set_params(schema=SCHEMA)
    assert says in refusal(model, data, None, InvalidData)


def test_every_estimator_is_either_kind():
    assert all(map(is_classifier, CLASSIFIERS))
    assert not any(map(is_classifier, REGRESSORS))
