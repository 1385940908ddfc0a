"""Tables that programs hand out in batches."""

from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from confide import Approx, Category, Ledger, LogisticRegression, Number, Schema, Target
from confide.data import BatchSource
from confide.errors import ConfideError, InvalidData, InvalidParameter

SCHEMA = Schema(
    (Number("age", 18, 90), Category("region", ("north", "south"))),
    Target("again", labels=("no", "yes")),
    name="visits",
)
NAMES = ("age", "region", "again")
MODEL = LogisticRegression(Approx(1, "1e-6"), schema=SCHEMA, random_state=1)


def month(seed, rows=150):
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 90, rows)
    return pd.DataFrame(
        {
            "age": age,
            "region": rng.choice(["north", "south"], rows),
            "again": np.where(age > 60, "yes", "no"),
            "note": "not declared",
        }
    )


def table_of(*kinds, rows=None):
    """Return a table of a part for each kind of batch."""
    parts = tuple(
        (lambda kind=kind, seed=seed: iter([kind(month(seed)), kind(month(seed + 50))]))
        for seed, kind in enumerate(kinds)
    )
    return BatchSource(NAMES, parts, rows=rows)


def polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


def record_batch(frame):
    return arrow(frame).to_batches()[0]


@pytest.mark.parametrize("kind", [pd.DataFrame, polars, arrow, record_batch])
@pytest.mark.parametrize("rows", [None, 600])
def test_batches_of_every_kind_give_what_memory_gives(kind, rows):
    there = clone(MODEL).fit(table_of(kind, kind, rows=rows))
    here = clone(MODEL).fit(pd.concat([month(s) for s in (0, 50, 1, 51)]))
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-10)
    again = there.predict_proba(table_of(kind))
    np.testing.assert_allclose(again, here.predict_proba(pd.concat([month(0), month(50)])))


def test_ranges_are_bought_from_batches():
    wide = Schema((Number("age"),), SCHEMA.target, name="visits", rows=300)
    model = LogisticRegression(
        Approx(5, "1e-6"), schema=wide, ranges="private", random_state=1
    )
    there = clone(model).fit(table_of(pd.DataFrame))
    here = clone(model).fit(pd.concat([month(0), month(50)]))
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-10)
    assert there.schema_ == here.schema_


def test_no_batch_is_a_table_without_rows():
    nothing = BatchSource(NAMES, (lambda: iter(()),), rows=0)
    there = clone(MODEL).fit(nothing)
    np.testing.assert_array_equal(there.coef_, clone(MODEL).fit(month(0)[:0]).coef_)


def test_a_target_is_named_where_there_is_no_schema():
    def part():
        yield month(3)[["age", "again"]]

    model = LogisticRegression(
        Approx(1, "1e-6"), row_norm=90, classes=["no", "yes"], random_state=1
    )
    there = clone(model).fit(BatchSource(("age", "again"), (part,)), "again")
    here = clone(model).fit(month(3)[["age"]], month(3)["again"])
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-10)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"names": "age"}, "names must be a sequence"),
        ({"names": ()}, "names must be a sequence"),
        ({"names": ("age", "age")}, "distinct column names"),
        ({"parts": ()}, "parts must be a sequence"),
        ({"parts": (month(0),)}, "not its result"),
        ({"rows": -1}, "a whole number, or None"),
        ({"rows": True}, "a whole number, or None"),
    ],
)
def test_what_is_no_table_is_refused(settings, words):
    given = {"names": NAMES, "parts": (lambda: iter([month(0)]),)} | settings
    with pytest.raises(InvalidParameter, match=words):
        BatchSource(**given)


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ([1, 2], "one is of type list"),
        (month(0).drop(columns="region"), r"\['region'\] are missing"),
        (month(0)[["age", "age", "region", "again"]], r"\['age'\] are missing"),
    ],
)
def test_a_batch_that_is_no_table_is_refused_before_anything_is_paid(
    batch, words, tmp_path
):
    with closing(Ledger.open(tmp_path / "book.db")) as ledger:
        ledger.set_limit("visits", Approx(5, "1e-5"))
        model = LogisticRegression(Approx(1, "1e-6"), schema=SCHEMA, ledger=ledger)
        with pytest.raises(InvalidData, match=words):
            model.fit(BatchSource(NAMES, (lambda: iter([batch]),), rows=10))
        assert [entry.kind for entry in ledger.entries()] == ["limit"]


def test_rows_that_come_and_go_stop_a_fit():
    calls = []

    def part():
        calls.append(1)
        yield month(0, rows=100 + len(calls))

    with pytest.raises(ConfideError, match="the same rows"):
        clone(MODEL).fit(BatchSource(NAMES, (part,), rows=100))
