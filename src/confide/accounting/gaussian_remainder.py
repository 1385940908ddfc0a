"""How much a Gaussian release may cost beside one whose privacy profile is known.

With a first release of profile δ₁ and then a Gaussian shift mu, which may depend on what
was released first, both together satisfy

    δ(ε) ≤ E δ₁(ε − ℓ),   ℓ ~ N(mu²/2, mu²)

(docs/proofs/private-intervals.md, interval-release).
"""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from confide._types import Array

CELLS = 64
REACH = 9.0
HALVINGS = 50


def gaussian_left(
    profile: Callable[[float], float], epsilon: float, delta: float, most: float
) -> float:
    """Return the largest shift, up to ``most``, that (epsilon, delta) leaves; 0 if none.

    The profile falls as epsilon grows, so its value at the left end of a cell bounds it
    inside: the search never relies on interpolation.
    """
    start = max(0.0, epsilon - REACH * most - most**2 / 2)
    grid = np.linspace(start, epsilon + REACH * most, CELLS)
    heights = np.array([profile(float(point)) for point in grid])
    if _total(grid, heights, epsilon, most) <= delta:
        return most
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _total(grid, heights, epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    return low


def _total(grid: Array, heights: Array, epsilon: float, mu: float) -> float:
    below = ndtr((grid - epsilon + mu**2 / 2) / mu)
    masses = np.diff(below, append=1.0)
    return float(below[0] + masses @ heights)
