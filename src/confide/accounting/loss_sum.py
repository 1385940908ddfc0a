"""Distributions of sums of independent privacy losses, by convolution on a lattice.

Probabilities are tilted exponentially before the Fourier transform, so that rounding errors
are small relative to delta, however small delta is. A bound on these errors is added to
every probability. The bound is derived in docs/proofs/rounding.md#loss-sums.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import irfft, rfft
from scipy.optimize import brentq, minimize_scalar

from confide._types import AnyArray, Array
from confide.privacy.rounding import FUNCTION_ERROR, round_up

UNIT = 2.0**-53
STAGE_ERROR = 16 * UNIT
"""Bound on the error of one stage of a fast Fourier transform, relative to its terms."""
PRODUCT_ERROR = 4 * UNIT
"""Bound on the relative error of a product of complex numbers."""
LEAST = 2.0**-1022
LARGEST_LOG = 750.0
"""Bound on the absolute value of the logarithm of a probability."""
NEGLIGIBLE = 50.0
"""Negative logarithm of the tilted probability that may lie outside a window."""


@dataclass(frozen=True, eq=False)
class Losses:
    """Distribution of a privacy loss on a lattice.

    ``masses`` holds the probabilities of the losses ``first``·step, (``first`` + 1)·step
    and so on. ``infinite`` is the probability of an infinite loss, including all losses
    beyond the last lattice point. ``excess`` bounds the amount by which a true loss exceeds
    its lattice point.
    """

    step: float
    first: int
    masses: Array
    infinite: float = 0.0
    excess: float = 0.0

    @cached_property
    def places(self) -> AnyArray:
        """The lattice indices of the masses."""
        return self.first + np.arange(len(self.masses))

    @cached_property
    def logs(self) -> Array:
        """The logarithms of the masses."""
        with np.errstate(divide="ignore"):
            return np.log(self.masses)

    def log_moment(self, power: float) -> float:
        """Return log E e^{power·loss} over finite losses, computed in doubles."""
        logs = self.logs + (power * self.step) * self.places
        most = float(logs.max())
        return most + math.log(float(np.exp(logs - most).sum()))


def spread_losses(
    step: float, first: int, above: Array, *, gains: Array, wrong: Array, excess: float
) -> Losses:
    """Return a lattice distribution whose delta is at least that of the original losses.

    ``above[k]`` is the probability of a loss above lattice point ``first`` + k, with an
    error of at most ``wrong[k]``. The losses at lattice points are known to within
    ``excess``. The mass between two lattice points is split between them such that the
    probability of the interval is unchanged under both distributions. ``gains`` holds the
    mass that moves to the upper end of each interval, times 1 − e^{−step}, rounded up.
    """
    inside = np.maximum(above[:-1] - above[1:], 0.0) + wrong[:-1] + wrong[1:]
    raised = gains * (1 + FUNCTION_ERROR) / -math.expm1(-step)
    most = np.minimum(above + wrong, 1.0)
    at_least = most.copy()
    at_least[0] = 1.0
    at_least[1:] += np.clip(raised, 0.0, inside)
    at_least = np.minimum(np.maximum.accumulate(at_least[::-1])[::-1], 1.0)
    masses = at_least - np.append(at_least[1:], most[-1])
    return Losses(step, first, np.maximum(masses, 0.0), float(most[-1]), excess)


@dataclass(frozen=True, eq=False)
class LossSum:
    """A sum of independent losses on one lattice.

    ``parts`` holds the distinct loss distributions and the number of copies of each.
    """

    parts: tuple[tuple[Losses, int], ...]

    @property
    def step(self) -> float:
        """The distance between neighbouring lattice points."""
        return self.parts[0][0].step

    @cached_property
    def infinite(self) -> float:
        """Bound on the probability that any of the losses is infinite."""
        return round_up(math.fsum(times * one.infinite for one, times in self.parts))

    @cached_property
    def excess(self) -> float:
        """Bound on the amount by which the true sum exceeds its lattice point."""
        return round_up(math.fsum(times * one.excess for one, times in self.parts))

    def delta(self, epsilon: float) -> float:
        """Return delta = E(1 − e^{ε−loss})₊ of the total loss, rounded up."""
        tilt = self._best(lambda power, log: log - power * epsilon)
        return min(1.0, _Tilted.of(self, tilt).delta(epsilon))

    def epsilon(self, delta: float) -> float:
        """Return the smallest nonnegative epsilon at a given delta, rounded up.

        The result is infinite if the probability of infinite losses is at least delta.
        """
        if self.infinite >= delta:
            return math.inf
        goal = math.log(delta)
        tilt = self._best(lambda power, log: (log - goal) / power)
        tilted = _Tilted.of(self, tilt)
        if tilted.beyond >= delta:
            return math.inf
        if tilted.delta(0.0) <= delta:
            return 0.0
        high = 1.0
        while tilted.delta(high) > delta:
            high *= 2
        return _first_within(tilted.delta, delta, high)

    def log_moment(self, power: float) -> float:
        """Return log E e^{power·sum} over finite sums, computed in doubles."""
        return math.fsum(times * one.log_moment(power) for one, times in self.parts)

    def _best(self, cost: Callable[[float, float], float]) -> float:
        """Return the tilting power p that minimises ``cost``; every p gives a valid bound.

        The arguments of ``cost`` are p and log c, where c·e^{−pε} is the bound on delta
        that follows from (1 − e^{ε−loss})₊ ≤ e^{p·(loss−ε)}·(1 + p)⁻¹·(p/(1 + p))^p.
        """
        deviation = math.sqrt(sum(n * _variance(one) for one, n in self.parts))
        unit = 1 / max(deviation, self.step)

        def at(log_power: float) -> float:
            power = unit * math.exp(log_power)
            part = power * math.log(power / (1 + power)) - math.log1p(power)
            return cost(power, self.log_moment(power) + part)

        found = minimize_scalar(
            at, bounds=(-7.0, 7.0), method="bounded", options={"xatol": 0.01}
        )
        return unit * math.exp(float(found.x))


def _first_within(delta: Callable[[float], float], limit: float, high: float) -> float:
    def excess(epsilon: float) -> float:
        return min(math.log(max(delta(epsilon), LEAST)) - math.log(limit), 700.0)

    found = float(brentq(excess, 0.0, high, xtol=1e-13 * high, rtol=1e-13))
    growth = 1e-13 * high
    while delta(found) > limit:
        found, growth = round_up(found + growth), 2 * growth
    return round_up(found)


def _variance(losses: Losses) -> float:
    values, total = losses.step * losses.places, losses.masses.sum()
    mean = float(values @ losses.masses / total)
    return float((values - mean) ** 2 @ losses.masses / total)


@dataclass(frozen=True, slots=True, eq=False)
class _Tilted:
    """Upper bounds on the probabilities of a sum of losses, computed with tilting.

    ``values`` holds the losses of a window of the lattice, and ``logs`` the logarithms of
    the bounds. ``beyond`` bounds the probability of losses above the window.
    """

    values: Array
    logs: Array
    beyond: float
    excess: float

    @classmethod
    def of(cls, total: LossSum, power: float) -> "_Tilted":
        window = _Window.of(total, power)
        step, count = total.step, window.count
        spectrum: AnyArray = np.ones(count // 2 + 1, dtype=complex)
        size = np.ones(count // 2 + 1)
        ratio, shift, lost = 0.0, 0.0, 0.0
        stage = STAGE_ERROR * math.log2(count)
        for one, times in total.parts:
            places = one.places
            log = one.log_moment(power)
            exponents = np.where(one.masses > 0, power * step * places - log, 0.0)
            tilted = np.exp(one.logs + exponents)
            folded = np.bincount(places % count, tilted, count)
            found = rfft(folded)
            near = np.abs(found) + stage * (1 + FUNCTION_ERROR)
            spectrum = spectrum * _power(found, times)
            with np.errstate(under="ignore"):
                size = size * near**times
            ratio = ratio + times * stage / near
            shift += times * log
            lost += times * (LARGEST_LOG + float(np.abs(exponents).max()) + abs(log))
        number = sum(times for _, times in total.parts)
        wrong = size * (ratio + PRODUCT_ERROR * number + stage)
        error = 4 / count * float(wrong.sum()) + LEAST
        places = window.first + np.arange(count)
        masses = irfft(spectrum, count)[places % count]
        values = step * places.astype(np.float64)
        untilt = shift - power * values
        slack = FUNCTION_ERROR * (lost + abs(shift) + np.abs(power * values))
        kept = values >= -total.excess
        logs = np.log(np.maximum(masses, 0.0) + error) + untilt + slack
        return cls(values[kept], logs[kept], window.beyond + total.infinite, total.excess)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at epsilon."""
        reach = epsilon - self.excess
        over = self.values * (1 + FUNCTION_ERROR) - reach
        kept = over > 0
        with np.errstate(over="ignore"):
            parts = np.exp(self.logs[kept]) * -np.expm1(-over[kept])
            return round_up(float(parts.sum()) + self.beyond)


@dataclass(frozen=True, slots=True)
class _Window:
    """Window of 2^k lattice points that hold almost all tilted probability of a sum.

    ``beyond`` bounds the probability of a finite sum above the window.
    """

    first: int
    count: int
    beyond: float

    @classmethod
    def of(cls, total: LossSum, power: float) -> "_Window":
        step, here = total.step, total.log_moment(power)
        near = 1e-3 * power
        curvature = (
            total.log_moment(power + near) + total.log_moment(power - near) - 2 * here
        )
        unit = 1 / max(math.sqrt(max(curvature, 0.0)) / near, step)
        strides = [unit * part for part in (2.0, 4.0, 8.0, 16.0)]
        ups = [(total.log_moment(power + t) - here + NEGLIGIBLE) / t for t in strides]
        downs = [(here - total.log_moment(power - t) - NEGLIGIBLE) / t for t in strides]
        end = sum(n * int(one.places[-1]) for one, n in total.parts)
        last = min(math.ceil(min(ups) / step), end)
        first = max(
            math.floor(max(downs) / step), sum(n * one.first for one, n in total.parts)
        )
        count = 1 << max(1, math.ceil(math.log2(last - first + 1)))
        if first + count > end:
            return cls(first, count, 0.0)
        top, powers = (first + count - 1) * step, [power + t for t in strides]
        return cls(first, count, _chance_above(total, top, powers))


def _chance_above(total: LossSum, end: float, powers: Sequence[float]) -> float:
    """Return a Chernoff bound on the probability of a finite sum above ``end``."""
    bounds = []
    for power in powers:
        log = total.log_moment(power)
        terms = sum(
            times * (1 + abs(one.log_moment(power)) + power * abs(end))
            for one, times in total.parts
        )
        bounds.append(log - power * end + FUNCTION_ERROR * terms)
    return round_up(math.exp(min(0.0, *bounds)))


def _power(values: AnyArray, times: int) -> AnyArray:
    """Compute an integer power by products only, so that its rounding error is known."""
    found, square = None, values
    while times:
        if times & 1:
            found = square if found is None else found * square
        times >>= 1
        if times:
            square = square * square
    assert found is not None  # noqa: S101
    return found
