"""Private scores through estimators: every source, every kind of model, bad input, pay."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from confide import (
    Approx,
    Ledger,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MultiResponseRegression,
    Number,
    PoissonRegression,
    Pure,
    Schema,
    Target,
    Zcdp,
    buy_ranges,
    compare_models,
    load_model,
    load_score,
)
from confide.errors import BudgetExceeded, ConfideError, InvalidData, InvalidParameter
from confide.evaluation import save_score, score_record
from confide.privacy import Neighbours, Status
from support.clinic import SCHEMA, clinic
from support.parted_tables import NAMES, given, numbers
from support.parted_tables import Case as Parted

BUDGET = Approx(1, "1e-6")
MODELS = {
    "two classes": (LogisticRegression(BUDGET, classes=[0, 1], row_norm=1.0), "signs"),
    "support vectors": (LinearSVC(BUDGET, classes=[0, 1], row_norm=1.0), "signs"),
    "several classes": (
        LogisticRegression(BUDGET, classes=[0, 1, 2], row_norm=1.0),
        "thirds",
    ),
    "several support vectors": (
        LinearSVC(BUDGET, classes=[0, 1, 2], row_norm=1.0),
        "thirds",
    ),
    "numbers": (LinearRegression(BUDGET, target_bound=2.0, row_norm=1.0), "line"),
    "counts": (
        PoissonRegression(BUDGET, target_bound=8.0, coef_norm=2.0, row_norm=1.0),
        "counts",
    ),
}
EACH = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def table():
    return numbers()


@pytest.fixture(scope="module")
def fitted(table):
    found = {}
    for name, (model, target) in MODELS.items():
        own = clone(model).set_params(random_state=1)
        found[name] = own.fit(table[NAMES].to_numpy(), table[target].to_numpy()), target
    return found


@pytest.fixture
def book(tmp_path):
    ledger = Ledger.open(tmp_path / "book.db")
    ledger.set_limit("clinic", Approx(2, "1e-5"))
    yield ledger
    ledger.close()


@EACH
@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
@pytest.mark.parametrize("budget", [Pure(1), BUDGET, Zcdp("0.1")], ids=repr)
def test_every_model_has_a_score_under_every_budget(fitted, table, name, relation, budget):
    model, target = fitted[name]
    X, y = table[NAMES].to_numpy(), table[target].to_numpy()
    score = model.private_score(X, budget, y=y, neighbours=relation)
    assert score.guarantee.status is Status.PROVED
    assert score.guarantee.budget == budget
    assert score.guarantee.neighbours is relation
    assert score.guarantee.private
    for one in score:
        ends = (one.lower, one.value, one.upper)
        known = [end for end in ends if end is not None]
        assert np.isfinite(known).all()
        assert known == sorted(known)


@EACH
def test_a_score_with_much_budget_is_the_exact_one(fitted, table, name):
    model, target = fitted[name]
    X, y = table[NAMES].to_numpy(), table[target].to_numpy()
    score = model.private_score(X, Pure(10_000), y=y, random_state=1)
    said = model.predict(X)
    if "accuracy" in {one.name for one in score}:
        assert score["accuracy"].value == pytest.approx(np.mean(said == y), abs=1e-3)
    if name == "two classes":
        chance = model.predict_proba(X)[:, 1]
        brier = np.mean((chance - y) ** 2)
        assert score["Brier score"].value == pytest.approx(brier, abs=2e-3)
    if name == "several classes":
        chance = model.predict_proba(X)
        brier = np.mean(((chance - np.eye(3)[y]) ** 2).sum(axis=1))
        assert score["Brier score"].value == pytest.approx(brier, abs=2e-3)
    if name == "numbers":
        exact = 1 - np.sum((y - said) ** 2) / np.sum((y - y.mean()) ** 2)
        assert score["R²"].value == pytest.approx(exact, abs=2e-3)
        sizes = np.abs(y - said)
        assert score["mean absolute error"].value == pytest.approx(sizes.mean(), abs=2e-3)
    if name == "counts":
        assert score["mean count"].value == pytest.approx(y.mean(), abs=2e-3)


SOURCES = ("parquet folder", "csv pattern", "frame", "csr array")


@pytest.mark.parametrize("source", SOURCES)
@EACH
def test_every_source_has_the_same_score(fitted, table, tmp_path, name, source):
    if "frame" in source or "array" in source:
        pytest.importorskip("dask")
    model, target = fitted[name]
    X, y = given(source, table, tmp_path, Parted(model, target), None)
    there = model.private_score(X, BUDGET, y=y, random_state=2)
    X, y = table[NAMES].to_numpy(), table[target].to_numpy()
    assert there == model.private_score(X, BUDGET, y=y, random_state=2)


@pytest.mark.slow
def test_workers_count_the_same(fitted, table, tmp_path):
    pytest.importorskip("distributed")
    from confide.parallel.dask_cluster import connected

    model, target = fitted["numbers"]
    with connected(workers=2) as client:
        case = Parted(model, target)
        for source in ("parquet folder", "array"):
            X, y = given(source, table, tmp_path, case, client)
            there = model.private_score(X, BUDGET, y=y, random_state=2)
            X, y = table[NAMES].to_numpy(), table[target].to_numpy()
            assert there == model.private_score(X, BUDGET, y=y, random_state=2)


def test_a_score_is_charged_and_on_record(book, tmp_path):
    model = LogisticRegression(BUDGET, schema=SCHEMA).fit(clinic(400))
    score = model.private_score(clinic(300), Pure("0.5"), ledger=book)
    assert str(book.account("clinic").spent) == "ε = 0.5, δ = 0"
    with pytest.raises(BudgetExceeded):
        model.private_score(clinic(300), Pure(3), ledger=book)
    path = tmp_path / "score.json"
    save_score(score, path)
    assert load_score(path) == score
    assert score_record(load_score(path)) == score_record(score)
    assert "accuracy" in str(score)


def test_a_loaded_model_has_the_same_score(tmp_path):
    model = LogisticRegression(BUDGET, schema=SCHEMA, random_state=1).fit(clinic(400))
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    table = clinic(300)
    first, second = (
        one.private_score(table, BUDGET, random_state=3) for one in (model, again)
    )
    assert first == second


OTHER = Schema((Number("weight", 0, 200),), Target("ill", labels=("no", "yes")), "clinic")
BAD = {
    "another schema": (lambda t: t.drop(columns="age"), {}, InvalidData),
    "no table": (lambda t: None, {}, Exception),
    "a budget of another kind": (lambda t: t, {"budget": 1.0}, ConfideError),
    "a level that is none": (lambda t: t, {"level": 95}, InvalidParameter),
    "no rows, whose number is public": (
        lambda t: t.iloc[:0],
        {"neighbours": "replace-one"},
        InvalidData,
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_refused_before_anything_is_paid(book, fault):
    spoil, given_, kind = BAD[fault]
    model = LogisticRegression(BUDGET, schema=SCHEMA).fit(clinic(400))
    settings = {"budget": BUDGET, "ledger": book} | given_
    with pytest.raises(kind):
        model.private_score(spoil(clinic(100)), **settings)
    assert book.account("clinic").charges == 0


ODD = {
    "no rows": lambda t: t.iloc[:0],
    "one row": lambda t: t.iloc[:1],
    "one class": lambda t: t.assign(ill="yes"),
    "labels that nobody knows": lambda t: t.assign(ill="perhaps"),
    "rows that are all alike": lambda t: t.iloc[[0] * 50],
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("epsilon", ["0.01", 1, 100])
def test_nothing_fails_because_of_what_rows_say(case, epsilon):
    model = LogisticRegression(BUDGET, schema=SCHEMA).fit(clinic(400))
    for seed in range(3):
        score = model.private_score(ODD[case](clinic(80)), Pure(epsilon), random_state=seed)
        area = score["area under the ROC curve"]
        assert area.lower >= 0
        assert area.upper <= 1
        if case in {"no rows", "one row"} and epsilon != 100:
            assert area.value is None


@EACH
@pytest.mark.parametrize("slope", [0.0, 1e-12, 1e6])
@pytest.mark.parametrize("level", [0.0, -40.0, 40.0, 1e6])
def test_every_model_that_noise_can_make_has_a_score(
    fitted, table, monkeypatch, name, slope, level
):
    """With slopes that a penalty sets to 0, and predictions far beyond all targets."""
    model, target = fitted[name]
    monkeypatch.setattr(model, "_slopes", np.full_like(model._slopes, slope))
    monkeypatch.setattr(model, "_levels", np.full_like(model._levels, level))
    X, y = table[NAMES].to_numpy(), table[target].to_numpy()
    for one in model.private_score(X, BUDGET, y=y, random_state=1):
        ends = [end for end in (one.lower, one.value, one.upper) if end is not None]
        assert np.isfinite(ends).all()
        assert ends == sorted(ends)


def test_counts_without_slopes_have_a_score_from_held_out_rows(tmp_path):
    table = pd.DataFrame({"age": np.arange(300.0) % 60, "visits": np.arange(300) % 5})
    schema = Schema((Number("age", 0, 60),), Target("visits", lower=0, upper=10), "visits")
    book = Ledger.open(tmp_path / "visits.db")
    book.set_limit("visits", Pure(5))
    model = PoissonRegression(
        Pure(5), schema=schema, l1=1e4, ranges="public", ledger=book, random_state=0
    ).fit(table, holdout=0.3)
    book.close()
    assert not model.coef_.any()
    mean = model.holdout_score_["mean count"]
    assert mean.lower <= 2 <= mean.upper


def test_constant_scores_have_an_area_of_a_half():
    model = LogisticRegression(BUDGET, classes=[0, 1], random_state=0, row_norm=1.0)
    rng = np.random.default_rng(0)
    model.fit(rng.normal(size=(50, 2)), rng.integers(0, 2, 50))
    y = rng.integers(0, 2, 2000)
    area = model.private_score(np.zeros((2000, 2)), Pure(5), y=y)[
        "area under the ROC curve"
    ]
    assert area.value == pytest.approx(0.5, abs=0.02)


def test_regressions_of_nothing_are_hidden():
    model = LinearRegression(BUDGET, target_bound=1.0, row_norm=1.0).fit(
        np.zeros((9, 1)), np.zeros(9)
    )
    few = model.private_score(np.zeros((2, 1)), Pure("0.1"), y=np.zeros(2))
    assert few["R²"].value is None
    same = model.private_score(np.zeros((5000, 1)), Pure(5), y=np.full(5000, 0.5))
    assert same["R²"].value is None, "a constant target has no variance to explain"


def test_several_targets_are_refused():
    model = MultiResponseRegression(
        BUDGET, mechanism="momentum", target_bound=1.0, row_norm=1.0
    )
    model.fit(np.zeros((30, 2)), np.zeros((30, 2)))
    with pytest.raises(InvalidParameter, match="single target"):
        model.private_score(np.zeros((3, 2)), BUDGET, y=np.zeros((3, 2)))


def test_two_models_are_compared_row_by_row():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(20_000, 2)) / 2
    y = (X[:, 0] + rng.normal(size=20_000) / 2 > 0).astype(int)
    good = LogisticRegression(Pure(20), classes=[0, 1], random_state=0, row_norm=1.0).fit(
        X, y
    )
    poor = LogisticRegression(Pure(20), classes=[0, 1], random_state=0, row_norm=1.0)
    poor.fit(X, (X[:, 1] > 0).astype(int))
    found = compare_models(good, poor, X, Pure(1), y=y, random_state=0)
    exact = np.mean(good.predict(X) != y) - np.mean(poor.predict(X) != y)
    assert found["error rate"].lower <= exact <= found["error rate"].upper
    assert found["error rate"].upper < 0
    assert found["area under the ROC curve"].lower > 0.1
    same = compare_models(good, good, X, Pure(1), y=y, random_state=0)
    assert same["Brier score"].lower <= 0 <= same["Brier score"].upper


@pytest.mark.parametrize("name", ["several classes", "numbers", "counts"])
def test_models_of_every_kind_can_be_compared(fitted, table, name):
    model, target = fitted[name]
    X, y = table[NAMES].to_numpy(), table[target].to_numpy()
    for one in compare_models(model, model, X, Pure(50), y=y, random_state=0):
        assert one.lower <= 0 <= one.upper


def test_a_model_without_probabilities_is_compared_by_errors_and_areas():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20_000, 2)) / 2
    y = (X[:, 0] + rng.normal(size=20_000) / 2 > 0).astype(int)
    settings = {"classes": [0, 1], "random_state": 0, "row_norm": 1.0}
    good = LogisticRegression(Pure(20), **settings).fit(X, y)
    poor = LinearSVC(Pure(20), **settings).fit(X, (X[:, 1] > 0).astype(int))
    for sign, pair in ((1, (good, poor)), (-1, (poor, good))):
        found = compare_models(*pair, X, Pure(1), y=y, random_state=0)
        assert [one.name for one in found] == ["error rate", "area under the ROC curve"]
        exact = np.mean(pair[0].predict(X) != y) - np.mean(pair[1].predict(X) != y)
        assert found["error rate"].lower <= exact <= found["error rate"].upper
        assert sign * found["area under the ROC curve"].value > 0.1


def test_models_of_other_kinds_or_targets_are_not_compared(fitted, table):
    first, second = fitted["two classes"][0], fitted["numbers"][0]
    X, y = table[NAMES].to_numpy(), table["signs"].to_numpy()
    with pytest.raises(InvalidParameter, match="of the same type"):
        compare_models(first, second, X, BUDGET, y=y)
    own = LogisticRegression(BUDGET, schema=SCHEMA).fit(clinic(200))
    with pytest.raises(InvalidParameter, match="schema"):
        compare_models(own, first, clinic(100), BUDGET)


def test_models_for_other_numbers_of_rows_per_person_are_not_compared():
    first, second = (
        LogisticRegression(Pure(8), schema=replace(SCHEMA, rows_per_person=rows))
        for rows in (1, 3)
    )
    rows = clinic(300)
    with pytest.raises(InvalidParameter, match=r"rows_per_person.*1 and 3"):
        compare_models(first.fit(rows), second.fit(rows), clinic(100), BUDGET)


def test_a_comparison_assumes_what_both_models_assume():
    ranges = buy_ranges(clinic(4000), SCHEMA, Pure(3)).schema
    first = LogisticRegression(Pure(8), schema=SCHEMA, ranges="public").fit(clinic(300))
    second = LogisticRegression(Pure(8), schema=ranges).fit(clinic(300))
    found = compare_models(first, second, clinic(100), BUDGET)
    assert set(ranges.assumptions) <= set(found.guarantee.assumptions)


def test_damaged_score_files_are_refused(tmp_path):
    path = tmp_path / "score.json"
    for text in ("{", "[]", '{"format": "confide-score"}', '{"format": "confide-model"}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InvalidParameter):
            load_score(path)
    path.write_text('{"format": "confide-score", "format_version": 1}', encoding="utf-8")
    with pytest.raises(InvalidParameter, match="damaged"):
        load_score(path)


def test_columns_must_be_those_of_the_fit_in_their_order(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    y = (frame["a"] > 0).astype(int)
    model = LogisticRegression(BUDGET, classes=[0, 1], random_state=0, row_norm=1.0).fit(
        frame, y
    )
    with pytest.raises(ValueError, match="order"):
        model.private_score(frame[["b", "a"]], Pure(5), y=y)
    frame[["b", "a"]].assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InvalidData, match="order"):
        model.private_score(tmp_path / "t.csv", Pure(5), y="y")
    frame.assign(y=y).to_csv(tmp_path / "u.csv", index=False)
    model.private_score(tmp_path / "u.csv", Pure(5), y="y")


def test_exposure_is_part_of_the_prediction():
    """Counts in proportion to years: without the exposure means would be far off."""
    rng = np.random.default_rng(0)
    years, age = rng.uniform(0.5, 5, 4000), rng.uniform(20, 80, 4000)
    table = pd.DataFrame({"age": age, "years": years})
    table["visits"] = rng.poisson(years * np.exp(0.02 * (age - 50)))
    schema = Schema(
        (Number("age", 20, 80),),
        Target("visits", lower=0, upper=40),
        offset=Number("years", 0.5, 5, transform="log"),
    )
    model = PoissonRegression(Pure(50), schema=schema, random_state=0).fit(table)
    score = model.private_score(table, Pure(500), random_state=0)
    exact = np.mean(np.abs(table["visits"] - model.predict(table)))
    assert score["mean absolute error"].value == pytest.approx(exact, abs=0.02)
    assert score["dispersion"].value == pytest.approx(1.0, abs=0.2)
