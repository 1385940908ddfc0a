"""What is published of sums has the law of a rounded real number, cell by cell.

Lattices are made as coarse as half the noise, where rounding could not be overlooked, and
frequencies are compared with chances to thirty digits. False alarm 1e-6 each.
"""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from confide.data import bound_rows
from confide.mechanisms import (
    AdaSsp,
    FunctionalMechanism,
    ProjectedHistogram,
    SufficientStatistics,
    base,
)
from confide.mechanisms.intervals.moments import add_noise, noises, sums
from confide.mechanisms.statistics import adassp, histogram
from confide.mechanisms.statistics.functional import noised_polynomial
from confide.mechanisms.statistics.sums import (
    SumReach,
    add_pair_noise,
    balanced_weight,
    sufficient_statistics,
)
from confide.noise import Entropy
from confide.noise.lattice import grid_of
from confide.noise.staircase import LAPLACE, NORMAL
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from support.cases import objective
from support.exact_noise import FALSE_ALARM, below, cell_chances, counts_of, p_value
from support.sums import squares
from support.whole import calibrated

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
CELLS = range(-40, 41)
DRAWS = 3000
TABLES = [
    ([[0.7, -0.2], [0.1, 0.6]], [0.9, -1.0]),
    ([[0.7, -0.2]], [0.9]),
    (np.empty((0, 2)), []),
]
every_table = pytest.mark.parametrize("table", TABLES, ids=["two", "one", "empty"])


def coarse(scale, reach):
    return grid_of(scale, 1)


@pytest.fixture(autouse=True)
def _coarse(monkeypatch):
    monkeypatch.setattr(base, "grid_for", coarse)


def rows_of(table):
    x, y = table
    return bound_rows(np.array(x, float).reshape(-1, 2), np.array(y, float), 1.0, 0.0)


def check_law(seen, law, scale, centre, stretch=None):
    """Compare numbers with the law; ``stretch`` is the smallest scale of their lattice."""
    grid = coarse(stretch or scale, math.inf)
    assert np.array_equal(np.rint(seen / grid) * grid, seen), "off the lattice"
    shift = round(centre / grid)
    chances = cell_chances(law, scale, centre - shift * grid, grid, CELLS)
    found = counts_of(seen - shift * grid, grid, CELLS)
    assert p_value(found, chances) > FALSE_ALARM


ROOT = math.sqrt(0.5)


@pytest.mark.slow
@every_table
def test_gram_and_moment(table):
    found = SufficientStatistics().calibrate(squares(2), Zcdp("0.1"), ADD)
    rows, entropy = rows_of(table), Entropy.seeded(1)
    weight, sigma = balanced_weight(found.objective), found.noise.scale
    gram, moment = sufficient_statistics(rows)
    drawn = [
        add_pair_noise(
            (gram, moment), found.noise, weight, SumReach.of(found.objective), entropy
        )
        for _ in range(DRAWS)
    ]
    grams, moments_ = (np.array(part) for part in zip(*drawn, strict=True))
    check_law(grams[:, 0, 0], NORMAL, sigma, gram[0, 0], sigma * ROOT)
    check_law(grams[:, 0, 1], NORMAL, sigma * ROOT, gram[0, 1])
    check_law(moments_[:, 1], NORMAL, sigma / weight, moment[1])


@pytest.mark.slow
@every_table
def test_coefficients_of_a_polynomial(table):
    found = FunctionalMechanism().calibrate(squares(2), Pure(2), REPLACE)
    rows, entropy, scale = rows_of(table), Entropy.seeded(2), found.noise.scale
    gram, moment = sufficient_statistics(rows)
    drawn = [noised_polynomial(found, rows, entropy) for _ in range(DRAWS)]
    matrices, linear = (np.array(part) for part in zip(*drawn, strict=True))
    check_law(matrices[:, 0, 0], LAPLACE, 2 * scale, gram[0, 0], scale)
    check_law(matrices[:, 0, 1], LAPLACE, scale, gram[0, 1])
    check_law(linear[:, 0], LAPLACE, scale, moment[0])


def seen_by(monkeypatch, module, found, table):
    """Release again and again; return what `publish` made of a private vector."""
    seen, entropy, honest = [], Entropy.seeded(3), module.publish

    def note(*given):
        seen.append(honest(*given).copy())
        return seen[-1]

    monkeypatch.setattr(module, "publish", note)
    for _ in range(DRAWS // 3):
        found.release([rows_of(table)], entropy)
    return np.array(seen)


@every_table
def test_counts(monkeypatch, table):
    halves = ((-0.5,), (0.5,))
    mechanism = ProjectedHistogram((halves, halves), 2)
    found = mechanism.calibrate(squares(2, l2=1.0), Pure(1), ADD)
    seen = seen_by(monkeypatch, histogram, found, table)
    counts = mechanism.counts(rows_of(table), 1.0)
    for cell in (0, int(counts.argmax())):
        check_law(seen[:, cell], LAPLACE, found.noise.scale, counts[cell])


@pytest.mark.slow
@every_table
def test_the_smallest_eigenvalue(monkeypatch, table):
    found = AdaSsp().calibrate(squares(2), Approx(1, "1e-6"), ADD)
    seen = seen_by(monkeypatch, adassp, found, table)
    centre = adassp.smallest_eigenvalue(sufficient_statistics(rows_of(table))[0])
    check_law(seen[:, 0], NORMAL, found.others[1].scale, centre)


@pytest.mark.slow
@every_table
def test_curvature_and_scatter(table):
    found = calibrated(objective("logistic", 2), Zcdp("0.1"), REPLACE)
    point, entropy = np.array([0.3, -0.8]), Entropy.seeded(4)
    length = float(np.linalg.norm(point))
    (noise,) = noises(found, length)
    centres = sums(found.objective, rows_of(table), point)
    drawn = [add_noise(found, point, *centres, entropy) for _ in range(DRAWS)]
    for matrices, centre, scale in (
        ([one.curvature for one in drawn], centres[0], noise.scale),
        ([one.scatter for one in drawn], centres[1], noise.scale / found.weight(length)),
    ):
        check_law(np.array(matrices)[:, 1, 1], NORMAL, scale, centre[1, 1], scale * ROOT)
        check_law(np.array(matrices)[:, 0, 1], NORMAL, scale * ROOT, centre[0, 1])


def one_column(features, labels):
    return bound_rows(np.array(features)[:, None], np.array(labels), 1.0, 0.0)


NEIGHBOURS = {
    ADD: (([0.4, 1.0], [1.0, 1.0]), ([0.4], [1.0])),
    REPLACE: (([0.4, 1.0], [1.0, 1.0]), ([0.4, 0.0], [1.0, 1.0])),
}


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_no_cell_tells_more_than_the_budget(relation, epsilon):
    """One column and a pure budget: the exact chances of all cells, for neighbours."""
    found = calibrated(objective("logistic", 1), Pure(epsilon), relation, "curvature")
    (noise,) = noises(found, 0.0)
    grid = coarse(noise.scale, math.inf)
    with mpmath.workdps(40):
        laws = []
        for table in NEIGHBOURS[relation]:
            centre = sums(found.objective, one_column(*table), np.zeros(1))[0][0, 0]
            edges = [
                below(LAPLACE, ((k - mpmath.mpf(0.5)) * grid - centre) / noise.scale)
                for k in range(-30, 32)
            ]
            laws.append([b - a for a, b in pairwise(edges)])
        losses = [abs(mpmath.log(a / b)) for a, b in zip(*laws, strict=True)]
    most = epsilon / (math.sqrt(2) if relation is REPLACE else 1)
    assert 0.99 * most <= max(losses) <= epsilon


def in_doubles(centre, noise, grid):
    return np.asarray(centre + noise.values.reshape(np.shape(centre)))


def on_doubles(centre, noise, grid):
    return np.rint(in_doubles(centre, noise, grid) / (2 * grid)) * 2 * grid


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [in_doubles, on_doubles])
def test_other_roundings_are_seen(monkeypatch, wrong):
    monkeypatch.setattr(base, "round_sum", wrong)
    with pytest.raises(AssertionError):
        test_gram_and_moment(TABLES[0])


@pytest.mark.slow
def test_a_scale_that_is_too_small_is_seen(monkeypatch):
    monkeypatch.setattr(adassp, "eigenvalue_sensitivity", lambda o: 0.8)
    found = AdaSsp().calibrate(squares(2), Approx(1, "1e-6"), ADD)
    monkeypatch.undo()
    monkeypatch.setattr(base, "grid_for", coarse)
    seen = seen_by(monkeypatch, adassp, found, TABLES[0])
    honest = AdaSsp().calibrate(squares(2), Approx(1, "1e-6"), ADD)
    centre = adassp.smallest_eigenvalue(sufficient_statistics(rows_of(TABLES[0]))[0])
    with pytest.raises(AssertionError):
        check_law(seen[:, 0], NORMAL, honest.others[1].scale, centre)
