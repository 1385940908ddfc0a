"""Scores as doubles have them: how far one record moves what is computed, exactly.

Sums of doubles are fractions. Their changes are compared with the widths that noise is
made for, without any rounding.
"""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier

from confide import LinearRegression, LogisticRegression, PoissonRegression, Pure
from confide.data import EntryBounds, bound_entries
from confide.data.matrix.category_tables import CodedGroup
from confide.data.matrix.coded_design import CodedDesign
from confide.data.matrix.dense import Dense
from confide.data.matrix.sums import MAX_ROWS, SUM_ERROR, addition_depth
from confide.data.rows.in_memory import InMemoryRows
from confide.objectives import Logistic, Poisson, Squared
from confide.privacy import Neighbours
from confide.selection import (
    ExponentialSelector,
    FrankWolfe,
    ScreeningSelector,
    exponential,
    screening,
)
from confide.selection.choice_cost import range_per_choice
from confide.selection.exponential import BoxScores, loss_range, score_error
from confide.selection.frank_wolfe import (
    MOST_CORRECTED,
    MOST_IN_LINE,
    DensePath,
    SparsePath,
    corner_slope,
)
from confide.selection.screening import column_scores
from confide.tuning.chunks import choice_powers
from confide.tuning.random_stopping import RandomStopping
from confide.tuning.scores import score_for
from support.sparse_tables import objective

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
MOVES = [(0, 1.5, 0.0), (2, -0.4, 0.7), (1, 0.3, 0.8), (0, 0.1, 0.9), (2, -0.2, 0.95)]


def table(seed, count, kind="dense", columns=3):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, (count, columns)) * (rng.random((count, columns)) < 0.7)
    x[0] = [1.0, -1.0, 1.0][:columns]
    return x, np.ones(count), kind


def rows_of(x, y, kind):
    features = sparse.csr_array(x) if kind == "sparse" else x
    return bound_entries(features, y, EntryBounds(1.0), 0.0)


def neighbours(seed, relation, kind):
    """Yield rows with an extreme record in front, and without it or with its opposite."""
    x, y, _ = table(seed, 40 + seed)
    if relation is ADD:
        return rows_of(x, y, kind), rows_of(x[1:], y[1:], kind)
    other = x.copy()
    other[0] *= -1
    return rows_of(x, y, kind), rows_of(other, y, kind)


def spread(before, after):
    """Return by how much changes of computed scores differ, exactly."""
    moved = [
        Fraction(float(b)) - Fraction(float(a)) for a, b in zip(before, after, strict=True)
    ]
    return max(moved) - min(moved)


def paid_for(noise, epsilon):
    """Return what differences of changes the noise of one choice is made for."""
    return Fraction(noise.scale) * Fraction(epsilon)


def excess_of_screening(relation, seeds=range(60)):
    """Return the largest spread over what is paid for, and over the exact width."""
    selector = ScreeningSelector(1, 0)
    noise = selector.calibrate(objective(3), Pure(1), relation).noise
    width = 2 * relation.shifts
    worst = Fraction(0)
    for seed in seeds:
        pair = neighbours(seed, relation, "dense")
        found = [column_scores(objective(3), rows, 0.0) for rows in pair]
        worst = max(worst, spread(*found))
        assert spread(*found) <= paid_for(noise, 1)
    return worst / width


def corner_scores(path, radius):
    return np.concatenate([radius * path.pulls, -radius * path.pulls])


def excess_of_corners(relation, kind, seeds=range(40)):
    mechanism = FrankWolfe(1.5, 1)
    noise = mechanism.calibrate(objective(3), Pure(1), relation).noise
    target, path = objective(3), {"dense": DensePath, "sparse": SparsePath}[kind]
    width = 2 * relation.shifts * 1.5 * corner_slope(target, 1.5)
    worst = Fraction(0)
    for seed in seeds:
        paths = [path(target, rows) for rows in neighbours(seed, relation, kind)]
        for move in MOVES:
            found = spread(*(corner_scores(one, 1.5) for one in paths))
            assert found <= paid_for(noise, 1)
            worst = max(worst, found / Fraction(width))
            for one in paths:
                one.move(*move)
    return worst


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
def test_computed_covariances_move_within_what_is_paid_for(relation):
    assert excess_of_screening(relation) > Fraction(99, 100)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
def test_computed_scores_of_corners_move_within_what_is_paid_for(relation, kind):
    assert excess_of_corners(relation, kind) > Fraction(4, 10)


def test_rounding_that_is_not_paid_for_is_seen(monkeypatch):
    """Two scores may move apart by more than their terms do: by their rounding."""
    monkeypatch.setattr(
        screening, "score_scale", lambda budget, _, width: width / float(budget.epsilon)
    )
    with pytest.raises(AssertionError):
        excess_of_screening(ADD)


# --- what other records contribute --------------------------------------------------------
@pytest.mark.parametrize("path", [DensePath, SparsePath])
def test_a_record_moves_no_margin_but_its_own(path):
    kind = "dense" if path is DensePath else "sparse"
    for seed in range(20):
        whole, rest = (path(objective(3), r) for r in neighbours(seed, ADD, kind))
        for move in MOVES:
            whole.move(*move)
            rest.move(*move)
            assert np.array_equal(whole._margins[1:], rest._margins)


def test_margins_of_rows_that_are_not_in_memory_are_those_of_each_row(monkeypatch):
    """`SimpleNamespace` hides that rows are in memory, so that no margins are kept."""
    x = np.random.default_rng(4).uniform(-1, 1, (303, 100))
    seen, honest = [], Logistic.slope

    def watched(self, margin, target):
        seen.append(margin.copy())
        return honest(self, margin, target)

    monkeypatch.setattr(Logistic, "slope", watched)
    found = []
    for start in range(6):
        rows = rows_of(x[start:], np.ones(303 - start), "dense")
        path = DensePath(objective(100), SimpleNamespace(sum=rows.sum, height=0.0))
        for place in range(100):
            path.move(place, 0.3 + place / 70, 0.99)
        found.append(np.column_stack(seen))
        seen.clear()
    assert found[0].shape == (303, 101)
    for start in range(6):
        assert np.array_equal(found[0][start:], found[start])


MODELS = [
    LogisticRegression(Pure(50), classes=[0, 1], random_state=1, row_norm=1.0),
    LogisticRegression(Pure(50), classes=[0, 1, 2], random_state=1, row_norm=1.0),
    LinearRegression(Pure(50), target_bound=2.0, random_state=1, row_norm=1.0),
    PoissonRegression(
        Pure(50), target_bound=2.0, slope_bound=2.0, random_state=1, row_norm=1.0
    ),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_loss_of_a_record_is_the_same_among_all_others(model, kind):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(301, 100)) * (rng.random((301, 100)) < 0.5)
    y = np.arange(301) % len(getattr(model, "classes", [0, 1]))
    X = sparse.csr_array(x) if kind == "sparse" else x
    model.fit(X, y)
    score = score_for("deviance" if is_classifier(model) else "absolute", model)
    whole = score.losses(model, X, y)
    for start in range(1, 12):
        assert np.array_equal(score.losses(model, X[start:], y[start:]), whole[start:])


def test_totals_move_by_a_bound_and_the_rounding_that_is_paid_for():
    rng = np.random.default_rng(6)
    bound = 0.3
    wide = 0
    for _ in range(200):
        losses = rng.uniform(0, bound, 50)
        pair = [math.fsum(losses), math.fsum([*losses, bound])]
        moved = Fraction(pair[1]) - Fraction(pair[0])
        wide += moved > Fraction(bound)
        for budget, share in ((Pure(2), Fraction(2, 30)),):
            plan = RandomStopping().plan(budget, 2, 1)
            assert moved <= Fraction(plan.noise(bound).scale) * share
        for relation in Neighbours:
            powers = [choice_powers(np.array([t]), bound, 0.5, relation)[0] for t in pair]
            off = abs(Fraction(float(powers[1])) - Fraction(float(powers[0])))
            assert off <= Fraction(1, 2) / relation.shifts
    assert wide > 50  # without the rounding paid for, these would be too far


# --- sums over as many rows as may be -----------------------------------------------------
def layouts():
    """Matrices of as many rows as there may be, which take no memory."""
    many = MAX_ROWS
    cells = np.broadcast_to(np.uint16(0), (many,))
    table = np.zeros((2048, 12))
    group = CodedGroup(cells, table, slice(1, 13), True)
    number = np.broadcast_to(0.0, (1, many))
    for width in (1, 30, 10_000):
        yield Dense(np.broadcast_to(0.0, (many, width)))
    yield CodedDesign(number, np.array([0]), (), (many, 1), 1.0)
    yield CodedDesign(number, np.array([0]), (group,), (many, 13), 1.0)


def test_no_number_goes_through_more_additions_than_are_counted_with():
    parts = 3 * addition_depth(MAX_ROWS)
    for features in layouts():
        target = np.broadcast_to(0.0, (MAX_ROWS,))
        terms = InMemoryRows(features, target, None, 1.0).sum_shape.terms + parts
        assert terms < 8450
        assert terms * MAX_ROWS * 2.0**-53 < 0.95 * SUM_ERROR


def test_sparse_pulls_lose_no_more_than_is_counted_with():
    u = 2.0**-53
    in_line = MOST_IN_LINE**2 * u
    by_stripes = MAX_ROWS * (8192 + addition_depth(MAX_ROWS // 8192 + 1)) * u
    corrected = 2 * MOST_CORRECTED**2 * u
    assert max(in_line, by_stripes) + corrected + 8 * MAX_ROWS * u < SUM_ERROR


def test_stripes_of_sparse_rows_are_one_sum(monkeypatch):
    x, y, _ = table(3, 500)
    target, rows = objective(3), rows_of(x, y, "sparse")
    whole = SparsePath(target, rows)
    monkeypatch.setattr("confide.selection.frank_wolfe.MOST_IN_LINE", 10)
    monkeypatch.setattr("confide.selection.frank_wolfe.MOST_ADDED", 64)
    striped = SparsePath(target, rows)
    for move in MOVES:
        assert np.allclose(whole.pulls, striped.pulls, rtol=1e-13)
        whole.move(*move)
        striped.move(*move)


# --- scores of supports -------------------------------------------------------------------
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Poisson()], ids=str)
def test_supports_are_scored_within_what_their_width_allows(loss, monkeypatch):
    """The usual solver does nothing, so that the accelerated steps have to do it all."""
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, (12, 2))
    y = np.where(x[:, 0] > 0, 1.0, 0.0 if isinstance(loss, Poisson) else -1.0)
    rows = rows_of(x, y, "dense")
    target = objective(2, loss=loss)
    gap = 1e-3 * loss_range(target, 1.0)
    best = BoxScores(target, 1.0, 1e-7 * gap)._score(rows, [0], None)
    seen = []

    def idle(oracle, start, **_):
        return SimpleNamespace(x=start)

    honest = BoxScores._of_rows

    def watched(self, rows):
        inner = honest(self, rows)

        def oracle(theta):
            seen.append(theta)
            return inner(theta)

        return oracle

    monkeypatch.setattr(exponential, "minimize", idle)
    monkeypatch.setattr(BoxScores, "_of_rows", watched)
    monkeypatch.setattr(BoxScores, "_bound", lambda *_: math.inf)
    found = BoxScores(target, 1.0, gap)._score(rows, [0], None)
    assert best - 1e-9 <= found <= best + gap
    assert len(seen) > 20
    assert max(np.abs(theta).max() for theta in seen) <= 1


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Poisson()], ids=str)
def test_the_error_of_scores_is_that_of_the_most_rows(loss):
    """A table of n rows loses no more than n/10⁹ of what is paid for."""
    rng = np.random.default_rng(8)
    x = rng.uniform(-1, 1, (5000, 2))
    y = np.where(rng.random(5000) < 0.5, 1.0, 0.0 if isinstance(loss, Poisson) else -1.0)
    target, theta = objective(2, loss=loss), np.array([0.7])
    scores = BoxScores(target, 1.0, 1.0)
    rows = rows_of(x, y, "dense")
    value, _ = scores._of_rows(rows.columns([1]))(theta)
    margin = x[:, 1] * 0.7
    exact = math.fsum(loss.value(margin, y).tolist())
    allowed = score_error(target, 1, 1.0) * 5000 / MAX_ROWS
    assert abs(value - exact) < allowed


def test_the_noise_of_supports_pays_for_gap_and_rounding():
    for relation in Neighbours:
        found = ExponentialSelector(2).calibrate(objective(), Pure(1), relation)
        alpha = loss_range(objective(), 2.0)
        slack = 2 * (1e-3 * alpha + score_error(objective(), 2, 2.0))
        least = (relation.shifts * alpha + slack) / range_per_choice(Pure(1), 1)
        assert least <= found.noise.scale < least * (1 + 2e-9)
