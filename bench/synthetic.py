"""Rows for the measurement of speed and memory, and the gradient pass used as a unit."""

import numpy as np

SHAPES = ((200_000, 50), (1_000_000, 20), (30_000, 100))
RIDGE = 0.001
"""Ridge penalty per row."""


def shape_name(rows, columns):
    return f"{rows:,} x {columns}"


def logistic_data(rows, columns, seed=0):
    """Return Gaussian rows, some of them with norm above 1, and labels 0 or 1.

    Arrays are filled in place or block by block, so that the peak memory of the calling
    process is not above the memory it uses afterwards.
    """
    generator = np.random.default_rng(seed)
    X = np.empty((rows, columns))
    generator.standard_normal(out=X)
    X *= 0.9 / np.sqrt(columns)
    slopes = 3 * generator.standard_normal(columns)
    y = np.empty(rows, dtype=np.int64)
    for low in range(0, rows, 10_000):
        margin = X[low : low + 10_000] @ slopes + 0.5
        chance = 1 / (1 + np.exp(-margin))
        y[low : low + 10_000] = generator.random(len(chance)) < chance
    return X, y


def gradient_pass(X, y, w):
    """Return the logistic gradient, in plain NumPy; ``y`` has doubles."""
    z = X @ w
    p = 1 / (1 + np.exp(-z))
    return X.T @ (p - y)
