"""Sums of a centre and real-valued noise, rounded to a public lattice without error.

The result is the lattice point next to the exact sum, whatever doubles would have made of
it: docs/proofs/exact-noise.md#rounding.
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
"""Beyond ± this many steps of the lattice, the last point stands for all."""
FINEST = 2.0**-40
USUAL = 30
NOT_FINITE = "a centre of noise must be finite: this is a defect of confide"


def grid_of(scale: float, bits: int = USUAL) -> float:
    """Return the power of two between scale·2^−bits and half of it."""
    return math.ldexp(0.5, math.frexp(scale)[1] - bits)


def grid_for(scale: float, reach: float) -> float:
    """Return a step for noise of a scale that lets the lattice reach so far from 0.

    Where no step within the scale does, it is the largest that is.
    """
    wide = math.ldexp(1.0, math.frexp(reach / FARTHEST)[1])
    return max(grid_of(scale), min(wide, grid_of(scale, 0)))


def check_grid(grid: float, scale: float) -> None:
    """Refuse steps that are no power of two, coarser than the noise or far too fine."""
    if not (0 < grid < math.inf and math.frexp(grid)[0] == 0.5):
        raise InvalidParameter("grid", "a positive power of two", grid)
    if not FINEST * scale <= grid <= scale:
        raise InvalidParameter(
            "grid",
            f"from {FINEST:.1e} to 1 times the scale of the noise, which is {scale:.3g}",
            grid,
            "Coarser lattices drown what is released, and finer ones end within the noise.",
        )


def round_sum(centre: Array, noise: RealVector, grid: float) -> Array:
    """Return the point of grid·ℤⁿ next to centre + noise, of every coordinate.

    Half-way points go up. Beyond ±2⁵³ steps it is the outermost point; zero has no sign.
    """
    check_grid(grid, noise.least_scale)
    flat = np.ravel(centre)
    if not np.isfinite(flat).all():
        raise FloatingPointError(NOT_FINITE)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = flat / grid
        whole = np.rint(steps)
        offset = steps - whole
        offset += noise.values / grid
        near = np.rint(offset)
        certain = 0.5 - np.abs(offset - near) > filter_radii(offset, noise, grid)
        whole += near
    for index in np.flatnonzero(~certain).tolist():
        whole[index] = _nearest(float(flat[index]), noise, index, grid)
    np.clip(whole, -FARTHEST, FARTHEST, out=whole)
    whole *= grid
    whole += 0.0
    return whole.reshape(np.shape(centre))


def filter_radii(offset: Array, noise: RealVector, grid: float) -> Array:
    """Return how far offsets in doubles may be from the exact ones, in steps."""
    radii = np.abs(offset)
    radii *= 2.0**-52
    radii += noise.radii / grid
    return radii


def _nearest(centre: float, noise: RealVector, index: int, grid: float) -> float:
    """Return the step of the lattice next to centre + noise, from intervals."""
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
    """Doubles near a vector b of real-valued noise: ‖value + rest − b‖ <= distance."""

    value: Array
    rest: Array
    distance: float


def approximate(noise: RealVector, tolerance: float) -> Approximation:
    """Return doubles within ``tolerance`` of the noise, for every vector it may be.

    ``rest`` is zero unless doubles are too coarse for the tolerance so far out; then it
    holds the digits that they lack.
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
    """Return what a double lacks, and how far from the number they both are, at most."""
    for level in count():
        low, high = noise.enclose(index, level)
        if high - low <= width:
            break
    missing = (low + high) / 2 - Fraction(float(noise.values[index]))
    rest = float(missing)
    off = abs(missing - Fraction(rest)) + (high - low) / 2
    return rest, float(off) * (1 + 2.0**-50)


def _norm_above(radii: Array) -> float:
    """Return a bound on the length of a vector of fewer than 2³⁰ positive numbers."""
    largest = float(radii.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    return largest * float(np.linalg.norm(radii / largest)) * (1 + 2.0**-20)
