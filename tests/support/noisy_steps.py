"""The exact law of two noisy gradients on a line."""

import numpy as np
from scipy.stats import norm

from confide.mechanisms.gradient.clipped_gradient import clipped_gradient
from confide.mechanisms.gradient.iterations import Admm, Steps

POINTS = 400
REACH = 7.0


def second_points(mechanism, calibration, scale, sums):
    """Return where the second gradient is taken, for every value of the first sum."""
    objective = calibration.objective
    steps = Steps(mechanism.rule, mechanism.step)
    size = next(steps.sizes(objective, 2, 1.0))
    admm = Admm(objective, mechanism.rho, return_z=False)
    return [admm.run(lambda _, s=s: np.array([s]), [size], scale) for s in sums]


def joint_delta(mechanism, calibration, tables, scale, epsilon):
    """Return δ(ε) of the first two noisy sums, and the probability that the grid holds."""
    loss, clip = calibration.objective.loss, calibration.clip
    noise = calibration.noise.scale
    gradients = [clipped_gradient(loss, rows, clip) for rows in tables]
    starts = [float(gradient(np.zeros(1))[0]) for gradient in gradients]
    low, high = min(starts) - REACH * noise, max(starts) + REACH * noise
    edges = np.linspace(low, high, POINTS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    width = middles[1] - middles[0]
    places = second_points(mechanism, calibration, scale, middles)
    first = [norm.pdf(middles, start, noise) * width for start in starts]
    total, mass = 0.0, 0.0
    for i, place in enumerate(places):
        means = [float(gradient(place)[0]) for gradient in gradients]
        shift = abs(means[0] - means[1]) / noise
        p, q = (law[i] for law in first)
        excess, weight = weighted_excess(p, q * np.exp(epsilon), shift)
        total += excess
        mass += weight
    return total, mass


def weighted_excess(p, q, shift):
    """Return ∫(p·N(0,1) − q·N(shift,1))₊, in closed form, and p."""
    if shift == 0:
        return max(p - q, 0.0), p
    if p == 0 or q == 0:
        return p, p
    cut = shift / 2 + np.log(p / q) / shift
    return p * norm.cdf(cut) - q * norm.cdf(cut - shift), p
