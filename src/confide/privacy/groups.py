"""Group privacy: budgets for persons with several rows."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import assert_never

from confide.errors import InvalidParameter
from confide.privacy.budgets import Approx, Budget, Pure, Zcdp

LARGEST_EXPONENT = 700
DIGITS = 120
SLACK = Fraction(1, 10**60)


def row_budget(budget: Budget, rows_per_person: int) -> Budget:
    """Return the budget per row that guarantees ``budget`` to persons with several rows.

    Tables that differ in one person differ in at most k rows, so they are connected by a
    chain of k + 1 tables, each a neighbour of the next.

    - Pure: likelihood ratios along the chain are multiplied, so the budget per row is
      epsilon/k.
    - zCDP: k rows cost k² rho (Bun and Steinke 2016, proposition 1.9), so the budget per
      row is rho/k².
    - (epsilon, delta): let the budget per row be (e, d) with e = epsilon/k, and let Pᵢ be
      the probability of an event under table i of the chain. From P₀ <= exp(e)P₁ + d,
      P₁ <= exp(e)P₂ + d and so on, P₀ <= exp(ke)Pₖ + d(1 + exp(e) + ... + exp((k−1)e)).
      Hence d is delta divided by the sum in parentheses, rounded down.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        The budget that is guaranteed to every person.
    rows_per_person : int
        A public bound k on the number of rows of a person. A larger bound means more noise.

    Returns
    -------
    Pure, Approx or Zcdp
        The budget per row, of the same type, with which to run a mechanism.

    Raises
    ------
    InvalidParameter
        If the budget per row would be below the accepted range.

    Examples
    --------
    For patients with up to four visits, epsilon 1 per patient is 0.25 per visit:

    >>> from confide.privacy import Pure, Zcdp, row_budget
    >>> row_budget(Pure(1), rows_per_person=4), row_budget(Zcdp(0.16), rows_per_person=4)
    (Pure(0.25), Zcdp(0.01))
    """
    k = rows_per_person
    if k == 1:
        return budget
    try:
        match budget:
            case Pure(epsilon=epsilon):
                return Pure(epsilon / k)
            case Zcdp(rho=rho):
                return Zcdp(rho / k**2)
            case Approx(epsilon=epsilon, delta=delta):
                return Approx(epsilon / k, _row_delta(epsilon, delta, k))
            case _:
                assert_never(budget)
    except InvalidParameter:
        raise InvalidParameter(
            "rows_per_person",
            f"small enough for group privacy: {budget} leaves almost nothing per row",
            k,
            "Use a larger budget, or keep fewer rows per person.",
        ) from None


def _row_delta(epsilon: Fraction, delta: Fraction, k: int) -> Fraction:
    """Return delta divided by Σ exp(i·epsilon/k) over i = 0, …, k − 1, rounded down."""
    if epsilon > LARGEST_EXPONENT:
        raise InvalidParameter("epsilon", f"at most {LARGEST_EXPONENT}", float(epsilon))
    small = delta / _geometric_sum(epsilon / k, k)
    unit = _unit(small)
    return Fraction(small.numerator * unit // small.denominator, unit)


def group_delta(epsilon: Fraction, delta: Fraction, rows_per_person: int) -> Fraction:
    """Return the delta for k rows at k·epsilon, given (epsilon, delta) for one row.

    The result is delta times Σ exp(i·epsilon) over i = 0, …, k − 1, rounded up; see
    `row_budget`.

    Parameters
    ----------
    epsilon : Fraction
        Epsilon for one row.
    delta : Fraction
        Delta for one row.
    rows_per_person : int
        The number k of rows in the group.

    Returns
    -------
    Fraction
        Delta for the group, at k times epsilon.

    Examples
    --------
    The delta of two rows is more than twice that of one row, here 1 + e times:

    >>> from fractions import Fraction
    >>> from confide.privacy import group_delta
    >>> f"{float(group_delta(Fraction(1), Fraction(1, 10**6), 2)):.3g}"
    '3.72e-06'
    """
    large = delta * _geometric_sum(epsilon, rows_per_person)
    unit = _unit(large)
    return Fraction(-(-large.numerator * unit // large.denominator), unit)


def _geometric_sum(x: Fraction, k: int) -> Fraction:
    """Return (exp(kx) − 1)/(exp(x) − 1), the sum of exp(ix) over i < k, rounded up.

    The exponential function of `decimal` is correctly rounded. Of its 120 digits, far more
    than 60 remain after cancellation, even for the smallest epsilon, and ``SLACK`` covers
    the error.
    """
    top = _exp(k * x, ROUND_CEILING) - 1
    bottom = _exp(x, ROUND_FLOOR) - 1
    return top / bottom * (1 + SLACK)


def _unit(value: Fraction) -> int:
    """Return a power of ten that, as a denominator, preserves twenty digits of a value."""
    return int(10 ** (len(str(int(1 / value))) + 20))


def _exp(x: Fraction, rounding: str) -> Fraction:
    context = Context(prec=DIGITS, rounding=rounding)
    power = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    return Fraction(context.exp(power))
