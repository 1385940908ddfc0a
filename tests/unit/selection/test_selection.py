"""Selectors and sparse mechanisms: what they promise besides privacy, and bad input."""

import pickle
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from confide.accounting import PureEvent, ZcdpEvent, as_zcdp, compose
from confide.data import EntryBounds, bound_entries
from confide.data.matrix.matrix import as_matrix
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import InvalidData, InvalidParameter, MissingPublicBound, PrivacyLeak
from confide.mechanisms import ObjectivePerturbation, OutputPerturbation
from confide.noise import Entropy, Gumbel, Laplace, assigned, largest, shuffled
from confide.objectives import L1, Clipped, GroupL2, Logistic, Objective, Poisson, Squared
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from confide.selection import (
    ExponentialSelector,
    FrankWolfe,
    HardThresholding,
    LassoPath,
    SampleAggregateSelector,
    ScreeningSelector,
    SelectThenFit,
)
from confide.selection import choice_cost as choices
from confide.selection.budget import Stages, split_budget
from confide.selection.exponential import BoxScores, loss_range
from confide.selection.frank_wolfe import ColumnIndexedRows, PlainPath, TouchedPath

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


def objective(columns=20, loss=None, **more):
    more = {"target_bound": 1.0, "entries": EntryBounds(1.0), **more}
    return Objective(loss or Logistic(), columns, np.sqrt(columns), **more)


def signal(rows=4000, columns=20, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (rows, columns))
    target = np.where(features[:, 3] - features[:, 11] > 0, 1.0, -1.0)
    return bound_entries(features, target, EntryBounds(1.0), 0.0)


# --- entries of rows


def test_entries_are_clipped_and_the_rest_is_left_alone():
    dense = np.array([[0.5, -3.0], [2.0, 0.25]])
    for features in (dense, sparse.csr_array(dense)):
        kept, _ = bound_entries(features, np.zeros(2), EntryBounds(1.0), 0.0).plain()
        kept = kept.toarray() if sparse.issparse(kept) else kept
        assert np.array_equal(kept, [[0.5, -1.0], [1.0, 0.25]])


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans())
def test_rows_are_scaled_by_their_largest_entries(seed, few, thin):
    features = np.random.default_rng(seed).normal(size=(5, 6)) * 2
    matrix = sparse.csr_array(np.where(features > 0, features, 0)) if thin else features
    bounds = EntryBounds.scaled(few, 1.0)
    kept, _ = bound_entries(matrix, np.zeros(5), bounds, 0.0).plain()
    kept = kept.toarray() if thin else kept
    before = matrix.toarray() if thin else matrix
    tops = [np.sort(np.abs(x), axis=1)[:, -few:] for x in (before, kept)]
    lengths = [np.linalg.norm(top, axis=1) for top in tops]
    assert np.allclose(lengths[1], np.minimum(lengths[0], np.sqrt(few)))
    for count in range(1, 7):
        longest = np.linalg.norm(np.sort(np.abs(kept), axis=1)[:, -count:], axis=1)
        assert longest.max() <= bounds.norm(count) * (1 + 1e-12)


def test_bounds_of_entries_in_closed_form():
    assert EntryBounds(2.0).norm(9) == 6.0
    assert EntryBounds.scaled(4, 1.0).norm(4) == 2.0
    assert EntryBounds.scaled(4, 1.0).norm(1) == 2.0
    assert EntryBounds.scaled(4, 1.0).norm(9) == pytest.approx(2 * np.sqrt(3))
    restricted = objective(50, height=0.4).on_columns(4)
    assert (restricted.dimension, restricted.row_norm) == (5, np.hypot(2.0, 0.4))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_entries_must_be_finite(bad):
    for features in (np.array([[1.0, bad]]), sparse.csr_array([[1.0, bad]])):
        with pytest.raises(InvalidData, match="finite"):
            bound_entries(features, np.zeros(1), EntryBounds(1.0), 0.0)


def test_columns_of_any_kind_of_rows_are_the_same():
    rows = signal(50)
    thin = InMemoryRows(
        as_matrix(sparse.csr_array(rows.features.toarray())), rows.target, None, 0.3
    )
    expected = rows.features.toarray()[:, [3, 7]]
    assert np.array_equal(thin.columns([3, 7]).features.toarray(), expected)
    assert thin.columns([3, 7]).dimension == 3
    assert np.array_equal(rows.take(np.array([4, 1])).target, rows.target[[4, 1]])


def test_rows_seen_by_columns_cannot_be_stored():
    seen = ColumnIndexedRows.of(
        InMemoryRows(as_matrix(sparse.csr_array(np.eye(2))), np.zeros(2), None, 0.0)
    )
    assert repr(seen) == "<private rows>"
    with pytest.raises(PrivacyLeak):
        pickle.dumps(seen)


def kept_up(rows, columns, steps, seed=0):
    """Walk at random; yield sums as they are kept, and of the same slopes exactly."""
    rng = np.random.default_rng(seed)
    path = TouchedPath(objective(columns), rows)
    features = rows.features.toarray().astype(np.longdouble)
    for step in range(steps):
        share = 2 / (step + 2)
        gain = float(rng.choice([-1.0, 1.0])) * share * 20.0
        path.move(int(rng.integers(columns - 1)), gain, 1 - share)
        yield path, path._slopes.astype(np.longdouble) @ features


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_that_are_kept_up_are_as_exact_as_was_paid_for(kind):
    """The last column is in every row and never moves: all its changes are corrections."""
    rng, count = np.random.default_rng(3), 20_000
    features = rng.uniform(0.3, 1, (count, 12)) * (rng.random((count, 12)) < 0.05)
    features[:, -1] = rng.uniform(0.3, 1, count)
    rows = InMemoryRows(
        as_matrix(sparse.csr_array(features.astype(kind))), np.ones(count), None, 0.0
    )
    corrected = 0
    for path, exact in kept_up(rows, 12, 60):
        assert np.abs(path.pulls - exact).max() <= 2 * count * (count + 2) * 2.0**-53
        corrected += path._added > 0
    assert corrected > 5, "some sums must have been corrected, not added up anew"


def test_rows_in_single_precision_walk_in_doubles():
    """Slopes are those of the same numbers as doubles, to the last bit."""
    rng = np.random.default_rng(4)
    single = (rng.random((500, 12)) * (rng.random((500, 12)) < 0.3)).astype(np.float32)
    paths = []
    for kind in (np.float32, np.float64):
        rows = InMemoryRows(
            as_matrix(sparse.csr_array(single.astype(kind))), np.ones(500), None, 0.0
        )
        paths.append([path for path, _ in kept_up(rows, 12, 20)][-1])
    assert np.array_equal(paths[0]._slopes, paths[1]._slopes)
    assert np.array_equal(paths[0].pulls, paths[1].pulls)


# --- random choices


@pytest.mark.parametrize("noise", [Gumbel(0.5), Laplace(0.5)], ids=str)
def test_noise_has_its_distribution(noise):
    """Kolmogorov's distance of 200 000 draws; false alarm 1e-9."""
    drawn = np.sort(noise.draw(200_000, Entropy.seeded(1)) / noise.scale)
    if isinstance(noise, Gumbel):
        exact = np.exp(-np.exp(-drawn))
    else:
        exact = np.where(drawn < 0, 0.5 * np.exp(drawn), 1 - 0.5 * np.exp(-drawn))
    far = np.abs(exact - np.arange(len(drawn)) / len(drawn)).max()
    assert far < np.sqrt(np.log(2 / 1e-9) / (2 * len(drawn)))
    length = np.sqrt(np.mean(noise.draw(200_000, Entropy.seeded(2)) ** 2))
    assert length == pytest.approx(noise.expected_norm(1), rel=0.02)


def test_places_are_shuffled_and_assigned():
    entropy = Entropy.seeded(4)
    assert sorted(shuffled(100, entropy).tolist()) == list(range(100))
    own = assigned(40_000, 4, entropy)
    assert np.abs(np.bincount(own) - 10_000).max() < 5 * np.sqrt(7500)
    assert largest(np.array([0, 9, 8.0]), 2, Gumbel(1e-9), entropy).tolist() == [1, 2]


# --- what choices cost


def test_ranges_in_closed_form():
    assert choices.range_per_choice(Pure(2), 4) == 0.5
    assert choices.range_per_choice(Zcdp("0.02"), 4) == pytest.approx(0.2)
    assert choices.best_budget_kind(Approx(1, "1e-6"), 1) == Pure(1)
    assert isinstance(choices.best_budget_kind(Approx(1, "1e-6"), 50), Zcdp)
    scale = choices.score_scale(Pure(2), 4, 3.0)
    assert scale == pytest.approx(6.0, rel=2e-4)
    assert scale > 6.0


@pytest.mark.parametrize(
    ("selector", "neighbours", "scale"),
    [
        (ScreeningSelector(5, 0), ADD, 2 * 5 / 2),
        (ScreeningSelector(5, 0), REPLACE, 4 * 5 / 2),
        (SampleAggregateSelector(5), ADD, 2 * 5 / 2),
        (SampleAggregateSelector(5, noise="laplace"), REPLACE, 2 * 5 / 2),
        (ExponentialSelector(1), ADD, np.log1p(np.exp(1)) - np.log1p(np.exp(-1))),
    ],
    ids=str,
)
def test_noise_of_selectors_in_closed_form(selector, neighbours, scale):
    found = selector.calibrate(objective(), Pure(2), neighbours)
    expected = scale / 2 if selector.name == "exponential" else scale
    assert found.noise.scale == pytest.approx(expected, rel=3e-3)
    assert found.events == (PureEvent(Fraction(2)),)


def test_squared_loss_has_the_range_of_the_published_bound():
    """α = 2s² for |y| ≤ s, entries and coefficients within ±1."""
    for size in (1, 3, 5):
        target = objective(loss=Squared(), target_bound=float(size))
        assert loss_range(target, float(size)) == pytest.approx(2 * size**2)


@pytest.mark.parametrize(
    "loss", [Squared(), Clipped(Squared(), 0.7), Poisson(), Logistic()]
)
@pytest.mark.parametrize("margin", [0.5, 2.0])
def test_loss_ranges_hold_on_a_grid(loss, margin):
    bound = 1.0 if isinstance(loss, Logistic) else 1.5
    target = objective(loss=loss, target_bound=bound)
    low = 0.0 if isinstance(loss, Poisson) else -bound
    y = np.array([-1.0, 1.0]) if isinstance(loss, Logistic) else np.linspace(low, bound, 61)
    eta = np.linspace(-margin, margin, 401)
    values = loss.value(eta[:, None], y[None, :])
    assert np.ptp(values, axis=0).max() == pytest.approx(loss_range(target, margin))


def test_other_losses_have_the_range_of_their_slope():
    target = objective(loss=Clipped(Poisson(), 2.0), target_bound=3.0)
    assert loss_range(target, 0.5) == pytest.approx(2 * 0.5 * 2.0)


@pytest.mark.parametrize("budget", [Pure(1), Approx("0.3", "1e-6"), Zcdp("0.05")], ids=str)
@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize(
    "selector",
    [ScreeningSelector(4), SampleAggregateSelector(4), ExponentialSelector(2)],
    ids=lambda s: s.name,
)
def test_selectors_spend_their_budget_and_no_more(selector, budget, copies):
    found = selector.calibrate(objective(), budget, ADD, copies=copies)
    if isinstance(budget, Approx):
        together = compose(found.events, budget.delta)
        assert float(together.epsilon) <= float(budget.epsilon) * 1.001
    elif isinstance(budget, Pure):
        assert sum(event.epsilon for event in found.events) == budget.epsilon
    else:
        assert float(as_zcdp(found.events).rho) == pytest.approx(float(budget.rho))


def test_a_joint_budget_leaves_more_for_both_stages_than_cuts_do():
    """At (0.3, 1e-6) the selection's noise would be half as large again, or the fit's."""
    selector, relation = ScreeningSelector(8, 0), ADD
    coupled = Stages(selector, ObjectivePerturbation(), objective(100), relation, 1)
    cut = Stages(selector, ObjectivePerturbation("separate"), objective(100), relation, 1)
    budget, share = Approx("0.3", "1e-6"), Fraction(2, 5)
    joint, apart = split_budget(coupled, budget, share), split_budget(cut, budget, share)
    assert joint[0].noise.scale < 0.6 * apart[0].noise.scale
    assert joint[1].noise.scale < apart[1].noise.scale


# --- selecting


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
@pytest.mark.parametrize(
    "selector",
    [
        ScreeningSelector(2),
        ScreeningSelector(2, 0),
        SampleAggregateSelector(2),
        SampleAggregateSelector(2, 30, "laplace"),
        pytest.param(ExponentialSelector(2, radius=3.0), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_strong_signal_is_found(selector, relation):
    rows = signal(400 if selector.name == "exponential" else 4000)
    calibration = selector.calibrate(objective(), Pure(40), relation)
    selector.check_rows(calibration, rows)
    assert list(selector.select(calibration, rows, Entropy.seeded(5))) == [3, 11]


def test_centring_keeps_a_common_column_from_standing_out():
    """90 % of one class and a column that is always 1: without a mean it looks telling."""
    rng = np.random.default_rng(1)
    features = rng.uniform(-1, 1, (5000, 10))
    features[:, 0] = 1.0
    target = np.where(features[:, 4] > -0.8, 1.0, -1.0)
    rows = bound_entries(features, target, EntryBounds(1.0), 0.0)
    found = {}
    for share in (0, Fraction(1, 20)):
        selector = ScreeningSelector(1, share)
        calibration = selector.calibrate(objective(10), Pure(4), ADD)
        found[share] = selector.select(calibration, rows, Entropy.seeded(6))
    assert found == {0: [0], Fraction(1, 20): [4]}


def test_scores_of_supports_are_certified_minima():
    rows = signal(100)
    for loss in (Squared(), Logistic(), Clipped(Squared(), 0.5)):
        scores = BoxScores(objective(loss=loss), 0.8, gap=1e-6)
        few = objective(4, loss=loss)
        supports, found = replace(scores, objective=few).of_all(rows.columns(range(4)), 2)
        grid = np.linspace(-0.8, 0.8, 41)
        for support, score in zip(supports, found, strict=True):
            x = rows.columns(support).features.toarray()
            pairs = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
            sums = loss.value(x @ pairs.T, rows.target[:, None]).sum(axis=0)
            assert score <= sums.min() + 1e-6
            assert score >= sums.min() - 0.2


def test_accelerated_steps_reach_the_gap_where_a_first_attempt_does_not():
    rows = signal(200).columns(range(4))
    scores = BoxScores(objective(4), 0.5, gap=1e-4)
    oracle = scores._of_rows(rows.columns([1, 3]))
    slow = scores._accelerated(oracle, 2, rows.count)
    assert slow == pytest.approx(scores._least(oracle, 2, rows.count), abs=2e-4)


@dataclass(frozen=True)
class Odd:
    """A finder that returns what a ballot must survive."""

    answer: object

    def find(self, features, target, size):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "votes"),
    [
        (ValueError("no"), []),
        (None, []),
        ([], []),
        ([3], [3]),
        ([3, 3, 5], [3, 5]),
        ([9, 8, 7, 6, 5], [7, 8, 9]),
        ([-1, 20, 4], [4]),
        ([np.nan, 2.5, 1], [1]),
        ("abc", []),
    ],
    ids=str,
)
def test_any_answer_of_a_finder_is_a_small_ballot(answer, votes):
    selector = SampleAggregateSelector(3, finder=Odd(answer))
    assert selector.ballot(signal(5), 20).tolist() == votes


def test_a_block_where_nothing_is_found_does_not_vote():
    finder = LassoPath()
    flat = InMemoryRows(
        as_matrix(np.random.default_rng(0).normal(size=(9, 4))), np.ones(9), None, 0.0
    )
    assert finder.find(*flat.plain(), 2) == []
    selector = SampleAggregateSelector(2)
    empty = InMemoryRows(as_matrix(np.zeros((0, 4))), np.zeros(0), None, 0.0)
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        assert selector.ballot(empty, 4).tolist() == []


def test_equal_columns_share_a_vote_and_still_make_a_support():
    rows = signal(900)
    features = rows.features.toarray()
    twice = as_matrix(np.hstack([features, features[:, [3]]]))
    rows = InMemoryRows(twice, rows.target, None, 0.0)
    selector = SampleAggregateSelector(2)
    calibration = selector.calibrate(objective(21), Pure(50), REPLACE)
    found = set(selector.select(calibration, rows, Entropy.seeded(7)))
    assert 11 in found
    assert found <= {3, 11, 20}


def test_partitions_have_the_sizes_that_are_public():
    entropy = Entropy.seeded(8)
    parts = SampleAggregateSelector(2).partition(signal(103), REPLACE, entropy)
    assert len(parts) == 10
    assert sorted(np.concatenate(parts).tolist()) == list(range(103))
    assert {len(part) for part in parts} == {10, 11}
    fewer = replace(signal(60), listed=103)
    kept = SampleAggregateSelector(2).partition(fewer, REPLACE, entropy)
    assert len(kept) == 10
    assert sorted(np.concatenate(kept).tolist()) == list(range(60))
    own = SampleAggregateSelector(2, 7).partition(signal(3), ADD, entropy)
    assert len(own) == 7
    assert sum(len(part) for part in own) == 3


# --- Frank–Wolfe


@pytest.mark.parametrize("height", [0.0, 0.5])
def test_lazy_pulls_are_those_of_the_slopes_that_they_claim(height):
    """Fresh slopes where a column moved; elsewhere those of the last public time."""
    rng = np.random.default_rng(9)
    dense = np.where(rng.uniform(size=(60, 30)) < 0.1, rng.uniform(-1, 1, (60, 30)), 0)
    target = np.where(rng.uniform(size=60) < 0.5, 1.0, -1.0)
    rows = InMemoryRows(as_matrix(sparse.csr_array(dense)), target, None, height)
    columns = 30 + bool(height)
    goal = Objective(Logistic(), columns, 6.0, entries=EntryBounds(1.0), height=height)
    lazy, theta = TouchedPath(goal, rows), np.zeros(columns)
    slopes = Logistic().slope(np.zeros(60), target)
    whole = np.hstack([dense, np.full((60, int(height > 0)), height)])
    scale = fresh = 1.0
    for step, place in enumerate([4, 9, 4, 17, columns - 1, 2, 4, 21, 9, 3]):
        share = 2 / (step + 2)
        theta *= 1 - share
        theta[place] += share * 2.0
        scale = 1.0 if step == 0 else scale * (1 - share)
        moved = whole[:, place] != 0
        everywhere = step == 0 or scale < 0.85 * fresh or (height and place == 30)
        if everywhere:
            moved, fresh = np.ones(60, dtype=bool), scale
        slopes = np.where(moved, Logistic().slope(whole @ theta, target), slopes)
        lazy.move(place, share * 2.0, 1 - share)
        assert np.allclose(lazy.pulls, whole.T @ slopes)


def test_lazy_and_plain_walks_end_near_each_other():
    rows = signal(800)
    thin = InMemoryRows(
        as_matrix(sparse.csr_array(rows.features.toarray())), rows.target, None, 0.0
    )
    mechanism = FrankWolfe(3.0, 60)
    calibration = mechanism.calibrate(objective(), Pure(4000), ADD)
    ends = [
        mechanism.release(calibration, [r], Entropy.seeded(1)).value for r in (rows, thin)
    ]
    assert np.allclose(ends[0], ends[1], atol=0.15)
    assert np.abs(ends[0]).sum() <= 3.0 + 1e-9
    assert isinstance(PlainPath(objective(), rows).pulls, np.ndarray)


def test_how_full_columns_are_never_decides_whose_slopes_are_fresh(monkeypatch):
    """Sums added up anew at every step must be those that were corrected."""
    rng = np.random.default_rng(3)
    dense = np.where(rng.uniform(size=(80, 12)) < 0.2, 1.0, 0.0)
    target = np.where(rng.uniform(size=80) < 0.5, 1.0, -1.0)
    rows = InMemoryRows(as_matrix(sparse.csr_array(dense)), target, None, 0.0)
    paths = [TouchedPath(objective(12), rows) for _ in range(2)]
    paths[1]._many = -1
    for step, place in enumerate([1, 5, 2, 2, 7, 1, 9, 11, 3]):
        share = 2 / (step + 2)
        for path in paths:
            path.move(place, share, 1 - share)
        assert np.allclose(paths[0].pulls, paths[1].pulls)


# --- fitting after a selection


@pytest.mark.parametrize(
    "mechanism",
    [
        SelectThenFit(ScreeningSelector(2)),
        SelectThenFit(ScreeningSelector(2), OutputPerturbation()),
        HardThresholding(2),
    ],
    ids=str,
)
def test_coefficients_are_zero_off_the_support(mechanism):
    calibration = mechanism.calibrate(objective(), Approx(8, "1e-6"), ADD, copies=2)
    rows = signal()
    calibration.check_rows(rows)
    tasks = [rows, rows.with_target(np.negative)]
    release = mechanism.release(calibration, tasks, Entropy.seeded(3))
    assert release.extras["support"] == [[3, 11], [3, 11]]
    assert [np.flatnonzero(line).tolist() for line in release.value] == [[3, 11]] * 2
    assert (np.sign(release.value[0]) == -np.sign(release.value[1])).all()
    assert release.value[0][3] > 0 > release.value[0][11]


def test_the_fit_knows_the_length_of_few_entries_only():
    found = SelectThenFit(ScreeningSelector(4)).calibrate(objective(400), Pure(1), ADD)
    assert found.objective.row_norm == 20.0
    assert found.fit.objective.row_norm == 2.0
    assert found.fit.objective.dimension == 4


def test_published_constants_are_those_of_the_paper():
    """ζ = 2s^{3/2} and λ = s for |y| ≤ s, rows scaled to √s, coefficients within ±1."""
    from confide.objectives import Box

    size = 4
    target = Objective(
        Squared(),
        100,
        20.0,
        constraint=Box(-1.0, 1.0),
        target_bound=float(size),
        entries=EntryBounds.scaled(size, 1.0),
    )
    few = target.on_columns(size)
    assert few.lipschitz == pytest.approx(2 * size**1.5)
    assert few.smoothness == pytest.approx(size)


@pytest.mark.parametrize(
    "kind", [ScreeningSelector, SampleAggregateSelector, ExponentialSelector]
)
@pytest.mark.parametrize("size", [0, -1, 2.5, True, "3"])
def test_sizes_are_whole_numbers(kind, size):
    with pytest.raises(InvalidParameter, match="size must be a whole number"):
        kind(size)


@pytest.mark.parametrize(
    "mechanism",
    [
        SelectThenFit(ScreeningSelector(21)),
        SelectThenFit(SampleAggregateSelector(21)),
        SelectThenFit(ExponentialSelector(21)),
        HardThresholding(21),
    ],
    ids=str,
)
def test_more_columns_than_there_are_cannot_be_selected(mechanism):
    with pytest.raises(InvalidParameter, match="at most 20, the number of columns"):
        mechanism.calibrate(objective(), Pure(1), ADD)


def test_too_many_supports_are_refused_with_their_number():
    with pytest.raises(InvalidParameter, match="75287520 supports"):
        ExponentialSelector(5).calibrate(objective(100), Pure(1), ADD)


def test_fewer_rows_than_blocks_are_refused_where_their_number_is_public():
    selector = SampleAggregateSelector(2, 50)
    calibration = selector.calibrate(objective(), Pure(1), REPLACE)
    with pytest.raises(InvalidParameter, match="blocks must be at most the number of rows"):
        selector.check_rows(calibration, signal(49))
    free = selector.calibrate(objective(), Pure(1), ADD)
    selector.check_rows(free, signal(49))
    assert len(selector.select(free, signal(3), Entropy.seeded(0))) == 2


def test_sums_that_doubles_cannot_hold_are_refused():
    class Many:
        count, terms = 10**9, 10**4

    with pytest.raises(InvalidParameter, match="fewer"):
        choices.check_rounding(Many, Many.terms)
    Many.count = 10**6
    choices.check_rounding(Many, Many.terms)


def test_a_target_without_a_bound_is_refused():
    unbounded = objective(loss=Clipped(Squared(), 1.0), target_bound=None)
    for selector in (ScreeningSelector(2), ExponentialSelector(2)):
        with pytest.raises(MissingPublicBound, match="target_bound"):
            selector.calibrate(unbounded, Pure(1), ADD)


def test_penalties_must_weigh_columns_alike():
    from confide.errors import UnmetNeeds

    mechanism = SelectThenFit(ScreeningSelector(2))
    for penalty in (L1((1.0,) * 19 + (2.0,)), GroupL2(1.0, ((0, 1), (2, 3)))):
        with pytest.raises(UnmetNeeds, match="alike"):
            mechanism.calibrate(objective(penalty=penalty), Pure(1), ADD)
    found = mechanism.calibrate(objective(penalty=L1((1.0,) * 20)), Pure(1), ADD)
    assert found.fit.objective.penalty == L1((1.0, 1.0))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SelectThenFit(ScreeningSelector(2), share=0),
        lambda: SelectThenFit(ScreeningSelector(2), share=1),
        lambda: SelectThenFit("screening"),
        lambda: SelectThenFit(ScreeningSelector(2), "objective"),
        lambda: SelectThenFit(ScreeningSelector(2), column_bound=0.0),
        lambda: FrankWolfe(0.0),
        lambda: FrankWolfe(1.0, 0),
        lambda: HardThresholding(2, 0),
        lambda: HardThresholding(2, column_bound=-1.0),
        lambda: SampleAggregateSelector(2, 0),
        lambda: SampleAggregateSelector(2, noise="normal"),
        lambda: ScreeningSelector(2, 1),
        lambda: ExponentialSelector(2, radius=np.inf),
        lambda: LassoPath(0),
    ],
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(InvalidParameter, match="must be"):
        wrong()


def test_zcdp_budgets_stay_zcdp():
    found = SampleAggregateSelector(3).calibrate(objective(), Zcdp("0.1"), ADD)
    assert found.events == (ZcdpEvent(Fraction(1, 10)),)
