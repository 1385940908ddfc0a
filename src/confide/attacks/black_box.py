"""Black-box audits: what an attacker who runs a mechanism many times can prove about it.

Every bound is a confidence statement: it exceeds the true privacy loss with at most the
stated error probability, so a mechanism is refuted if its claim lies below the bound.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri

from confide._types import Array
from confide.privacy import gaussian_epsilon


@dataclass(frozen=True, slots=True)
class Audit:
    """A lower confidence bound on epsilon at some delta, and how sure it is."""

    epsilon: float
    delta: float
    error: float
    runs: int


def threshold_audit(
    first: Array, second: Array, delta: float = 0.0, error: float = 0.01
) -> Audit:
    """Bound epsilon from a statistic observed under two neighbouring datasets.

    The threshold is chosen on one half of the runs and judged on the other, each rate by
    Clopper and Pearson at half the error.
    """
    half = len(first) // 2
    grid = np.quantile(
        np.concatenate([first[:half], second[:half]]), np.linspace(0, 1, 201)
    )
    best = max(grid, key=lambda cut: _epsilon(first[:half], second[:half], cut, delta, 0.5))
    bound = _epsilon(first[half:], second[half:], float(best), delta, error)
    return Audit(bound, delta, error, len(first))


def gaussian_audit(first: Array, second: Array, delta: float, error: float = 0.01) -> Audit:
    """Bound mu of a Gaussian-like trade-off at one threshold, then epsilon at delta.

    Sharper than `threshold_audit` for small deltas, at the price of assuming that the
    pair is at best mu-GDP, which is what a Gaussian mechanism claims.
    """
    half = len(first) // 2
    pooled = np.concatenate([first[:half], second[:half]])
    grid = np.quantile(pooled, np.linspace(0.02, 0.98, 49))
    best = max(grid, key=lambda cut: _mu(first[:half], second[:half], cut, error))
    mu = _mu(first[half:], second[half:], float(best), error)
    return Audit(gaussian_epsilon(max(mu, 0.0), delta), delta, error, len(first))


def _mu(first: Array, second: Array, cut: float, error: float) -> float:
    wrong = _upper(int((second > cut).sum()), len(second), error / 2)
    missed = _upper(int((first <= cut).sum()), len(first), error / 2)
    return float(ndtri(1 - wrong) - ndtri(missed))


def _epsilon(first: Array, second: Array, cut: float, delta: float, error: float) -> float:
    hits = 1 - _upper(int((first <= cut).sum()), len(first), error / 2)
    wrong = _upper(int((second > cut).sum()), len(second), error / 2)
    return float(np.log(max(hits - delta, 1e-300) / wrong))


def _upper(successes: int, trials: int, error: float) -> float:
    """Return the Clopper-Pearson upper bound of a probability."""
    if successes >= trials:
        return 1.0
    return float(betaincinv(successes + 1, trials - successes, 1 - error))
