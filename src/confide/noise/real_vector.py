"""Vectors of real-valued noise, which can be computed to any precision.

Doubles with certified error bounds decide almost every comparison or rounding. If they do
not, intervals are narrowed by drawing more bits of the same numbers:
docs/proofs/exact-noise.md#real-vectors.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.errors import InvalidParameter
from confide.noise.entropy import Entropy
from confide.noise.staircase import (
    EXPONENTIAL,
    GUMBEL,
    LAPLACE,
    NORMAL,
    PLACE_BITS,
    UNIT_BITS,
    Law,
    Real,
    Staircase,
    staircase,
)

SMALLEST_SCALE, LARGEST_SCALE = 1e-150, 1e150
HALF_WORD = 32
HALF_PLACE = 26
Interval: TypeAlias = tuple[Fraction, Fraction]


def check_scale(scale: float) -> None:
    """Raise an error if noise of this scale could underflow or overflow."""
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise InvalidParameter(
            "scale of the noise",
            f"from {SMALLEST_SCALE} to {LARGEST_SCALE}, the range that double precision "
            "can handle",
            float(scale),
            "Choose units of measurement in which the bounds (on rows, targets, "
            "coefficients) are closer to 1, and a privacy budget closer to 1.",
        )


class RealVector(Protocol):
    """A vector of real numbers, approximated by doubles with certified error bounds."""

    @property
    def values(self) -> Array:
        """Doubles that approximate the numbers."""
        ...

    @property
    def radii(self) -> Array:
        """Bounds on the errors of `values`, with a margin of at least ten percent."""
        ...

    @property
    def least_scale(self) -> float:
        """The smallest noise scale of any coordinate."""
        ...

    def __getitem__(self, part: slice) -> "RealVector":
        """Return the numbers in a slice, with their scales."""
        ...

    def enclose(self, index: int, level: int) -> Interval:
        """Return an interval that contains one number; it shrinks as ``level`` grows."""
        ...


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DoubleVector:
    """A noise vector that is known only in doubles, which are treated as exact.

    Parameters
    ----------
    values : array
        The numbers.
    least_scale : float
        The smallest noise scale of any coordinate.

    Examples
    --------
    The interval of a number is the double itself:

    >>> import numpy as np
    >>> from confide.noise import DoubleVector
    >>> low, high = DoubleVector(np.array([0.5, 1.5]), 1.0).enclose(1, level=3)
    >>> low == high == 1.5
    True
    """

    values: Array
    least_scale: float

    @property
    def radii(self) -> Array:
        """Bounds on the errors of the doubles, all 0."""
        return np.zeros(len(self.values))

    def __getitem__(self, part: slice) -> "DoubleVector":
        return DoubleVector(self.values[part], self.least_scale)

    def enclose(self, index: int, level: int) -> Interval:
        """Return an interval that contains only the number.

        Parameters
        ----------
        index : int
            The index of the number.
        level : int
            The requested precision, which has no effect here.

        Returns
        -------
        tuple of two Fraction
            The same number twice.
        """
        exact = Fraction(float(self.values[index]))
        return exact, exact


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Draws:
    """Independent draws from a density, most of them determined by one random word.

    ``known`` contains, by index, the draws that have been converted to `Real`.
    """

    stairs: Staircase
    words: AnyArray
    values: Array
    known: dict[int, Real]
    entropy: Entropy
    bits: int = PLACE_BITS

    @classmethod
    def of(cls, law: Law, count: int, entropy: Entropy, bits: int = PLACE_BITS) -> "Draws":
        """Draw numbers; ``bits`` bits of each word determine the position in a box."""
        stairs = staircase(law)
        words = entropy.words(count)
        boxes = (words >> np.uint64(PLACE_BITS)).astype(np.intp)
        values = stairs.widths[boxes]
        values *= _places(words, bits)
        values *= 2.0**-bits
        values += stairs.starts[boxes]
        known = {}
        for index in np.flatnonzero(boxes >= stairs.boxes).tolist():
            known[index] = stairs.draw_remainder(entropy)
            values[index] = known[index].value
        return cls(stairs, words, values, known, entropy, bits)

    def __len__(self) -> int:
        return len(self.words)

    def real(self, index: int, level: int) -> Real:
        """Return one number, refined by at least ``level`` further random words."""
        found = self.known.get(index)
        if found is None:
            found = self.stairs.box(int(self.words[index]), self.bits)
            self.known[index] = found
        while found.refined < level:
            found.reveal(self.entropy)
        return found

    def enclose(self, index: int, level: int) -> Interval:
        """Return an interval that contains one number."""
        real = self.real(index, level)
        low, high = real.ends
        return Fraction(low, 1 << real.shift), Fraction(high, 1 << real.shift)

    def total(self, level: int) -> Interval:
        """Return an interval that contains the sum of the numbers, if all are positive."""
        if level:
            return _sum(self.enclose(index, level) for index in range(len(self)))
        plain = np.ones(len(self), dtype=bool)
        plain[list(self.known)] = False
        words = self.words[plain]
        boxes = (words >> np.uint64(PLACE_BITS)).astype(np.intp)
        starts = (self.stairs.starts[boxes] * 2.0**UNIT_BITS).astype(np.uint64)
        widths = (self.stairs.widths[boxes] * 2.0**UNIT_BITS).astype(np.uint64)
        low = (_exact_sum(starts) << self.bits) + _exact_dot(
            widths, _places(words, self.bits)
        )
        unit = 1 << (UNIT_BITS + self.bits)
        rest = _sum(self.enclose(index, 0) for index in self.known)
        high = low + _exact_sum(widths)
        return Fraction(low, unit) + rest[0], Fraction(high, unit) + rest[1]


def _sum(intervals: Iterable[Interval]) -> Interval:
    low = high = Fraction(0)
    for least, most in intervals:
        low, high = low + least, high + most
    return low, high


def _places(words: AnyArray, bits: int) -> AnyArray:
    inside = words & np.uint64((1 << PLACE_BITS) - 1)
    return inside >> np.uint64(PLACE_BITS - bits)


def _exact_sum(numbers: AnyArray) -> int:
    """Return the exact sum of fewer than 2³² unsigned 64-bit integers."""
    upper = numbers >> np.uint64(HALF_WORD)
    lower = numbers & np.uint64((1 << HALF_WORD) - 1)
    return (int(upper.sum()) << HALF_WORD) + int(lower.sum())


def _exact_dot(widths: AnyArray, places: AnyArray) -> int:
    """Return the exact dot product of ``widths`` below 2³⁸ and ``places`` below 2⁵²."""
    upper = places >> np.uint64(HALF_PLACE)
    lower = places & np.uint64((1 << HALF_PLACE) - 1)
    return (_exact_sum(widths * upper) << HALF_PLACE) + _exact_sum(widths * lower)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ScaledDraws:
    """Independent coordinates, each of which is a draw multiplied by its scale.

    A slice uses the same draws; its first coordinate is draw number ``start``.
    """

    draws: Draws
    scale: float | Array
    values: Array
    radii: Array
    least_scale: float
    start: int = 0

    @classmethod
    def of(cls, draws: Draws, scale: float | Array) -> "ScaledDraws":
        """Multiply draws by a common scale, or by one scale per coordinate."""
        least = _least_scale(scale)
        values = draws.values * scale
        radii = np.abs(values)
        radii += scale
        radii *= 2.0 ** (1 - draws.bits)
        return cls(draws, scale, values, radii, least)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, part: slice) -> "ScaledDraws":
        scale = _part(self.scale, part)
        return ScaledDraws(
            self.draws,
            scale,
            self.values[part],
            self.radii[part],
            _smallest(scale),
            self.start + _first(part, len(self)),
        )

    def enclose(self, index: int, level: int) -> Interval:
        """Return an interval that contains one coordinate."""
        low, high = self.draws.enclose(self.start + index, level)
        scale = Fraction(float(_part(self.scale, index)))
        return low * scale, high * scale


def _least_scale(scale: float | Array) -> float:
    """Check the range of all scales, and return the smallest one."""
    least = _smallest(scale)
    check_scale(least)
    check_scale(float(np.max(scale)))
    return least


def _smallest(scale: float | Array) -> float:
    return float(scale.min()) if isinstance(scale, np.ndarray) else scale


def _first(part: slice, size: int) -> int:
    start, _, step = part.indices(size)
    if step != 1:
        raise InvalidParameter("a slice of noise", "without a step", step)
    return start


def _part(scale: float | Array, part: slice | int) -> float | Array:
    return scale[part] if isinstance(scale, np.ndarray) else scale


def normal(count: int, scale: float | Array, entropy: Entropy) -> ScaledDraws:
    """Draw independent normal numbers with mean 0 and standard deviation ``scale``."""
    return ScaledDraws.of(Draws.of(NORMAL, count, entropy), scale)


def laplace(count: int, scale: float | Array, entropy: Entropy) -> ScaledDraws:
    """Draw independent numbers with density proportional to exp(−|x|/scale)."""
    return ScaledDraws.of(Draws.of(LAPLACE, count, entropy), scale)


def exponential(count: int, scale: float | Array, entropy: Entropy) -> ScaledDraws:
    """Draw independent numbers with density proportional to exp(−x/scale) for x > 0."""
    return ScaledDraws.of(Draws.of(EXPONENTIAL, count, entropy), scale)


def gumbel(count: int, scale: float | Array, entropy: Entropy) -> ScaledDraws:
    """Draw independent numbers with distribution function exp(−exp(−x/scale))."""
    return ScaledDraws.of(Draws.of(GUMBEL, count, entropy), scale)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Chi:
    """A chi-distributed number: √(2Σ Eᵢ), or √(2Σ Eᵢ + N²) for odd degrees of freedom.

    The Eᵢ are exponential and N is normal; all are independent.
    """

    exponentials: Draws
    normals: Draws
    found: dict[int, Interval]

    @classmethod
    def of(cls, degrees: int, entropy: Entropy, bits: int = PLACE_BITS) -> "Chi":
        """Draw the norm of a standard normal vector with ``degrees`` coordinates."""
        return cls(
            Draws.of(EXPONENTIAL, degrees // 2, entropy, bits),
            Draws.of(NORMAL, degrees % 2, entropy, bits),
            {},
        )

    def enclose(self, level: int) -> Interval:
        """Return an interval that contains the number."""
        if level not in self.found:
            self.found[level] = self._enclose(level)
        return self.found[level]

    def _enclose(self, level: int) -> Interval:
        low, high = (2 * end for end in self.exponentials.total(level))
        for index in range(len(self.normals)):
            ends = self.normals.enclose(index, level)
            squares = [end * end for end in ends]
            low += min(squares) if ends[0] * ends[1] > 0 else 0
            high += max(squares)
        unit = 1 << (64 * (level + 2))
        return (
            Fraction(math.isqrt(math.floor(low * unit * unit)), unit),
            Fraction(math.isqrt(math.ceil(high * unit * unit)) + 1, unit),
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SphericalDraws:
    """A random vector b with density proportional to exp(−‖b‖/scale).

    The coordinates are independent normals times a common chi-distributed number, whose
    degrees of freedom exceed the dimension by one. If ``scale`` is an array, it contains
    one scale per coordinate, by which a vector b with scale 1 is multiplied.
    """

    draws: Draws
    length: Chi
    scale: float | Array
    values: Array
    radii: Array
    least_scale: float
    start: int = 0

    @classmethod
    def of(cls, draws: Draws, length: Chi, scale: float | Array) -> "SphericalDraws":
        """Multiply normal draws by a common chi-distributed number and by the scales."""
        least = _least_scale(scale)
        low, high = length.enclose(0)
        middle = float((low + high) / 2)
        off = float((high - low) * Fraction(5, 8)) + middle * 2.0**-52
        values = draws.values * (scale * middle)
        radii = np.abs(draws.values)
        radii *= off
        radii += (np.abs(draws.values) + 1) * ((middle + off) * 2.0 ** (1 - draws.bits))
        radii *= scale
        return cls(draws, length, scale, values, radii, least)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, part: slice) -> "SphericalDraws":
        scale = _part(self.scale, part)
        return replace(
            self,
            scale=scale,
            values=self.values[part],
            radii=self.radii[part],
            least_scale=_smallest(scale),
            start=self.start + _first(part, len(self)),
        )

    def enclose(self, index: int, level: int) -> Interval:
        """Return an interval that contains one coordinate."""
        scale = Fraction(float(_part(self.scale, index)))
        ends = [
            scale * number * length
            for number in self.draws.enclose(self.start + index, level)
            for length in self.length.enclose(level)
        ]
        return min(ends), max(ends)


def spherical_laplace(
    dimension: int, scale: float | Array, entropy: Entropy
) -> SphericalDraws:
    """Draw b with density proportional to exp(−‖b‖), and multiply it by ``scale``."""
    draws = Draws.of(NORMAL, dimension, entropy)
    return SphericalDraws.of(draws, Chi.of(dimension + 1, entropy), scale)
