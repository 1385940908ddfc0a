"""Bounds on exponentials, logarithms and constants, in integer arithmetic.

A real number x is represented in units of 2^−bits. Every function returns integers
(low, high) with low·2^−bits <= value <= high·2^−bits:
docs/proofs/exact-noise.md#whole-numbers.
"""

import math
from fractions import Fraction
from functools import cache
from typing import TypeAlias

Bounds: TypeAlias = tuple[int, int]
HALVINGS = 6
GUARD = 16


def rescale(value: int, places: int) -> Bounds:
    """Return bounds on value·2^places."""
    if places >= 0:
        return value << places, value << places
    low = value >> -places
    return low, low + 1


def exp(x: int, bits: int) -> Bounds:
    """Return bounds on e^x, for an exact ``x`` in units of 2^−bits.

    With an integer k, the power series is summed at (x − k·log 2)/64; the sum is then
    squared six times and multiplied by 2^k.
    """
    work = bits + GUARD + max(0, x.bit_length() - bits)
    two, above = log_two(work)
    scaled = x << (work - bits)
    power = scaled // two
    small = (scaled - power * two) >> HALVINGS
    total = term = 1 << work
    count = 0
    while term > 0:
        count += 1
        term = (term * small >> work) // count
        total += term
    for _ in range(HALVINGS):
        total = total * total >> work
    slack = (2 * count + abs(power) * (above - two) + 6) << (HALVINGS + 1)
    places = power + bits - work
    return rescale(total - slack, places)[0], rescale(total + slack, places)[1]


def log(x: Fraction, bits: int) -> Bounds:
    """Return bounds on log x for x > 0."""
    power = x.numerator.bit_length() - x.denominator.bit_length()
    work = bits + GUARD + power.bit_length()
    reduced = x / Fraction(2) ** power
    low, high = _log_near_one(reduced, work)
    two = log_two(work)
    ends = [power * end for end in two]
    places = bits - work
    return (
        rescale(low + min(ends), places)[0],
        rescale(high + max(ends), places)[1],
    )


@cache
def log_two(bits: int) -> Bounds:
    """Return bounds on log 2."""
    work = bits + GUARD
    low, high = _log_near_one(Fraction(2), work)
    return rescale(low, -GUARD)[0], rescale(high, -GUARD)[1]


def _log_near_one(x: Fraction, bits: int) -> Bounds:
    """Return bounds on log x for ½ <= x <= 2, by the series of 2·atanh((x−1)/(x+1))."""
    ratio = (x - 1) / (x + 1)
    square = ratio * ratio
    power = abs((ratio.numerator << bits) // ratio.denominator)
    total = count = 0
    while power:
        total += power // (2 * count + 1)
        power = power * square.numerator // square.denominator
        count += 1
    slack = 6 * count + 6
    total = 2 * total if x >= 1 else -2 * total
    return total - slack, total + slack


@cache
def inverse_root_two_pi(bits: int) -> Bounds:
    """Return bounds on 1/√(2π)."""
    work = 2 * bits + GUARD
    low, high = _pi(work)
    whole = 1 << (2 * bits + work)
    return math.isqrt(whole // (2 * high)), math.isqrt(whole // (2 * low) + 1) + 1


def _pi(bits: int) -> Bounds:
    """Return bounds on π = 16·arctan(1/5) − 4·arctan(1/239) (Machin)."""
    fifth, slack_of_fifth = _arctan_of_inverse(5, bits)
    rest, slack_of_rest = _arctan_of_inverse(239, bits)
    total = 16 * fifth - 4 * rest
    slack = 16 * slack_of_fifth + 4 * slack_of_rest
    return total - slack, total + slack


def _arctan_of_inverse(whole: int, bits: int) -> tuple[int, int]:
    """Return arctan(1/whole) and a bound on the error, in units of 2^−bits."""
    power = (1 << bits) // whole
    total = count = 0
    while power:
        total += (-1) ** count * (power // (2 * count + 1))
        power //= whole * whole
        count += 1
    return total, 3 * count + 3
