"""Scores: how far a row moves every look, and what all cost. Held-out rows: one price."""

import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.special import kl_div
from scipy.stats import norm

from confide.accounting import GaussianEvent, PureEvent
from confide.data.partitioned.division import Division, take_rows
from confide.evaluation import (
    CountErrors,
    NumberErrors,
    PairedLosses,
    SeveralClasses,
    TwoClasses,
    counts,
    fine_edges,
    noises,
    noises_for,
    numbers,
    paired,
    several_classes,
    two_classes,
)
from confide.evaluation.noises import BoundedSums, table_look
from confide.mechanisms.base import gaussian_shift_of
from confide.noise import Entropy, Gaussian
from confide.privacy import Approx, Neighbours, Pure, Zcdp

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
RELATIONS = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
EDGES = fine_edges(-0.3, 4.0, 12.0)
TWO = TwoClasses(EDGES, "yes", chances=True)
PLAIN = TwoClasses(fine_edges(0.0, 2.0, 12.0), "yes", chances=False)
THREE = SeveralClasses(("a", "b", "c"), "softmax")
NUMBERS = NumberErrors(0.0, 1.0)
COUNTS = CountErrors(20.0, 5.0, -3.0, math.log(20.0))
RULES = {
    "two classes": (TWO, 1, lambda rng: rng.integers(0, 2)),
    "several classes": (THREE, 3, lambda rng: rng.integers(-1, 3)),
    "numbers": (NUMBERS, 1, lambda rng: rng.uniform(-1, 1)),
    "counts": (COUNTS, 1, lambda rng: rng.integers(0, 21) / 5),
    "two models": (PairedLosses(TWO, TWO, 1), 2, lambda rng: rng.integers(0, 2)),
    "probabilities and none": (PairedLosses(TWO, PLAIN, 1), 2, lambda r: r.integers(0, 2)),
    "two regressions": (PairedLosses(NUMBERS, NUMBERS, 1), 2, lambda r: r.uniform(-1, 1)),
}
EACH = pytest.mark.parametrize("name", RULES)
PUBLISHERS = (noises, two_classes, several_classes, numbers, counts, paired)


class Looks:
    """Stands for noise: keeps the centres of all looks, and answers as it did before."""

    def __init__(self, monkeypatch):
        self.centres, self.answers, self.replayed = [], [], False
        for module in PUBLISHERS:
            monkeypatch.setattr(module, "publish", self.publish)

    def publish(self, centre, noise, entropy, reach):
        if not self.replayed:
            drawn = noise.draw(centre.size, entropy).reshape(centre.shape)
            self.answers.append(centre + drawn)
        self.centres.append(np.ravel(centre))
        return self.answers[len(self.centres) - 1]


def moved(rule, tables, relation, seed, monkeypatch):
    """Return how far all looks move from one table to another, given those before."""
    price = noises_for(Pure(1), rule.looks(relation))
    looks, found = Looks(monkeypatch), []
    for margins, target in tables:
        looks.centres = []
        rule.release(rule.tally(margins, target), price.each, Entropy.seeded(seed), 0.95)
        looks.replayed = True
        found.append(looks.centres)
    return [a - b for a, b in zip(*found, strict=True)]


def neighbours(name, relation, rng, rows=6):
    _, width, target = RULES[name]
    size = 10.0 ** rng.uniform(-3, 2)
    margins = rng.normal(size=(rows, width)) * size
    labels = np.array([target(rng) for _ in range(rows)])
    place = rng.integers(rows)
    if relation is ADD:
        other = np.delete(margins, place, axis=0), np.delete(labels, place)
    else:
        other = margins.copy(), labels.copy()
        other[0][place] = rng.normal(size=width) * 10.0 ** rng.uniform(-3, 2)
        other[1][place] = target(rng)
    return (margins, labels), other


@EACH
@RELATIONS
def test_no_row_moves_a_look_further_than_is_paid_for(name, relation, monkeypatch):
    rule = RULES[name][0]
    for seed in range(60):
        pair = neighbours(name, relation, np.random.default_rng(seed))
        for look, step in zip(
            rule.looks(relation),
            moved(rule, pair, relation, seed, monkeypatch),
            strict=True,
        ):
            assert np.abs(step).sum() <= look.most
            assert np.linalg.norm(step) <= look.length * (1 + 1e-12)


@EACH
def test_every_row_counts_by_itself_to_the_last_bit(name):
    """Sums over a table are those of its rows alone, in any order and in any pieces."""
    rule, width, target = RULES[name]
    rng = np.random.default_rng(9)
    margins = rng.normal(size=(2001, width)) * 10.0 ** rng.uniform(-3, 1, (2001, 1))
    labels = np.array([target(rng) for _ in range(2001)])
    whole = rule.tally(margins, labels)
    order = rng.permutation(2001)
    mixed = rule.tally(margins[order], labels[order])
    single = [rule.tally(margins[k : k + 1], labels[k : k + 1]) for k in range(2001)]
    for place, part in enumerate(whole):
        assert (part == mixed[place]).all()
        assert (part == sum(one[place] for one in single)).all()


@pytest.mark.parametrize("room", [counts, several_classes, numbers])
def test_no_number_adds_more_to_a_sum_than_its_end(room):
    """Whatever a rule hands over, sums keep to the ends that the noise is for."""
    sums, huge = room.SUMS, np.array([1e300])
    lowest, highest = sums.ends
    count = len(sums.names) - 1
    assert sums.add([huge] * count).tolist() == highest.tolist()
    assert sums.add([-huge] * count).tolist() == [1.0, *lowest[1:]]


def test_losses_of_counts_are_deviance_and_pearson_up_to_their_cap():
    rng = np.random.default_rng(8)
    known = np.concatenate(
        [np.arange(4.0), rng.integers(0, 60, 200), rng.uniform(0, 60, 9)]
    )
    mean = np.exp(rng.uniform(-4, 4, len(known)))
    deviance, pearson = COUNTS.losses(known, mean, np.log(mean))
    cap = counts.MOST_DEVIANCE
    wanted = np.minimum(2 * kl_div(known, mean), cap) / cap
    assert np.allclose(deviance, wanted, atol=1e-12)
    assert np.allclose(pearson, np.minimum((known - mean) ** 2 / mean, cap) / cap)
    assert 0.1 < np.mean(wanted < 1) < 0.9


def test_a_row_of_residual_sums_is_within_its_ends_for_every_cut():
    rng = np.random.default_rng(5)
    errors = np.concatenate(
        [rng.uniform(-1, 1, 200) * 10.0 ** rng.uniform(-6, 0, 200), [1, -1, 0, 0.5, -0.25]]
    )
    for error in errors:
        for last in range(numbers.OCTAVES - 3):
            one = np.array([error])
            sums = numbers.octave_sums(one, numbers.residual_cells(one))
            found = numbers.cut_sums(sums, last)
            cut = np.clip(error * 2.0**last, -1, 1)
            wanted = np.array([cut**2, abs(cut), cut])
            assert np.allclose(found[3:], wanted, atol=2.0**-19)
            assert (found[3:] >= numbers.SUMS.lowest[3:]).all()
            assert (found[3:] <= numbers.SUMS.highest[3:]).all()


@RELATIONS
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-6), Zcdp("0.1")], ids=repr)
def test_all_looks_together_cost_the_budget_and_witnesses_attain_it(
    relation, budget, monkeypatch
):
    """A row that comes (or changes its label) in a table of two classes."""
    row, label = np.array([[0.5]]), np.array([1])
    other = (row[:0], label[:0]) if relation is ADD else (-row, 1 - label)
    steps = moved(TWO, ((row, label), other), relation, 1, monkeypatch)
    price = noises_for(budget, TWO.looks(relation))
    cost = joint_loss(price, steps)
    (event,) = price.events
    if isinstance(event, PureEvent):
        assert cost == pytest.approx(float(event.epsilon), rel=1e-9)
        assert event.epsilon <= budget.epsilon
    else:
        assert cost == pytest.approx(event.mu, rel=1e-9)
        assert cost <= gaussian_shift_of(budget)


def joint_loss(price, steps):
    """Return the largest loss of Laplace looks, or the shift of Gaussian ones."""
    if isinstance(price.each[0], Gaussian):
        shifts = [
            np.linalg.norm(step) / noise.scale
            for noise, step in zip(price.each, steps, strict=True)
        ]
        return math.hypot(*shifts)
    return sum(
        np.abs(step).sum() / noise.scale
        for noise, step in zip(price.each, steps, strict=True)
    )


@EACH
@RELATIONS
@pytest.mark.parametrize("budget", [Pure("0.3"), Approx(2, 1e-9), Zcdp("0.5")], ids=repr)
def test_noises_cost_no_more_than_the_budget(name, relation, budget):
    looks = RULES[name][0].looks(relation)
    assert sum(look.share for look in looks) == 1
    price = noises_for(budget, looks)
    if isinstance(price.each[0], Gaussian):
        mu = math.hypot(
            *(k.length / n.scale for k, n in zip(looks, price.each, strict=True))
        )
        assert price.events == (GaussianEvent(gaussian_shift_of(budget)),)
        assert mu <= price.events[0].mu
        if isinstance(budget, Approx):
            e, d = float(budget.epsilon), float(budget.delta)
            assert (
                norm.cdf(-e / mu + mu / 2) - math.exp(e) * norm.cdf(-e / mu - mu / 2) <= d
            )
    else:
        exact = sum(
            Fraction(look.most) / Fraction(noise.scale)
            for look, noise in zip(looks, price.each, strict=True)
        )
        assert exact <= budget.epsilon


# ------------------------------------------------------------------------------ mutations


def test_a_replaced_row_that_is_counted_once_is_seen(monkeypatch):
    honest = table_look(REPLACE, Fraction(1, 2))
    monkeypatch.setattr(
        two_classes, "table_look", lambda _, share: replace(honest, most=1.0, share=share)
    )
    with pytest.raises(AssertionError):
        test_no_row_moves_a_look_further_than_is_paid_for(
            "two classes", REPLACE, monkeypatch
        )


def test_a_cut_that_is_forgotten_is_seen(monkeypatch):
    def careless(self, columns):
        return np.array([len(columns[0]), *(np.sum(values) for values in columns)])

    monkeypatch.setattr(BoundedSums, "add", careless)
    wild = CountErrors(20.0, 5.0, -3.0, math.log(20.0))
    monkeypatch.setattr(CountErrors, "losses", lambda self, y, m, _: (10 * y, (y - m) ** 2))
    assert wild == COUNTS
    with pytest.raises(AssertionError):
        test_no_row_moves_a_look_further_than_is_paid_for("counts", ADD, monkeypatch)


def test_a_look_that_is_not_paid_for_is_seen(monkeypatch):
    def free(self, neighbours):
        return (table_look(neighbours, Fraction(1)), table_look(neighbours, Fraction(1)))

    monkeypatch.setattr(TwoClasses, "looks", free)
    with pytest.raises(AssertionError):
        test_noises_cost_no_more_than_the_budget("two classes", ADD, Pure("0.3"))


# ------------------------------------------------------------------------- held-out rows

EPSILON = 0.7
TOP = 3
CHANCE = 0.3


def law(count):
    """Return the law of a count with two-sided geometric noise, clamped to 0, …, TOP."""
    a = math.exp(-EPSILON)
    inner = [(1 - a) / (1 + a) * a ** abs(k - count) for k in range(TOP + 1)]
    inner[0] = a ** abs(count) / (1 + a)
    inner[TOP] = a ** abs(TOP - count) / (1 + a)
    return inner


def joint_law(table, divide):
    """Return the law of a fit's release and of a score that depends on it.

    ``divide`` gives the parts of a table for all outcomes of the coins, with chances. A fit
    counts ones; a score counts rows whose value is below what the fit released.
    """
    found = defaultdict(float)
    for chance, (train, held) in divide(table):
        for theta, p in enumerate(law(sum(v == 1 for v in train))):
            count = sum(v is not None and v < theta for v in held)
            for seen, q in enumerate(law(count)):
                found[theta, seen] += chance * p * q
    return found


def by_place(table):
    """Divide by the code that divides tables, with every outcome of the coins."""
    rows = np.array(table, dtype=object)
    for coins in product([False, True], repeat=len(rows)):
        heads = np.array(coins, dtype=bool)
        chance = math.prod(CHANCE if coin else 1 - CHANCE for coin in coins)
        parts = []
        for side in (False, True):
            division = Division(lambda _, a, n, own=heads: own[a : a + n], side)
            parts.append(take_rows(rows, division.mask(0, 0, len(rows))).tolist())
        yield chance, parts


def after_dropping(table):
    """Divide by public coins of the places that are left once rows without value go."""
    kept = [value for value in table if value is not None]
    heads = [True, False, True]
    yield 1.0, [[v for v, h in zip(kept, heads, strict=False) if h == s] for s in (0, 1)]


def by_value(table):
    """Divide by a hash of values."""
    yield 1.0, [[v for v in table if v == 1], [v for v in table if v != 1]]


def by_public_place(table):
    """Divide by coins of places that are always the same."""
    heads = [False, True, False, True]
    yield 1.0, [[v for v, h in zip(table, heads, strict=False) if h == s] for s in (0, 1)]


def largest_loss(divide, relation, values=(0, 1, 2, None)):
    """Return the largest loss over all neighbouring tables of up to three rows."""
    worst = 0.0
    for rows in range(4):
        for table in product(values, repeat=rows):
            for place, value in product(range(rows), values):
                other = [*table[:place], value, *table[place + 1 :]]
                if relation is ADD:
                    other = [*table[:place], *table[place + 1 :]]
                first, second = joint_law(list(table), divide), joint_law(other, divide)
                losses = (abs(math.log(first[k] / second[k])) for k in first)
                worst = max(worst, *losses)
    return worst


@RELATIONS
def test_fit_and_score_on_divided_rows_cost_what_one_of_them_does(relation):
    worst = largest_loss(by_place, relation)
    assert worst <= EPSILON * (1 + 1e-9)
    assert worst >= 0.6 * EPSILON, "the check is not vacuous"


def test_a_hash_of_values_is_enough_where_rows_come_and_go_and_not_where_they_change():
    assert largest_loss(by_value, ADD) <= EPSILON * (1 + 1e-9)
    assert largest_loss(by_value, REPLACE) > 1.5 * EPSILON


def test_public_places_do_where_rows_change_and_not_where_they_come_and_go():
    assert largest_loss(by_public_place, REPLACE) <= EPSILON * (1 + 1e-9)
    assert largest_loss(by_public_place, ADD) > 1.5 * EPSILON


def test_dropping_rows_before_the_coins_is_seen():
    assert largest_loss(after_dropping, REPLACE) > 1.5 * EPSILON
