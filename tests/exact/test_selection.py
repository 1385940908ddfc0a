"""Selections on tiny tables: exact chances of every outcome, for pairs of neighbours."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest

from confide.attacks import Records, exact_pair, hockey_stick
from confide.data import EntryBounds
from confide.noise import Gumbel, Laplace
from confide.objectives import Clipped, Logistic, Objective, Squared
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from confide.selection import (
    ExponentialSelector,
    FrankWolfe,
    HardThresholding,
    SampleAggregateSelector,
    ScreeningSelector,
    SelectThenFit,
    exponential,
    frank_wolfe,
    screening,
    thresholding,
)
from confide.selection import sample_aggregate as votes
from confide.selection import select_then_fit as selection_budget
from confide.selection.screening import mean_reach
from confide.selection.thresholding import _gradient, largest_eigenvalue
from support.cases import objective as one_column
from support.selection_laws import (
    of_supports,
    plus,
    screened,
    share_of_budget,
    table,
    top_sets,
    voted,
    walked,
)

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
BUDGETS = [Pure(2), Zcdp("0.3")]


def bounded(loss, columns, most, l2=None):
    """Return an objective of rows whose entries are at most so large."""
    norm = most * np.sqrt(columns)
    return Objective(loss, columns, norm, l2, target_bound=1.0, entries=EntryBounds(most))


THREE = bounded(Logistic(), 3, 2.0)


def neighbours_of(base, relation, records):
    """Yield pairs: a record more or less, or one in place of another."""
    for x, y in records:
        if relation is ADD:
            yield base, plus(base, x, y)
    if relation is REPLACE:
        for one, other in combinations(records, 2):
            yield plus(base, *one), plus(base, *other)


SCREENED = [
    ((2, 2, 2), 1),
    ((2, -2, 0), 1),
    ((-2, 2, 1), -1),
    ((0, 0, 2), 1),
    ((1, -2, 2), -1),
    ((-2, 2, 0), 1),
]
BASES = {
    "empty": table(np.zeros((0, 3)), []),
    "one column stands out": table([[0, 2, 0]] * 12 + [[2, 0, 0]], [1] * 13),
    "all alike": table([[1, 1, 1], [1, 1, 1], [-1, -1, -1]], [1, 1, -1]),
}


def largest_screening(budget, relation, size, mean):
    """Check every pair; return the largest share of what the scores may spend."""
    selector = ScreeningSelector(size, centre_share=0)
    calibration = selector.calibrate(THREE, budget, relation)
    worst = 0.0
    for base in BASES.values():
        for pair in neighbours_of(base, relation, SCREENED):
            laws = [screened(selector, calibration, rows, mean) for rows in pair]
            share = share_of_budget(*laws, budget)
            assert share <= 1
            worst = max(worst, share)
    return worst


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("mean", [0.0, 0.6])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_screening_spends_no_more_than_its_budget(budget, relation, size, mean):
    assert largest_screening(budget, relation, size, mean) > 0.2


def test_screening_comes_close_to_its_budget():
    assert largest_screening(Pure(8), ADD, 1, 0.0) > 0.99  # 0.9980 measured
    assert largest_screening(Pure(8), REPLACE, 1, 0.0) > 0.99  # 0.9980 measured


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
def test_the_mean_of_the_target_moves_as_far_as_its_noise_is_for(relation):
    """Sum and count, or the sum alone: the extreme records attain the sensitivity."""
    ends = [np.array([t, 1.0]) for t in (-1.0, 0.3, 1.0)]
    if relation is ADD:
        moves = [np.linalg.norm(end) for end in ends]
    else:
        ends.append(np.zeros(2))
        moves = [np.linalg.norm(a - b) for a in ends for b in ends]
    assert max(moves) == pytest.approx(mean_reach(relation))
    for budget in (Pure(2), Zcdp("0.3")):
        found = ScreeningSelector(2, "1/5").calibrate(THREE, budget, relation, copies=3)
        reach = mean_reach(relation)
        part = budget.share("1/5")
        expected = (
            3 * reach / float(part.epsilon)
            if isinstance(part, Pure)
            else reach * np.sqrt(3 / (2 * float(part.rho)))
        )
        assert found.centre.scale >= expected
        assert found.centre.scale == pytest.approx(expected, rel=3e-3)


SQUARES = Squared()
PINNED = table([[1, 1]] * 30 + [[1, 0]] * 30, [1] * 60)
AGAINST = [((1, -1), -1), ((1, -1), 1), ((1, 1), -1), ((0, 1), 1)]


def largest_supports(budget, relation, loss=SQUARES):
    target = bounded(loss, 2, 1.0)
    selector = ExponentialSelector(1)
    calibration = selector.calibrate(target, budget, relation)
    worst = 0.0
    for base in (PINNED, table(np.zeros((0, 2)), [])):
        for pair in neighbours_of(base, relation, AGAINST):
            laws = [of_supports(selector, calibration, rows) for rows in pair]
            share = share_of_budget(*laws, budget)
            assert share <= 1
            worst = max(worst, share)
    return worst


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize(
    "loss",
    [
        Squared(),
        pytest.param(Clipped(Squared(), 1.0), marks=pytest.mark.slow),
        pytest.param(Logistic(), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_choosing_among_supports_spends_no_more_than_its_budget(budget, relation, loss):
    assert largest_supports(budget, relation, loss) > 0.01


def test_choosing_among_supports_comes_close_to_its_budget():
    """Added records only raise losses: the whole budget goes into one direction."""
    assert largest_supports(Pure(8), ADD) > 0.97  # 0.9801 measured
    assert largest_supports(Pure(8), REPLACE) > 0.97  # 0.9739 measured


@dataclass(frozen=True)
class Heaviest:
    """A finder for tiny tables; it fails where a block is empty or says so."""

    def find(self, features, target, size):
        if not len(target) or features[0, 0] < 0:
            raise ValueError("nothing to find")
        return np.argsort(-np.abs(features).sum(axis=0), kind="stable")[:size]


VOTERS = [((1, 0, 0), 1), ((0, 1, 0), 1), ((-1, 0, 0), 1)]
VOTED = table([[0, 0, 1], [0, 1, 0], [0, 0, 1]], [1, 1, 1])


def largest_votes(budget, relation, size, noise):
    selector = SampleAggregateSelector(size, 2, noise, Heaviest())
    calibration = selector.calibrate(THREE, budget, relation)
    worst = 0.0
    for pair in neighbours_of(VOTED, relation, VOTERS):
        laws = [voted(selector, calibration, rows) for rows in pair]
        share = share_of_budget(*laws, budget)
        assert share <= 1
        worst = max(worst, share)
    return worst


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_votes_spend_no_more_than_their_budget(budget, relation, size):
    assert largest_votes(budget, relation, size, "gumbel") > 0.05


def test_a_record_without_a_target_is_as_private_as_another():
    """The table lists four records; in one of two neighbours the last has no target."""
    selector = SampleAggregateSelector(1, 2, "gumbel", Heaviest())
    calibration = selector.calibrate(THREE, Pure(2), REPLACE)
    missing = replace(VOTED, listed=4)
    for record in VOTERS:
        laws = [
            voted(selector, calibration, rows) for rows in (missing, plus(VOTED, *record))
        ]
        assert share_of_budget(*laws, Pure(2)) <= 1


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
def test_votes_with_laplace_noise_spend_no_more_than_their_budget(relation):
    assert largest_votes(Pure(2), relation, 1, "laplace") > 0.1


def largest_ballot_change(scale):
    """One block changes its mind where the column that it leaves is far ahead."""
    before, after = top_sets([0, 40, 0], scale, 1), top_sets([1, 39, 0], scale, 1)
    return share_of_budget(before, after, Pure(8))


def test_one_ballot_comes_close_to_the_budget():
    selector = SampleAggregateSelector(1)
    noise = selector.calibrate(THREE, Pure(8), ADD).noise
    assert 0.999 < largest_ballot_change(noise) <= 1


def test_gumbel_noise_once_is_a_sequence_of_choices():
    """Two of three: by integrating the third noisy score, not by rounds of choices."""
    scores, scale = np.array([0.3, -0.2, 1.1]), 0.7
    grid = np.linspace(-12, 25, 600_001)
    for out in range(3):
        shifted = (grid - scores[out]) / scale
        density = np.exp(-shifted - np.exp(-shifted)) / scale
        above = np.prod(
            [-np.expm1(-np.exp(-(grid - scores[j]) / scale)) for j in range(3) if j != out],
            axis=0,
        )
        chance = (density * above).sum() * (grid[1] - grid[0])
        kept = tuple(j for j in range(3) if j != out)
        assert np.exp(top_sets(scores, Gumbel(scale), 2)[kept]) == pytest.approx(chance)


WALKED = [((2, 2), 1), ((2, -2), 1), ((0, 2), -1), ((-2, 0), 1)]
LINES = {
    "few": table([[2, 0], [0, 2], [0, 2]], [1, 1, 1]),
    "many": table([[0, 2]] * 9 + [[2, 0]] * 2, [1] * 11),
}


def largest_walk(budget, relation, *, touched, steps):
    target = bounded(Logistic(), 2, 2.0)
    mechanism = FrankWolfe(1.5, steps)
    calibration = mechanism.calibrate(target, budget, relation)
    worst = 0.0
    for base in LINES.values():
        for pair in neighbours_of(base, relation, WALKED):
            laws = [walked(mechanism, calibration, r, touched=touched) for r in pair]
            share = share_of_budget(*laws, budget)
            assert share <= 1
            worst = max(worst, share)
    return worst


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_corners_spend_no_more_than_their_budget(budget, relation):
    assert largest_walk(budget, relation, touched=False, steps=2) > 0.05


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_lazy_corners_spend_no_more_than_their_budget(budget):
    assert largest_walk(budget, ADD, touched=True, steps=2) > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_longer_lazy_walks_spend_no_more_than_their_budget(budget, relation):
    assert largest_walk(budget, relation, touched=True, steps=4) > 0.01


def test_one_corner_comes_close_to_its_budget():
    assert largest_walk(Pure(8), ADD, touched=False, steps=1) > 0.45


def largest_threshold_step(budget, relation):
    """Check one step at some coefficients: its scores, its values, its step length."""
    mechanism = HardThresholding(2, 1)
    calibration = mechanism.calibrate(bounded(Logistic(), 3, 2.0, 1.0), budget, relation)
    objective, theta = calibration.objective, np.array([0.5, 0.0, -1.0])
    main = calibration.budget.share("19/40")
    few = objective.restricted_to(2)
    worst = [0.0, 0.0, 0.0]
    for base in BASES.values():
        for first, second in neighbours_of(base, relation, SCREENED):
            wanted = [
                7.0 * theta - _gradient(objective, rows, theta, 0.0)
                for rows in (first, second)
            ]
            laws = [top_sets(np.abs(w), calibration.scores, 2) for w in wanted]
            worst[0] = max(worst[0], share_of_budget(*laws, main))
            for kept in ([0, 1], [0, 2], [1, 2]):
                move = np.linalg.norm((wanted[0] - wanted[1])[kept])
                worst[1] = max(worst[1], move / (relation.shifts * few.lipschitz))
            for kept in ([0, 1], [0, 2], [1, 2]):
                tops = [
                    largest_eigenvalue(few, rows.columns(kept)) for rows in (first, second)
                ]
                worst[2] = max(worst[2], abs(tops[0] - tops[1]))
    return worst


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_thresholding_step_moves_no_more_than_its_noise_is_for(budget, relation):
    scores, values, steepness = largest_threshold_step(budget, relation)
    assert 0.05 < scores <= 1
    assert 0.2 < values <= 1
    assert 0.2 < steepness <= thresholding.EIGENVALUE_REACH


def whole_delta(budget, relation):
    """Integrate selection and fit together: one of two columns, then a line."""
    target = bounded(Logistic(), 2, 1.0)
    mechanism = SelectThenFit(ScreeningSelector(1, 0))
    calibration = mechanism.calibrate(target, budget, relation)
    precise = mechanism.mechanism.precision_share
    main = budget.share(1 - precise)
    few = calibration.fit.objective
    worst = 0.0
    bases = (
        table(np.zeros((0, 2)), []),
        table([[0, 1]] * 40 + [[1, 0]] * 38, [1] * 78),
        table([[0, 1]] * 40 + [[1, 0]] * 70, [1] * 110),
    )
    records = [((1, -1), 1), ((1, -1), -1), ((1, 1), -1)]
    for base in bases:
        for first, second in neighbours_of(base, relation, records):
            for p, q in ((first, second), (second, first)):
                laws = [screened(mechanism.selector, calibration.first, r) for r in (p, q)]
                total = 0.0
                for j in range(2):
                    lines = [Records.of(r.columns([j]).toarray(), r.target) for r in (p, q)]
                    pair = exact_pair(few, calibration.fit.noise, *lines, 2001)
                    shift = laws[1][(j,)] - laws[0][(j,)]
                    part = hockey_stick(*pair, float(main.epsilon) + shift)
                    total += np.exp(laws[0][(j,)]) * part
                worst = max(worst, total / float(main.delta))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
def test_selection_and_fit_together_keep_delta(relation):
    least = 0.2 if relation is ADD else 0.01
    assert least < whole_delta(Approx("0.5", "0.05"), relation) <= 1


def test_the_fit_is_calibrated_for_every_support_at_once():
    mechanism = SelectThenFit(ScreeningSelector(1, 0))
    fit = mechanism.calibrate(Objective(Logistic(), 2, 1.0), Approx(1, "1e-4"), ADD).fit
    assert fit.objective.dimension == one_column("logistic").dimension
    assert fit.objective.row_norm == 1.0


def assert_red(check):
    with pytest.raises(AssertionError):
        check()


def halved(honest):
    return lambda *args: honest(*args) / 2


def test_half_the_width_of_screening_is_seen(monkeypatch):
    monkeypatch.setattr(screening, "score_width", halved(screening.score_width))
    assert_red(lambda: largest_screening(Pure(8), ADD, 1, 0.0))
    assert_red(lambda: largest_screening(Pure(8), REPLACE, 1, 0.0))


def test_forgetting_the_centre_is_seen(monkeypatch):
    """With a mean of 0.6 a record weighs 1.6 times as much: 1/1.6 of the noise fails."""
    honest = screening.score_width
    monkeypatch.setattr(screening, "score_width", lambda *args: honest(*args) / 1.6)
    assert_red(lambda: largest_screening(Pure(8), ADD, 1, 0.6))


def test_half_the_range_of_losses_is_seen(monkeypatch):
    monkeypatch.setattr(exponential, "support_width", halved(exponential.support_width))
    assert_red(lambda: largest_supports(Pure(8), ADD))
    assert_red(lambda: largest_supports(Pure(8), REPLACE))


def test_half_the_width_of_votes_is_seen(monkeypatch):
    def check():
        noise = SampleAggregateSelector(1).calibrate(THREE, Pure(8), ADD).noise
        assert largest_ballot_change(noise) <= 1

    check()
    monkeypatch.setattr(votes, "VOTE_WIDTH", 1.0)
    assert_red(check)


def test_half_the_width_of_corners_is_seen(monkeypatch):
    monkeypatch.setattr(frank_wolfe, "score_width", lambda *args: 0.4 * honest(*args))
    assert_red(lambda: largest_walk(Pure(8), ADD, touched=False, steps=1))


honest = screening.score_width


def test_a_tenth_of_the_noise_of_thresholding_is_seen(monkeypatch):
    monkeypatch.setattr(thresholding, "score_width", lambda *args: 0.1 * honest(*args))
    scores, _, _ = largest_threshold_step(Pure(2), ADD)
    assert scores > 1


def test_laplace_noise_of_half_the_scale_is_seen():
    assert largest_ballot_change(Laplace(2 / 8)) <= 1
    assert largest_ballot_change(Laplace(1 / 8)) > 1


@pytest.mark.slow
def test_half_the_noise_of_a_fit_beside_a_selection_is_seen(monkeypatch):
    """A quarter of every divergence is what half of the noise would be charged."""
    budget, full = Approx("0.5", "0.05"), selection_budget.divergences
    assert whole_delta(budget, ADD) <= 1
    selection_budget.fit_beside_selection.cache_clear()
    monkeypatch.setattr(selection_budget, "divergences", lambda *args: full(*args) / 4)
    monkeypatch.setattr(screening, "score_width", halved(screening.score_width))
    try:
        assert whole_delta(budget, ADD) > 1
    finally:
        selection_budget.fit_beside_selection.cache_clear()
