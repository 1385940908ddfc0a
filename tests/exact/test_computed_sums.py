"""What adding up in doubles may lose, for as many rows as there may be and every shape."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from confide import Category, Number, Schema, Target
from confide.data import bound_rows
from confide.data.matrix.category_tables import joint_cells
from confide.data.matrix.dense import Dense
from confide.data.matrix.sums import (
    MAX_ROWS,
    ROWS_OF_A_PIECE,
    SumShape,
    addition_depth,
    rows_in_cache,
)
from confide.data.rows.in_memory import InMemoryRows, sum_in_pieces
from confide.errors import InvalidParameter
from confide.mechanisms import AdaSsp, FunctionalMechanism, SufficientStatistics
from confide.mechanisms.intervals.moments import ROUNDING_SLACK
from confide.mechanisms.statistics import sums
from confide.mechanisms.statistics.sums import pair_sensitivity, sufficient_statistics
from confide.privacy import Approx, Neighbours, Pure
from confide.privacy.guarantee import ROW_LIMIT
from support.sums import squares

ADD = Neighbours.ADD_REMOVE
MOST_TERMS = 4300
"""How many additions follow one another, as docs/proofs counts them."""
BEFORE = 9
LINKS = 3 * 40
"""Additions of the sum of a piece of a table in fewer than 2⁴⁰ pieces and parts."""

SHORT = SumShape(1, 1, 1, 1, 1)


def coded(sizes, numbers):
    columns = [Number(f"n{k}", 0, 1) for k in range(numbers)]
    held = {column.name: [0.0] for column in columns}
    for k, size in enumerate(sizes):
        columns.append(Category(f"c{k}", tuple(f"l{i}" for i in range(size))))
        held[f"c{k}"] = ["l0"]
    schema = Schema(tuple(columns), Target("y", labels=(0, 1)))
    design = schema.compact_design(pd.DataFrame(held))
    return replace(design, shape=(MAX_ROWS, design.shape[1]))


def sparse(entries):
    """Return what a sum asks of a sparse matrix whose rows hold so many entries."""
    return SimpleNamespace(shape=(MAX_ROWS, 10**6), block_rows=rows_in_cache(12 * entries))


SHAPES = {
    **{f"dense {w}": Dense(np.broadcast_to(0.0, (MAX_ROWS, w))) for w in (1, 79, 10**5)},
    **{f"sparse {e}": sparse(e) for e in (1, 20, 10**6)},
    "numbers": coded((), 3),
    "one category": coded((40,), 2),
    "joint": coded((40, 40), 2),
    "many cells": coded((40, 49), 0),
    "wide": coded((6000, 3, 3), 1),
}


@pytest.mark.parametrize("matrix", SHAPES.values(), ids=SHAPES)
def test_no_more_additions_follow_one_another_than_the_proof_counts(matrix):
    rows = InMemoryRows(matrix, np.zeros(0), None, 0.3)
    cells = joint_cells(getattr(matrix, "groups", ()))
    pieces = -(-matrix.block_rows // ROWS_OF_A_PIECE)
    piece = ROWS_OF_A_PIECE + cells + ROWS_OF_A_PIECE // 512
    assert cells <= 2048
    assert pieces <= 32
    assert rows._chain <= 25
    assert piece + addition_depth(pieces) + rows._chain + 8 + LINKS <= MOST_TERMS


def test_the_slack_covers_as_many_rows_as_there_may_be():
    unit = Fraction(1, 2**53)
    terms = MOST_TERMS + BEFORE
    lost = 2 * terms * unit / (1 - terms * unit) * MAX_ROWS
    assert lost <= Fraction(ROUNDING_SLACK) - Fraction(4, 10**5)
    assert f"at most {MAX_ROWS:,} rows" == ROW_LIMIT


class Steps:
    """A number that knows how many additions, one after the other, it went through."""

    def __init__(self, made):
        self.made = made

    def __add__(self, other):
        return Steps(max(self.made, other.made) + 1)


def steps(block):
    return (Steps(len(block.target)),)


def test_sums_are_added_up_in_pieces():
    count = 300_000
    features = Dense(np.broadcast_to(0.0, (count, 3)))
    rows = InMemoryRows(features, np.zeros(count), None, 0.3)
    assert sum_in_pieces(rows, steps)[0].made <= ROWS_OF_A_PIECE + 40
    assert rows.sum(steps)[0].made > ROWS_OF_A_PIECE + 40, "blocks are longer"


def test_pieces_of_a_design_are_no_longer_than_they_say(monkeypatch):
    """A Gram matrix of coded rows adds up the dense rows of a piece, and the pieces."""
    lengths = []
    honest = Dense.gram

    def noted(self, weights, *given, **settings):
        lengths.append(len(weights))
        return honest(self, weights, *given, **settings)

    monkeypatch.setattr(Dense, "gram", noted)
    count, levels = 5_000, tuple(f"l{i}" for i in range(40))
    schema = Schema(
        (Number("a", 0, 1), Category("b", levels), Category("c", levels)),
        Target("y", labels=(0, 1)),
    )
    rng = np.random.default_rng(0)
    held = {"a": rng.random(count), **{k: rng.choice(levels, count) for k in "bc"}}
    rows = bound_rows(schema.compact_design(pd.DataFrame(held)), np.ones(count), 1.0, 0.0)
    sufficient_statistics(rows)
    assert sum(lengths) == count
    assert max(lengths) <= ROWS_OF_A_PIECE


def largest_move(counts):
    """Return how far a row of the largest length moves the computed sum of its like."""
    rows = bound_rows(np.full((max(counts) + 1, 1), 0.7), np.ones(max(counts) + 1), 0.7, 0)
    found = [
        [
            sufficient_statistics(rows.take(np.arange(n)))[0][0, 0]
            for n in (count, count + 1)
        ]
        for count in counts
    ]
    return max(Fraction(more) - Fraction(fewer) for fewer, more in found)


def check_moves():
    claim = pair_sensitivity(squares(1, 0.7), 1e-9, ADD)
    assert largest_move(range(50_000, 50_040)) <= Fraction(claim)


def test_computed_sums_move_by_more_than_exact_ones_and_less_than_the_slack(monkeypatch):
    assert largest_move(range(50_000, 50_040)) > Fraction(0.7) ** 2
    check_moves()
    monkeypatch.setattr(sums, "ROUNDING_SLACK", 0.0)
    with pytest.raises(AssertionError):
        check_moves()


@pytest.mark.parametrize(
    "mechanism", [SufficientStatistics(), AdaSsp(), FunctionalMechanism()], ids=repr
)
def test_only_the_cap_on_rows_refuses_a_table(mechanism):
    budget = Pure(1) if mechanism.name == "functional" else Approx(1, "1e-6")
    found = mechanism.calibrate(squares(2), budget, ADD)
    assert ROW_LIMIT in found.guarantee.assumptions
    found.check_rows(SimpleNamespace(weighted=False, count=MAX_ROWS, sum_shape=SHORT))
    with pytest.raises(InvalidParameter, match="at most 1,000,000,000 rows"):
        found.check_rows(SimpleNamespace(count=MAX_ROWS + 1, sum_shape=SHORT))


@pytest.mark.parametrize(("norm", "bound"), [(1e-80, 1.0), (1e80, 1.0), (1e-5, 1e-150)])
def test_bounds_that_doubles_cannot_add_up_are_refused(norm, bound):
    for mechanism in (SufficientStatistics(), FunctionalMechanism()):
        with pytest.raises(InvalidParameter, match="scale of the noise"):
            mechanism.calibrate(squares(2, norm, bound), Pure(1), ADD)
