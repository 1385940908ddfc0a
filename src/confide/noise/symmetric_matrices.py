"""Noise in the space of symmetric matrices, whose norm is Frobenius'."""

import math

import numpy as np

from confide._types import Array
from confide.noise.entropy import Entropy
from confide.noise.samplers import Noise


def degrees_of_freedom(size: int) -> int:
    """Return the dimension of the space of symmetric matrices: size·(size+1)/2."""
    return size * (size + 1) // 2


def as_symmetric(coordinates: Array, size: int) -> Array:
    """Return the matrices that these coordinates stand for, one for every row of them.

    Diagonal entries are coordinates; entries off the diagonal appear twice, so they are
    coordinates divided by √2. The Frobenius norm of a matrix is the length of its row.
    """
    row, column = np.triu_indices(size)
    entries = np.where(row == column, coordinates, coordinates / math.sqrt(2))
    stack = np.empty((len(coordinates), size, size))
    stack[:, row, column] = entries
    stack[:, column, row] = entries
    return stack


def draw_symmetric(noise: Noise, size: int, count: int, entropy: Entropy) -> Array:
    """Draw ``count`` matrices that together are one vector of the noise."""
    free = degrees_of_freedom(size)
    return as_symmetric(noise.draw(count * free, entropy).reshape(count, free), size)
