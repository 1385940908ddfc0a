"""Every kind of feature matrix answers as the same rows in a NumPy array do."""

import math
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from confide import Category, Number, Schema, Target
from confide.data.matrix.csr import Csr
from confide.data.matrix.dense import Dense
from confide.data.matrix.matrix import as_matrix, stack
from confide.data.matrix.sums import SumShape
from confide.errors import InvalidData

LEVELS = (2, 3, 300)
NUMBERS = tuple(Number(f"x{j}", -1, 1) for j in range(3))
CATEGORIES = tuple(
    Category(f"c{j}", tuple(f"l{k}" for k in range(count)))
    for j, count in enumerate(LEVELS)
)
DESIGNS = {
    "numbers": NUMBERS,
    "joint categories": CATEGORIES[:2],
    "mixed": (CATEGORIES[0], *NUMBERS[:2], CATEGORIES[1], NUMBERS[2]),
    "many levels": (NUMBERS[0], CATEGORIES[2], CATEGORIES[0]),
}
DOUBLE = ("C", "F", "csr", "csr matrix", *DESIGNS)
KINDS = ("single", *DOUBLE)
HEIGHTS = st.sampled_from([0.0, 0.3])


def made(kind, count, seed=0):
    """Return a matrix and the same rows as an array of doubles."""
    rng = np.random.default_rng(seed)
    if kind in DESIGNS:
        schema = Schema(DESIGNS[kind], Target("y", labels=(0, 1)))
        table = {f"x{j}": rng.uniform(-1.1, 1.1, count) for j in range(3)}
        for j, levels in enumerate(LEVELS):
            names = np.array([*(f"l{k}" for k in range(levels)), None], dtype=object)
            table[f"c{j}"] = names[rng.integers(0, len(names), count)]
        frame = pd.DataFrame(table)
        return schema.compact_design(frame), schema.design(frame)
    values = rng.normal(size=(count, 6))
    values[rng.uniform(size=values.shape) < 0.4] = 0.0
    if kind == "single":
        single = values.astype(np.float32)
        return as_matrix(single), single.astype(np.float64)
    shapes = {
        "C": np.ascontiguousarray,
        "F": np.asfortranarray,
        "csr": sparse.csr_array,
        "csr matrix": sparse.csr_matrix,
    }
    return as_matrix(shapes[kind](values)), values


@st.composite
def matrices(draw, least=0, kinds=DOUBLE):
    kind = draw(st.sampled_from(kinds))
    return made(kind, draw(st.integers(least, 40)), draw(st.integers(0, 5)))


@st.composite
def chosen_rows(draw):
    matrix, rows = draw(matrices(1))
    places = st.lists(st.integers(0, len(rows) - 1), max_size=30)
    return matrix, rows, np.array(draw(places), dtype=np.intp)


def close(found, expected, unit=2.0**-52):
    """Compare up to some roundings of sums of a few hundred numbers."""
    scale = float(np.abs(expected).max(initial=1e-300))
    assert found.shape == expected.shape
    np.testing.assert_allclose(
        found.astype(float), expected.astype(float), rtol=0, atol=500 * unit * scale
    )


def same(found, expected):
    np.testing.assert_array_equal(found, expected)


@pytest.fixture(params=KINDS)
def both(request):
    return made(request.param, 3000)


@pytest.fixture(params=DOUBLE)
def doubles(request):
    return made(request.param, 3000)


# -------------------------------------------------------------------------------- rows


@given(matrices(kinds=KINDS))
def test_a_matrix_holds_its_rows(pair):
    matrix, rows = pair
    assert matrix.shape == rows.shape
    same(matrix.toarray(), rows)
    assert matrix.toarray().dtype == np.float64
    assert matrix.nbytes >= 0
    assert repr(matrix) == "<private rows>"
    assert as_matrix(matrix) is matrix
    assert matrix.without_duplicates().shape == rows.shape
    same(pickle.loads(pickle.dumps(matrix)).toarray(), rows)  # noqa: S301


@given(chosen_rows(), st.slices(10))
def test_rows_are_taken_by_places_and_slices(trio, cut):
    matrix, rows, places = trio
    same(matrix[places].toarray(), rows[places])
    same(matrix[cut].toarray(), rows[cut])
    empty = matrix.empty()
    assert type(empty) is type(matrix)
    assert empty.shape == (0, rows.shape[1])
    assert empty.is_sparse == matrix.is_sparse


@given(matrices(kinds=KINDS), st.lists(st.integers(0, 40), max_size=4))
def test_stacked_parts_are_the_whole(pair, cuts):
    matrix, rows = pair
    edges = pairwise([0, *sorted(cuts), len(rows)])
    parts = [(matrix[low:high], rows[low:high]) for low, high in edges]
    whole = stack([part for part, _ in parts])
    assert type(whole) is type(matrix)
    same(whole.toarray(), np.concatenate([part for _, part in parts]))


def test_sparse_and_dense_parts_are_stacked_to_a_sparse_matrix():
    rows = np.eye(3)
    whole = stack([Dense(rows), Csr(sparse.csr_array(2 * rows))])
    assert whole.is_sparse
    same(whole.toarray(), np.vstack([rows, 2 * rows]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("shortened", [False, True])
def test_slices_are_the_rows_in_a_precision(both, dtype, shortened):
    """Of a row that was shortened, the product with its factor is what counts."""
    matrix, rows = both
    factor = np.linspace(0.1, 1, len(rows)) if shortened else None
    cut_out = matrix.slicer()
    for cut in (slice(0, 700), slice(700, 1400), slice(1400, 1407)):
        own = None if factor is None else factor[cut]
        part, kept = cut_out(cut, dtype, own)
        found = part.toarray() if kept is None else part.toarray() * kept[:, None]
        expected = rows[cut] if factor is None else rows[cut] * own[:, None]
        loss = 2 * np.finfo(np.float32).eps if dtype == np.float32 else 0.0
        np.testing.assert_allclose(found, expected, rtol=loss)
        assert (part @ np.ones(rows.shape[1], dtype)).dtype == dtype


@pytest.mark.parametrize("step", [1, 2, 3, 40])
@pytest.mark.parametrize("shortened", [False, True])
def test_a_subsample_is_some_of_the_rows_in_single_precision(both, step, shortened):
    matrix, rows = both
    factor = np.linspace(0.1, 1, len(rows)) if shortened else None
    chosen = matrix.stride(step)
    places = chosen(np.arange(len(rows)))
    assert len(rows) / step * 0.9 <= len(places) <= len(rows) / step + 1
    assert len(set(places.tolist())) == len(places)
    found, kept = matrix.subsample(chosen, factor)
    found = found.toarray() if kept is None else found.toarray() * kept[:, None]
    expected = rows[places] if factor is None else rows[places] * factor[places, None]
    np.testing.assert_allclose(found, expected, rtol=2 * np.finfo(np.float32).eps)


# ---------------------------------------------------------------------------- matrices


@given(matrices(kinds=KINDS), st.data())
def test_entries_change_one_by_one(pair, data):
    matrix, rows = pair
    width = rows.shape[1]
    support = data.draw(st.lists(st.integers(0, width - 1), min_size=1, max_size=6))
    same(matrix.columns(support).toarray(), rows[:, support])
    same(matrix.absolute().toarray(), np.abs(rows))
    factor = np.linspace(0.5, 2, len(rows))
    same(matrix.scaled(None).toarray(), rows)
    same(matrix.scaled(factor).toarray(), rows * factor[:, None])
    plain = matrix.plain(factor)
    assert plain.dtype == np.float64
    assert sparse.issparse(plain) == matrix.is_sparse
    same(as_matrix(plain).toarray(), rows * factor[:, None])


@given(matrices(kinds=KINDS), st.floats(0.01, 2))
def test_entries_are_clipped_to_a_bound(pair, bound):
    matrix, rows = pair
    found = matrix.clipped(bound).toarray()
    assert np.abs(found).max(initial=0.0) <= bound
    np.testing.assert_allclose(found, np.clip(rows, -bound, bound), rtol=2e-7)


@given(matrices(1))
def test_numbers_and_categories_together_are_the_whole(pair):
    matrix, rows = pair
    whole = np.zeros(rows.shape)
    numbers = matrix.number_columns(None)
    whole[:, matrix.places] = numbers.toarray()
    for group in matrix.groups:
        table = as_matrix(group.table).toarray()
        whole[:, group.places] = table[group.unpacked().cells]
    same(whole, rows)
    if matrix.scalable:
        factor = np.linspace(0.5, 2, len(rows))
        found = matrix.number_columns(factor).toarray()
        same(found, rows * factor[:, None])


@given(matrices())
def test_numbers_are_split_without_a_loss(pair):
    numbers = pair[0].number_columns(None)
    lead, rest = numbers.split(lambda values: np.round(values, 1))
    same(lead.toarray(), np.round(numbers.toarray(), 1))
    missing = 0.0 if rest is None else rest.toarray()
    np.testing.assert_allclose(lead.toarray() + missing, numbers.toarray(), rtol=1e-6)
    whole, nothing = numbers.split(lambda values: values)
    same(whole.toarray(), numbers.toarray())
    assert nothing is None or nothing.largest_entry() == 0.0


# ---------------------------------------------------------------------------- products


@given(matrices(), st.sampled_from([np.float64, np.longdouble]))
def test_products_are_those_of_arrays(pair, dtype):
    matrix, rows = pair
    rng = np.random.default_rng(1)
    theta = rng.normal(size=rows.shape[1]).astype(dtype)
    several = rng.normal(size=(rows.shape[1], 3)).astype(dtype)
    weights = rng.normal(size=len(rows)).astype(dtype)
    sums = rng.normal(size=(len(rows), 2)).astype(dtype)
    wide = rows.astype(np.longdouble)
    unit = float(np.finfo(dtype).eps)
    for found, expected in (
        (matrix @ theta, wide @ theta),
        (matrix @ several, wide @ several),
        (matrix.row_independent_product(theta), wide @ theta),
        (matrix.weighted_sum(weights), wide.T @ weights),
        (matrix.weighted_sum(sums), wide.T @ sums),
        (matrix.gram_diagonal(weights), (wide**2).T @ weights),
    ):
        close(found, expected, unit if dtype == np.float64 else 2.0**-52)
        assert found.dtype == dtype


def test_entries_are_cut_toward_zero(doubles):
    matrix, rows = doubles
    for unit in (0.25, 2.0**-20):
        found = matrix.truncated(unit)
        assert type(found) is type(matrix)
        assert np.array_equal(found.toarray(), np.trunc(rows / unit) * unit)


@pytest.mark.parametrize("height", [0.0, 0.3])
@pytest.mark.parametrize("shortened", [False, True])
def test_gram_matrices_are_those_of_arrays(doubles, height, shortened):
    matrix, rows = doubles
    rng = np.random.default_rng(2)
    weights = rng.uniform(size=len(rows))
    factor = rng.uniform(0.1, 1, len(rows)) if shortened else None
    whole = rows if factor is None else rows * factor[:, None]
    if height:
        whole = np.column_stack([whole, np.full(len(whole), height)])
    expected = (whole * weights[:, None]).T @ whole
    close(matrix.gram(weights, factor, height, double=True), expected)
    rough = matrix.gram(weights, factor, height, double=False)
    close(rough, expected, 2.0**-23)
    assert rough.dtype == np.float64


@given(chosen_rows(), HEIGHTS)
def test_a_row_does_not_depend_on_other_rows(trio, height):
    """What is computed for one row is the same, to the last bit, among any others."""
    matrix, rows, places = trio
    theta = np.random.default_rng(3).normal(size=rows.shape[1])
    factor = np.linspace(0.1, 1, len(rows))
    some = matrix[places]
    same(some.row_independent_product(theta), matrix.row_independent_product(theta)[places])
    same(some.squared_lengths(), matrix.squared_lengths()[places])
    same(some.lengths(factor[places], height), matrix.lengths(factor, height)[places])
    same(some.largest_norms(2), matrix.largest_norms(2)[places])
    doubled = theta.astype(np.longdouble)
    found = some.row_independent_product(doubled)
    same(found, matrix.row_independent_product(doubled)[places])


@pytest.mark.parametrize("width", [1, 8, 4096, 4097, 9000])
@pytest.mark.parametrize(
    "kind", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array]
)
def test_wide_rows_do_not_depend_on_other_rows(kind, width):
    rng = np.random.default_rng(width)
    rows = rng.normal(size=(7, width))
    theta = rng.normal(size=width)
    matrix = as_matrix(kind(rows))
    product, squares = matrix.row_independent_product(theta), matrix.squared_lengths()
    for k in range(len(rows)):
        one = as_matrix(kind(rows[k : k + 1]))
        assert one.row_independent_product(theta)[0] == product[k]
        assert one.squared_lengths()[0] == squares[k]


# ------------------------------------------------------------------------------- sizes


@given(matrices(1), HEIGHTS)
def test_lengths_are_those_of_arrays(pair, height):
    matrix, rows = pair
    factor = np.linspace(0.1, 1, len(rows))
    lengths = np.linalg.norm(rows, axis=1)
    close(matrix.squared_lengths(), lengths**2)
    close(matrix.lengths(), lengths)
    close(matrix.lengths(factor, height), np.hypot(lengths * factor, height))
    close(matrix.safe_lengths(np.arange(len(rows)), factor), lengths * factor)
    assert lengths.max() <= matrix.reach
    assert matrix.largest_entry() == np.abs(rows).max()
    for few in (1, 2, rows.shape[1]):
        ordered = np.sort(np.abs(rows), axis=1)[:, -few:]
        close(matrix.largest_norms(few), np.linalg.norm(ordered, axis=1))


extreme_rows = st.lists(
    st.tuples(*3 * [st.floats(0, 1e307)], st.sampled_from([1.0, 0.3, 1e-100, 0.0])),
    min_size=1,
    max_size=4,
)


@given(extreme_rows, st.sampled_from([np.asarray, sparse.csr_array]))
@example([(1e-163, 0.0, 0.0, 1.0), (1e200, 1.0, 0.0, 1.0)], np.asarray)
@example([(1e-100, 0.0, 0.0, 1e-100), (3.0, 4.0, 0.0, 1.0)], sparse.csr_array)
def test_lengths_neither_underflow_nor_overflow_whatever_other_rows_hold(rows, kind):
    *columns, factor = np.array(rows).T
    matrix = as_matrix(kind(np.stack(columns, axis=1)))
    lengths = matrix.lengths(factor)
    for k, (length, row) in enumerate(zip(lengths, rows, strict=True)):
        assert length == matrix[k : k + 1].lengths(factor[k : k + 1])[0]
        *entries, own = map(Fraction, row)
        square = sum((own * entry) ** 2 for entry in entries)
        slack = Fraction(5e-324) * 4
        most = Fraction(length) * Fraction(1 + 1e-14) + slack
        least = max(Fraction(length) * Fraction(1 - 1e-14) - slack, 0)
        assert least**2 <= square <= most**2


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("value", "words"), [(math.nan, "NaN"), (math.inf, "infinity")])
def test_what_is_not_finite_is_explained(kind, value, words):
    matrix = as_matrix(kind(np.array([[1.0, value]])))
    with pytest.raises(InvalidData, match=words):
        matrix.refuse_infinite()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_what_is_finite_is_not_refused(kind):
    as_matrix(kind(np.array([[1.0, 1.7e308]]))).refuse_infinite()


@given(matrices())
def test_sums_have_the_shape_that_is_said(pair):
    matrix, rows = pair
    shape = matrix.sum_shape
    fullest = int(np.count_nonzero(rows, axis=1).max(initial=0))
    assert fullest <= shape.entries <= shape.max_entries <= rows.shape[1]
    assert matrix.block_rows >= 64
    assert shape.rows_added >= 64
    assert min(len(rows), matrix.block_rows) <= shape.terms * max(1, shape.depth)
    assert matrix[:1].sum_shape.max_entries == shape.max_entries


def test_shapes_are_joined_and_deepened():
    one, other = SumShape(1, 9, 3, 9, 5), SumShape(9, 2, 9, 4, 5)
    assert one | other == SumShape(9, 9, 9, 9, 5)
    assert one.deeper(4) == SumShape(1, 13, 7, 9, 5)


# ---------------------------------------------------------------------------- wrapping


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_every_sparse_format_is_wrapped(kind):
    rows = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
    matrix = as_matrix(sparse.coo_array(rows).asformat(kind))
    assert matrix.is_sparse
    same(matrix.toarray(), rows)


def test_entries_at_one_place_are_added_up():
    parts = (np.array([1e17, -1e17, 1.0, 2.0]), np.array([1, 1, 1, 0]), np.array([0, 3, 4]))
    twice = as_matrix(sparse.csr_array(parts, shape=(2, 2)))
    once = twice.without_duplicates()
    same(once.toarray(), [[0.0, 1.0], [2.0, 0.0]])
    assert (twice.sum_shape.entries, once.sum_shape.entries) == (3, 1)
    assert once.without_duplicates() is once
