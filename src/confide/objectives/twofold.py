"""Double-double arithmetic: numbers as unevaluated sums of two doubles, about 106 bits.

The rounding errors of sums and products of doubles are doubles themselves. They can be
computed exactly, by two-sum and by two-product with splitting. A `Twofold` stores them as
its low part. Error bounds for operations on `Twofold` numbers are proved in
docs/proofs/finite-precision.md, section twofold.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide._types import Array

TWOFOLD_UNIT = 2.0**-102
"""The largest relative error of a sum, product, quotient or square root of `Twofold`
numbers."""
SPLITTER = 2.0**27 + 1


def two_sum(one: Array, other: Array) -> tuple[Array, Array]:
    """Return the rounded sum and its rounding error."""
    total = one + other
    back = total - one
    return total, (one - (total - back)) + (other - back)


def two_product(one: Array, other: Array) -> tuple[Array, Array]:
    """Return the rounded product and its rounding error."""
    total = one * other
    lead, rest = _halves(one)
    high, low = _halves(other)
    error = ((lead * high - total) + lead * low + rest * high) + rest * low
    return total, error


def _halves(value: Array) -> tuple[Array, Array]:
    pushed = SPLITTER * value
    lead = pushed - (pushed - value)
    return lead, value - lead


@dataclass(frozen=True, slots=True, eq=False)
class Twofold:
    """Double-double numbers: ``high`` is the nearest double, ``low`` the remainder."""

    high: Array
    low: Array

    __array_ufunc__ = None
    """None makes NumPy defer to this class in operations that also involve arrays."""

    @classmethod
    def of(cls, value: Any) -> "Twofold":
        """Convert a number or an array of numbers to a `Twofold`."""
        if isinstance(value, Twofold):
            return value
        high = np.asarray(value, np.float64)
        return cls(high, np.zeros_like(high))

    @classmethod
    def sum_of(cls, high: Any, low: Any) -> "Twofold":
        """Return the exact sum of two doubles."""
        return cls(*two_sum(np.asarray(high), np.asarray(low)))

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self.high.size)

    def __getitem__(self, places: Any) -> "Twofold":
        return Twofold(self.high[places], self.low[places])

    def __add__(self, other: Any) -> "Twofold":
        if not isinstance(other, Twofold):
            high, error = two_sum(self.high, np.asarray(other))
            return Twofold(*_normal(high, error + self.low))
        more = other
        high, error = two_sum(self.high, more.high)
        low, rest = two_sum(self.low, more.low)
        high, error = _normal(high, error + low)
        return Twofold(*_normal(high, error + rest))

    __radd__ = __add__

    def __neg__(self) -> "Twofold":
        return Twofold(-self.high, -self.low)

    def __sub__(self, other: Any) -> "Twofold":
        return self + -other

    def __rsub__(self, other: Any) -> "Twofold":
        return -self + other

    def __mul__(self, other: Any) -> "Twofold":
        more = Twofold.of(other)
        high, error = two_product(self.high, more.high)
        return Twofold(
            *_normal(high, error + (self.high * more.low + self.low * more.high))
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Twofold":
        more = Twofold.of(other)
        first = self.high / more.high
        left = self - more * first
        second = left.high / more.high
        left = left - more * second
        return Twofold(*_normal(first, second)) + left.high / more.high

    def scaled(self, factor: Any) -> "Twofold":
        """Multiply by 0, powers of two or their negatives, without rounding."""
        return Twofold(self.high * factor, self.low * factor)

    def __abs__(self) -> "Twofold":
        return self.scaled(np.where(self.high < 0, -1.0, 1.0))

    def root(self) -> "Twofold":
        """Return the square root, by one Newton step from the root of ``high``."""
        start = np.sqrt(self.high)
        safe = np.where(start > 0, start, 1.0)
        square = Twofold(*two_product(start, start))
        return Twofold(*_normal(start, (self - square).high / (2 * safe)))

    def total(self) -> "Twofold":
        """Return the sum over the first axis, by pairwise summation."""
        left = self
        if not len(left.high):
            return Twofold.of(np.zeros(left.high.shape[1:]))
        while (count := len(left.high)) > 1:
            half = count // 2
            pairs = left[:half] + left[half : 2 * half]
            odd = left[2 * half :]
            left = Twofold(
                np.concatenate([pairs.high, odd.high]), np.concatenate([pairs.low, odd.low])
            )
        return left[0]

    def norm(self) -> "Twofold":
        """Return the Euclidean norm."""
        return (self * self).total().root()

    def clip(self, lower: Any, upper: Any) -> "Twofold":
        """Clip the numbers to an interval."""
        low, high = (self - lower).high >= 0, (self - upper).high <= 0
        return self.where(low, lower).where(high, upper)

    def where(self, chosen: Any, other: Any) -> "Twofold":
        """Return these numbers where ``chosen`` is true, and ``other`` elsewhere."""
        more = Twofold.of(other)
        return Twofold(
            np.where(chosen, self.high, more.high), np.where(chosen, self.low, more.low)
        )


def _normal(high: Array, low: Array) -> tuple[Array, Array]:
    """Renormalise a pair of doubles, so that the first is the double nearest to the sum."""
    total = high + low
    return total, low - (total - high)
