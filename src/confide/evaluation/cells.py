"""Assignment of numbers to cells of a grid, independently of each other."""

import numpy as np

from confide._types import AnyArray, Array

FEW = 16
TINY = 2.0**-1000


def cells_of(values: Array, edges: Array) -> AnyArray:
    """Return `numpy.searchsorted`, faster if the edges are roughly evenly spaced.

    The cell of a number is guessed from even spacing and compared with the edges on both
    sides. If the guess is wrong, the edges are searched.
    """
    if len(edges) < FEW:
        return np.searchsorted(edges, values)
    padded = np.concatenate([[-np.inf], edges, [np.inf]])
    with np.errstate(over="ignore", invalid="ignore"):
        guess = (values - edges[0]) * ((len(edges) - 1) / (edges[-1] - edges[0]))
        guess += 1
    place = np.clip(guess, 0, len(edges)).astype(np.intp)
    place += values > padded[place + 1]
    place -= values <= padded[place]
    missed = ~((values > padded[place]) & (values <= padded[place + 1]))
    if missed.any():
        place[missed] = np.searchsorted(edges, values[missed])
    return place


def even_cells(values: Array, lowest: float, highest: float, count: int) -> AnyArray:
    """Return the cells of numbers in a grid of equal widths, independently of each other.

    If both ends of the grid are equal, all numbers are in the first cell.
    """
    place = np.fmin(np.fmax(values, lowest), highest)
    place -= lowest
    width = highest - lowest
    place *= count / width if width > TINY else 0.0
    return np.minimum(place.astype(np.intp), count - 1)
