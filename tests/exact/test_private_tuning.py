"""Searches, exactly: every table, assignment, model and choice of tiny cases is summed up.

The same sums with a constant of the mechanism changed must break the claim.
"""

import itertools
import math

import numpy as np
import pytest
from dp_accounting import dp_event, rdp
from scipy.special import logsumexp
from scipy.stats import chisquare, kstest, laplace, norm
from sklearn.base import BaseEstimator

from confide.accounting import ORDERS, best_of_many_renyi, rho_of_one_run
from confide.noise import Entropy, TruncatedNegativeBinomial
from confide.noise.lattice import grid_of, round_sum
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from confide.tuning import ChunkedSearch, RandomStopping
from confide.tuning.chunks import ChunkPlan, choice_powers, chunks_of
from confide.tuning.scores import Score, SearchTable

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
ALPHAS = (1.01, 2.0, 10.0)


def largest_log_ratio(first, second):
    return float(np.abs(np.log(first) - np.log(second)).max())


def renyi(first, second, alpha):
    logs = alpha * np.log(first) + (1 - alpha) * np.log(second)
    return float(logsumexp(logs) / (alpha - 1))


# --- the choice ------------------------------------------------------------------------


def moves(relation):
    """Yield how one record can move three totals whose losses are 0 or the bound."""
    losses = list(itertools.product([0.0, 1.0], repeat=3))
    if relation is ADD:
        yield from (np.array(new) for new in losses)
    else:
        for new, old in itertools.product(losses, losses):
            yield np.array(new) - np.array(old)


STARTS = [np.array(start) for start in ([0, 0, 0], [0, 3, 9], [7, 0, 7], [0, 9, 9.0])]


def choice_weights(*facts):
    return np.exp(choice_powers(*facts))


def worst_choice(claimed, relation, log_range):
    """Return the largest log ratio, and D_α/α, when weights are made for ``claimed``."""
    worst, line = 0.0, 0.0
    for start in STARTS:
        for move in moves(relation):
            laws = []
            for totals in (start, start + move):
                weights = choice_weights(4.0 * totals, 4.0, log_range, claimed)
                laws.append(weights / weights.sum())
            worst = max(worst, largest_log_ratio(*laws))
            for alpha in ALPHAS:
                line = max(
                    line, renyi(*laws, alpha) / alpha, renyi(*laws[::-1], alpha) / alpha
                )
    return worst, line


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("log_range", [0.3, 1.0, 3.0])
def test_a_choice_costs_what_it_claims_and_hardly_less(relation, log_range):
    ratio, line = worst_choice(relation, relation, log_range)
    assert ratio <= log_range * (1 + 1e-12)
    assert ratio >= 0.8 * log_range
    assert line <= log_range**2 / 8 * (1 + 1e-9)
    assert line >= 0.6 * log_range**2 / 8


def test_a_replaced_record_moves_two_totals_apart_by_two_bounds():
    ratio, line = worst_choice(ADD, REPLACE, 1.0)
    assert ratio > 1.5
    assert line > 1.5 / 8


# --- chunks ------------------------------------------------------------------------------

EPSILON = 0.7


def chance_of_one(chunk, relation, epsilon):
    """P(model = 1) of a vote among 0/1 records by the exponential mechanism: tight."""
    lead = 2 * sum(chunk) - len(chunk)
    return 1 / (1 + math.exp(-epsilon * lead / relation.shifts))


def search_law(table, relation, epsilon):
    """Return P(winner, its model) of two candidates by summing over everything drawn."""
    law = np.zeros((2, 2))
    count = len(table)
    if relation is ADD:
        assignments = list(itertools.product(range(3), repeat=count))
    else:
        sizes = [len(part) for part in np.array_split(np.arange(count), 3)]
        base = np.repeat(np.arange(3), sizes)
        assignments = list(itertools.permutations(base))
    log_range = ChunkedSearch().plan(Pure(epsilon), 2, 1).log_range
    for joined in assignments:
        chunks = [
            [d for d, k in zip(table, joined, strict=True) if k == j] for j in range(3)
        ]
        chances = [chance_of_one(chunk, relation, epsilon) for chunk in chunks[:2]]
        for models in itertools.product((0, 1), repeat=2):
            weight = math.prod(
                p if w else 1 - p for p, w in zip(chances, models, strict=True)
            ) / len(assignments)
            totals = np.array([float(sum(w != d for d in chunks[2])) for w in models])
            odds = choice_weights(totals, 1.0, log_range, relation)
            for j, chance in enumerate(odds / odds.sum()):
                law[j, models[j]] += weight * chance
    return law.ravel()


def neighbour_tables(relation):
    if relation is ADD:
        for size in (0, 1, 2, 3):
            for table in itertools.product((0, 1), repeat=size):
                yield from ((table, (*table, d)) for d in (0, 1))
    else:
        for rest in itertools.product((0, 1), repeat=3):
            yield (0, *rest), (1, *rest)


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_chunks_cost_one_budget(relation):
    pairs = list(neighbour_tables(relation))
    worst = max(
        largest_log_ratio(*(search_law(t, relation, EPSILON) for t in pair))
        for pair in pairs
    )
    assert 0.2 * EPSILON < worst <= EPSILON * (1 + 1e-12)


def one_assignment(chunks, relation, epsilon, judges):
    """Return the law of models and winner together when the assignment is known."""
    law = []
    chances = [chance_of_one(chunk, relation, epsilon) for chunk in chunks]
    for models in itertools.product((0, 1), repeat=2):
        weight = math.prod(p if w else 1 - p for p, w in zip(chances, models, strict=True))
        totals = np.array([float(sum(w != d for d in judges)) for w in models])
        odds = choice_weights(totals, 1.0, epsilon, relation)
        law += list(weight * odds / odds.sum())
    return np.array(law)


def test_chunks_are_tight_given_the_assignment_and_break_if_a_record_is_used_twice():
    """A record in a fit and among the judges costs the sum, not the larger of both."""
    many = (1,) * 12

    def ratio(first, second, judges):
        laws = [
            one_assignment((chunk, many), ADD, EPSILON, judge)
            for chunk, judge in zip((first, second), judges, strict=True)
        ]
        return largest_log_ratio(*laws)

    fits = ratio((0,) * 9, (0,) * 10, ((1,) * 9, (1,) * 9))
    choices = ratio((0,) * 9, (0,) * 9, ((1,) * 9, (1,) * 10))
    both = ratio((0,) * 9, (0,) * 10, ((1,) * 9, (1,) * 10))
    assert 0.95 * EPSILON < fits <= EPSILON
    assert 0.95 * EPSILON < choices <= EPSILON
    assert both > 1.9 * EPSILON


def test_budgets_of_the_choice():
    chunks = ChunkedSearch()
    assert chunks.plan(Pure("0.5"), 3, 1).log_range == 0.5
    assert chunks.plan(Approx("0.5", 1e-6), 3, 1).log_range == 0.5
    assert chunks.plan(Zcdp("0.02"), 3, 1).log_range == pytest.approx(0.4)
    assert chunks.plan(Pure("0.5"), 3, 5).log_range == pytest.approx(0.1)
    assert chunks.plan(Zcdp("0.02"), 3, 2).log_range == pytest.approx(0.2)
    for budget in (Pure("0.5"), Approx("0.5", 1e-6), Zcdp("0.02")):
        assert chunks.plan(budget, 3, 1).fit_budget == budget


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_every_record_is_in_one_chunk(relation):
    parts = chunks_of(101, 4, relation, Entropy.seeded(3))
    assert sorted(np.concatenate(parts)) == list(range(101))
    sizes = [len(part) for part in parts]
    assert (sorted(sizes) == [25, 25, 25, 26]) == (relation is REPLACE)


def test_nobody_else_changes_chunks_when_a_record_comes():
    fewer = chunks_of(100, 4, ADD, Entropy.seeded(3))
    more = chunks_of(101, 4, ADD, Entropy.seeded(3))
    for before, after in zip(fewer, more, strict=True):
        assert set(after) - {100} == set(before)


class Listener(BaseEstimator):
    """A candidate that remembers which rows it saw."""

    def __init__(self, number=0, random_state=None):
        self.number = number
        self.random_state = random_state

    def fit(self, features, target):
        self.saw_ = set(target)
        return self


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_fits_and_judges_never_share_a_record(relation):
    judged = []

    def losses(model, features, actual):
        judged.append((model, set(actual)))
        return np.zeros(len(actual))

    table = SearchTable(np.zeros((160, 1)), np.arange(160))
    candidates = [Listener(number) for number in range(3)]
    plan = ChunkedSearch().plan(Pure(1), 3, 1)
    found = plan.run(candidates, table, Score(1.0, losses), relation, Entropy.seeded(0))
    assert found.score is None
    jury = judged[0][1]
    assert [model.number for model, _ in judged] == [0, 1, 2]
    assert all(seen == jury for _, seen in judged)
    parts = [model.saw_ for model in candidates] + [jury]
    assert sum(map(len, parts)) == 160 == len(set.union(*parts))


def test_the_winner_is_drawn_by_its_weight():
    """2,000 searches against the exact chance; five standard errors, one look each."""

    def losses(model, features, actual):
        return np.full(len(actual), [0.0, 0.5, 1.0][model.number])

    table = SearchTable(np.zeros((8, 1)), np.arange(8))
    plan = ChunkPlan(Pure("0.8"), 4, 0.8)
    entropy, wins = Entropy.seeded(5), np.zeros(3)
    for _ in range(2_000):
        candidates = [Listener(number) for number in range(3)]
        found = plan.run(candidates, table, Score(1.0, losses), REPLACE, entropy)
        wins[found.index] += 1
    weights = np.exp(-0.4 * 2 * np.array([0.0, 0.5, 1.0]))
    chances = weights / weights.sum()
    errors = np.sqrt(chances * (1 - chances) / 2_000)
    assert (np.abs(wins / 2_000 - chances) < 5 * errors).all()


# --- random stopping ---------------------------------------------------------------------


def best_of(law, runs):
    """Return the law of the best of K runs; outcomes are sorted from worst to best."""
    powers = np.arange(1, int(150 * runs.mean) + 1)
    chances = runs.chances(len(powers))
    below = np.concatenate([[0.0], np.cumsum(law)])
    generating = np.array([(chances * x**powers).sum() for x in np.minimum(below, 1.0)])
    return np.diff(generating)


def pure_pairs(epsilon):
    """Yield laws of one run on three outcomes, worst first, with ratios within e^±epsilon.

    The dearest outcome is rare and likelier in one table, while what is better than it is
    likelier in the other.
    """
    for p, q in itertools.product((1e-5, 1e-2, 0.2), (1e-4, 0.02, 0.3)):
        for up in itertools.product((1, -1), repeat=2):
            other = p * math.exp(epsilon * up[0]), q * math.exp(epsilon * up[1])
            first = np.array([1 - p - q, p, q])
            second = np.array([1 - sum(other), *other])
            if largest_log_ratio(first, second) <= epsilon + 1e-12:
                yield first, second


@pytest.mark.parametrize("shape", [0, 1, 2])
@pytest.mark.parametrize("mean", [2.0, 100.0])
def test_the_best_of_many_pure_runs(shape, mean):
    epsilon = 0.2
    runs = TruncatedNegativeBinomial.of_mean(shape, mean)
    worst = max(
        largest_log_ratio(best_of(first, runs), best_of(second, runs))
        for first, second in pure_pairs(epsilon)
    )
    assert worst <= (2 + shape) * epsilon
    if mean == 100:
        assert worst > 0.95 * (2 + shape) * epsilon


def test_many_runs_without_random_stopping_are_not_covered():
    epsilon, fixed = 0.2, 20
    worst = 0.0
    for first, second in pure_pairs(epsilon):
        laws = [
            np.diff(np.concatenate([[0.0], np.cumsum(p)]) ** fixed) for p in (first, second)
        ]
        worst = max(worst, largest_log_ratio(*laws))
    assert worst > 4 * epsilon


def gaussian_best(shift, runs, grid):
    """Return the log density of the best of K normal scores."""
    constant = runs.mean * runs.gamma ** (1 + runs.shape)
    worse = norm.cdf(grid - shift)
    slope = math.log(constant) - (1 + runs.shape) * np.log1p(-(1 - runs.gamma) * worse)
    return norm.logpdf(grid - shift) + slope


@pytest.mark.parametrize("shape", [0, 1])
@pytest.mark.parametrize("mean", [3.0, 1000.0])
@pytest.mark.parametrize("mu", [0.1, 1.0])
def test_the_renyi_bound_holds_for_normal_scores(shape, mean, mu):
    runs = TruncatedNegativeBinomial.of_mean(shape, mean)
    orders = np.array([1.1, 2.0, 4.0, 8.0, 16.0])
    grid = np.linspace(-14, 14, 40_001)
    logs = [gaussian_best(shift, runs, grid) for shift in (0.0, mu)]
    assert np.exp(logs[0]).sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=1e-6)
    bound = best_of_many_renyi(
        orders, mu**2 / 2, shape=shape, gamma=runs.gamma, mean=runs.mean
    )
    for one, other in (logs, logs[::-1]):
        exact = [
            (logsumexp(a * one + (1 - a) * other) + math.log(grid[1] - grid[0])) / (a - 1)
            for a in orders
        ]
        assert (np.array(exact) <= bound).all()
    if mean == 1000:
        assert max(exact / (orders * mu**2 / 2)) > 1.5  # the runs are not free


@pytest.mark.parametrize("shape", [0.0, 1.0])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-8), (5.0, 1e-4)])
def test_the_calibration_agrees_with_dp_accounting(shape, epsilon, delta):
    runs = TruncatedNegativeBinomial.of_mean(shape, 20)
    rho = rho_of_one_run(epsilon, delta, shape=shape, gamma=runs.gamma, mean=runs.mean)
    accountant = rdp.RdpAccountant(ORDERS)
    event = dp_event.RepeatAndSelectDpEvent(dp_event.ZCDpEvent(rho), runs.mean, shape)
    accountant.compose(event)
    assert accountant.get_epsilon(delta) == pytest.approx(epsilon, rel=1e-3)


def test_what_one_run_may_spend():
    plan = RandomStopping(shape=1, score_share="0.2").plan(Pure(3), 4, 1)
    assert plan.fit_budget == Pure("0.8")
    assert plan.score_budget == Pure("0.2")
    assert plan.noise(9.0).scale == pytest.approx(45.0)
    assert plan.runs.mean == pytest.approx(16.0)
    smooth = RandomStopping(runs=20, shape=0).plan(Approx(1, 1e-6), 4, 1)
    whole = smooth.fit_budget + smooth.score_budget
    law = smooth.runs
    limit = rho_of_one_run(1.0, 1e-6, shape=0.0, gamma=law.gamma, mean=law.mean)
    assert 0.999_999 * limit < float(whole.rho) < limit
    assert smooth.noise(2.0).scale == pytest.approx(
        2 / math.sqrt(2 * float(smooth.score_budget.rho))
    )
    several = RandomStopping(shape=1).plan(Pure(3), 4, 5)
    assert several.score_budget == Pure("0.02")


@pytest.mark.slow
@pytest.mark.parametrize("shape", [0.0, 0.5])
def test_the_number_of_runs_has_its_law(shape):
    """Chi-square over 10,000 draws; false alarm 1e-4 by the fixed seed's one look."""
    runs = TruncatedNegativeBinomial.of_mean(shape, 6.0)
    entropy = Entropy.seeded(11)
    seen = np.bincount([runs.draw(entropy) for _ in range(10_000)], minlength=41)[1:]
    expected = 10_000 * runs.chances(30)
    tail = 10_000 - expected.sum()
    observed = np.append(seen[:30], seen[30:].sum())
    expected = np.append(expected, tail)
    kept = expected > 5
    statistic = ((observed - expected) ** 2 / expected)[kept].sum()
    freedom = int(kept.sum()) - 1
    assert statistic < freedom + 4 * math.sqrt(2 * freedom) + 8


def test_named_laws():
    geometric = TruncatedNegativeBinomial.of_mean(1.0, 5.0)
    assert geometric.gamma == pytest.approx(0.2)
    assert geometric.chances(3) == pytest.approx([0.2, 0.16, 0.128])
    logarithmic = TruncatedNegativeBinomial(0.0, 0.25)
    k = np.arange(1, 5)
    assert logarithmic.chances(4) == pytest.approx(0.75**k / k / math.log(4))
    for shape in (0.0, 0.5, 3.0):
        law = TruncatedNegativeBinomial.of_mean(shape, 9.0)
        chances = law.chances(5_000)
        assert chances.sum() == pytest.approx(1)
        assert chances @ np.arange(1, 5_001) == pytest.approx(9)


def law_of_the_best(plan, one, losses):
    """Return P(candidate, lattice point) of the best of K runs, points from −9 to 9.

    Among runs with the same best point each is as likely to be the first.
    """
    points = np.arange(-9, 10)
    chances = np.array(
        [one.cdf(points + 0.5 + loss) - one.cdf(points - 0.5 + loss) for loss in losses]
    ) / len(losses)
    at = chances.sum(axis=0)
    start = np.mean([one.cdf(points[0] - 0.5 + loss) for loss in losses])
    below = start + np.concatenate([[0.0], np.cumsum(at)])
    best = np.diff([plan.runs.gamma * x / (1 - (1 - plan.runs.gamma) * x) for x in below])
    return points, chances / at * best


@pytest.mark.parametrize(
    "budget", [pytest.param(Pure(30), marks=pytest.mark.slow), Approx(8, 1e-6)], ids=repr
)
def test_the_best_of_runs_with_equal_scores_has_the_law_of_the_proof(budget, monkeypatch):
    """On a lattice as coarse as the noise most searches have ties.

    Chi-square over candidates and points with 5 expected or more, 4,000 searches; false
    alarm 1e-6.
    """
    plan = RandomStopping(runs=4.0, shape=1).plan(budget, 2, 1)
    noise = plan.noise(1.0)
    grid = grid_of(noise.scale, 0)

    def coarse(centre, noise, entropy, reach):
        assert reach == 1e9
        return round_sum(centre, noise.sample(len(centre), entropy), grid)

    monkeypatch.setattr("confide.tuning.random_stopping.publish", coarse)
    if isinstance(budget, Pure):
        one = laplace(scale=noise.scale / grid)
    else:
        one = norm(scale=noise.scale / grid)
    score = Score(1.0, lambda model, features, _: np.full(len(features), model.number))
    table = SearchTable(np.zeros((2, 1)), np.arange(2))
    candidates = [Listener(number) for number in range(2)]
    points, law = law_of_the_best(plan, one, np.array([0.0, 2.0]) / grid)
    seen = np.zeros(law.shape)
    entropy = Entropy.seeded(31)
    for _ in range(4000):
        found = plan.run(candidates, table, score, ADD, entropy)
        place = np.searchsorted(points, found.score / grid)
        seen[found.index, min(place, len(points) - 1)] += 1
    frequent = 4000 * law > 5
    expected = np.append(law[frequent], 1 - law[frequent].sum())
    counts = np.append(seen[frequent], seen[~frequent].sum())
    assert chisquare(counts, 4000 * expected).pvalue > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("budget", [Pure(30), Approx(8, 1e-6)], ids=repr)
def test_the_best_of_real_runs_has_the_law_of_the_proof(budget):
    """Kolmogorov-Smirnov at 1e-4 on 1,500 searches with the fixed seed's one look.

    Noise, number of runs and the comparison together: P(best < x) = f(P(one < x)).
    """
    plan = RandomStopping(runs=4.0, shape=1).plan(budget, 2, 1)
    score = Score(1.0, lambda model, features, actual: np.ones(len(actual)))
    table = SearchTable(np.zeros((5, 1)), np.arange(5))
    entropy = Entropy.seeded(8)
    candidates = [Listener(number) for number in range(2)]
    seen = [
        plan.run(candidates, table, score, ADD, entropy).score + 5.0 for _ in range(1_500)
    ]
    if isinstance(budget, Pure):
        one = laplace(scale=1 / (30 / 3 / 10))
    else:
        one = norm(scale=1 / math.sqrt(2 * float(plan.score_budget.rho)))
    gamma = 1 / 4

    def best(x):
        below = one.cdf(x)
        return gamma * below / (1 - (1 - gamma) * below)

    assert kstest(seen, best).pvalue > 1e-4
    assert kstest(np.array(seen) * 0.85, best).pvalue < 1e-4
