"""Outward rounding: doubles that are surely above, or surely below, exact numbers.

docs/proofs/rounding.md says which errors the margins cover.
"""

import math
from fractions import Fraction

MARGIN = 2.0**-42
"""More than 64 operations on positive numbers can be off, relatively."""
FUNCTION_ERROR = 2.0**-48
"""More than sums, logarithms and normal tails can be off, relative to their terms."""


def round_up(value: float | Fraction) -> float:
    """Return a double above an exact fraction, or above what a double stands for.

    A fraction is known exactly; a double is a positive expression, evaluated.
    """
    if isinstance(value, Fraction):
        near = float(value)
        return near if near >= value else math.nextafter(near, math.inf)
    return float(value) * (1 + MARGIN)


def round_down(value: float | Fraction) -> float:
    """Return a double below an exact fraction, or below what a double stands for."""
    if isinstance(value, Fraction):
        near = float(value)
        return near if near <= value else math.nextafter(near, 0.0)
    return float(value) * (1 - MARGIN)
