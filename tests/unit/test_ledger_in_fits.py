"""Fits and the ledger: pay first, once per fit, and never for what was refused."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from confide import Approx, Ledger, LogisticRegression, Pure, Zcdp
from confide.errors import BudgetExceeded, ConfideError, InvalidData, MixedBudgets
from confide.mechanisms import ObjectivePerturbation


@pytest.fixture
def book(tmp_path):
    ledger = Ledger.open(tmp_path / "book.db")
    ledger.set_limit("data", Pure(1))
    yield ledger
    ledger.close()


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) / 3
    return X, (X[:, 0] > 0).astype(int)


def test_a_fit_is_charged_once_and_its_release_recorded(book, rows):
    LogisticRegression(Pure("0.3"), ledger=book).fit(*rows)
    account = book.account("data")
    assert str(account.spent) == "ε = 0.3"
    assert [entry.kind for entry in book.entries()] == ["limit", "charge", "release"]


def test_over_the_limit_nothing_is_drawn_and_nothing_learned(book, rows, monkeypatch):
    LogisticRegression(Pure("0.9"), ledger=book).fit(*rows)
    monkeypatch.setattr("confide.noise.entropy._system_words", _no_draws)
    model = LogisticRegression(Pure("0.2"), ledger=book)
    with pytest.raises(BudgetExceeded, match="asked"):
        model.fit(*rows)
    assert not hasattr(model, "release_")
    assert len(book.entries()) == 3


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X, y: (np.full_like(X, np.nan), y),
        lambda X, y: (X, np.zeros_like(y)),
        lambda X, y: (X[:0], y[:0]),
    ],
    ids=["NaN", "one class", "empty"],
)
def test_a_refused_fit_spends_nothing(book, rows, spoil):
    with pytest.raises(InvalidData):
        LogisticRegression(Pure("0.3"), ledger=book).fit(*spoil(*rows))
    with pytest.raises(ConfideError):
        LogisticRegression(Pure("0.3"), l2=1e-9, ledger=book).fit(*rows)
    assert len(book.entries()) == 1


def test_a_crash_after_the_charge_stays_charged(book, rows, monkeypatch):
    def crash(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(ObjectivePerturbation, "release", crash)
    with pytest.raises(KeyboardInterrupt):
        LogisticRegression(Pure("0.3"), ledger=book).fit(*rows)
    assert [entry.kind for entry in book.entries()] == ["limit", "charge"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_copies_of_a_model_share_the_book(book, rows):
    model = LogisticRegression(Pure("0.4"), ledger=book)
    assert clone(model).ledger is book
    assert pickle.loads(pickle.dumps(model)).ledger == book  # noqa: S301
    scores = cross_val_score(model, *rows, cv=5, error_score=np.nan, n_jobs=1)
    assert np.isnan(scores).sum() == 3
    assert str(book.account("data").spent) == "ε = 0.8"


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.FitFailedWarning", "ignore:.*non-finite"
)
def test_processes_share_the_book(book, rows):
    model = LogisticRegression(Pure("0.4"), ledger=str(book.place))
    search = GridSearchCV(
        model, {"l2": [5.0, 10.0]}, cv=3, refit=False, n_jobs=2, error_score=np.nan
    )
    search.fit(*rows)
    assert str(book.account("data").spent) == "ε = 0.8"


def test_a_path_serves_as_well_and_the_schema_names_the_dataset(book, rows):
    LogisticRegression(Pure("0.1"), ledger=str(book.place)).fit(*rows)
    assert book.account("data").charges == 1


def test_a_seeded_fit_is_charged_too(book, rows):
    LogisticRegression(Pure("0.1"), ledger=book, random_state=1).fit(*rows)
    assert book.account("data").charges == 1


def test_kinds_are_converted_where_a_theorem_allows(tmp_path, rows):
    book = Ledger.open(tmp_path / "other.db")
    book.set_limit("data", Zcdp(1))
    LogisticRegression(Pure("0.2"), ledger=book).fit(*rows)
    assert str(book.account("data").spent).startswith("ρ = 0.02")
    with pytest.raises(MixedBudgets):
        LogisticRegression(Approx(1, 1e-6), ledger=book).fit(*rows)
    book.close()


def test_what_is_no_ledger_is_refused(rows):
    with pytest.raises(ConfideError, match="ledger"):
        LogisticRegression(Pure(1), ledger=3).fit(*rows)


def _no_draws(count):
    raise AssertionError("noise was drawn")
