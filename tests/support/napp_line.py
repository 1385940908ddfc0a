"""NAPP in one dimension, written again without the library: many draws of b at once."""

import numpy as np
from scipy.special import expit

FLOOR = 0.25
SCALE = 2.0
"""What the paper prescribes for logistic regression at ε = 1 and r = ½, rows in [-1, 1]."""


def chance(b):
    """P(noise <= b) for the Laplace noise of ε = 1."""
    tail = 0.5 * np.exp(-np.abs(b) / SCALE)
    return np.where(b < 0, tail, 1 - tail)


def draws(count=4001, reach=30.0):
    edges = np.linspace(-reach, reach, count + 1)
    return (edges[1:] + edges[:-1]) / 2, np.diff(chance(edges))


def solved(b, weight, records, start):
    """Minimise positive·log(1+e^-t) + negative·log(1+e^t) + b·t + weight·t²."""
    positive, negative = records
    low, high, t = np.full_like(b, -1e3), np.full_like(b, 1e3), start
    for _ in range(200):
        slope = negative * expit(t) - positive * expit(-t) + b + 2 * weight * t
        low, high = np.where(slope <= 0, t, low), np.where(slope >= 0, t, high)
        bend = (positive + negative) * expit(t) * expit(-t) + 2 * weight
        moved = t - slope / bend
        outside = (moved < low) | (moved > high)
        moved = np.where(outside, (low + high) / 2, moved)
        if np.all(np.abs(moved - t) <= 1e-13 * np.abs(moved)):
            return moved
        t = moved
    return t


def iterated(b, records, strength, steps, *, moor=True, folded=False, least=0.0):
    """Return the last two iterates and the last weights.

    ``strength`` is Λ of the lasso, or any weights as a function of |t|.
    """
    t = before = np.zeros_like(b)
    weight = np.maximum(FLOOR, least) + 0 * b
    for number in range(steps):
        if number:
            size = np.maximum(np.abs(t), 1e-150)
            target = strength(size) if callable(strength) else strength / size
            weight = np.maximum(target, FLOOR) if moor else target + FLOOR
            weight = np.maximum(weight, least)
        pull = b * np.sign(t) if folded and number else b
        before, t = t, solved(pull, weight, records, t)
    return before, t, weight


def hockey(first, second, mass, epsilon, edges):
    """A lower bound of δ(ε): only events made of these intervals are tried."""
    p = np.histogram(first, edges, weights=mass)[0]
    q = np.histogram(second, edges, weights=mass)[0]
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum())
