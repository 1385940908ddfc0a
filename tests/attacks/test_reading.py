"""One record changes how all others are read: attacks that once worked, on public names.

Each tries many fits of a table and of the same table with one record more. It claims a
lower bound on epsilon that is false with a chance of 1e-3 at most; seeds make no difference
to it, for the frequencies without the mend were 0 and 1.
"""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from confide import (
    Category,
    LinearRegression,
    LogisticRegression,
    Number,
    Pure,
    Schema,
    SparseLinearRegression,
    Target,
)
from confide.errors import InvalidData

CLAIMED = 1.0
FITS = 40


def least_epsilon(hits, others):
    """Return what epsilon is at least, from frequencies of one event on two tables."""
    low = beta.ppf(5e-4, hits, FITS - hits + 1) if hits else 0.0
    high = beta.ppf(1 - 5e-4, others + 1, FITS - others) if others < FITS else 1.0
    return math.log(low / high) if low else -math.inf


def check(event, table, longer):
    """Count an event on both tables, and refuse what no epsilon of 1 allows."""
    counts = [sum(event(given, seed) for seed in range(FITS)) for given in (table, longer)]
    assert max(least_epsilon(*counts), least_epsilon(*counts[::-1])) <= CLAIMED, counts


def test_the_bound_would_notice_the_attacks():
    assert least_epsilon(FITS, 0) > 1.5
    assert least_epsilon(FITS // 2, FITS // 2) < 0


def test_one_entry_beyond_its_bound_changes_no_vote_of_other_rows():
    nearly = ("-0x1.4c32bap-2", "-0x1.746610p-5"), ("-0x1.c0af0ap-5", "0x1.cb202ep-3")
    rows = np.array([[float.fromhex(text) for text in pair] for pair in nearly])
    even = np.arange(1000) % 2
    X, y = rows.astype(np.float32)[even], np.where(even, -1.0, 1.0)
    longer = np.vstack([X, np.float32([[2.0, 2.0]])]), np.append(y, 0.0)

    def takes_the_second(given, seed):
        model = SparseLinearRegression(
            Pure(1), size=1, mechanism="sample-aggregate", fit_intercept=False
        )
        return list(model.set_params(random_state=seed).fit(*given).support_) == [1]

    check(takes_the_second, (X, y), longer)


def test_an_integer_beyond_64_bits_leaves_truth_values_as_they_are():
    schema = Schema((Number("c", lower=0, upper=1),), Target("y", lower=0, upper=1))
    rows = 2000

    def table(extra):
        column = pd.Series([True, False] * (rows // 2) + extra, dtype=object)
        y = [1.0, 0.0] * (rows // 2) + [0.5] * len(extra)
        return pd.DataFrame({"c": column, "y": y})

    def is_near_one(given, seed):
        model = LinearRegression(Pure(1), schema=schema, random_state=seed)
        return abs(model.fit(given).coef_[0] - 1) < 0.1

    check(is_near_one, table([]), table([10**20]))


@pytest.mark.parametrize("extra", [10**20, "word", None, 0.5])
def test_one_label_does_not_set_the_type_of_the_others(extra):
    X = np.ones((301, 1))
    y = [1] * 300 + ["x"]

    def is_positive(given, seed):
        model = LogisticRegression(
            Pure(1), classes=["0", "1"], fit_intercept=False, row_norm=1.0
        )
        return model.set_params(random_state=seed).fit(*given).coef_[0, 0] > 0

    longer = np.ones((302, 1)), [*y, extra]
    if extra is None:
        with pytest.raises(InvalidData, match="missing"):
            is_positive(longer, 0)
        return
    check(is_positive, (X, y), longer)


@pytest.mark.parametrize("line", ['1,"a\n', '1,a"\n', '1,"a"b\n', '"1,a\n'])
def test_an_open_quote_is_refused_before_it_swallows_other_records(tmp_path, line):
    schema = Schema((Category("c", ("a", "b")),), Target("y", labels=(0, 1)))
    whole = [f'{k % 2},"{"ab"[k % 2]}"\n' for k in range(1000)]
    path = tmp_path / "table.csv"
    path.write_text("y,c\n" + "".join([*whole[:3], line, *whole[3:]]), "utf-8")
    model = LogisticRegression(Pure(1), schema=schema)
    with pytest.raises(InvalidData, match="line 5 "):
        model.fit(path)
    assert not hasattr(model, "release_")
