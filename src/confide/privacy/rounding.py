"""Outward rounding: doubles that are surely above, or surely below, exact numbers.

docs/proofs/rounding.md says which errors the margins cover.
"""

from fractions import Fraction

MARGIN = 2.0**-42
"""More than 64 operations on positive numbers can be off, relatively."""
FUNCTION_ERROR = 2.0**-48
"""More than sums, logarithms and normal tails can be off, relative to their terms."""


def round_up(value: float | Fraction) -> float:
    """Return a double above the exact value of a positive expression."""
    return float(value) * (1 + MARGIN)


def round_down(value: float | Fraction) -> float:
    """Return a double below the exact value of a positive expression."""
    return float(value) * (1 - MARGIN)
