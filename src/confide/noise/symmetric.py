"""Symmetric noise matrices."""

import math

import numpy as np

from confide._types import Array

ABOVE = 1 + 2.0**-50
"""A factor that increases a scale by more than the rounding errors in computing it."""
HALF_ROOT = math.sqrt(0.5) * ABOVE


def degrees_of_freedom(size: int) -> int:
    """Return the dimension of the space of symmetric matrices: size·(size+1)/2."""
    return size * (size + 1) // 2


def symmetric_stretch(size: int) -> Array:
    """Return the relative noise scales of the entries on and above the diagonal.

    The Frobenius norm counts entries off the diagonal twice, so their noise scale is 1/√2
    of that of the diagonal entries, rounded up.
    """
    row, column = np.triu_indices(size)
    return np.where(row == column, 1.0, HALF_ROOT)


def upper_entries(matrix: Array) -> Array:
    """Return the entries on and above the diagonal, row by row."""
    return np.asarray(matrix[np.triu_indices(len(matrix))])


def as_symmetric(entries: Array, size: int) -> Array:
    """Return the symmetric matrix with these entries on and above its diagonal."""
    row, column = np.triu_indices(size)
    matrix = np.empty((size, size))
    matrix[row, column] = entries
    matrix[column, row] = entries
    return matrix
