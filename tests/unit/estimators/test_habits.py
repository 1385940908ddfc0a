"""What scikit-learn users do by habit: pipelines, searches, copies, notebooks."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from confide import (
    Approx,
    Category,
    Ledger,
    LinearRegression,
    LogisticRegression,
    LooseBudget,
    Number,
    PublicScaler,
    Pure,
    Schema,
    Target,
    Zcdp,
    buy_ranges,
    compare_models,
    load_model,
)
from confide.errors import BudgetExceeded, InvalidParameter, RepeatedSpending
from confide.privacy import budget_cautions
from confide.privacy.guarantee import ROW_BY_ROW
from confide.tuning import PrivateSearch

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (1200, 2))
Y = (X[:, 0] > X[:, 1]).astype(int)
TABLE = pd.DataFrame(
    {
        "age": RNG.uniform(20, 60, 1200),
        "region": RNG.choice(["north", "south"], 1200),
        "ill": np.where(Y == 1, "yes", "no"),
    }
)
SCHEMA = Schema(
    (Number("age", 18, 90, unit="year"), Category("region", ("north", "south"))),
    Target("ill", labels=("no", "yes")),
    name="people",
    rows=1200,
)


def model(**settings):
    return LogisticRegression(Pure("0.5"), row_norm=1.0, classes=[0, 1], **settings)


# -------------------------------------------------------------------------- assumptions


def test_arrays_assume_that_features_were_made_row_by_row(tmp_path):
    fitted = model().fit(X, Y)
    assert ROW_BY_ROW in fitted.release_.guarantee.assumptions
    assert ROW_BY_ROW in str(fitted.summary())
    fitted.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert ROW_BY_ROW in again.release_.guarantee.assumptions
    search = PrivateSearch(
        LogisticRegression(row_norm=1.0, classes=[0, 1]), {"l2": [1.0, 9.0]}, Pure(1)
    ).fit(X, Y)
    assert ROW_BY_ROW in search.best_estimator_.release_.guarantee.assumptions
    scores = (
        fitted.private_score(X, Pure(1), y=Y),
        compare_models(fitted, again, X, Pure(1), y=Y),
        model().fit(X, Y, holdout=0.3).holdout_score_,
    )
    assert all(ROW_BY_ROW in score.guarantee.assumptions for score in scores)


def test_a_schema_makes_them_itself():
    fitted = LogisticRegression(Pure(1), schema=SCHEMA).fit(TABLE)
    assert ROW_BY_ROW not in fitted.release_.guarantee.assumptions
    score = fitted.private_score(TABLE, Pure(1))
    assert ROW_BY_ROW not in score.guarantee.assumptions


# ------------------------------------------------------------------------- public scaler


def test_a_public_scaler_brings_columns_to_public_limits():
    raw = np.array([[17.0, 0.0], [54.0, 1e5], [1e300, np.nan], [-np.inf, 5e4]])
    scaled = PublicScaler([18, 0], [90, 1e5]).fit(raw).transform(raw)
    assert scaled.tolist() == [[-1, -1], [0, 1], [1, 0], [-1, 0]]


def test_a_public_scaler_looks_at_every_row_by_itself():
    raw = RNG.normal(size=(50, 3)) * 10
    whole = PublicScaler(-5, 5).fit(raw)
    for row in raw[:5]:
        alone = PublicScaler(-5, 5).fit(row[None])
        assert np.array_equal(alone.transform(row[None]), whole.transform(row[None]))
    assert whole.row_norm == pytest.approx(3**0.5)


def test_a_public_scaler_stands_first_in_a_pipeline():
    raw = TABLE[["age"]].assign(height=RNG.uniform(150, 190, 1200))
    scaler = PublicScaler([18, 100], [90, 220])
    fitted = make_pipeline(scaler, model(random_state=1).set_params(row_norm=2**0.5))
    assert fitted.fit(raw, Y).predict(raw).shape == (1200,)
    assert list(fitted[:-1].get_feature_names_out()) == ["age", "height"]


@pytest.mark.parametrize("limits", [(1, 1), ([0, 0, 0], 1), (0, np.inf), ("a", 1)])
def test_limits_without_a_meaning_are_refused(limits):
    with pytest.raises(InvalidParameter, match="lower and upper"):
        PublicScaler(*limits).fit(X)


# ------------------------------------------------------------------- copies that spend


def said(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [str(one.message) for one in caught if one.category is RepeatedSpending]


def test_cross_validation_without_a_ledger_says_once_that_fits_add_up():
    texts = said(lambda: cross_val_score(model(), X, Y, cv=4))
    assert len(texts) == 1
    assert "ε = 0.5" in texts[0]
    assert "ε = 3 for five folds and a refit." in texts[0]
    assert "PrivateSearch" in texts[0]


def test_cross_validation_takes_the_target_from_the_table(tmp_path):
    ledger = Ledger.open(tmp_path / "book.db")
    ledger.set_limit("people", Pure(10))
    copy = LogisticRegression(Pure(1), schema=SCHEMA, ledger=ledger)
    scores = cross_val_score(copy, TABLE, cv=3, error_score="raise")
    assert scores.shape == (3,)
    assert ledger.account("people").charges == 3
    fitted = LogisticRegression(Pure(1), schema=SCHEMA, random_state=0).fit(TABLE)
    right = np.mean(fitted.predict(TABLE) == TABLE["ill"])
    assert fitted.score(TABLE) == fitted.score(TABLE, TABLE["ill"]) == right
    with pytest.raises(InvalidParameter, match="'ill', if y is not given"):
        fitted.score(TABLE.drop(columns="ill"))


def test_a_grid_search_without_a_ledger_says_so_once():
    grid = {"l2": [5.0, 50.0]}
    assert len(said(lambda: GridSearchCV(model(), grid, cv=3).fit(X, Y))) == 1


def test_one_fit_two_models_seeds_and_private_searches_say_nothing():
    copy = clone(model())
    assert not said(lambda: copy.fit(X, Y))
    assert not said(lambda: (model().fit(X, Y), model().fit(X, Y)))
    assert not said(lambda: cross_val_score(model(random_state=1), X, Y, cv=3))
    inner = LogisticRegression(row_norm=1.0, classes=[0, 1])
    search = PrivateSearch(inner, {"l2": [1.0, 9.0]}, Pure(1))
    assert not said(lambda: search.fit(X, Y))


def test_with_a_ledger_a_search_stops_before_the_limit(tmp_path):
    book = Ledger.open(tmp_path / "book.db").for_dataset("people")
    book.set_limit("people", Pure(2))
    search = GridSearchCV(
        model(ledger=book), {"l2": [5.0, 50.0]}, cv=3, error_score="raise"
    )
    with pytest.raises(BudgetExceeded):
        search.fit(X, Y)
    account = book.account("people")
    assert (account.charges, str(account.left)) == (4, "ε = 0")


# ------------------------------------------------------------------------ loose budgets

LOOSE = {
    "epsilon": (Pure("10.5"), None),
    "rho": (Zcdp("1.51"), None),
    "delta": (Approx(1, "0.0011"), None),
    "rows": (Approx(1, "1/1200"), 1200),
}
TIGHT = [
    (Pure(10), None),
    (Zcdp("1.5"), None),
    (Approx(1, "0.001"), None),
    (Approx(1, "1/1201"), 1200),
]


@pytest.mark.parametrize("name", LOOSE)
def test_a_budget_that_promises_little_has_a_caution(name):
    assert len(budget_cautions(*LOOSE[name])) == 1


@pytest.mark.parametrize(("budget", "rows"), TIGHT, ids=str)
def test_other_budgets_have_none(budget, rows):
    assert not budget_cautions(budget, rows)


def warned(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [str(one.message) for one in caught if one.category is LooseBudget]


@pytest.mark.slow
def test_fits_and_purchases_warn_by_public_facts_alone():
    loose = Approx(1, "1/1200")
    known = LogisticRegression(loose, schema=SCHEMA)
    assert len(warned(lambda: known.fit(TABLE))) == 1
    assert len(warned(lambda: buy_ranges(TABLE, SCHEMA, loose))) == 1
    unknown = LogisticRegression(loose, row_norm=1.0, classes=[0, 1])
    assert not warned(lambda: unknown.fit(X, Y))
    public = clone(unknown).set_params(neighbours="replace-one")
    assert len(warned(lambda: public.fit(X, Y))) == 1


# ---------------------------------------------------------------------- names, notebooks


@pytest.mark.slow
def test_names_of_a_schema_are_the_same_everywhere(tmp_path):
    fitted = LogisticRegression(Approx(5, "1e-6"), schema=SCHEMA, intervals=True)
    fitted.fit(TABLE)
    names = ["age (per year)", "region=north", "region=south"]
    fitted.save(tmp_path / "model.json")
    for one in (fitted, load_model(tmp_path / "model.json")):
        assert one.coef_.shape == (1, len(names))
        assert one.n_features_in_ == len(names)
        assert list(one.feature_names_in_) == names
        assert list(one.get_feature_names_out()) == names
        lines = [line.name for line in one.intervals_.rows]
        assert lines == [line.name for line in one.summary().rows]
        assert [name for name in lines if name in names] == names
        others = {name for name in lines if name not in names}
        assert others <= {"region (missing or undeclared)", "(intercept)"}


@pytest.mark.parametrize("named", [True, False])
def test_names_of_arrays_are_the_same_everywhere(named):
    table = pd.DataFrame(X, columns=["b", "a"]) if named else X
    fitted = LinearRegression(
        Approx(5, "1e-6"), row_norm=1.0, target_bound=1.0, intervals=True
    ).fit(table, Y)
    names = ["b", "a"] if named else ["x0", "x1"]
    assert list(fitted.get_feature_names_out()) == names
    assert [line.name for line in fitted.intervals_.rows] == [*names, "(intercept)"]
    assert fitted.coef_.shape == (2,)


def test_a_notebook_shows_the_summary_of_a_fitted_model():
    plain = model(random_state=1)
    assert "<table" not in plain._repr_mimebundle_()["text/html"].split("Parameters")[0]
    shown = plain.fit(X, Y)._repr_html_()
    assert shown == plain.summary()._repr_html_()
    assert plain._repr_mimebundle_()["text/html"] == shown
