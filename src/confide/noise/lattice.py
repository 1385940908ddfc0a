"""Sums of a centre and real-valued noise, rounded exactly to a public lattice.

The result is the lattice point nearest to the exact sum, without any error of arithmetic in
doubles: docs/proofs/exact-noise.md#rounding.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np

from confide._types import Array
from confide.errors import InvalidParameter
from confide.noise.real_vector import RealVector

FARTHEST = 2.0**53
"""The largest absolute value of a lattice point, in steps; larger sums are clipped."""
FINEST = 2.0**-40
USUAL = 30
NOT_FINITE = "a number that receives noise must be finite: this is a bug in confide"


def grid_of(scale: float, bits: int = USUAL) -> float:
    """Return a lattice step, the largest power of two that is at most scale·2^−bits."""
    return math.ldexp(0.5, math.frexp(scale)[1] - bits)


def grid_for(scale: float, reach: float) -> float:
    """Return a lattice step for noise of a given scale and sums of size up to ``reach``.

    The step never exceeds the scale, even if the lattice then ends before ``reach``.
    """
    wide = math.ldexp(1.0, math.frexp(reach / FARTHEST)[1])
    return max(grid_of(scale), min(wide, grid_of(scale, 0)))


def check_grid(grid: float, scale: float) -> None:
    """Raise an error if a step is not a power of two, or is unsuitable for the noise."""
    if not (0 < grid < math.inf and math.frexp(grid)[0] == 0.5):
        raise InvalidParameter("grid", "a positive power of two", grid)
    if not FINEST * scale <= grid <= scale:
        raise InvalidParameter(
            "grid",
            f"from {FINEST:.1e} to 1 times the scale of the noise, which is {scale:.3g}",
            grid,
            "A coarser lattice would distort the release, and a finer one clip the noise.",
        )


def round_sum(centre: Array, noise: RealVector, grid: float) -> Array:
    """Round centre + noise to the nearest point of grid·ℤⁿ.

    Ties are rounded up. Coordinates are clipped to ±2⁵³ steps, and zeros are +0.0.
    """
    return LatticeNoise.of(noise, grid).add(centre)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LatticeNoise:
    """Noise prepared for addition to several centres, with rounding as in `round_sum`.

    ``steps`` approximates the noise by doubles, in units of the lattice step ``grid``. The
    doubles suffice to round a sum if its distance to a lattice point is less than ``room``.
    The first coordinate of a slice is coordinate ``start`` of ``noise``.
    """

    noise: RealVector
    grid: float
    steps: Array
    room: Array
    start: int = 0

    @classmethod
    def of(cls, noise: RealVector, grid: float) -> "LatticeNoise":
        """Prepare noise for a lattice with step ``grid``."""
        check_grid(grid, noise.least_scale)
        return cls(noise, grid, noise.values / grid, 0.5 - filter_radii(noise, grid))

    def __getitem__(self, part: slice) -> "LatticeNoise":
        start = self.start + part.indices(len(self.steps))[0]
        return LatticeNoise(self.noise, self.grid, self.steps[part], self.room[part], start)

    def add(self, centre: Array) -> Array:
        """Return the lattice point nearest to centre + noise."""
        flat = np.ravel(centre)
        with np.errstate(over="ignore", invalid="ignore"):
            offset = flat / self.grid
            whole = np.rint(offset)
            offset -= whole
            offset += self.steps
            near = np.rint(offset)
            offset -= near
            whole += near
        np.abs(offset, out=offset)
        certain = offset < self.room
        if not certain.all():
            self._decide(flat, whole, np.flatnonzero(~certain).tolist())
        np.minimum(whole, FARTHEST, out=whole)
        np.maximum(whole, -FARTHEST, out=whole)
        whole *= self.grid
        whole += 0.0
        return whole.reshape(np.shape(centre))

    def _decide(self, centre: Array, whole: Array, open_places: list[int]) -> None:
        """Round the sums that doubles cannot decide, using exact intervals."""
        if not np.isfinite(centre).all():
            raise FloatingPointError(NOT_FINITE)
        for index in open_places:
            at = self.start + index
            whole[index] = _nearest(float(centre[index]), self.noise, at, self.grid)


def filter_radii(noise: RealVector, grid: float) -> Array:
    """Return bounds on the errors of sums computed in doubles, in lattice steps."""
    radii = np.abs(noise.values) / grid
    radii += 1.0
    radii *= 2.0**-52
    radii += noise.radii / grid
    return radii


def _nearest(centre: float, noise: RealVector, index: int, grid: float) -> float:
    """Return the nearest integer to (centre + noise)/grid, using exact intervals."""
    exact, step, last = Fraction(centre), Fraction(grid), int(FARTHEST)
    for level in count():
        ends = noise.enclose(index, level)
        low, high = (
            max(-last, min(last, math.floor((exact + end) / step + Fraction(1, 2))))
            for end in ends
        )
        if low == high:
            return float(low)
    raise AssertionError


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Approximation:
    """Approximation of a real-valued noise vector b: ‖value + rest − b‖ <= distance."""

    value: Array
    rest: Array
    distance: float


def approximate(noise: RealVector, tolerance: float) -> Approximation:
    """Return doubles whose distance from the noise vector is at most ``tolerance``.

    ``rest`` is 0 unless one double per number is too coarse for the tolerance; it then
    contains the missing digits.
    """
    if not 0 < tolerance < math.inf:
        raise InvalidParameter("tolerance", "a positive number", tolerance)
    value, rest = noise.values, np.zeros(len(noise.values))
    distance = _norm_above(noise.radii)
    if distance > tolerance:
        radii = np.empty(len(value))
        each = Fraction(tolerance) / (4 * math.isqrt(len(value)) + 4)
        for index in range(len(value)):
            rest[index], radii[index] = _remainder(noise, index, each)
        distance = _norm_above(radii)
    return Approximation(value, rest, distance)


def _remainder(noise: RealVector, index: int, width: Fraction) -> tuple[float, float]:
    """Return a correction to one double, and a bound on the remaining error."""
    for level in count():
        low, high = noise.enclose(index, level)
        if high - low <= width:
            break
    missing = (low + high) / 2 - Fraction(float(noise.values[index]))
    rest = float(missing)
    off = abs(missing - Fraction(rest)) + (high - low) / 2
    return rest, float(off) * (1 + 2.0**-50)


def _norm_above(radii: Array) -> float:
    """Return an upper bound on the norm of fewer than 2³⁰ nonnegative numbers."""
    largest = float(radii.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    return largest * float(np.linalg.norm(radii / largest)) * (1 + 2.0**-20)
