"""Shapes of real columns: bounded, laid into what is declared, and free of their table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.noise import generator
from confide.planning import real_shapes
from confide.planning.supposition import level_of_log_odds

SEEDS = st.integers(0, 10**6)


@given(SEEDS, st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_numbers_stay_between_their_ends(seed, lower, width):
    ends = (lower, lower + width)
    values = real_shapes().number(ends, None, generator(seed))
    slack = 1e-9 * (abs(lower) + width)
    assert np.all((values >= ends[0] - slack) & (values <= ends[1] + slack))


@given(SEEDS, st.floats(0.1, 0.4), st.floats(0.45, 0.9))
def test_four_in_five_numbers_lie_where_they_are_declared_to(seed, low, high):
    values = real_shapes().number((0.0, 1.0), (low, high), generator(seed))
    assert np.quantile(values, [0.1, 0.9]) == pytest.approx([low, high], abs=1e-6)


@given(SEEDS, st.floats(0, 1))
def test_a_typical_range_of_one_value_is_mostly_that_value(seed, value):
    values = real_shapes().number((0.0, 1.0), (value, value), generator(seed))
    assert np.mean(values == value) >= 0.75


@given(SEEDS, st.integers(1, 300))
def test_shares_of_levels_add_up_to_at_most_one(seed, count):
    shares = real_shapes().levels(count, generator(seed))
    assert len(shares) == count
    assert shares.min() >= 0
    assert shares.sum() <= 1 + 1e-3


def test_a_table_that_is_left_out_lends_nothing():
    every, fewer = real_shapes(), real_shapes().without("KDD")
    assert len(fewer.tables) == len(every.tables) - 1
    assert "KDD" not in [table.name for table in fewer.tables]
    kdd = next(table for table in every.tables if table.name == "KDD")
    draws = map(generator, range(50))
    drawn = [fewer.target(99, labels=True, counts=False, draw=one) for one in draws]
    assert kdd.target not in drawn
    for target in drawn:
        assert target.by(0.25).spread == pytest.approx(target.spread / 2)


@settings(max_examples=30)
@given(st.floats(0.001, 0.999), st.floats(0.01, 4))
def test_log_odds_have_the_share_of_positive_labels(share, spread):
    level = level_of_log_odds(share, spread)
    draws = generator(1).standard_normal(40_000)
    found = np.mean(1 / (1 + np.exp(-(level + spread * draws))))
    assert found == pytest.approx(share, abs=0.01)
