"""Audits of a mechanism: exact in one dimension, by repeated runs in any."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.special import betaincinv, ndtri

from confide._types import Array
from confide.accounting import as_pure
from confide.attacks.exact_loss import Records, exact_pair, hockey_stick, max_log_ratio
from confide.data import bound_rows
from confide.data.schema.case_weights import Cases
from confide.mechanisms import Calibration, ObjectivePerturbation
from confide.noise import Entropy, RoundNoise
from confide.objectives import Objective
from confide.privacy import Approx, Neighbours, Pure, gaussian_epsilon


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


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The largest privacy loss found, in units of the claim; above 1 is a refutation."""

    share_of_claim: float
    pairs: int


def exact_finding(
    objective: Objective, budget: Pure | Approx, neighbours: Neighbours
) -> AuditResult:
    """Integrate the privacy loss of objective perturbation for one-dimensional pairs.

    Under (epsilon, delta) two noises are tried, that of one or two columns and that of
    many. What three columns or more have in between is checked in tests/exact alone.
    """
    worst, count = 0.0, 0
    usual = ObjectivePerturbation()
    many = isinstance(budget, Approx)
    for mechanism in (usual, usual.with_noise("gaussian")) if many else (usual,):
        calibration = mechanism.calibrate(objective, budget, neighbours)
        main = budget.share(1 - mechanism.precision_share)
        epsilon, noise = float(main.epsilon), cast("RoundNoise", calibration.noise)
        for first, second in extreme_pairs(objective, neighbours):
            laws = exact_pair(calibration.objective, noise, first, second)
            if isinstance(main, Approx) and as_pure(calibration.events) is None:
                share = hockey_stick(*laws, epsilon) / float(main.delta)
            else:
                share = max_log_ratio(*laws) / epsilon
            worst, count = max(worst, share), count + 1
    return AuditResult(worst, count)


def extreme_pairs(
    objective: Objective, neighbours: Neighbours
) -> Iterator[tuple[Records, Records]]:
    """Yield pairs of neighbouring one-dimensional datasets, in both orders."""
    bound = objective.target_bound or 1.0
    low, high = (0.0, bound) if objective.loss.targets == "counts" else (-bound, bound)
    bases = (
        Records.of(np.zeros((0, 1)), []),
        Records.of([[1.0], [1.0], [-0.5]], [high, low, low]),
        Records.of([[1.0]], [low], 12),
    )
    for base in bases:
        for x, y in (([1.0], high), ([1.0], low), ([0.5], high)):
            more = base.plus(x, y)
            other = base
            if neighbours is Neighbours.REPLACE_ONE:
                other = base.plus([-1.0], y)
            yield more, other
            yield other, more


def black_box_finding(
    calibration: Calibration,
    runs: int,
    progress: Callable[[], None] = lambda: None,
) -> Audit:
    """Release many times with and without one record and bound epsilon from below."""
    objective = calibration.objective
    record = np.eye(objective.dimension)[:1] * objective.reach
    entropy = Entropy.system()

    def observe(features: Array) -> Array:
        rows = bound_rows(features, np.ones(1), objective.reach, 0.0)
        if objective.longest_row is not None:
            rows = rows.weighed(objective.row_norm)
        if objective.case_weights:
            rows = rows.with_cases(Cases(weight=np.ones(1)))
        seen = []
        for _ in range(runs):
            value = calibration.release([rows], entropy).value
            seen.append(float(value @ record[0]))
            progress()
        return np.array(seen)

    present, absent = observe(record), observe(np.zeros_like(record))
    if isinstance(calibration.budget, Approx):
        return gaussian_audit(present, absent, float(calibration.budget.delta))
    return threshold_audit(present, absent)
