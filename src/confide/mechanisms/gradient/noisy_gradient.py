"""Sums of clipped gradients with Gaussian noise, the only gradients that are released.

The result is the lattice point nearest to the exact sum of a computed gradient and
real-valued noise (docs/proofs/gradient-mechanisms.md#noisy-gradient-exact). The noise is
scaled to the largest possible distance between the sums of neighbouring tables at the
current coefficients.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from confide._types import AnyArray, Array
from confide.data.rows.in_memory import Rows
from confide.mechanisms.gradient.batch_sums import sums_of_batches
from confide.mechanisms.gradient.calibration import GradientCalibration
from confide.mechanisms.gradient.clipped_gradient import Gradient, clipped_gradient
from confide.noise import Entropy, fixed_size_subsets, poisson_subsets
from confide.noise.lattice import LatticeNoise
from confide.privacy import Neighbours

DRAWN_AT_ONCE = 2**13


def noisy_gradient(
    calibration: GradientCalibration, rows: Rows, entropy: Entropy
) -> Gradient:
    """Return a function that computes a noisy gradient at given coefficients.

    The function can be called once for every step that is charged to the budget.
    """
    if calibration.rate < 1:
        return _subsampled(calibration, rows, entropy, _noises(calibration, entropy))
    alone = party_gradients(calibration, (rows,), entropy)
    return lambda theta: alone(theta[None, :])[0]


def party_gradients(
    calibration: GradientCalibration, parts: Sequence[Rows], entropy: Entropy
) -> Gradient:
    """Return a function that computes the noisy gradient sums of all parties.

    Each row of its argument contains the coefficients of one party. The same row of the
    result contains the noisy sum of this party.
    """
    noises = [_noises(calibration, entropy) for _ in parts]
    loss, clip = calibration.objective.loss, calibration.clip
    exact = [
        clipped_gradient(loss, rows, clip, calibration.trusted_radius) for rows in parts
    ]

    def gradient(points: Array) -> Array:
        share = calibration.noise_share(points)
        sums = (one(point) / share for one, point in zip(exact, points, strict=True))
        found = np.stack(
            [next(noise).add(total) for noise, total in zip(noises, sums, strict=True)]
        )
        found *= share
        return found

    return gradient


def _subsampled(
    calibration: GradientCalibration,
    rows: Rows,
    entropy: Entropy,
    noise: Iterator[LatticeNoise],
) -> Gradient:
    rate = calibration.rate
    size = int(rate * rows.count)
    subsets: Iterator[AnyArray]
    if calibration.neighbours is Neighbours.REPLACE_ONE:
        subsets = fixed_size_subsets(rows.count, size, entropy)
    else:
        subsets = poisson_subsets(rows.count, rate, entropy)
    objective, clip, steps = calibration.objective, calibration.clip, calibration.steps
    batch_sum = sums_of_batches(objective, clip, rows, subsets, steps, usual=size + 1)
    upscale = float(1 / rate)

    def gradient(theta: Array) -> Array:
        share = calibration.noise_share(theta[None, :])
        total = next(noise).add(batch_sum(theta) / share)
        total *= share * upscale
        return total

    return gradient


def _noises(calibration: GradientCalibration, entropy: Entropy) -> Iterator[LatticeNoise]:
    """Yield the noise of every step, drawing it for many steps at once."""
    dimension, left = calibration.objective.dimension, calibration.steps
    while left > 0:
        some = min(left, max(1, DRAWN_AT_ONCE // dimension))
        drawn = calibration.noise.sample(some * dimension, entropy)
        noise = LatticeNoise.of(drawn, calibration.grid)
        for start in range(0, some * dimension, dimension):
            yield noise[start : start + dimension]
        left -= some
