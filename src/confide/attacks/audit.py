"""Audits of mechanisms: exact in one dimension, by repeated runs in any dimension."""

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
    """A lower confidence bound on epsilon.

    Parameters
    ----------
    epsilon : float
        The lower bound on epsilon.
    delta : float
        The delta at which the bound holds.
    error : float
        Largest probability that the bound exceeds the true epsilon.
    runs : int
        Number of releases from each table.

    Examples
    --------
    >>> from confide.attacks import Audit
    >>> found = Audit(epsilon=0.7, delta=0.0, error=0.01, runs=2000)
    >>> found.epsilon <= 1  # consistent with a claim of 1
    True
    """

    epsilon: float
    delta: float
    error: float
    runs: int


def threshold_audit(
    first: Array, second: Array, delta: float = 0.0, error: float = 0.01
) -> Audit:
    """Bound epsilon from below by a statistic of releases from two neighbouring tables.

    A threshold on the statistic is chosen on one half of the releases and evaluated on the
    other half. A Clopper-Pearson bound with half of ``error`` is computed for each of
    the two error rates.

    Parameters
    ----------
    first : ndarray
        The statistic in releases from one table.
    second : ndarray
        The statistic in the same number of releases from the other table.
    delta : float, default=0
        The delta of the claimed guarantee.
    error : float, default=0.01
        Largest probability that the bound exceeds the true epsilon.

    Returns
    -------
    Audit
        A lower bound on epsilon.

    Examples
    --------
    Laplace noise of scale 1 on a count has ε = 1, and the bound does not exceed it:

    >>> import numpy as np
    >>> from confide.attacks import threshold_audit
    >>> noise = np.random.default_rng(0).laplace(size=(2, 20_000))
    >>> found = threshold_audit(noise[0] + 1, noise[1])
    >>> 0.5 < found.epsilon <= 1
    True
    """
    half = len(first) // 2
    grid = np.quantile(
        np.concatenate([first[:half], second[:half]]), np.linspace(0, 1, 201)
    )
    best = max(grid, key=lambda cut: _epsilon(first[:half], second[:half], cut, delta, 0.5))
    bound = _epsilon(first[half:], second[half:], float(best), delta, error)
    return Audit(bound, delta, error, len(first))


def gaussian_audit(first: Array, second: Array, delta: float, error: float = 0.01) -> Audit:
    """Bound epsilon from below at a delta, assuming the trade-off curve of Gaussian noise.

    This is more precise than `threshold_audit` for small deltas, because it assumes that
    the two distributions satisfy mu-GDP, as a Gaussian mechanism claims.

    Parameters
    ----------
    first : ndarray
        The statistic in releases from one table.
    second : ndarray
        The statistic in the same number of releases from the other table.
    delta : float
        The delta of the claimed guarantee.
    error : float, default=0.01
        Largest probability that the bound exceeds the true epsilon.

    Returns
    -------
    Audit
        A lower bound on epsilon.

    Examples
    --------
    Gaussian noise with a standard deviation of 4 on a count has ε = 1.1 at δ = 1e-6:

    >>> import numpy as np
    >>> from confide.attacks import gaussian_audit
    >>> noise = np.random.default_rng(0).normal(0, 4, size=(2, 20_000))
    >>> found = gaussian_audit(noise[0] + 1, noise[1], delta=1e-6)
    >>> 0.5 < found.epsilon < 1.2
    True
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
    """Return the Clopper-Pearson upper bound on a probability."""
    if successes >= trials:
        return 1.0
    return float(betaincinv(successes + 1, trials - successes, 1 - error))


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The largest privacy loss found by an exact audit.

    Parameters
    ----------
    share_of_claim : float
        The largest epsilon or delta found, as a multiple of the claimed value. A multiple
        above 1 refutes the claim.
    pairs : int
        Number of pairs of tables that were tried.

    Examples
    --------
    >>> from confide.attacks import AuditResult
    >>> AuditResult(share_of_claim=0.98, pairs=24).share_of_claim > 1
    False
    """

    share_of_claim: float
    pairs: int


def exact_finding(
    objective: Objective, budget: Pure | Approx, neighbours: Neighbours
) -> AuditResult:
    """Compute the exact privacy loss of objective perturbation on one-dimensional tables.

    For an (epsilon, delta) budget, two noise distributions are tried: the one used for one
    or two columns, and the Gaussian one used for many columns. Intermediate numbers
    of columns are tested in tests/exact only.

    Parameters
    ----------
    objective : Objective
        The objective with its loss and bounds.
    budget : Pure or Approx
        The claimed budget.
    neighbours : Neighbours
        The neighbour relation of the claimed guarantee.

    Returns
    -------
    AuditResult
        The largest epsilon or delta found, as a multiple of the claimed value.

    Examples
    --------
    >>> from confide.attacks import exact_finding
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Neighbours, Pure
    >>> objective = Objective(Logistic(), dimension=1, row_norm=1.0)
    >>> exact_finding(objective, Pure(1), Neighbours.ADD_REMOVE).share_of_claim <= 1
    True
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
    """Yield pairs of neighbouring tables with extreme records, in both orders.

    All tables have one column.

    Parameters
    ----------
    objective : Objective
        The objective with its loss and bounds.
    neighbours : Neighbours
        Neighbour relation between the tables of a pair.

    Yields
    ------
    tuple of two Records
        Two neighbouring tables.

    Examples
    --------
    >>> from confide.attacks import extreme_pairs
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Neighbours
    >>> objective = Objective(Logistic(), dimension=1, row_norm=1.0)
    >>> first, second = next(extreme_pairs(objective, Neighbours.ADD_REMOVE))
    >>> abs(len(first.target) - len(second.target)) <= 1
    True
    """
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
    """Bound epsilon from below, using many releases with and without one record.

    In the releases without the record, a record of zeros takes its place.

    Parameters
    ----------
    calibration : Calibration
        A calibrated mechanism.
    runs : int
        Number of releases from each table.
    progress : callable, optional
        A function that is called after every release.

    Returns
    -------
    Audit
        A lower bound on epsilon.

    Examples
    --------
    >>> from confide.attacks import black_box_finding
    >>> from confide.mechanisms import ObjectivePerturbation
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Neighbours, Pure
    >>> calibration = ObjectivePerturbation().calibrate(
    ...     Objective(Logistic(), dimension=2, row_norm=1.0), Pure(1), Neighbours.ADD_REMOVE
    ... )
    >>> black_box_finding(calibration, runs=20).runs
    20
    """
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
