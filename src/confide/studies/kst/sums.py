"""Linear regression by its sums: what a table without its rows still knows.

The squared loss sees a table only through Σxxᵀ and Σyx. In the basis of the former's
eigenvectors a perturbed fit within a ball is one equation in one unknown, so a million
rows cost as much as a thousand once they are summed.
"""

import math
from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.noise import Generator

SPREADS = {"even": 0.0, "uneven": 4.0}
"""Designs, by how many powers of ten their columns' variances are apart."""
ERROR = 0.5
"""Standard deviation of the errors, in units of that of ⟨x,θ⟩."""
CHUNK = 2**15
STEPS = 40


@dataclass(frozen=True, slots=True)
class Sums:
    """Eigenvalues and eigenvectors of Σxxᵀ, and Σyx in their basis."""

    spectrum: Array
    basis: Array
    pull: Array

    @classmethod
    def of(cls, gram: Array, pull: Array) -> "Sums":
        """Rotate sums into the basis of eigenvectors."""
        spectrum, basis = np.linalg.eigh(gram)
        return cls(spectrum, basis, basis.T @ pull)

    def fits(self, linear: Array, ridge: float, radius: float) -> Array:
        """Return the minimisers of Σ½(⟨x,θ⟩ − y)² + ⟨b,θ⟩ + ½Λ‖θ‖² within a ball.

        A line for every line of ``linear``; both in the basis of eigenvectors.
        """
        drawn = self.pull - linear
        weights = np.broadcast_to(self.spectrum + ridge, drawn.shape)
        more = np.zeros((len(drawn), 1))
        for _ in range(STEPS):  # Newton's on 1/‖θ‖ − 1/radius, which is nearly straight
            theta = drawn / (weights + more)
            square = np.sum(theta**2, axis=1, keepdims=True)
            length = np.sqrt(square)
            bent = np.sum(theta**2 / (weights + more), axis=1, keepdims=True)
            with np.errstate(invalid="ignore"):
                step = np.nan_to_num(square / bent * (length - radius) / radius)
            more = np.maximum(more + step, 0.0)
        return drawn / (weights + more)

    def excess(self, theta: Array, best: Array) -> Array:
        """Return how much worse in Σ½(⟨x,θ⟩ − y)² every line is than ``best``."""
        free = self.pull / self.spectrum
        loss = np.sum(self.spectrum * (theta - free) ** 2, axis=-1) / 2
        least = np.sum(self.spectrum * (best - free) ** 2, axis=-1) / 2
        return np.asarray(loss - least)


def simulated(rows: int, size: int, design: str, rng: Generator) -> tuple[Array, Array]:
    """Draw a table row by row and return its sums, Σxxᵀ and Σyx.

    Entries are plus or minus a number for every column, all coefficients plus or minus 1:
    rows and coefficients have length √p. Targets are cut off at p.
    """
    heights = np.logspace(0, -SPREADS[design] / 2, size)
    heights *= math.sqrt(size / float(heights @ heights))
    truth = np.where(rng.integers(2, size=size) > 0, 1.0, -1.0)
    gram, pull = np.zeros((size, size)), np.zeros(size)
    spread = ERROR * math.sqrt(size)
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        bits = rng.integers(0, 2, size=(count, size), dtype=np.int8)
        signs = bits.astype(np.float32) * 2 - 1
        target = signs @ (heights * truth).astype(np.float32)
        target = np.clip(target + spread * rng.normal(size=count), -size, size)
        gram += signs.T @ signs  # whole numbers below 2²⁴, exact in single precision
        pull += signs.T.astype(np.float64) @ target
    return gram * np.outer(heights, heights), pull * heights
