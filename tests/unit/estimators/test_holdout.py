"""Held-out rows: the same in memory, in streams and on clusters; one charge for both."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from confide import Approx, Holdout, Ledger, LogisticRegression, Pure, Zcdp
from confide.data import BatchSource, open_table
from confide.errors import ClaimedGuarantee, InvalidData, InvalidParameter
from confide.estimators._holdout import COINS, SHARED, divide
from confide.noise import Entropy, PlaceCoins
from confide.privacy import Status
from support.clinic import SCHEMA, clinic
from support.parted_tables import (
    CASES,
    NAMES,
    assert_same,
    given,
    numbers,
    people,
    written,
)
from support.parted_tables import SCHEMA as PEOPLE

BUDGET = Approx(1, "1e-6")
MODELS = ("objective", "three classes", "counts", "ssp", "support vectors", "intervals")


@pytest.fixture
def book(tmp_path):
    ledger = Ledger.open(tmp_path / "book.db")
    ledger.set_limit("clinic", Approx(2, "1e-5"))
    yield ledger
    ledger.close()


@pytest.mark.slow
def test_coins_are_the_same_however_rows_are_read():
    coins = PlaceCoins.drawn(0.3, Entropy.seeded(1))
    whole = coins.heads(2, 0, 20_000)
    assert whole.mean() == pytest.approx(0.3, abs=0.02)
    for size in (1, 7, 4096, 5000):
        pieces = [
            coins.heads(2, start, min(size, 9000 - start)) for start in range(0, 9000, size)
        ]
        assert (np.concatenate(pieces) == whole[:9000]).all()
    assert (coins.heads(1, 0, 20_000) != whole).any(), "other parts have other coins"
    assert len(coins.heads(0, 5, 0)) == 0


def test_coins_are_fair_and_independent():
    """Pairs of neighbouring places and of parts; six deviations, a chance of 1e-8."""
    coins = PlaceCoins.drawn(0.5, Entropy.seeded(3))
    first, second = coins.heads(0, 0, 2**17), coins.heads(1, 0, 2**17)
    for pair in (first[1:] ^ first[:-1], first ^ second, first):
        assert abs(pair.mean() - 0.5) < 6 * 0.5 / np.sqrt(len(pair))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 2, "0.2", None, 0.001])
def test_shares_that_are_none_are_refused(share):
    with pytest.raises(InvalidParameter, match="holdout"):
        Holdout(share)


@pytest.mark.parametrize("budget", [Pure(1), BUDGET, Zcdp("0.1")], ids=repr)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_fit_with_a_score_costs_what_the_fit_does(tmp_path, budget, relation):
    spent = []
    for holdout in (None, 0.3):
        book = Ledger.open(tmp_path / f"{holdout}.db")
        book.set_limit("clinic", budget)
        model = LogisticRegression(
            budget, schema=SCHEMA, neighbours=relation, ledger=book, random_state=None
        )
        model.fit(clinic(300), holdout=holdout)
        spent.append(book.account("clinic").spent)
        assert book.account("clinic").charges == 1
        book.close()
    assert spent[0] == spent[1]
    score, fit = model.holdout_score_.guarantee, model.release_.guarantee
    assert score.status is fit.status is Status.PROVED
    assert score.budget == fit.budget == budget
    assert {COINS, SHARED} <= {*score.assumptions} & {*fit.assumptions}
    assert model.release_.events == model.holdout_score_.events


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("source", ["csv file", "array"])
def test_parts_hold_out_what_memory_does(tmp_path, name, source):
    if source == "array":
        pytest.importorskip("dask")
    case, table = CASES[name], numbers()
    X, y = table[NAMES].to_numpy(), table[case.target].to_numpy()
    if source == "csv file":
        here = clone(case.model).fit(X, y, holdout=0.4)
        there = clone(case.model).fit(
            *given(source, table, tmp_path, case, None), holdout=0.4
        )
        assert_same(there, here, case.within)
        pairs = zip(there.holdout_score_, here.holdout_score_, strict=True)
        for one, other in pairs:
            assert one.value == pytest.approx(other.value, abs=0.02)
        return
    fits = [
        clone(case.model).fit(*given(source, table, tmp_path, case, None), holdout=0.4)
        for _ in range(2)
    ]
    assert_same(*fits)


@pytest.mark.slow
def test_workers_hold_out_what_streams_do(tmp_path):
    pytest.importorskip("distributed")
    from confide.parallel.dask_cluster import connected

    table, case = numbers(), CASES["objective"]
    with connected(workers=2) as client:
        for source in ("parquet folder", "frame and column", "csr array"):
            there = clone(case.model).fit(
                *given(source, table, tmp_path, case, client), holdout=0.4
            )
            here = clone(case.model).fit(
                *given(source, table, tmp_path, case, None), holdout=0.4
            )
            assert_same(there, here, 1e-9)
            assert there.holdout_score_.cells() == here.holdout_score_.cells()


def test_rows_are_divided_before_any_is_dropped(tmp_path):
    """Rows without a target are on both sides, and shift no coins."""
    table = people(rows=400)
    folder = written(table, tmp_path)
    held = Holdout(0.5)
    (first, *_), (second, *_) = divide(PEOPLE, (table, None, None), held, Entropy.seeded(1))
    for part in (first, second):
        assert part["ill"].isna().any()
    assert sorted([*first.index, *second.index]) == list(range(400))
    filled = table.assign(ill="yes")
    again, _ = divide(PEOPLE, (filled, None, None), held, Entropy.seeded(1))
    assert list(again[0].index) == list(first.index)
    whole = (open_table(folder / "whole.csv"), None, None)
    parts, _ = divide(PEOPLE, whole, held, Entropy.seeded(1))
    rows = [len(piece) for source in parts[0].sources(PEOPLE) for piece in source.read()]
    assert sum(rows) == len(first)


def test_rows_of_a_person_stay_together():
    table = clinic(500).assign(patient=np.arange(500) // 5)
    model = LogisticRegression(BUDGET, schema=SCHEMA, random_state=1)
    held = Holdout(0.3, person="patient")
    (first, *_), (second, *_) = divide(SCHEMA, (table, None, None), held, Entropy.seeded(2))
    assert not {*first["patient"]} & {*second["patient"]}
    assert 100 < len(second) < 200
    model.fit(table, holdout=held)
    assert model.holdout_score_["accuracy"].value is not None
    with pytest.raises(InvalidParameter, match="replace-one"):
        clone(model).set_params(neighbours="replace-one").fit(table, holdout=held)
    with pytest.raises(InvalidParameter, match="name of a column"):
        Holdout(0.3, person=["patient"])
    with pytest.raises(InvalidParameter, match="identifies persons"):
        clone(model).fit(clinic(50), holdout=held)


def test_several_rows_of_a_person_are_said_to_flatter():
    schema = type(SCHEMA).from_mapping({**SCHEMA.to_mapping(), "rows_per_person": 3})
    model = LogisticRegression(BUDGET, schema=schema, random_state=1)
    model.fit(clinic(300), holdout=0.3)
    assert any("optimistic" in note for note in model.holdout_score_.notes)
    assert model.holdout_score_.guarantee.budget == BUDGET
    assert any("3 rows per person" in a for a in model.holdout_score_.guarantee.assumptions)


@pytest.mark.parametrize("place", ["train", "held out"])
def test_what_cannot_be_read_is_refused_before_the_charge(book, place):
    """Wherever the coins put a row that cannot be read."""
    model = LogisticRegression(BUDGET, schema=SCHEMA, ledger=book, random_state=5)
    table = clinic(60).astype({"ill": object})
    heads = PlaceCoins.drawn(0.5, Entropy.seeded(5)).heads(0, 0, 60)
    row = int(np.flatnonzero(heads == (place == "held out"))[0])
    table.loc[row, "ill"] = None
    with pytest.raises(InvalidData):
        model.fit(table, holdout=0.5)
    assert book.account("clinic").charges == 0


def test_few_rows_leave_noise_and_no_failure():
    for rows in (0, 1, 2):
        model = LogisticRegression(BUDGET, schema=SCHEMA, random_state=rows)
        model.fit(clinic(3).iloc[:rows], holdout=0.5)
        assert model.holdout_score_["accuracy"].value is None


def test_another_fit_forgets_the_score():
    model = LogisticRegression(BUDGET, schema=SCHEMA).fit(clinic(100), holdout=0.3)
    assert not hasattr(model.fit(clinic(100)), "holdout_score_")


def test_frames_and_lists_are_divided():
    X = pd.DataFrame({"a": np.linspace(-1, 1, 60), "b": 0.1})
    y = [0, 1] * 30
    model = LogisticRegression(BUDGET, classes=[0, 1], row_norm=1.0).fit(X, y, holdout=0.5)
    assert model.n_features_in_ == 2
    with pytest.raises(InvalidData, match="same number"):
        LogisticRegression(BUDGET, row_norm=1.0).fit(X, y[:-1], holdout=0.5)


def test_weights_are_divided_with_their_rows():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(300, 2)), rng.uniform(0, 2, 300)
    y = (X[:, 0] > 0).astype(int)
    model = LogisticRegression(
        BUDGET, classes=[0, 1], weight_cap=2.0, random_state=1, row_norm=1.0
    )
    model.fit(X, y, weights, holdout=0.3)
    assert model.holdout_score_["accuracy"].value is not None
    with pytest.raises(InvalidData, match="same number"):
        model.fit(X, y, weights[:-1], holdout=0.3)


def test_batches_of_ones_own_are_divided():
    table = clinic(400)

    def half(start):
        return lambda: iter(
            [table.iloc[start : start + 90], table.iloc[start + 90 :][:110]]
        )

    source = BatchSource(tuple(table.columns), (half(0), half(200)), rows=400)
    model = LogisticRegression(BUDGET, schema=SCHEMA, random_state=4)
    first, second = (clone(model).fit(source, holdout=0.4) for _ in range(2))
    assert first.holdout_score_ == second.holdout_score_
    assert (first.coef_ == second.coef_).all()
    divided = divide(SCHEMA, (source, None, None), Holdout(0.4), Entropy.seeded(1))
    sizes = [
        sum(len(piece) for part in one.sources(SCHEMA) for piece in part.read())
        for one, *_ in divided
    ]
    assert sum(sizes) == 400
    assert 100 < sizes[1] < 220


def test_a_claimed_fit_has_a_claimed_score():
    table, case = numbers(), CASES["mpadmm-published"]
    X, y = table[NAMES].to_numpy(), table[case.target].to_numpy()
    with pytest.warns(ClaimedGuarantee):
        model = clone(case.model).fit(X, y, holdout=0.3)
    assert model.holdout_score_.guarantee.status is Status.CLAIMED
    assert model.holdout_score_.guarantee.reason
