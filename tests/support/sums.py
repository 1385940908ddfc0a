"""Neighbouring tables and what they do to released sums."""

import math

import numpy as np

from confide.data import bound_rows
from confide.mechanisms.statistics.sums import sufficient_statistics
from confide.objectives import Clipped, Logistic, Objective, Squared

SQUARES = Clipped(Squared(), 1.0)


def squares(dimension, norm=1.0, bound=1.0, l2=None):
    return Objective(SQUARES, dimension, norm, l2, target_bound=bound)


def logistic(dimension, norm=1.0):
    return Objective(Logistic(), dimension, norm)


def statistics(objective, x, y):
    x = np.reshape(np.array(x, dtype=float), (-1, objective.dimension))
    return sufficient_statistics(bound_rows(x, np.array(y, float), objective.row_norm, 0.0))


def moves(objective, first, second):
    """Return by what (G, m) differ between two small tables."""
    pairs = zip(statistics(objective, *first), statistics(objective, *second), strict=True)
    return tuple(a - b for a, b in pairs)


def pair_distance(objective, weight, first, second):
    gram, moment = moves(objective, first, second)
    return math.hypot(np.linalg.norm(gram), weight * np.linalg.norm(moment))


def worst_records(objective, weight):
    """Return two records at the angle where (G, w·m) moves furthest between them."""
    norm, bound = objective.row_norm, objective.target_bound
    cosine = min(1.0, (weight * bound / norm) ** 2 / 2)
    turned = [cosine, math.sqrt(1 - cosine**2)]
    scale = norm * (1 - 1e-15)
    return (np.array([scale, 0.0]), bound), (scale * np.array(turned), -bound)


def coefficient_change(objective, shape, first, second):
    """Return the sum of the absolute changes of a polynomial's coefficients."""
    gram, moment = moves(objective, first, second)
    return shape.curvature / 2 * np.abs(gram).sum() + shape.slope * np.abs(moment).sum()
