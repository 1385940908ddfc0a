"""Fits and the ledger: pay first, once per fit, and never for what was refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from confide import (
    Approx,
    Ledger,
    LogisticRegression,
    Number,
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
    MixedBudgets,
    MixedNeighbours,
    NoRandomness,
)
from confide.mechanisms import ObjectivePerturbation
from confide.tuning import PrivateSearch


@pytest.fixture
def book(tmp_path):
    ledger = Ledger.open(tmp_path / "book.db").for_dataset("people")
    ledger.set_limit("people", Pure(1))
    yield ledger
    ledger.close()


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) / 3
    return X, (X[:, 0] > 0).astype(int)


def test_a_fit_is_charged_once_and_its_release_recorded(book, rows):
    LogisticRegression(Pure("0.3"), ledger=book, row_norm=1.0).fit(*rows)
    account = book.account("people")
    assert str(account.spent) == "ε = 0.3"
    assert [entry.kind for entry in book.entries()] == ["limit", "charge", "release"]


def test_over_the_limit_nothing_is_drawn_and_nothing_learned(book, rows, monkeypatch):
    LogisticRegression(Pure("0.9"), ledger=book, row_norm=1.0).fit(*rows)
    monkeypatch.setattr("confide.noise.entropy._system_words", _no_draws)
    model = LogisticRegression(Pure("0.2"), ledger=book, row_norm=1.0)
    with pytest.raises(BudgetExceeded, match="requested"):
        model.fit(*rows)
    assert not hasattr(model, "release_")
    assert len(book.entries()) == 3


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X, y: (np.full_like(X, np.nan), y),
        lambda X, y: (X, np.zeros_like(y)),
    ],
    ids=["NaN", "one class"],
)
def test_a_refused_fit_spends_nothing(book, rows, spoil):
    with pytest.raises(InvalidData):
        LogisticRegression(Pure("0.3"), ledger=book, row_norm=1.0).fit(*spoil(*rows))
    with pytest.raises(ConfideError):
        LogisticRegression(Pure("0.3"), l2=1e-9, ledger=book, row_norm=1.0).fit(*rows)
    assert len(book.entries()) == 1


@pytest.mark.parametrize("error", [NotImplementedError("none here"), OSError(5, "broken")])
def test_without_random_bits_nothing_is_spent(book, rows, monkeypatch, error):
    def missing(size):
        raise error

    model = LogisticRegression(Pure("0.3"), classes=[0, 1], ledger=book, row_norm=1.0)
    monkeypatch.setattr("os.urandom", missing)
    for fit in (model, PrivateSearch(model, {"l2": [5.0, 10.0]}, Pure("0.3"))):
        with pytest.raises(NoRandomness, match="nothing was spent"):
            fit.fit(*rows)
    assert len(book.entries()) == 1


def test_a_crash_after_the_charge_stays_charged(book, rows, monkeypatch):
    def crash(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(ObjectivePerturbation, "release", crash)
    with pytest.raises(KeyboardInterrupt):
        LogisticRegression(Pure("0.3"), ledger=book, row_norm=1.0).fit(*rows)
    assert [entry.kind for entry in book.entries()] == ["limit", "charge"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_copies_of_a_model_share_the_book(book, rows):
    model = LogisticRegression(Pure("0.4"), ledger=book, row_norm=1.0)
    assert clone(model).ledger is book
    assert pickle.loads(pickle.dumps(model)).ledger == book  # noqa: S301
    scores = cross_val_score(model, *rows, cv=5, error_score=np.nan, n_jobs=1)
    assert np.isnan(scores).sum() == 3
    assert str(book.account("people").spent) == "ε = 0.8"


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.FitFailedWarning", "ignore:.*non-finite"
)
def test_processes_share_the_book(book, rows):
    model = LogisticRegression(Pure("0.4"), ledger=book, row_norm=1.0)
    search = GridSearchCV(
        model, {"l2": [5.0, 10.0]}, cv=3, refit=False, n_jobs=2, error_score=np.nan
    )
    search.fit(*rows)
    assert str(book.account("people").spent) == "ε = 0.8"


def named(name):
    return Schema((Number("x", -1, 1),), Target("y", labels=(0, 1)), name)


def as_table(rows):
    X, y = rows
    return pd.DataFrame({"x": X[:, 0], "y": y})


def test_a_path_serves_as_well_and_the_schema_names_the_dataset(book, rows):
    model = LogisticRegression(Pure("0.1"), schema=named("people"), ledger=book.place)
    model.fit(as_table(rows))
    assert book.account("people").charges == 1


def test_without_a_name_nothing_is_booked(book, rows):
    for schema, ledger in ((None, book.place), (named("data"), Ledger.open(book.place))):
        model = LogisticRegression(Pure("0.1"), schema=schema, ledger=ledger)
        with pytest.raises(InvalidParameter, match="name of the dataset") as refused:
            model.fit("never read")
        assert 'name = "people"' in str(refused.value)
        assert "for_dataset" in str(refused.value)
    assert len(book.entries()) == 1


def test_two_names_are_one_too_many(book, rows):
    model = LogisticRegression(Pure("0.1"), schema=named("others"), ledger=book)
    with pytest.raises(InvalidParameter, match="the same in the schema"):
        model.fit(as_table(rows))
    LogisticRegression(Pure("0.1"), schema=named("data"), ledger=book).fit(as_table(rows))
    assert book.account("people").charges == 1


def test_a_charge_says_what_it_is_for(book, rows):
    noted = pickle.loads(pickle.dumps(book.with_note("model.json")))  # noqa: S301
    LogisticRegression(Pure("0.1"), ledger=noted, row_norm=1.0).fit(*rows)
    assert book.entries()[1].what == "LogisticRegression for model.json"
    book.charge("people", Pure("0.1"), neighbours="add-remove")
    assert book.entries()[3].what == ""
    with pytest.raises(InvalidParameter, match="note"):
        book.with_note("two\nlines")
    with pytest.warns(DeprecationWarning, match="with_note"):
        assert book.noting("model.json") == book.with_note("model.json")


def test_a_seeded_fit_is_charged_too(book, rows):
    LogisticRegression(Pure("0.1"), ledger=book, random_state=1, row_norm=1.0).fit(*rows)
    assert book.account("people").charges == 1


def test_kinds_are_converted_where_a_theorem_allows(tmp_path, rows):
    book = Ledger.open(tmp_path / "other.db").for_dataset("people")
    book.set_limit("people", Zcdp(1))
    LogisticRegression(Pure("0.2"), ledger=book, row_norm=1.0).fit(*rows)
    assert str(book.account("people").spent).startswith("ρ = 0.02")
    few = LogisticRegression(Approx("0.2", 1e-6), ledger=book, row_norm=1.0).fit(*rows)
    assert few.release_.noise[0].kind == "spherical-laplace"
    assert str(book.account("people").spent).startswith("ρ = 0.0396")
    normal = ObjectivePerturbation(noise="gaussian")
    with pytest.raises(MixedBudgets):
        LogisticRegression(
            Approx(1, 1e-6), mechanism=normal, ledger=book, row_norm=1.0
        ).fit(*rows)
    book.close()


def test_every_fit_records_for_which_neighbours_it_is(book, rows):
    book.set_limit("people", Pure(2), neighbours="replace-one")
    LogisticRegression(Pure("0.2"), ledger=book, row_norm=1.0).fit(*rows)
    LogisticRegression(
        Pure("0.2"), neighbours="replace-one", ledger=book, row_norm=1.0
    ).fit(*rows)
    model, grid = (
        LogisticRegression(classes=[0, 1], ledger=book, row_norm=1.0),
        {"l2": [9.0, 99.0]},
    )
    twice = (np.concatenate([part, part]) for part in rows)
    PrivateSearch(model, grid, Pure("0.2")).fit(*twice)
    charges = [entry for entry in book.entries() if entry.kind == "charge"]
    assert [(str(e.neighbours), str(e.counted)) for e in charges] == [
        ("add-remove", "ε = 0.4"),
        ("replace-one", "ε = 0.2"),
        ("add-remove", "ε = 0.4"),
    ]


def test_a_fit_for_other_neighbours_is_refused_before_noise_is_drawn(
    book, rows, monkeypatch
):
    LogisticRegression(Pure("0.2"), ledger=book, row_norm=1.0).fit(*rows)
    monkeypatch.setattr("confide.noise.entropy._system_words", _no_draws)
    model = LogisticRegression(
        Pure("0.2"), neighbours="replace-one", ledger=book, row_norm=1.0
    )
    with pytest.raises(MixedNeighbours, match="Nothing was spent"):
        model.fit(*rows)
    assert not hasattr(model, "release_")
    assert len(book.entries()) == 3


def test_what_is_no_ledger_is_refused(rows):
    with pytest.raises(ConfideError, match="ledger"):
        LogisticRegression(Pure(1), ledger=3, row_norm=1.0).fit(*rows)


def _no_draws(count):
    raise AssertionError("noise was drawn")
