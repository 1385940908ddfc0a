"""The best radius and ridge in hindsight, which is not private.

rls-out with radius R and penalty λ releases w + κ, w the minimiser in the ball and κ of
spherical Laplace noise of scale s = (12R + 8)/(λnε). For G = Σxxᵀ over d columns its mean
squared error on the rows it learnt from is, on average over the noise,

    mean (⟨w,x⟩ − y)² + (d + 1)·s²·tr(G)/n,

so the best pair is found exactly, without drawing noise. `best_draw` is another reading
of "search exhaustively": draw noise for every pair and keep the model that turned out
best, so that noise is chosen in hindsight as well.
"""

from itertools import product
from typing import Final

import numpy as np
from scipy.optimize import brentq

from confide._types import Array
from confide.noise import Entropy, SphericalLaplace

RADII: Final = (0.25, 0.5, 1.0, 2.0)
PENALTIES: Final = tuple(float(one) for one in np.linspace(0.001, 0.5, 51))
"""From 0.001 to 0.5 as in the paper, which does not print how many steps it takes."""


def expected_error(
    features: Array, target: Array, radius: float, penalty: float, epsilon: float
) -> float:
    """Return the mean squared error on these rows, averaged over the published noise."""
    count, width = features.shape
    scale = noise_scale(count, radius, penalty, epsilon)
    found = minimiser(features, target, radius, penalty)
    fit = float(((features @ found - target) ** 2).mean())
    return fit + (width + 1) * scale**2 * float((features**2).sum()) / count


def noise_scale(count: int, radius: float, penalty: float, epsilon: float) -> float:
    """Return the scale of the noise as it is published."""
    return (12 * radius + 8) / (penalty * count * epsilon)


def minimiser(features: Array, target: Array, radius: float, penalty: float) -> Array:
    """Minimise the mean square plus ½λ‖w‖² over ‖w‖ <= R."""
    curvatures, axes = np.linalg.eigh(features.T @ features)
    moment = axes.T @ (features.T @ target)

    def solved(ridge: float) -> Array:
        return np.asarray(moment / (np.maximum(curvatures, 0.0) + ridge))

    def excess(ridge: float) -> float:
        return float(np.linalg.norm(solved(ridge))) - radius

    ridge = len(features) * penalty / 2
    if excess(ridge) > 0:
        most = float(np.linalg.norm(moment)) / radius
        ridge = float(brentq(excess, ridge, most, xtol=1e-9))
    return np.asarray(axes @ solved(ridge))


def best_pair(features: Array, target: Array, epsilon: float) -> tuple[float, float]:
    """Return the radius and the penalty of least expected error."""

    def error(pair: tuple[float, float]) -> float:
        return expected_error(features, target, pair[0], pair[1], epsilon)

    return min(product(RADII, PENALTIES), key=error)


def best_draw(features: Array, target: Array, epsilon: float, entropy: Entropy) -> Array:
    """Return the noised coefficients of least error on these rows, a draw for each pair."""
    count, width = features.shape
    drawn = np.array(
        [
            minimiser(features, target, radius, penalty)
            + SphericalLaplace(noise_scale(count, radius, penalty, epsilon)).draw(
                width, entropy
            )
            for radius, penalty in product(RADII, PENALTIES)
        ]
    )
    errors = ((features @ drawn.T - target[:, None]) ** 2).mean(axis=0)
    return np.asarray(drawn[int(errors.argmin())])
