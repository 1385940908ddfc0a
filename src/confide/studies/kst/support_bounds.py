"""Bounds of Kifer, Smith and Thakurta on the rows and blocks needed to find a support.

The support consists of s of the p columns. Targets satisfy |y| <= s, the s largest entries
of a row have norm at most √s, and coefficients satisfy |θⱼ| <= 1. ``epsilon`` is the budget
of the selection alone, which is half of the total in the paper's algorithms. log C(p, s)
replaces the paper's s·log p.

Corrections to the paper:

- Section 3.2 samples supports with weights exp(−ε·q·α), where q is the loss of a support
  and α the largest loss of a record. Algorithm 4 has the weights exp(−ε·q/(2α)), which are
  private.
- Theorem 34 states an upper bound as an equality. The expectation in Theorem 6 needs no
  tail bound: the mean loss of a draw at temperature T among N supports exceeds the smallest
  loss by at most T·log N.
- The squared loss ½(y − ⟨x,θ⟩)² is at most 2s², not 4s² as in the proof of Theorem 7.
- Theorem 7 prints s·log(1/δ) for the noise of the fit; ζ² = 4s³ makes it s⁴·log(1/δ).
- The proof of Theorem 8 calls both sets of columns GOOD and once prints 4s for 2s.
  With s and p − s columns the factor of the exponential is p/2, not p. A failure requires
  that the noise of two columns differs by 1, so the exponent of its probability is twice
  the printed one (`vote_failure_exact`).
- Theorem 44 divides by Δ + Ψ, but a sum over n records is nΨ-strongly convex.
- The number of blocks need not be √n: k blocks of m rows need k·m rows (`vote_rows`).
"""

import math

import numpy as np
from scipy.special import gammaln

from confide.errors import InvalidParameter
from confide.objectives import Box, Objective, Squared
from confide.privacy import Approx
from confide.studies.kst.risk_bounds import least_ridge, perturbed_risk

FAR = 46.0
"""Multiple of the scale that a Laplace variable exceeds with probability below 1e-20."""
LONGEST = 700.0
"""Gap, in units of the noise scale, beyond which the failure probability is set to 0."""
LOG_2 = math.log(2)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def log_supports(columns: int, size: int) -> float:
    """Return log C(p, s)."""
    _check_sizes(columns, size)
    whole, part = float(gammaln(columns + 1)), float(gammaln(size + 1))
    return whole - part - float(gammaln(columns - size + 1))


def largest_loss(size: int) -> float:
    """Return 2s², the maximum of ½(y − ⟨x,θ⟩)² in the paper's setting."""
    return 2.0 * size**2


def support_excess(
    columns: int,
    size: int,
    epsilon: float,
    rows: int,
    *,
    most: float,
    failure: float | None = None,
    monotone: bool = False,
) -> float:
    """Bound the excess loss per record of a sampled support over the best one (Theorem 6).

    Parameters
    ----------
    columns, size : int
        Number p of columns, and number s of columns in a support.
    epsilon : float
        Budget of the selection.
    rows : int
        Number n of records.
    most : float
        α, the largest loss of a record.
    failure : float, optional
        Probability γ of Theorem 34 that the bound is exceeded; None to bound the
        expectation.
    monotone : bool
        Whether a support with loss q is sampled with weight exp(−ε·q/α) instead of
        exp(−ε·q/(2α)). This is private under add-remove neighbours, because losses are not
        negative.
    """
    if rows < 1:
        raise InvalidParameter("rows", "at least 1", rows)
    room = log_supports(columns, size)
    if failure is not None:
        _check_chance(failure)
        room -= math.log(failure)
    return _temperature(epsilon, most, monotone) * room / rows


def support_rows(
    columns: int,
    size: int,
    epsilon: float,
    *,
    most: float,
    gap: float,
    failure: float = 0.05,
    monotone: bool = False,
    additive: bool = False,
) -> float:
    """Return the number of rows with which sampling finds the best support (Table 2).

    Parameters
    ----------
    columns, size, epsilon, most, monotone
        As in `support_excess`.
    gap : float
        Excess loss per record of every other support; about ½ΨΦ² if Φ is the smallest
        nonzero coefficient.
    failure : float
        The probability of drawing another support.
    additive : bool
        Whether a support that misses j columns has the excess loss j·gap, as it does if
        columns are uncorrelated. As only few supports miss few columns, s²·log p rows are
        then enough: with x = n·gap/T and temperature T = 2α/ε (or α/ε if ``monotone``), the
        relative weight of all other supports is at most Σ C(s,j)·C(p−s,j)·e^{−jx}, which
        is at most exp(s(p−s)e^{−x}) − 1.
    """
    _check_positive("gap", gap)
    _check_chance(failure)
    room = log_supports(columns, size) - math.log(failure)
    if additive:
        room = max(0.0, math.log(max(1, size * (columns - size)) / math.log1p(failure)))
    return _temperature(epsilon, most, monotone) * room / gap


def vote_failure(columns: int, size: int, epsilon: float, blocks: int) -> float:
    """Bound the probability of a wrong support if all blocks vote correctly (Theorem 8)."""
    scale = _vote_scale(columns, size, epsilon, blocks)
    return min(1.0, columns / 2 * math.exp(-1 / (2 * scale)))


def vote_failure_exact(columns: int, size: int, epsilon: float, blocks: int) -> float:
    """Return the exact probability of a wrong support if all blocks vote correctly.

    It is the probability that the noise of some irrelevant column exceeds the noise of some
    relevant column by more than 1, the difference of their shares of votes.
    """
    gap = 1 / _vote_scale(columns, size, epsilon, blocks)
    others = columns - size
    if others == 0 or gap > LONGEST:
        return 0.0
    return _chance_above(gap, others, size)


def vote_blocks(columns: int, size: int, epsilon: float, failure: float = 0.05) -> float:
    """Return the number of blocks that Theorem 8 requires."""
    _check_sizes(columns, size)
    _check_positive("epsilon", epsilon)
    _check_chance(failure)
    return 4 * size / epsilon * math.log(columns / (2 * failure))


def lasso_rows(
    columns: int, size: int, *, spread: float, curvature: float, least: float
) -> float:
    """Return the number of rows that a block's lasso needs to find the support (Lemma 42).

    ``spread`` is the standard deviation σ of the errors, ``curvature`` the constant Ψ of
    restricted strong convexity, and ``least`` the smallest nonzero coefficient Φ. The
    penalty on the summed loss of a block of m rows is 4σ√(m·log p).
    """
    _check_sizes(columns, size)
    for name, value in (("spread", spread), ("curvature", curvature), ("least", least)):
        _check_positive(name, value)
    return (16 * spread / (curvature * least)) ** 2 * size * math.log(columns)


def vote_rows(
    columns: int,
    size: int,
    epsilon: float,
    *,
    block_rows: float,
    failure: float = 0.05,
    square: bool = True,
) -> float:
    """Return the number of rows that selection by votes needs (Theorem 9, Table 2).

    ``block_rows`` is the number of rows that one block needs, such as `lasso_rows`. If
    ``square`` is true, there are as many blocks as rows in a block, as published; otherwise
    there are as many blocks as Theorem 8 requires.
    """
    _check_positive("block_rows", block_rows)
    blocks = vote_blocks(columns, size, epsilon, failure)
    return max(blocks, block_rows) ** 2 if square else blocks * block_rows


def fit_on_support(size: int, budget: Approx, rows: int, *, curvature: float) -> float:
    """Bound the expected excess risk of the fit on the right support (Theorem 9).

    ``budget`` is the budget of the fit, and ``curvature`` is the strong convexity Ψ per
    record. The ridge is 2s/ε. The bound of Theorem 7 is this bound plus `support_excess`.
    """
    _check_positive("curvature", curvature)
    objective = sparse_regression(size)
    return perturbed_risk(
        objective,
        budget,
        rows,
        norm=math.sqrt(size),
        ridge=least_ridge(objective, budget),
        curvature=rows * curvature,
    )


def sparse_regression(size: int) -> Objective:
    """Return the objective of Algorithm 6, with coefficients within ±1.

    The gradient of a record is bounded by ζ = 2s^{3/2}, and its curvature by λ = s.
    """
    length = math.sqrt(size)
    return Objective(Squared(), size, length, constraint=Box(-1.0, 1.0), target_bound=size)


def _chance_above(gap: float, others: int, size: int) -> float:
    """Return P(max of ``others`` Laplace draws > ``gap`` + min of ``size`` more draws)."""
    edges = np.concatenate([np.arange(-FAR, 0.0), np.linspace(0, gap, math.ceil(gap) + 1)])
    edges = np.concatenate([edges, gap + np.arange(1, FAR)])
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    places = middle[:, None] + half[:, None] * NODES
    log_below = np.where(places < 0, places - LOG_2, np.log1p(-np.exp(-np.abs(places)) / 2))
    top = math.log(others) + (others - 1) * log_below - np.abs(places) - LOG_2
    over = gap - places  # failure if a right column's noise is below −over
    log_kept = np.where(over < 0, over - LOG_2, np.log1p(-np.exp(-np.abs(over)) / 2))
    missed = -np.expm1(size * log_kept)
    return min(1.0, float(half @ (np.exp(top) * missed @ WEIGHTS)))


def _vote_scale(columns: int, size: int, epsilon: float, blocks: int) -> float:
    _check_sizes(columns, size)
    _check_positive("epsilon", epsilon)
    if blocks < 1:
        raise InvalidParameter("blocks", "at least 1", blocks)
    return 2 * size / (blocks * epsilon)


def _temperature(epsilon: float, most: float, monotone: bool) -> float:
    _check_positive("epsilon", epsilon)
    _check_positive("most", most)
    return (1 if monotone else 2) * most / epsilon


def _check_sizes(columns: int, size: int) -> None:
    if not 1 <= size <= columns:
        raise InvalidParameter("size", f"from 1 to {columns}, the number of columns", size)


def _check_chance(value: float) -> None:
    if not 0 < value < 1:
        raise InvalidParameter("failure", "between 0 and 1", value)


def _check_positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise InvalidParameter(name, "positive and finite", value)
