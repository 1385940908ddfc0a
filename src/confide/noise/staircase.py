"""Exact draws from log-concave densities, using boxes of equal mass below the density.

The first bits of a random word choose a box, and further bits a position in the box, to any
precision. For the remaining mass, above the boxes and in the tails, numbers are drawn by
rejection sampling in integer arithmetic: docs/proofs/exact-noise.md#staircase.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import Protocol

import numpy as np

from confide._types import Array
from confide.noise import fixed_point
from confide.noise.entropy import Entropy
from confide.noise.fixed_point import Bounds, rescale

WORD = 64
BOX_BITS = 12
PLACE_BITS = WORD - BOX_BITS
UNIT_BITS = 32
"""Boxes begin and end at multiples of 2⁻³²."""
EDGE_BITS = 80
STEEPEST = 0.5
"""No boxes are placed where the log density falls by more than this within one box."""
MARGIN = 2.0**-16
GUARD_BITS = 32


@dataclass(slots=True, repr=False)
class Real:
    """The number (low + width·U)·2^−shift, for a uniform U whose bits are not yet drawn."""

    low: int
    width: int
    shift: int
    refined: int = 0

    def reveal(self, entropy: Entropy) -> None:
        """Draw the next 64 bits of U."""
        word = int(entropy.words(1)[0])
        self.low = (self.low << WORD) + self.width * word
        self.shift += WORD
        self.refined += 1

    @property
    def value(self) -> float:
        """The double nearest to the midpoint of the interval that contains the number."""
        return (2 * self.low + self.width) / (2 << self.shift)

    @property
    def ends(self) -> tuple[int, int]:
        """The ends of the interval that contains the number, in units of 2^−shift."""
        other = self.low + self.width
        return min(self.low, other), max(self.low, other)

    def affine(self, start: int, width: int) -> "Real":
        """Return start + width·number, with start and width in units of 2^−UNIT_BITS."""
        low = (start << self.shift) + width * self.low
        return Real(low, width * self.width, self.shift + UNIT_BITS)


class Law(Protocol):
    """A log-concave density constant·exp(−V), where V is convex with its minimum at 0."""

    def __hash__(self) -> int: ...

    @property
    def sides(self) -> tuple[int, ...]:
        """The sides of 0 on which the density is positive: 1, −1 or both."""
        ...

    @property
    def symmetric(self) -> bool:
        """Whether the density on the second side, if any, mirrors that on the first."""
        ...

    def constant(self, bits: int) -> Bounds:
        """Return bounds on the constant factor."""
        ...

    def exponent(self, x: int, shift: int, bits: int) -> Bounds:
        """Return bounds on V at x·2^−shift."""
        ...

    def slope(self, x: int, shift: int, bits: int) -> Bounds:
        """Return bounds on |V′| at x·2^−shift."""
        ...


@dataclass(frozen=True, slots=True)
class Normal:
    """The standard normal density, exp(−x²/2)/√(2π)."""

    sides: tuple[int, ...] = (1, -1)
    symmetric: bool = True

    def constant(self, bits: int) -> Bounds:
        """Return bounds on 1/√(2π)."""
        return fixed_point.inverse_root_two_pi(bits)

    def exponent(self, x: int, shift: int, bits: int) -> Bounds:
        """Return bounds on x²/2."""
        return rescale(x * x, bits - 2 * shift - 1)

    def slope(self, x: int, shift: int, bits: int) -> Bounds:
        """Return bounds on |x|."""
        return rescale(abs(x), bits - shift)


@dataclass(frozen=True, slots=True)
class Exponential:
    """The exponential density exp(−x) for x > 0, or the Laplace density exp(−|x|)/2."""

    sides: tuple[int, ...] = (1,)
    symmetric: bool = True

    def constant(self, bits: int) -> Bounds:
        """Return 1 divided by the number of sides, for both bounds."""
        return rescale(1, bits + 1 - len(self.sides))

    def exponent(self, x: int, shift: int, bits: int) -> Bounds:
        """Return bounds on |x|."""
        return rescale(abs(x), bits - shift)

    def slope(self, x: int, shift: int, bits: int) -> Bounds:
        """Return 1 for both bounds."""
        return rescale(1, bits)


@dataclass(frozen=True, slots=True)
class GumbelLaw:
    """The Gumbel density, exp(−x − exp(−x))."""

    sides: tuple[int, ...] = (1, -1)
    symmetric: bool = False

    def constant(self, bits: int) -> Bounds:
        """Return 1 for both bounds."""
        return rescale(1, bits)

    def exponent(self, x: int, shift: int, bits: int) -> Bounds:
        """Return bounds on x + exp(−x)."""
        low, high = rescale(x, bits - shift)
        return low + fixed_point.exp(-high, bits)[0], high + fixed_point.exp(-low, bits)[1]

    def slope(self, x: int, shift: int, bits: int) -> Bounds:
        """Return bounds on |1 − exp(−x)|."""
        low, high = rescale(x, bits - shift)
        ends = [
            abs((1 << bits) - fixed_point.exp(-high, bits)[0]),
            abs((1 << bits) - fixed_point.exp(-low, bits)[1]),
        ]
        return min(ends), max(ends)


NORMAL = Normal()
LAPLACE = Exponential((1, -1))
EXPONENTIAL = Exponential()
GUMBEL = GumbelLaw()


@dataclass(frozen=True, slots=True)
class Piece:
    """A region of the density for rejection sampling: above a box, or in a tail.

    Proposed points are start + width·y in units of 2^−UNIT_BITS, with y uniform above a
    box and exponential in a tail. ``weight`` is the mass of the proposal distribution, and
    ``box`` the mass of the box, both in units of 2⁻⁶⁴.
    """

    start: int
    width: int
    weight: int
    box: int
    tail: bool


@dataclass(frozen=True, slots=True, repr=False)
class Staircase:
    """The boxes below a density, and the regions that they leave uncovered."""

    law: Law
    starts: Array
    widths: Array
    pieces: tuple[Piece, ...]
    weights: tuple[int, ...]
    boxes: int

    def box(self, word: int, bits: int = PLACE_BITS) -> Real:
        """Return the number that a word encodes, with ``bits`` bits for the position."""
        piece = self.pieces[word >> PLACE_BITS]
        place = (word & ((1 << PLACE_BITS) - 1)) >> (PLACE_BITS - bits)
        return Real(
            (piece.start << bits) + piece.width * place, piece.width, UNIT_BITS + bits
        )

    def draw(self, entropy: Entropy) -> Real:
        """Draw one number."""
        word = int(entropy.words(1)[0])
        if word >> PLACE_BITS < self.boxes:
            return self.box(word)
        return self.draw_remainder(entropy)

    def draw_remainder(self, entropy: Entropy) -> Real:
        """Draw one number from the density above the boxes and in the tails."""
        while True:
            piece = self.pieces[
                bisect_right(self.weights, _below(self.weights[-1], entropy))
            ]
            if piece.tail:
                place = staircase(EXPONENTIAL).draw(entropy)
            else:
                place = Real(0, 1, 0)
                place.reveal(entropy)
            if self._accepts(piece, place, entropy):
                return place.affine(piece.start, piece.width)

    def _accepts(self, piece: Piece, place: Real, entropy: Entropy) -> bool:
        """Return whether a proposed point is accepted.

        The point x is accepted if V·weight + box <= 2⁶⁴·width·density(x) for a uniform V.
        In a tail, the right-hand side is multiplied by e^y. Bits are added to V and y until
        the comparison is certain.
        """
        coin = Real(0, 1, 0)
        while True:
            coin.reveal(entropy)
            bits = coin.shift + GUARD_BITS
            least = coin.low * piece.weight + (piece.box << coin.shift)
            excess = bits + UNIT_BITS - WORD - coin.shift
            near, far = place.ends
            if least << excess >= self._target(piece, place.shift, near, bits)[1]:
                return False
            if (
                least + piece.weight << excess
                <= self._target(piece, place.shift, far, bits)[0]
            ):
                return True
            place.reveal(entropy)

    def _target(self, piece: Piece, shift: int, y: int, bits: int) -> Bounds:
        """Return bounds on |width|·density(x), multiplied by e^y in a tail.

        The product decreases in y. The units are 2^−(UNIT_BITS + bits).
        """
        x = (piece.start << shift) + piece.width * y
        exponent = self.law.exponent(x, shift + UNIT_BITS, bits)
        if piece.tail:
            low, high = rescale(y, bits - shift)
            exponent = exponent[0] - high, exponent[1] - low
        least, most = density(self.law, exponent, bits)
        return abs(piece.width) * least, abs(piece.width) * most


def _below(limit: int, entropy: Entropy) -> int:
    """Draw an integer from 0 to limit − 1, all with equal probabilities."""
    fair = 2**WORD - 2**WORD % limit
    while (word := int(entropy.words(1)[0])) >= fair:
        pass
    return word % limit


@cache
def staircase(law: Law) -> Staircase:
    """Compute the boxes below a density, and the regions that they leave uncovered."""
    boxes: list[Piece] = []
    tails: list[Piece] = []
    for side in law.sides:
        found = [_mirror(box) for box in boxes] if law.symmetric else []
        boxes += found or _boxes(law, side)
        tails.append(_tail(law, boxes[-1].start + boxes[-1].width, side))
    pieces = (*boxes, *tails)
    starts, widths = np.zeros(1 << BOX_BITS), np.zeros(1 << BOX_BITS)
    starts[: len(boxes)] = [box.start * 2.0**-UNIT_BITS for box in boxes]
    widths[: len(boxes)] = [box.width * 2.0**-UNIT_BITS for box in boxes]
    weights = tuple(accumulate(piece.weight for piece in pieces))
    return Staircase(law, starts, widths, pieces, weights, len(boxes))


def _mirror(box: Piece) -> Piece:
    return replace(box, start=-box.start, width=-box.width)


def _boxes(law: Law, side: int) -> list[Piece]:
    """Place adjacent boxes of mass 2^−BOX_BITS, from 0 outwards.

    The width of a box is extrapolated from the last two widths; if it is too small, it is
    corrected by Newton's method. A box that is wider than necessary is lower, so it still
    lies below the density.
    """
    area, mass = 1 << (UNIT_BITS + EDGE_BITS - BOX_BITS), 1 << PLACE_BITS
    found: list[Piece] = []
    start, inner = 0, _height(law, 0)
    guess = last = area / inner[0]
    while True:
        width = int(guess * (1 + MARGIN)) + 1
        far = start + side * width
        outer = _height(law, far)
        slope = law.slope(far, UNIT_BITS, EDGE_BITS)[1] / (1 << EDGE_BITS)
        steep = slope * width / (1 << UNIT_BITS)
        if steep > STEEPEST:
            return found
        solution = width + (area / outer[0] - width) / (1 - steep)
        if width * outer[0] < area:
            guess = solution
            continue
        upper = rescale(width * inner[1], WORD - UNIT_BITS - EDGE_BITS)[1]
        found.append(Piece(start, side * width, upper - mass, mass, tail=False))
        guess, last = solution * solution / last, solution
        start, inner = far, outer


def _tail(law: Law, start: int, side: int) -> Piece:
    """Return a tail with an exponential proposal that touches the density at ``start``."""
    slope = law.slope(start, UNIT_BITS, EDGE_BITS)[0]
    width = -((-1 << (UNIT_BITS + EDGE_BITS)) // slope)
    mass = rescale(width * _height(law, start)[1], WORD - UNIT_BITS - EDGE_BITS)[1]
    return Piece(start, side * width, mass, 0, tail=True)


def _height(law: Law, x: int) -> Bounds:
    """Return bounds on the density at a multiple of 2^−UNIT_BITS."""
    return density(law, law.exponent(x, UNIT_BITS, EDGE_BITS), EDGE_BITS)


def density(law: Law, exponent: Bounds, bits: int) -> Bounds:
    """Return bounds on the density, given bounds on its exponent.

    If the given bounds differ by at most 1, the inequality e^y <= 1 + 2y for y from 0 to 1
    saves the computation of a second exponential.
    """
    (low, high), (least, most) = exponent, law.constant(bits)
    below, above = fixed_point.exp(-high, bits)
    if high - low <= 1 << bits:
        above += (2 * (high - low) * above >> bits) + 1
    else:
        above = fixed_point.exp(-low, bits)[1]
    return rescale(least * below, -bits)[0], rescale(most * above, -bits)[1]
