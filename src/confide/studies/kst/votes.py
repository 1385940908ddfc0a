"""Blocks of rows that vote for columns, as Kifer, Smith and Thakurta's Algorithms 5 and 6.

Entries of rows are plus or minus 1, s coefficients are equal but for their signs, errors
are normal. A block's lasso has the penalty of their Lemma 42, 4σ√(m·log p) in a sum over m
rows, and votes for its s largest coefficients.
"""

import math

import numpy as np
from sklearn.linear_model import lasso_path

from confide._types import AnyArray, Array
from confide.noise import Generator

ERROR = 0.25
"""σ, the standard deviation of the errors."""


def draw_votes(
    rows: int, columns: int, size: int, rng: Generator, least: float = 1.0
) -> tuple[Array, Array, AnyArray]:
    """Draw a table of ±1 and targets within ±s; return with them which columns count."""
    support = np.sort(rng.permutation(columns)[:size])
    signs = np.where(rng.integers(2, size=size) > 0, least, -least)
    bits = rng.integers(0, 2, size=(rows, columns), dtype=np.int8)
    features = 2.0 * bits.astype(np.float64) - 1.0
    target = features[:, support] @ signs + ERROR * rng.normal(size=rows)
    return features, np.clip(target, -size, size), support


def ballot(features: Array, target: Array, size: int) -> AnyArray:
    """Return the columns that a block's lasso ranks highest, none of them at 0."""
    rows, columns = features.shape
    strength = 4 * ERROR * math.sqrt(math.log(columns) / rows)
    _, path, _ = lasso_path(features, target, alphas=[strength])
    found = np.abs(path[:, 0])
    top = np.argsort(-found, kind="stable")[:size]
    return np.sort(top[found[top] > 0])


def votes(
    features: Array, target: Array, size: int, blocks: int
) -> tuple[Array, list[AnyArray]]:
    """Return the share of blocks that vote for every column, and the ballots."""
    parts = np.array_split(np.arange(len(target)), blocks)
    ballots = [ballot(features[part], target[part], size) for part in parts]
    counts = np.bincount(np.concatenate(ballots), minlength=features.shape[1])
    return counts / blocks, ballots


def winners(shares: Array, size: int, scale: float, draws: int, rng: Generator) -> AnyArray:
    """Return the s columns that lead once Laplace noise is added, so many times."""
    noise = rng.laplace(scale=scale, size=(draws, len(shares)))
    lead = np.argpartition(-(shares + noise), size - 1, axis=1)[:, :size]
    return np.sort(lead, axis=1)
