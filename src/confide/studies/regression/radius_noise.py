"""Privacy of noise with a random direction and a wrong radius, by integration.

Noise with density e^(−‖κ‖/s) in d dimensions has a radius with distribution Gamma(d, s). A
sampler that draws a direction and a Gamma(k, s) radius has the density ‖κ‖^(k−d)·e^(−‖κ‖/s)
instead. For two centres at distance 1, the privacy loss at a point with distance r from
the first and t from the second is

    (t − r)/s + (d − k)·ln(t/r),

which is unbounded near the first centre if k < d. The integrals below are over r and the
angle at that centre; nothing is sampled.
"""

import math
from functools import cache
from itertools import pairwise
from typing import Final

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import gammaln, wrightomega

from confide._types import Array
from confide.errors import InvalidParameter

NODES: Final = 400
TAIL: Final = 60.0
"""Radii more than this many scales above the mean are ignored: probability < 1e-20."""


def excess_loss(epsilon: float, scale: float, dimension: int, shape: int) -> float:
    """Return δ(ε), the supremum of P(S) − e^ε·Q(S) for noise P and Q at the two centres.

    Parameters
    ----------
    epsilon : float
        ε, at least 0.
    scale : float
        s divided by the distance of the centres; 1/ε₀ for noise meant to be ε₀-private.
    dimension, shape : int
        d and k. The correct radius has k = d, and an exponential radius has k = 1.
    """
    if not epsilon >= 0 or not 0 < scale < math.inf:
        must = "numbers with epsilon >= 0 and scale > 0"
        raise InvalidParameter("epsilon and scale", must, (epsilon, scale))
    if not dimension >= 2 or not 1 <= shape <= dimension:
        raise InvalidParameter(
            "dimension and shape",
            "numbers with dimension >= 2 and 1 <= shape <= dimension",
            (dimension, shape),
        )
    ends = [0.0, *_turns(epsilon, scale, dimension - shape), scale * (shape + TAIL)]
    ends = [end for end in ends if end <= ends[-1]]
    total = 0.0
    for low, high in pairwise(ends):
        value, _ = quad(
            _at_radius,
            low,
            high,
            args=(epsilon, scale, dimension, shape),
            epsabs=1e-13,
            epsrel=1e-10,
            limit=200,
        )
        total += value
    return float(min(max(total, 0.0), 1.0))


def promised(delta: float, scale: float, dimension: int, shape: int) -> float:
    """Return the smallest ε for which δ(ε) is at most ``delta``."""
    if not 0 < delta < 1:
        raise InvalidParameter("delta", "between 0 and 1", delta)

    def too_much(epsilon: float) -> float:
        return excess_loss(epsilon, scale, dimension, shape) - delta

    if too_much(0.0) <= 0:
        return 0.0
    high = 1.0
    while too_much(high) > 0:
        high *= 2
    return float(brentq(too_much, 0.0, high, xtol=1e-6))


def _turns(epsilon: float, scale: float, lack: int) -> list[float]:
    """Return the radii at which the integral is split.

    At these radii, the set of angles with a privacy loss above ε starts to shrink or
    vanishes. The radius 1 is always included.
    """

    def nearest(radius: float) -> float:
        gap = abs(1 - radius) - radius
        return gap / scale + lack * math.log(abs(1 - radius) / radius) - epsilon

    found = []
    if nearest(1e-300) > 0:
        found.append(float(brentq(nearest, 1e-300, 0.5)))
    if lack and epsilon > 1 / scale:
        found.append(1 / math.expm1((epsilon - 1 / scale) / lack))
    return sorted({*found, 1.0})


@cache
def _rule() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return np.asarray(nodes), np.asarray(weights)


def _at_radius(
    radius: float, epsilon: float, scale: float, dimension: int, shape: int
) -> float:
    """Return the mean of (1 − e^(ε − loss))₊ over directions times the radius density."""
    lack = dimension - shape
    if radius <= 0:
        radius = 1e-300
    far = _distance(radius, epsilon, scale, lack)
    edge = (radius**2 + 1 - far**2) / (2 * radius)
    if edge <= -1:
        return 0.0
    start = math.acos(min(edge, 1.0))
    nodes, weights = _rule()
    half = (math.pi - start) / 2
    angles = start + half * (nodes + 1)
    beyond = np.hypot(radius - np.cos(angles), np.sin(angles))
    loss = (beyond - radius) / scale + lack * np.log(beyond / radius)
    gain = -np.expm1(np.minimum(epsilon - loss, 0.0))
    sphere = np.exp((dimension - 2) * np.log(np.sin(angles)) - _log_sphere(dimension))
    mean = half * float(weights @ (gain * sphere))
    log_density = (shape - 1) * math.log(radius / scale) - radius / scale - gammaln(shape)
    return mean * math.exp(log_density) / scale


def _distance(radius: float, epsilon: float, scale: float, lack: int) -> float:
    """Return the distance t from the other centre at which the privacy loss is ε."""
    if lack == 0:
        return radius + epsilon * scale
    unit = lack * scale
    level = (radius + epsilon * scale) / unit + math.log(radius) - math.log(unit)
    return float(unit * wrightomega(level).real)


def _log_sphere(dimension: int) -> float:
    """Return the logarithm of the integral of sin^(d−2) from 0 to π."""
    return float(
        0.5 * math.log(math.pi) + gammaln((dimension - 1) / 2) - gammaln(dimension / 2)
    )
