"""How sums over rows are added up, and what their rounding depends on."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

Partial: TypeAlias = tuple[Any, ...]
"""What a function of a block returns: arrays or numbers that can be added."""

CACHE_BYTES = 5 * 2**18
"""So much of a matrix stays in the processor's cache while summed."""
FEWEST_IN_A_BLOCK = 64
FEW_ADDED = 1024
"""So few rows of numbers alone: their sums lose less to rounding, at hardly any cost."""
MOST_ADDED = 8192
"""So many rows at most are added up one after the other."""

MAX_ROWS = 10**9
"""A public bound on the number of rows of any table: guarantees assume it."""


@dataclass(frozen=True, slots=True)
class SumShape:
    """How many additions follow one another in a sum over rows, and in a margin.

    ``rows_added`` rows are added up before sums are added to sums, and ``depth`` is how
    many of those follow one another; ``terms`` counts all numbers that do. A margin adds
    up ``entries`` numbers at most, which is private where rows are sparse, and never more
    than ``max_entries``, which is public.
    """

    rows_added: int
    depth: int
    terms: int
    entries: int
    max_entries: int

    def deeper(self, additions: int) -> "SumShape":
        """Return the shape where every sum goes through more additions."""
        return replace(self, depth=self.depth + additions, terms=self.terms + additions)

    def __or__(self, other: "SumShape") -> "SumShape":
        """Return a shape that covers both."""
        return SumShape(
            max(self.rows_added, other.rows_added),
            max(self.depth, other.depth),
            max(self.terms, other.terms),
            max(self.entries, other.entries),
            max(self.max_entries, other.max_entries),
        )


def rows_in_cache(row_bytes: int) -> int:
    """Return how many rows of a size make a block: no sum over them is too long."""
    fitting = CACHE_BYTES // max(1, row_bytes)
    return max(FEWEST_IN_A_BLOCK, min(fitting, MOST_ADDED))


def rows_per_sum(width: int) -> int:
    """Return how many rows of a width a dense block adds up."""
    return rows_in_cache(8 * max(1, width))


def pairwise_sum(partials: Iterable[Partial]) -> Partial:
    """Add partial results in their order: two by two, then those sums, and so on.

    `addition_depth` is how many additions a number goes through.
    """
    sums: list[tuple[int, Partial]] = []
    for found in partials:
        level, total = 0, found
        while sums and sums[-1][0] == level:
            total = _plus(sums.pop()[1], total)
            level += 1
        sums.append((level, total))
    _, total = sums.pop()
    while sums:
        total = _plus(sums.pop()[1], total)
    return total


def addition_depth(count: int) -> int:
    """Return how many additions a number goes through in a pairwise sum of a length."""
    return count.bit_length()


def _plus(one: Partial, other: Partial) -> Partial:
    return tuple(a + b for a, b in zip(one, other, strict=True))
