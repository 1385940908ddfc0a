"""Symmetric matrices of noise."""

import math

import numpy as np

from confide._types import Array

ABOVE = 1 + 2.0**-50
"""What rounds a scale up: more than the products that make it lose."""
HALF_ROOT = math.sqrt(0.5) * ABOVE


def degrees_of_freedom(size: int) -> int:
    """Return the dimension of the space of symmetric matrices: size·(size+1)/2."""
    return size * (size + 1) // 2


def symmetric_stretch(size: int) -> Array:
    """Return by what noise on the entries on and above a diagonal is stretched.

    Entries off the diagonal count twice: their noise is 1/√2 of that of coordinates in
    which the Frobenius norm is a length, or a little more where doubles round.
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
