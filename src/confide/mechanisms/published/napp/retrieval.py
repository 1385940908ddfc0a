"""NAPP's budget retrieval: how much of ε its proof would give back, and what it does.

The published proof spends (1 − r)ε on the ratio of determinants for a curvature of 2Λ₀.
Where the smallest weight at the end exceeds Λ₀, Algorithm 2 takes the difference back:

    Δε = max{0, (1 − r)ε·(1 − Λ₀/min w)}

(printed with a min, and with half the ratio). Recycling spends it on smaller noise,
b·rε/(rε + Δε), under the floor min w, and starts over. The weights are functions of the
private rows, so neither is sound: see docs/napp.md.
"""

from dataclasses import dataclass, replace

import numpy as np

from confide._types import Array
from confide.mechanisms.published.napp.iterations import (
    NappPath,
    NappStopping,
    Step,
    follow,
)
from confide.mechanisms.published.napp.weights import Weighting


@dataclass(frozen=True, slots=True)
class Shares:
    """ε for the noise (rε) and for the determinants ((1 − r)ε)."""

    noise: float
    curvature: float


def retrievable(share: float, floor: float, weights: Array) -> float:
    """Return Δε out of a share, by the repaired Eq. 13."""
    return max(0.0, share * (1 - floor / float(weights.min())))


def recycle(
    step: Step,
    weighting: Weighting,
    linear: Array,
    stopping: NappStopping,
    shares: Shares,
    *,
    rounds: int,
    folded: bool = False,
) -> tuple[NappPath, float]:
    """Run Algorithm 2; ``rounds`` = 0 only says what could be returned.

    As printed the noise is rescaled twice over and a second round never retrieves,
    because its floor is compared with itself. Here the noise is rescaled from the first
    draw, and a round's retrieval compares with the floor it ran under.
    """
    path = follow(step, weighting, linear, stopping, folded=folded)
    found = retrievable(shares.curvature, weighting.floor, path.weights)
    if not rounds:
        return path, found
    total = 0.0
    for _ in range(rounds):
        if found <= NOTHING * shares.curvature:
            break
        total += found
        least = float(path.weights.min())
        weighting = replace(weighting, least=least)
        smaller = linear * (shares.noise / (shares.noise + total))
        path = follow(step, weighting, smaller, stopping, folded=folded)
        found = retrievable(shares.curvature - total, least, path.weights)
    return path, float(np.clip(total, 0.0, shares.curvature))


NOTHING = 1e-9
