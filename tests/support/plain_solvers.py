"""Plain methods that share only proximal maps with the solvers, and tables to solve."""

import numpy as np
from scipy.special import expit

from confide.objectives import (
    prox,
)

DIMENSION, COUNT, TOLERANCE = 4, 30, 1e-9


SLOPES = {
    "logistic": lambda eta, y: -y * expit(-y * eta),
    "huberized-hinge": lambda eta, y: -y * np.interp(y * eta, [0.5, 1.5], [1.0, 0.0]),
    "smoothed-hinge": lambda eta, y: -y * np.interp(y * eta, [0.0, 1.0], [1.0, 0.0]),
    "squared": lambda eta, y: eta - y,
    "poisson": lambda eta, y: np.expm1(eta) + 1 - y,
}


def made_up(count, dimension, seed=0, targets="signs"):
    """Return rows of length at most 1 and labels that a linear model explains in part."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, dimension))
    features /= np.maximum(1.0, np.linalg.norm(features, axis=1, keepdims=True))
    score = features @ rng.normal(size=dimension) + 0.3 * rng.normal(size=count)
    match targets:
        case "signs":
            target = np.where(score > 0, 1.0, -1.0)
        case "numbers":
            target = np.clip(score, -2.0, 2.0)
        case "counts":
            target = np.minimum(rng.poisson(np.exp(score)), 3).astype(float)
    return features, target


def proximal_gradient(objective, slope, features, target, linear, sweeps=4000):
    """Minimise by the plainest method there is, until nothing moves any more."""
    steepest = float(np.linalg.norm(features, 2) ** 2) * 8.0 + float(objective.ridge.max())
    theta = np.zeros(objective.dimension)
    for _ in range(sweeps):
        pull = slope(features @ theta, target) @ features
        ahead = theta - (pull + objective.ridge * theta + linear) / steepest
        moved = prox(objective.nonsmooth_part, objective.constraint, ahead, 1 / steepest)
        if np.linalg.norm(moved - theta) <= 1e-16:
            break
        theta = moved
    return moved
