"""No row passes its public bound by a rounding: lengths that are made to be rounded down.

The row of a theorem is the real vector of features times their factor. Its squared length
is computed here without rounding.
"""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from confide import Category, Number, Schema, Target
from confide.data import EntryBounds, bound_entries, bound_rows
from confide.data.matrix import sums
from confide.data.matrix.sums import length_beside
from confide.data.rows import in_memory
from confide.objectives import Logistic, Objective

NORMS = [1.0, 0.1, 1 / 3, 1e-100, 1e100]


def squared(row):
    return sum(Fraction(float(entry)) ** 2 for entry in row)


def longest(rows):
    """Return the largest squared length of features times factors, and of the product."""
    whole = np.asarray(rows.features.toarray(), dtype=np.float64)
    factor = np.ones(len(whole)) if rows.factor is None else rows.factor
    exact = max(
        squared(row) * Fraction(float(own)) ** 2
        for row, own in zip(whole, factor, strict=True)
    )
    return max(exact, *map(squared, rows.toarray()))


def sum_of(rows, norm):
    return longest(bound_rows(rows, np.zeros(len(rows)), norm, 0.0))


def at_the_bound(norm, columns, count, seed):
    """Return rows whose lengths are the bound and a few units in the last place more."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, columns))
    rows *= norm / np.linalg.norm(rows, axis=1, keepdims=True)
    steps = rng.integers(-3, 4, rows.shape)
    return rows + steps * np.spacing(rows)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("columns", [1, 2, 7, 300])
def test_rows_at_the_bound_stay_within_it(norm, columns):
    rows = at_the_bound(norm, columns, 40, 1)
    assert max(map(squared, rows)) > Fraction(norm) ** 2, "some rows are longer"
    assert sum_of(rows, norm) <= Fraction(norm) ** 2
    assert sum_of(sparse.csr_array(rows).toarray(), norm) <= Fraction(norm) ** 2


def test_a_bound_that_trusts_rounded_lengths_would_be_seen(monkeypatch):
    monkeypatch.setattr(sums, "ROUNDING_MARGIN", -1e-14)
    with pytest.raises(AssertionError):
        test_rows_at_the_bound_stay_within_it(1.0, 7)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(NUMBERS, min_size=1, max_size=5), st.sampled_from(NORMS))
def test_no_double_makes_a_row_too_long(row, norm):
    rows = np.array([row])
    bounded = bound_rows(rows, np.zeros(1), norm, 0.0)
    assert longest(bounded) <= Fraction(norm) ** 2
    if squared(row) > Fraction(norm) ** 2:
        assert longest(bounded) >= (Fraction(norm) * (1 - Fraction(1, 10**12))) ** 2
    thin = bound_rows(sparse.csr_array(rows), np.zeros(1), norm, 0.0)
    assert longest(thin) <= Fraction(norm) ** 2


@given(st.lists(NUMBERS, min_size=3, max_size=5), st.integers(1, 4))
def test_no_double_makes_few_entries_too_long(row, few):
    for bounds in (EntryBounds(1 / 3), EntryBounds.scaled(few, 0.7)):
        bounded = bound_entries(np.array([row]), np.zeros(1), bounds, 0.0)
        factor = 1.0 if bounded.factor is None else float(bounded.factor[0])
        kept = sorted(map(abs, bounded.features.toarray()[0]))
        for count in range(1, len(row) + 1):
            length = squared(kept[-count:]) * Fraction(factor) ** 2
            assert length <= Fraction(bounds.norm(count)) ** 2


def heaviest(rows):
    """Return the largest squared length of a row with its weight, without rounding."""
    squares = [squared(row) for row in np.asarray(rows.toarray(), dtype=np.float64)]
    return max(
        s * Fraction(float(w)) ** 2 for s, w in zip(squares, rows.weight, strict=True)
    )


@pytest.mark.parametrize("most", [1.0, 0.1, 1 / 3])
@pytest.mark.parametrize("columns", [1, 2, 7, 300])
def test_no_record_weighs_more_than_its_bound(most, columns):
    ends = (0.1, 1 / in_memory.HEAVIEST, 7.0)
    x = np.vstack([at_the_bound(n * most, columns, 20, 2) for n in ends])
    for features in (x, sparse.csr_array(x)):
        rows = bound_rows(features, np.zeros(60), 8 * most, 0.0).weighed(most)
        assert heaviest(rows) <= Fraction(most) ** 2
        np.testing.assert_allclose(rows.weight[40:], 1 / 7, rtol=1e-12)
        assert (rows.weight[:20] == in_memory.HEAVIEST).all()
        tall = bound_rows(features, np.zeros(60), 8 * most, 0.3 * most).weighed(most)
        assert heaviest(tall) <= Fraction(most) ** 2
        assert (tall.weight <= rows.weight).all()


@pytest.mark.parametrize("height", [0.0, 0.3])
@pytest.mark.parametrize("most", [1.0, 0.5, 1 / 3])
def test_no_record_of_a_schema_weighs_more_than_its_bound(most, height):
    """Categories are kept as codes; their rows are written out here."""
    rng = np.random.default_rng(5)
    columns = (
        *(Number(f"n{k}", 0, 7) for k in range(4)),
        *(Category(f"c{k}", tuple("abcdefg"[: k + 2])) for k in range(5)),
    )
    schema = Schema(columns, Target("y", labels=("no", "yes")))
    values = {c.name: rng.choice([*c.levels, "?"], 200) for c in columns[4:]}
    numbers = {c.name: rng.choice([0.0, 7.0, 3.5, 1 / 3], 200) for c in columns[:4]}
    design = schema.compact_design(pd.DataFrame({**numbers, **values}))
    rows = bound_rows(design, np.zeros(200), 1.0, height).weighed(most)
    assert heaviest(rows) <= Fraction(most) ** 2
    assert rows.weight.max() <= in_memory.HEAVIEST
    assert heaviest(rows) > Fraction(0.99 * most) ** 2


def test_a_weight_that_trusts_rounded_lengths_would_be_seen(monkeypatch):
    monkeypatch.setattr(sums, "ROUNDING_MARGIN", -1e-14)
    with pytest.raises(AssertionError):
        test_no_record_weighs_more_than_its_bound(1.0, 7)


@pytest.mark.parametrize("height", [0.3, 0.1, 1 / 3])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_a_constant_column_is_within_the_bound(height, count):
    entries = EntryBounds(1 / 3)
    norm = length_beside(entries.norm(count), height)
    assert Fraction(norm) ** 2 >= count * Fraction(1 / 3) ** 2 + Fraction(height) ** 2
    objective = Objective(Logistic(), 9, 9.0, entries=entries, height=height)
    few = objective.restricted_to(count)
    assert Fraction(few.row_norm) >= Fraction(norm)
    assert few.row_norm == pytest.approx(math.hypot(math.sqrt(count) / 3, height))
