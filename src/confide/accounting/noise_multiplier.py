"""Noise multipliers for repeated noisy sums, and the privacy cost of such sums.

Every step adds normal noise to a sum of vectors over all rows (rate 1) or over a random
batch. ``multiplier`` is the standard deviation of the noise, divided by the sensitivity of
the sum to one record. For vectors clipped to norm C, the sensitivity is C under
add-remove and 2C under replace-one. The theorems are in
docs/proofs/noisy-gradients.md#subsampled-gaussian.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
from scipy.optimize import brentq

from confide.accounting.events import (
    Sampling,
    SubsampledGaussianEvent,
    sampling_for,
)
from confide.accounting.loss_lattice import COARSE, FINE, losses_epsilon, smallest_delta
from confide.accounting.subsampling import (
    best_order_epsilon,
    general_renyi,
    sampled_renyi,
)
from confide.errors import InvalidParameter, MixedBudgets
from confide.privacy import (
    Approx,
    Neighbours,
    Zcdp,
    gaussian_epsilon,
    gaussian_mu,
    round_down,
    round_up,
)
from confide.privacy.budgets import Number, exact

Method: TypeAlias = Literal["best", "gaussian", "pld", "renyi", "renyi-general"]
METHODS: tuple[Method, ...] = get_args(Method)
PROOF = "noisy-gradients.md#subsampled-gaussian"
RELATIVE_TOLERANCE = 1e-4
"""Relative tolerance of calibrated multipliers above the smallest valid one."""
LARGEST_LOG = math.log(1e9)
GENERAL_ORDERS = np.unique(np.round(np.geomspace(2, 2048, 160)))


def multiplier_for(
    budget: Approx | Zcdp,
    steps: int,
    *,
    rate: Number = Fraction(1),
    sampling: Sampling | None = None,
    neighbours: Neighbours | str,
    method: Method = "best",
) -> float:
    """Return the smallest noise multiplier at which all steps together fit into a budget.

    Parameters
    ----------
    budget : Approx or Zcdp
        The budget for all steps together; zCDP only if every step uses all rows.
    steps : int
        The number of noisy sums. More steps need more noise in each.
    rate : number in (0, 1], default 1
        The probability that a record is in a batch: 1 for sums over all rows.
    sampling : {'poisson', 'without-replacement'} or None, default None
        How batches are drawn. None chooses the scheme whose guarantee is proved under the
        neighbour relation.
    neighbours : Neighbours or str
        The neighbour relation. Random batches are Poisson batches under "add-remove" and
        batches of fixed size under "replace-one".
    method : {'best', 'gaussian', 'pld', 'renyi', 'renyi-general'}, default 'best'
        The accounting method, as in `epsilon_for`.

    Returns
    -------
    float
        The standard deviation of the noise, in units of the sensitivity of one sum.

    Raises
    ------
    InvalidParameter
        If the budget is pure, or if the sampling does not suit the neighbour relation.
    MixedBudgets
        If a zCDP budget is given for random batches, which do not reduce rho.

    Examples
    --------
    Fifty sums over all rows need seven times the noise of a single one:

    >>> from confide import Approx
    >>> from confide.accounting import multiplier_for
    >>> noise = [
    ...     multiplier_for(Approx(1, 1e-6), steps, neighbours="add-remove")
    ...     for steps in (1, 50)
    ... ]
    >>> [round(value, 1) for value in noise]
    [4.2, 29.9]
    """
    part, relation = exact(rate, "rate"), Neighbours.of(neighbours)
    how = sampling_for(relation) if sampling is None else sampling
    probe = SubsampledGaussianEvent(1.0, part, steps, how)
    if part < 1:
        _check_pair(how, relation)
    if isinstance(budget, Zcdp):
        if part < 1:
            raise MixedBudgets(
                "random batches bring no gain under a zCDP budget: their divergences are "
                "small only for small orders, so rho is the same as without sampling. "
                "Use Approx(epsilon, delta), or all rows in every step (rate 1)."
            )
        return round_up(math.sqrt(steps / (2 * budget.rho)))
    if not isinstance(budget, Approx):
        raise InvalidParameter(
            "budget",
            "Approx, or Zcdp for sums over all rows",
            budget,
            "Gaussian noise has no pure guarantee.",
        )
    epsilon, delta = round_down(budget.epsilon), round_down(budget.delta)
    return _calibrated(epsilon, delta, probe, _checked(method))


def epsilon_for(
    multiplier: float,
    steps: int,
    delta: Number,
    *,
    rate: Number = Fraction(1),
    sampling: Sampling = "poisson",
    method: Method = "best",
) -> float:
    """Return the epsilon of all steps together, at a given delta.

    Parameters
    ----------
    multiplier : float
        The standard deviation of the noise, in units of the sensitivity of one sum. More
        noise means a smaller epsilon.
    steps : int
        The number of noisy sums.
    delta : number in (0, 1)
        The delta of the guarantee.
    rate : number in (0, 1], default 1
        The probability that a record is in a batch: 1 for sums over all rows.
    sampling : {'poisson', 'without-replacement'}, default 'poisson'
        How batches are drawn.
    method : {'best', 'gaussian', 'pld', 'renyi', 'renyi-general'}, default 'best'
        'gaussian' is exact if every step uses all rows, and otherwise ignores that batches
        are random. 'pld' uses privacy-loss distributions. 'renyi' uses tight Rényi
        divergences at the best order. 'renyi-general' uses a bound that holds for any
        mechanism under sampling without replacement, with the conversion to
        (epsilon, delta) from the same paper. 'best' gives the smallest epsilon of these.

    Returns
    -------
    float
        Epsilon, rounded up.

    Raises
    ------
    InvalidParameter
        If delta is not between 0 and 1, or the method does not cover this case.

    Examples
    --------
    Batches of one percent of the rows cut the cost of 100 steps to less than a tenth:

    >>> from confide.accounting import epsilon_for
    >>> round(epsilon_for(5.0, 100, 1e-6), 1)
    11.0
    >>> epsilon_for(5.0, 100, 1e-6, rate=0.01) < 1
    True
    """
    event = SubsampledGaussianEvent(float(multiplier), exact(rate, "rate"), steps, sampling)
    small = float(exact(delta, "delta"))
    if not 0 < small < 1:
        raise InvalidParameter("delta", "between 0 and 1", delta)
    return _epsilon(event, round_down(exact(delta, "delta")), _checked(method), FINE)


def _epsilon(
    event: SubsampledGaussianEvent, delta: float, method: Method, fineness: float
) -> float:
    multiplier, rate, steps = event.multiplier, float(event.rate), event.steps
    if method == "best" and rate < 1:
        sampled = _epsilon(event, delta, _resolved(method, event, delta), fineness)
        return min(sampled, _epsilon(event, delta, "gaussian", fineness))
    match _resolved(method, event, delta):
        case "gaussian":
            return gaussian_epsilon(round_up(math.sqrt(steps) / multiplier), delta)
        case "pld":
            return losses_epsilon((event,), delta, per_deviation=fineness)
        case "renyi":
            return best_order_epsilon(
                lambda order: (
                    steps * sampled_renyi(order, multiplier, rate, event.sampling)
                ),
                delta,
            )
        case _:
            orders = GENERAL_ORDERS
            costs = steps * general_renyi(orders, multiplier, rate)
            return round_up(float((costs - math.log(delta) / (orders - 1)).min()))


def _resolved(method: Method, event: SubsampledGaussianEvent, delta: float) -> Method:
    """Return the accounting method to use; raise if the requested one does not apply."""
    trusted = delta >= smallest_delta(event.steps)
    if method == "best":
        if event.rate == 1:
            return "gaussian"
        return "pld" if trusted else "renyi"
    if method == "pld" and not trusted:
        raise InvalidParameter(
            "method",
            f"'renyi' for a delta below {smallest_delta(event.steps):.1e}: double "
            "precision cannot represent the tails of the loss distribution",
            method,
        )
    if method == "renyi-general" and event.sampling == "poisson":
        raise InvalidParameter(
            "method",
            "'pld' or 'renyi' for Poisson batches: the general bound holds for sampling "
            "without replacement only",
            method,
        )
    return method


@lru_cache(maxsize=1024)
def _calibrated(
    epsilon: float, delta: float, probe: SubsampledGaussianEvent, method: Method
) -> float:
    def at(fineness: float, by: Method = method) -> Callable[[float], float]:
        @cache
        def excess(log_multiplier: float) -> float:
            event = replace(probe, multiplier=math.exp(log_multiplier))
            cost = _epsilon(event, delta, by, fineness)
            return math.log(max(cost, 1e-12) / epsilon)

        return excess

    full = round_up(math.sqrt(probe.steps) / gaussian_mu(epsilon, delta))
    chosen = _resolved(method, probe, delta)
    if chosen == "gaussian":
        return full
    guess = math.log(max(full * float(probe.rate), 0.3))
    if chosen != "pld":
        return math.exp(_root(at(FINE), guess, 0.5, RELATIVE_TOLERANCE / 10))
    rough = _root(at(FINE, "renyi"), guess, 0.5, 1e-2)
    near = _root(at(COARSE), rough, 0.1, 1e-3)
    return math.exp(_root(at(FINE), near, 2e-3, RELATIVE_TOLERANCE))


def _root(
    excess: Callable[[float], float], guess: float, stride: float, near: float
) -> float:
    """Return a point near the root of a decreasing function, where its value is <= 0.

    ``near`` is the tolerance, and ``stride`` the first step of the search from ``guess``.
    """
    low = high = guess
    while excess(high) > 0:
        if high > LARGEST_LOG:
            raise InvalidParameter(
                "method",
                "one whose bound tends to 0 as noise grows: with this many steps at this "
                "rate the general bound exceeds the budget for any amount of noise",
                "renyi-general",
                "Use method='best'.",
            )
        low, high, stride = high, high + stride, 2 * stride
    while low == high or excess(low) <= 0:
        high = min(high, low)
        low, stride = low - stride, 2 * stride
    root = float(brentq(excess, low, high, xtol=near / 4))
    while excess(root) > 0:
        root += near / 2
    return root


def _check_pair(how: Sampling, relation: Neighbours) -> None:
    if how == sampling_for(relation):
        return
    if how == "poisson":
        raise InvalidParameter(
            "sampling",
            "'without-replacement' under replace-one neighbours: a multiplier for Poisson "
            "batches is proved for the addition or removal of a record only",
            how,
            "Alternatively, use add-remove neighbours.",
        )
    raise InvalidParameter(
        "sampling",
        "'poisson' under add-remove neighbours: batches of a fixed part of the rows need "
        "a public number of rows, which add-remove hides",
        how,
        "Alternatively, use replace-one neighbours.",
    )


def _checked(method: Any) -> Method:
    if method not in METHODS:
        raise InvalidParameter("method", f"one of {', '.join(METHODS)}", method)
    return cast("Method", method)
