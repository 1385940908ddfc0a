"""Exact laws of selections on tiny tables: dictionaries from outcomes to log chances."""

from functools import cache
from itertools import combinations, permutations, product

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from confide.data.matrix.matrix import as_matrix
from confide.data.rows.in_memory import InMemoryRows
from confide.noise import Gumbel
from confide.privacy import Neighbours, Pure
from confide.selection.exponential import GAP, BoxScores, _margin, loss_range
from confide.selection.frank_wolfe import DensePath, SparsePath
from confide.selection.screening import column_scores

ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)


def table(features, target):
    x, y = np.array(features, dtype=float), np.array(target, dtype=float)
    return InMemoryRows(as_matrix(x), y, None, 0.0)


def plus(rows, features, target):
    x = np.vstack([rows.features.toarray(), np.array([features], dtype=float)])
    return InMemoryRows(as_matrix(x), np.append(rows.target, target), None, 0.0)


def top_sets(scores, noise, count):
    """Chances, as logarithms, of every set of places with the largest noisy scores."""
    return _top_sets(tuple(float(score) for score in scores), noise, count)


@cache
def _top_sets(scores, noise, count):
    if isinstance(noise, Gumbel):
        return _rounds(np.array(scores) / noise.scale, count)
    assert count == 1
    return _laplace_first(np.array(scores), noise.scale)


def _rounds(powers, count):
    """Add up the exponential mechanism without replacement over all orders."""
    law = {}
    for some in combinations(range(len(powers)), count):
        chances = []
        for order in permutations(some):
            left, log_chance = list(range(len(powers))), 0.0
            for place in order:
                log_chance += powers[place] - logsumexp(powers[left])
                left.remove(place)
            chances.append(log_chance)
        law[some] = float(logsumexp(chances))
    return law


def _laplace_first(scores, scale):
    """Integrate which of some Laplace variables is the largest."""
    grid = np.linspace(scores.min() - 40 * scale, scores.max() + 40 * scale, 400_001)
    shifted = (grid[:, None] - scores) / scale
    density = np.exp(-np.abs(shifted)) / (2 * scale)
    below = np.where(shifted < 0, 0.5 * np.exp(shifted), 1 - 0.5 * np.exp(-shifted))
    law = {}
    for j in range(len(scores)):
        others = np.prod(np.delete(below, j, axis=1), axis=1)
        law[(j,)] = float(np.log((density[:, j] * others).sum() * (grid[1] - grid[0])))
    return law


def mixed(laws):
    """Mix equally likely laws."""
    keys = laws[0]
    return {k: float(logsumexp([law[k] for law in laws]) - np.log(len(laws))) for k in keys}


def share_of_budget(first, second, budget):
    """Return the largest loss, or divergence, of two laws over what the budget allows."""
    p = np.array([first[k] for k in first])
    q = np.array([second[k] for k in first])
    assert abs(np.exp(p).sum() - 1) < 1e-6
    assert abs(np.exp(q).sum() - 1) < 1e-6
    if isinstance(budget, Pure):
        return float(np.abs(p - q).max()) / float(budget.epsilon)
    worst = 0.0
    for one, other in ((p, q), (q, p)):
        for a in ORDERS:
            divergence = logsumexp(a * one + (1 - a) * other) / (a - 1)
            worst = max(worst, float(divergence) / (float(budget.rho) * a))
    return worst


def screened(selector, calibration, rows, mean=0.0):
    noise = calibration.noise
    scores = column_scores(calibration.objective, rows, mean)
    return top_sets(scores, Gumbel(noise.scale * (1 + abs(mean))), selector.size)


def of_supports(selector, calibration, rows):
    objective = calibration.objective
    margin = _margin(objective, selector.size, selector.radius)
    gap = GAP * loss_range(objective, margin)
    supports, losses = BoxScores(objective, selector.radius, gap).of_all(
        rows, selector.size
    )
    powers = -losses / calibration.noise.scale
    return dict(zip(supports, powers - logsumexp(powers), strict=True))


def voted(selector, calibration, rows):
    """Mix over all ways to put records into blocks, as each relation draws them."""
    count, blocks = rows.count, selector.blocks
    columns = calibration.objective.columns
    if calibration.neighbours is Neighbours.ADD_REMOVE:
        ways = [
            [np.flatnonzero(np.array(own) == k) for k in range(blocks)]
            for own in product(range(blocks), repeat=count)
        ]
    else:
        slots = rows.table_count
        owners = [np.array(w) * blocks // slots for w in permutations(range(slots), count)]
        ways = [[np.flatnonzero(own == k) for k in range(blocks)] for own in owners]
    laws = []
    for parts in ways:
        ballots = [selector.ballot(rows.take(part), columns) for part in parts]
        votes = np.bincount(np.concatenate(ballots), minlength=columns)
        laws.append(top_sets(votes, calibration.noise, selector.size))
    return mixed(laws)


def walked(mechanism, calibration, rows, *, touched):
    """Chances of all sequences of corners, by the path that the code would take."""
    objective, steps = calibration.objective, calibration.steps
    rate = mechanism.radius / calibration.noise.scale
    if touched:
        features = as_matrix(sparse.csr_array(rows.features.toarray()))
        rows = InMemoryRows(features, rows.target, None, rows.height)
    corners = list(product(range(objective.dimension), (1.0, -1.0)))
    law = {}
    for sequence in product(corners, repeat=steps):
        path = (SparsePath if touched else DensePath)(objective, rows)
        log_chance = 0.0
        for step, (place, sign) in enumerate(sequence):
            powers = np.array([-s * rate * path.pulls[j] for j, s in corners])
            log_chance += -sign * rate * path.pulls[place] - logsumexp(powers)
            share = 2 / (step + 2)
            path.move(place, sign * share * mechanism.radius, 1 - share)
        law[sequence] = float(log_chance)
    return law
