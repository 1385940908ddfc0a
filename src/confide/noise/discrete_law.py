"""Whole numbers drawn by inversion, from laws whose total is known as closely as needed.

docs/proofs/exact-noise.md#inversion.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import count as levels

from confide.noise import fixed_point
from confide.noise.entropy import Entropy
from confide.noise.fixed_point import Bounds
from confide.noise.repetition_counts import TruncatedNegativeBinomial
from confide.noise.staircase import Real

GUARD = 64


def invert(
    ratio: Callable[[int], tuple[int, int]],
    total: Callable[[int], Bounds],
    entropy: Entropy,
) -> int:
    """Draw a place k = 0, 1, … with a chance in proportion to w(k).

    w(0) = 1 and w(k+1) = w(k)·ratio(k), a numerator and a denominator; ``total`` returns
    bounds on Σ w(k) in units of 2^−bits. Sums of weights are compared with U times it, U
    uniform.
    """
    uniform = Real(0, 1, 0)
    for _ in levels():
        uniform.reveal(entropy)
        found = _search(ratio, total(uniform.shift + GUARD), uniform)
        if found is not None:
            return found
    raise AssertionError


def _search(
    ratio: Callable[[int], tuple[int, int]], total: Bounds, uniform: Real
) -> int | None:
    """Return the place whose share of the total holds U, or None if bits are missing."""
    bits = uniform.shift + GUARD
    least = uniform.low * total[0] >> uniform.shift
    most = ((uniform.low + 1) * total[1] >> uniform.shift) + 1
    low = high = 1 << bits
    low_sum, high_sum = low, high
    for place in levels():
        if low_sum >= most:
            return place
        if high_sum > least:
            return None
        numerator, denominator = ratio(place)
        low = low * numerator // denominator
        high = -(-high * numerator // denominator)
        low_sum += low
        high_sum += high
    raise AssertionError


def draw_repetitions(law: TruncatedNegativeBinomial, entropy: Entropy) -> int:
    """Draw a number of runs from 1 on."""
    shape, gamma = Fraction(law.shape), Fraction(law.gamma)

    first, second = (1 - gamma).as_integer_ratio()
    third, fourth = shape.as_integer_ratio()

    def ratio(k: int) -> tuple[int, int]:
        """Return (1 − γ)(k + 1 + η)/(k + 2)."""
        return first * (third + (k + 1) * fourth), second * fourth * (k + 2)

    def total(bits: int) -> Bounds:
        """Return bounds on (γ^−η − 1)/(η(1 − γ)), or −log γ/(1 − γ) if η is 0."""
        low, high = fixed_point.log(1 / gamma, bits + GUARD)
        divisor = 1 - gamma
        if shape:
            divisor *= shape
            unit = 1 << (bits + GUARD)
            low = fixed_point.exp(int(shape * low), bits + GUARD)[0] - unit
            high = fixed_point.exp(int(shape * high) + 1, bits + GUARD)[1] - unit
        scale = 1 / (divisor * (1 << GUARD))
        return int(low * scale), int(high * scale) + 1

    return 1 + invert(ratio, total, entropy)
