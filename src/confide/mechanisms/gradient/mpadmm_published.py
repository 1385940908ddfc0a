"""mpADMM with noise on x, z and y, as published: for comparison."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.mechanisms.gradient.iterations import Admm
from confide.mechanisms.gradient.noisy_gradient import Gradient
from confide.noise import Entropy, Noise
from confide.objectives import prox
from confide.privacy import Status

PUBLISHED_RHO = 0.5


def published_verdict(step: float) -> Status:
    """Return how far the published sensitivity, 1/step times the true one, is trusted."""
    return Status.REFUTED if step > 1 else Status.PROVED


def refusal(step: float) -> str:
    """Say why the published sensitivity does not run unless it was accepted."""
    return (
        f"mpADMM with the published sensitivity and step = {step:g} is REFUTED. The step "
        "to x divides by rho + 1/step, which is (1 + step·rho)/step; the published bound "
        f"leaves out the factor step, so the noise is {step:g} times too small. A pair of "
        "tables attains the true sensitivity (docs/proofs/gradient-mechanisms.md). Use "
        "sensitivity='corrected'; pass accept_unproved=True only to compare."
    )


@dataclass(frozen=True, slots=True)
class ThreeNoises:
    """Exact gradients, and noise on x, z and y after every step.

    ``noise`` is that of the sum of gradients; every step carries it over to x, and z and
    y get as much as x.
    """

    admm: Admm
    noise: Noise
    published: bool = False

    def run(
        self, gradient: Gradient, sizes: Iterable[float], scale: float, entropy: Entropy
    ) -> Array:
        """Take one step per size."""
        admm, objective = self.admm, self.admm.objective
        rho, dimension = admm.rho, objective.dimension
        kink, constraint = objective.kink, objective.constraint
        ridge = objective.ridge / scale + rho
        x, z, y, total = np.zeros((4, dimension))
        turns = 0
        for size in sizes:
            pull = x / size + rho * z - y - gradient(x) / scale
            x = pull / (ridge + 1 / size)
            z = prox(kink, constraint, x + y / rho, 1 / (rho * scale))
            y = y + rho * (x - z)
            reach = self.reach(size, scale)
            x, z, y = np.stack([x, z, y]) + reach * self.noise.draw(
                3 * dimension, entropy
            ).reshape(3, dimension)
            turns += 1
            total += x
        final = total / turns if admm.averaged else x
        if not admm.wants_z:
            return np.array(final)
        return prox(kink, constraint, np.array(final) + y / rho, 1 / (rho * scale))

    def reach(self, size: float, scale: float) -> float:
        """Return how far x moves when the sum of gradients moves by 1."""
        weights = self.admm.objective.strong_convexity + scale * (self.admm.rho + 1 / size)
        return 1 / (weights * size) if self.published else 1 / weights
