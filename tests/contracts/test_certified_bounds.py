"""Bounds that certificates rest on, against rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from confide.data import bound_rows
from confide.data.matrix.coded_design import CodedDesign
from confide.data.partitioned.rows import PartitionedRows, PartSummary
from confide.objectives import L1Ball, Logistic, Objective
from confide.solvers import minimise
from confide.solvers.composite import _subgradient
from confide.solvers.problem import Problem, longest


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_shortened_rows_of_many_entries_stay_below_the_bound(kind):
    """Squares of half a unit in the last place vanish next to that of the first entry."""
    row = np.full((1, 8192), math.sqrt(0.99 * 2.0**-53))
    row[0, 0] = 1 + 2.0**-40
    rows = bound_rows(kind(row), np.ones(1), 1.0, 0.0)
    assert rows.factor is not None
    assert sum(Fraction(x) ** 2 for x in row[0] * rows.factor[0]) <= 1


def test_the_length_of_a_row_does_not_depend_on_its_place():
    rng = np.random.default_rng(0)
    for width in range(2, 33):
        numbers = np.repeat(rng.normal(size=(width, 1)), 37, axis=1)
        coded = CodedDesign(numbers, np.arange(width), (), (37, width), 100.0)
        assert len(set(coded.squared_lengths().tolist())) == 1


class InOnePlace:
    """Parts of a table that are all in memory."""

    pickable = True

    def __init__(self, pieces):
        self.pieces = pieces
        self.expected = sum(piece.count for piece in pieces)

    def survey(self, stride):
        return [PartSummary.of(piece, stride) for piece in self.pieces]


def test_parts_seen_through_other_columns_count_the_additions_of_those_blocks():
    """Few columns make long blocks: a sum goes through more rows than with all columns."""
    features = np.zeros((3000, 600))
    held = bound_rows(features, np.ones(3000), 1.0, 0.5)
    parted = PartitionedRows.over(InOnePlace([held]), 0.5, 600)
    assert parted.sum_shape.terms >= held.sum_shape.terms
    few, seen = held.columns([1, 2]), parted.columns([1, 2])
    assert few.sum_shape.terms > parted.sum_shape.terms
    assert seen.sum_shape.terms >= few.sum_shape.terms
    assert seen.sum_shape.rows_added >= few.sum_shape.rows_added
    assert seen.sum_shape.depth >= few.sum_shape.depth


def test_sparse_parts_count_the_additions_of_picked_rows():
    full = np.arange(2000) % 2 == 0
    table = sparse.csr_array(np.where(full[:, None], np.ones((2000, 700)), np.eye(1, 700)))
    held = bound_rows(table, np.ones(2000), 30.0, 0.0)
    parted = PartitionedRows.over(InOnePlace([held]), 0.0, 700)
    thin = np.flatnonzero(~full)
    few, seen = held.take(thin), parted.take(thin)
    assert few.sum_shape.terms > parted.sum_shape.terms
    assert seen.sum_shape.terms >= few.sum_shape.terms
    assert seen.sum_shape.depth >= few.sum_shape.depth


def test_what_a_proximal_step_leaves_over_is_as_wrong_as_it_is_long():
    """A subgradient of length 10⁸ cannot be known to 10⁻⁹ in doubles."""
    objective = Objective(Logistic(), 2, 1.0, 1.0, constraint=L1Ball(1.0))
    push = np.array([1e8, 1e8 / 3])
    rows = bound_rows(np.zeros((1, 2)), np.ones(1), 1.0, 0.0)
    problem = Problem(objective, rows, np.zeros(2), objective.ridge)
    _, slack = _subgradient(problem, np.array([1e-9, 0.0]), -push, push, 1.0)
    assert slack >= 5 * 2.0**-53 * float(np.linalg.norm(push))


def test_wide_composite_certificates_hold_where_the_gradient_is_long():
    """The minimiser over an l1 ball of a linear term and a ridge is a projection.

    The linear term is so long that gradients in doubles are not enough.
    """
    width = 1501
    rng = np.random.default_rng(3)
    linear = np.zeros(width)
    linear[:5] = -1e7 / 3 + rng.uniform(-0.1, 0.1, 5)
    objective = Objective(Logistic(), width, 1.0, 1.0, constraint=L1Ball(1.0))
    rows = bound_rows(np.zeros((300, width)), np.ones(300), 1.0, 0.0)
    found = minimise(objective, rows, linear, 1e-10)
    exact = [Fraction(-value) for value in linear[:5]]
    level = (sum(exact) - 1) / 5
    gaps = [
        float(Fraction(t) - (e - level)) for t, e in zip(found.theta, exact, strict=False)
    ]
    assert min(exact) > level
    assert np.linalg.norm(gaps) <= found.distance


def test_a_length_is_never_below_the_exact_one():
    rng = np.random.default_rng(7)
    for width in (1, 3, 50, 1000):
        vector = rng.normal(size=width)
        whole = sum(Fraction(value) ** 2 for value in vector)
        assert Fraction(longest(vector)) ** 2 >= whole
