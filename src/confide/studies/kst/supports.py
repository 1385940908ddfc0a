"""All supports of a size at once: least squared losses within a box, from sums alone.

The exponential mechanism of Kifer, Smith and Thakurta's Algorithm 4 draws a support with
a chance in proportion to exp(−ε·q/(2α)). With every score at hand the chance of the right
one is a number, so nothing has to be drawn.
"""

from itertools import combinations

import numpy as np

from confide._types import AnyArray, Array

SWEEPS = 500
NEAR = 1e-9
"""Coordinates are settled when none moves by more, in units of the box."""


def all_supports(columns: int, size: int) -> AnyArray:
    """Return every support, a line for each."""
    return np.array(list(combinations(range(columns), size)), dtype=np.intp)


def least_losses(features: Array, target: Array, supports: AnyArray) -> Array:
    """Return min Σ½(y − ⟨x,θ⟩)² over |θⱼ| <= 1 for every support."""
    gram, pull = features.T @ features, features.T @ target
    squares = gram[supports[:, :, None], supports[:, None, :]]
    pulls = pull[supports]
    diagonal = np.diagonal(squares, axis1=1, axis2=2)
    theta = np.clip(np.linalg.solve(squares, pulls[:, :, None])[:, :, 0], -1.0, 1.0)
    for _ in range(SWEEPS):
        before = theta.copy()
        for j in range(theta.shape[1]):
            slope = np.einsum("ij,ij->i", squares[:, j], theta) - pulls[:, j]
            theta[:, j] = np.clip(theta[:, j] - slope / diagonal[:, j], -1.0, 1.0)
        if np.abs(theta - before).max() <= NEAR:
            break
    bent = np.einsum("ijk,ik->ij", squares, theta)
    inner = np.einsum("ij,ij->i", theta, bent / 2 - pulls)
    return np.asarray(inner + float(target @ target) / 2)


def chance_of_best(losses: Array, place: int, temperature: float) -> float:
    """Return the chance with which the support at a place is drawn."""
    weights = np.exp(-(losses - losses.min()) / temperature)
    return float(weights[place] / weights.sum())
