"""Private search: one charge for all candidates, and only the winner leaves."""

from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV

from confide import (
    Approx,
    Category,
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
)
from confide.errors import (
    BudgetExceeded,
    ConfideError,
    InvalidData,
    InvalidParameter,
    MissingPublicBound,
)
from confide.estimators import load_model, release_hash
from confide.mechanisms import Calibration, MpAdmm, OutputPerturbation, SsAdmm
from confide.mechanisms.published import Napp
from confide.privacy import Neighbours
from confide.privacy.guarantee import (
    ARITHMETIC,
    ONE_ROW,
    PUBLIC_LABELS,
    ROW_LIMIT,
)
from confide.tuning import SCORES, ChunkedSearch, PrivateSearch, RandomStopping
from confide.tuning.scores import SearchTable, score_for

RIDGES = {"l2": [5.0, 1e6]}
METHODS = ["chunks", "random-stopping"]


@pytest.fixture
def book(tmp_path):
    ledger = Ledger.open(tmp_path / "book.db").for_dataset("people")
    ledger.set_limit("people", Pure(1))
    yield ledger
    ledger.close()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) / 3
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def numbers(rows):
    X, _ = rows
    return X, X @ [2.0, -1.0, 0.0]


@pytest.mark.parametrize("method", METHODS)
def test_a_search_is_one_charge_and_one_release(book, rows, method):
    model = LogisticRegression(ledger=book, row_norm=1.0)
    search = PrivateSearch(model, {"l2": [5.0, 20.0, 80.0]}, Pure("0.6"), method=method)
    search.fit(*rows)
    limit, charge, release = book.entries()
    assert (limit.kind, charge.kind, release.kind) == ("limit", "charge", "release")
    assert str(book.account("people").spent) == "ε = 0.6"
    assert charge.what == "PrivateSearch of LogisticRegression"
    assert release.release_hash == release_hash(search.best_estimator_.release_)
    with pytest.raises(BudgetExceeded):
        clone(search).fit(*rows)
    assert len(book.entries()) == 3


def test_scikit_learns_own_search_is_charged_for_every_fit(book, rows):
    search = GridSearchCV(
        LogisticRegression(Pure("0.1"), ledger=book, row_norm=1.0), RIDGES, cv=3
    )
    search.fit(*rows)
    assert book.account("people").charges == 2 * 3 + 1
    assert str(book.account("people").spent) == "ε = 0.7"


@pytest.mark.parametrize("method", METHODS)
def test_the_winner_promises_what_the_search_costs(rows, method):
    search = PrivateSearch(
        LogisticRegression(row_norm=1.0), RIDGES, Pure(2), method=method
    ).fit(*rows)
    guarantee = search.release_.guarantee
    assert guarantee.budget == Pure(2)
    assert guarantee.theorem == f"private-tuning.md#{method}-exact"
    assert {ARITHMETIC, ROW_LIMIT, ONE_ROW} <= set(guarantee.assumptions)
    assert guarantee.private
    assert PUBLIC_LABELS in guarantee.assumptions
    assert [event.epsilon for event in search.release_.events] == [2]
    assert "private-tuning" in str(search.summary())


@pytest.mark.parametrize(
    ("method", "spent"), [("chunks", Pure(2)), ("random-stopping", Pure("0.6"))]
)
def test_a_fit_has_the_noise_of_what_it_may_spend(rows, method, spent):
    """Random stopping: a third for one run, of which a tenth is the score's."""
    model, grid = LogisticRegression(mechanism="output", row_norm=1.0), {"l2": [9.0, 9.0]}
    release = PrivateSearch(model, grid, Pure(2), method=method).fit(*rows).release_
    alone = clone(model).set_params(l2=9.0, budget=spent).fit(*rows).release_
    assert release.noise == alone.noise


@pytest.mark.parametrize("method", METHODS)
def test_only_the_winner_leaves(rows, method):
    search = PrivateSearch(
        LogisticRegression(row_norm=1.0), RIDGES, Pure(2), method=method
    ).fit(*rows)
    kept = {name for name in vars(search) if name.endswith("_")}
    private_score = {"best_score_"} if method == "random-stopping" else set()
    assert kept == {"best_estimator_", "best_index_", "best_params_", *private_score}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("budget", [Pure(200), Approx(50, 1e-6), Zcdp(100)], ids=repr)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_large_budget_finds_the_better_candidate(numbers, method, budget, relation):
    model = LinearRegression(target_bound=2.0, neighbours=relation, row_norm=1.0)
    grid = {"l2": [20.0, 1e9]}
    search = PrivateSearch(model, grid, budget, method=method, random_state=1)
    if method == "random-stopping" and isinstance(budget, Zcdp):
        with pytest.raises(InvalidParameter, match="chunks"):
            search.fit(*numbers)
        return
    search.fit(*numbers)
    assert search.best_params_ == {"l2": 20.0}
    assert search.best_index_ == 0
    assert search.score(*numbers) > 0.2
    assert str(search.release_.guarantee.neighbours) == relation


@dataclass(frozen=True)
class Supposing(OutputPerturbation):
    """A mechanism with an assumption of its own."""

    def calibrate(self, objective, budget, neighbours, *, copies=1):
        found = OutputPerturbation.calibrate(
            self, objective, budget, neighbours, copies=copies
        )
        return SupposingCalibration(
            **{f.name: getattr(found, f.name) for f in fields(found)}
        )


@dataclass(frozen=True)
class SupposingCalibration(Calibration):
    @property
    def guarantee(self):
        return Calibration.guarantee.fget(self).assuming("the moon is full")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", [1, -1])
def test_a_winner_assumes_what_the_losers_do(rows, method, order):
    grid = {"mechanism": [OutputPerturbation(), Supposing()][::order]}
    for seed in range(3):
        search = PrivateSearch(
            LogisticRegression(row_norm=1.0),
            grid,
            Pure(2),
            method=method,
            random_state=seed,
        ).fit(*rows)
        assumed = search.release_.guarantee.assumptions
        assert assumed.count("the moon is full") == 1
        assert "the moon is full" in str(search.summary())


def test_a_private_score_is_near_the_sum_of_losses(rows):
    search = PrivateSearch(
        LogisticRegression(row_norm=1.0), RIDGES, Pure(1000), method="random-stopping"
    )
    search.fit(*rows)
    wrong = (search.predict(rows[0]) != rows[1]).sum()
    assert -search.best_score_ == pytest.approx(wrong, abs=1.0)


@pytest.mark.parametrize("method", METHODS)
def test_seeds_repeat_and_are_stamped(rows, method):
    def run(seed, inner=None):
        model = LogisticRegression(random_state=inner, row_norm=1.0)
        search = PrivateSearch(model, RIDGES, Pure(1), method=method, random_state=seed)
        return search.fit(*rows)

    first, again, other, own = run(4), run(4), run(5), run(None, 4)
    assert np.array_equal(first.release_.value, again.release_.value)
    assert not np.array_equal(first.release_.value, other.release_.value)
    assert np.array_equal(first.release_.value, own.release_.value)
    assert not first.release_.guarantee.private
    assert not own.release_.guarantee.private
    assert run(None).release_.guarantee.private


def test_it_looks_like_a_scikit_learn_search(rows, tmp_path):
    search = PrivateSearch(LogisticRegression(row_norm=1.0), RIDGES, Pure(20))
    assert is_classifier(search)
    assert is_regressor(PrivateSearch(LinearRegression(row_norm=1.0), RIDGES))
    assert not hasattr(search, "classes_")
    assert not hasattr(search, "n_features_in_")
    search.fit(*rows)
    best = search.best_estimator_
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert np.array_equal(getattr(search, name)(rows[0]), getattr(best, name)(rows[0]))
    assert list(search.classes_) == [0, 1]
    assert search.n_features_in_ == 3
    assert clone(search).get_params()["param_grid"] == RIDGES
    assert not hasattr(PrivateSearch(LinearSVC(row_norm=1.0), RIDGES), "predict_proba")
    best.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert str(loaded.summary()) == str(search.summary())
    assert clone(best).get_params()["ledger"] is None


def test_data_frames_and_tables_with_a_schema():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"x": rng.uniform(-1, 1, 300), "g": rng.choice(["a", "b"], 300), "y": 0.0}
    )
    frame["y"] = 3 * frame["x"] + (frame["g"] == "a")
    columns = (Number("x", -1, 1), Category("g", ("a", "b")))
    schema = Schema(columns, Target("y", bound=4), "people", rows_per_person=2)
    model = LinearRegression(schema=schema)
    for budget in (Pure(400), Approx(50, 1e-4)):
        search = PrivateSearch(model, {"l2": [100.0, 1e8]}, budget).fit(frame)
        assert search.best_params_ == {"l2": 100.0}
        assert any("2 rows" in line for line in search.release_.guarantee.assumptions)
    stopping = PrivateSearch(model, RIDGES, Approx(50, 1e-4), method="random-stopping")
    with pytest.raises(InvalidParameter, match="rows_per_person"):
        stopping.fit(frame)
    plain = PrivateSearch(
        LinearRegression(target_bound=4.0, row_norm=1.0), {"l2": [100.0, 1e8]}, Pure(90)
    )
    plain.fit(frame[["x"]], frame["y"])
    assert list(plain.feature_names_in_) == ["x"]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"param_grid": None}, "two candidates"),
        ({"param_grid": {"l2": [1.0]}}, "two candidates"),
        ({"param_grid": {"l2": 1.0}}, "param_grid"),
        ({"param_grid": {"l2": range(1, 2001)}}, "below 2000"),
        ({"param_grid": {"ridge": [1, 2]}}, "parameters of LogisticRegression"),
        ({"param_grid": {"budget": [Pure(1), Pure(2)]}}, "candidates may differ"),
        ({"budget": None}, "budget"),
        ({"estimator": LogisticRegression(Pure(2), row_norm=1.0)}, "not both"),
        ({"estimator": LogisticRegression(intervals=True, row_norm=1.0)}, "intervals"),
        ({"estimator": object()}, "estimator"),
        ({"method": "grid"}, "method"),
        ({"scoring": "squared"}, "a classification score, because"),
        ({"scoring": "deviance", "estimator": LinearSVC(row_norm=1.0)}, "misclassif"),
        ({"scoring": "deviance", "estimator": LinearRegression()}, "'absolute'"),
        ({"scoring": "best"}, "score"),
        ({"scoring": len}, "scoring"),
    ],
)  # fmt: skip
def test_wrong_use_is_refused_before_anything_is_spent(book, rows, change, match):
    settings = {
        "estimator": LogisticRegression(ledger=book, row_norm=1.0),
        "param_grid": RIDGES,
        "budget": Pure(1),
        **change,
    }
    with pytest.raises(ConfideError, match=match):
        PrivateSearch(**settings).fit(*rows)
    assert len(book.entries()) == 1


class Replacing(OutputPerturbation):
    default_neighbours = Neighbours.REPLACE_ONE


@pytest.mark.parametrize(
    ("other", "match"),
    [(Replacing(), "neighbours"), (Napp(accept_unproved=True), "REFUTED for .*Napp")],
)
def test_candidates_must_not_be_refuted_and_about_the_same_relation(rows, other, match):
    grid = {"mechanism": [OutputPerturbation(), other], "l2": [5.0]}
    with pytest.raises(InvalidParameter, match=match):
        PrivateSearch(LogisticRegression(row_norm=1.0), grid, Pure(1)).fit(*rows)


def test_bad_data_are_refused_before_anything_is_spent(book, rows):
    X, y = rows
    search = PrivateSearch(LogisticRegression(ledger=book, row_norm=1.0), RIDGES, Pure(1))
    for spoilt in ((np.full_like(X, np.nan), y), (X, np.zeros_like(y))):
        with pytest.raises(InvalidData):
            search.fit(*spoilt)
    low = PrivateSearch(
        LogisticRegression(ledger=book, row_norm=1.0), {"l2": [5.0, 1e-9]}, Pure(1)
    )
    with pytest.raises(ConfideError):
        low.fit(X, y)
    several = MultiResponseRegression(mechanism=MpAdmm(5), target_bound=1.0, row_norm=1.0)
    with pytest.raises(InvalidData, match="one target"):
        PrivateSearch(several, RIDGES, Approx(1, 1e-6)).fit(X, X)
    assert len(book.entries()) == 1
    equal = LogisticRegression(neighbours="replace-one", classes=[0, 1], row_norm=1.0)
    PrivateSearch(equal, RIDGES, Pure(1)).fit(X[:3], y[:3])
    with pytest.raises(InvalidData, match="one per chunk"):
        PrivateSearch(equal, RIDGES, Pure(1)).fit(X[:2], y[:2])


def test_nothing_is_drawn_before_the_charge(book, rows, monkeypatch):
    def no_draws(count):
        raise AssertionError("drawn too early")

    monkeypatch.setattr("confide.noise.entropy._system_words", no_draws)
    for method in METHODS:
        search = PrivateSearch(
            LogisticRegression(ledger=book, row_norm=1.0), RIDGES, Pure(2), method=method
        )
        with pytest.raises(BudgetExceeded):
            search.fit(*rows)


def test_a_rare_label_missing_from_a_chunk_does_no_harm(rows):
    X, y = rows
    labels = y.copy()
    labels[0] = 2
    search = PrivateSearch(LogisticRegression(row_norm=1.0), RIDGES, Pure(50)).fit(
        X, labels
    )
    assert list(search.classes_) == [0, 1, 2]


@pytest.mark.parametrize("name", sorted(SCORES))
def test_losses_stay_within_their_bound(name, rows, numbers):
    """Whatever a model says, of whatever record."""

    class Wild:
        classes_ = np.array([0, 1])

        def predict(self, features):
            return np.resize([1e9, -1e9, np.nan, 0.0, 1.0], len(features))

        def predict_proba(self, features):
            return np.resize([0.0, 1.0, 1.0, 0.0, 0.5, 0.5], (len(features), 2))

    table = SearchTable(np.zeros((30, 1)), np.resize([0.0, 1.0, 7.0, -1e9], 30))
    numeric = name in {"squared", "absolute"}
    model = (
        LinearRegression(target_bound=3.0, row_norm=1.0)
        if numeric
        else LogisticRegression(row_norm=1.0)
    )
    score = score_for(name, model)
    singles = [score.total(Wild(), table.take(np.array([i]))) for i in range(30)]
    assert min(singles) >= 0
    assert max(singles) == score.bound
    assert score.total(Wild(), table) <= 30 * score.bound
    assert score.bound == {"squared": 36, "absolute": 6, "deviance": 4}.get(name, 1)
    for add in (0, 7, 19):
        with_one = score.total(Wild(), table.take(np.arange(add + 1)))
        without = score.total(Wild(), table.take(np.arange(add)))
        assert 0 <= with_one - without <= score.bound


def test_ranges_of_scores():
    assert score_for(None, PoissonRegression(target_bound=5.0, row_norm=1.0)).bound == 25
    schema = Schema((Number("x", 0, 1),), Target("y", lower=10, upper=30))
    assert score_for("squared", LinearRegression(schema=schema)).bound == 400
    with pytest.raises(MissingPublicBound):
        score_for(None, LinearRegression(row_norm=1.0))
    with pytest.raises(InvalidParameter):
        score_for("deviance", LinearSVC(row_norm=1.0))


@pytest.mark.parametrize(
    "wrong", [{"runs": 1}, {"runs": "many"}, {"shape": -0.5}, {"score_share": 1}]
)
def test_settings_of_random_stopping_are_checked(wrong):
    with pytest.raises(InvalidParameter):
        RandomStopping(**wrong)


def test_a_rehearsal_spends_nothing(book, rows):
    model = LogisticRegression(Pure("0.5"), ledger=book, row_norm=1.0)
    promise = model.rehearse(*rows)
    assert promise.dataset == "people"
    assert promise.guarantee.budget == Pure("0.5")
    assert promise.labels == [0, 1]
    assert not hasattr(model, "n_features_in_")
    assert len(book.entries()) == 1
    assert ChunkedSearch() == ChunkedSearch()


@pytest.mark.slow
def test_a_chunk_too_small_for_a_candidate_is_refused_before_anything_is_paid():
    rows = np.random.default_rng(0).uniform(-0.3, 0.3, (1000, 2))
    estimator = LinearRegression(
        mechanism=SsAdmm(),
        target_bound=1.0,
        neighbours="replace-one",
        random_state=0,
        row_norm=1.0,
    )
    ridges = {"l2": [float(k) for k in range(1, 11)]}
    paid = []

    class Watched(PrivateSearch):
        def _pay(self, *facts, secret):
            paid.append(facts)

    with pytest.raises(InvalidParameter, match="rate"):
        Watched(estimator, ridges, Approx(1, 1e-6)).fit(rows, rows[:, 0])
    assert not paid
    Watched(estimator, {"l2": [1.0, 2.0]}, Approx(1, 1e-6)).fit(rows, rows[:, 0])
    assert paid
