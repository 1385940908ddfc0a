"""Selectors and sparse mechanisms: what they promise besides privacy, and bad input."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from confide.accounting import ZcdpEvent
from confide.data import EntryBounds, bound_entries
from confide.data.matrix.matrix import as_matrix
from confide.data.matrix.sums import MAX_ROWS, SumShape
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import InvalidParameter, MissingPublicBound
from confide.mechanisms import OutputPerturbation
from confide.noise import Entropy
from confide.objectives import L1, Clipped, GroupL2, Logistic, Objective, Squared
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
from confide.selection.exponential import BoxScores
from support.sparse_tables import objective, signal

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


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
    release = calibration.release(tasks, Entropy.seeded(3))
    assert release.support == ((3, 11), (3, 11))
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
    few = target.restricted_to(size)
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
    with pytest.raises(InvalidParameter, match="75287520 sets"):
        ExponentialSelector(5).calibrate(objective(100), Pure(1), ADD)


def test_fewer_rows_than_blocks_are_refused_where_their_number_is_public():
    selector = SampleAggregateSelector(2, 50)
    calibration = selector.calibrate(objective(), Pure(1), REPLACE)
    with pytest.raises(InvalidParameter, match="blocks must be at most the number of rows"):
        selector.check_rows(calibration, signal(49))
    free = selector.calibrate(objective(), Pure(1), ADD)
    selector.check_rows(free, signal(49))
    assert len(selector.select(free, signal(3), Entropy.seeded(0))) == 2


def test_nothing_but_the_public_cap_on_rows_refuses_a_table():
    class Many:
        sum_shape = SumShape(1, 1, 1, 1, 1)
        count = MAX_ROWS + 1

    selectors = [ScreeningSelector(2), ExponentialSelector(2)]
    plans = [one.calibrate(objective(), Pure(1), ADD) for one in selectors]
    walk = FrankWolfe().calibrate(objective(), Pure(1), ADD)
    checks = [
        *(partial(s.check_rows, c) for s, c in zip(selectors, plans, strict=True)),
        walk.check_rows,
    ]
    for check in checks:
        with pytest.raises(InvalidParameter, match="at most 1,000,000,000"):
            check(Many)
    Many.count = MAX_ROWS
    for check in checks:
        check(Many)


def test_a_target_without_a_bound_is_refused():
    unbounded = objective(loss=Clipped(Squared(), 1.0), target_bound=None)
    for selector in (ScreeningSelector(2), ExponentialSelector(2)):
        with pytest.raises(MissingPublicBound, match="target_bound"):
            selector.calibrate(unbounded, Pure(1), ADD)


def test_penalties_must_weigh_columns_alike():
    from confide.errors import UnmetNeeds

    mechanism = SelectThenFit(ScreeningSelector(2))
    for penalty in (L1((1.0,) * 19 + (2.0,)), GroupL2(1.0, ((0, 1), (2, 3)))):
        with pytest.raises(UnmetNeeds, match="equal weights"):
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
