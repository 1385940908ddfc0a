"""Warnings about budgets that give little protection, from public facts only."""

import warnings
from fractions import Fraction

from confide.errors import LooseBudget
from confide.privacy.budgets import Budget

MOST_EPSILON = 10
MOST_DELTA = Fraction(1, 1000)
MOST_RHO = Fraction(3, 2)
"""The largest rho without a warning; it gives an epsilon of 9.85 at a delta of 1e-6."""


def budget_cautions(budget: Budget, rows: int | None = None) -> tuple[str, ...]:
    """Return warnings about a budget that gives little protection.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        The budget to check.
    rows : int or None, default None
        The number of rows, if it is public; delta is then compared with 1/rows.

    Returns
    -------
    tuple of str
        One warning for each problem: an epsilon over 10, a rho over 1.5, a delta over
        0.001, or a delta of 1/rows or more. Empty if there is no problem.

    Examples
    --------
    A delta of 1e-3 with 5,000 rows would allow publishing the rows of five people:

    >>> from confide.privacy import Approx, budget_cautions
    >>> budget_cautions(Approx(1, 1e-3), rows=5000)[0][:33]
    'delta is at least 1 divided by th'
    >>> budget_cautions(Approx(1, 1e-6), rows=5000)
    ()
    """
    found = []
    epsilon = getattr(budget, "epsilon", 0)
    delta = getattr(budget, "delta", 0)
    rho = getattr(budget, "rho", 0)
    if epsilon > MOST_EPSILON:
        found.append(
            f"epsilon is over {MOST_EPSILON}: someone's odds on a fact about a person may "
            "change by a factor of more than 20,000, so hardly anyone is protected. Common "
            "budgets are 1 or less."
        )
    if rho > MOST_RHO:
        found.append(
            f"rho is over {float(MOST_RHO):g}: at a delta of 1e-6 that allows an epsilon "
            "of about 10 or more, so hardly anyone is protected. Common budgets are 0.5 or "
            "less."
        )
    if delta > MOST_DELTA:
        found.append(
            f"delta is over {float(MOST_DELTA):g}: with that probability, a person may "
            "have no protection at all. Choose a delta far below 1 divided by the number "
            "of rows, such as 1e-6."
        )
    elif rows is not None and rows > 0 and delta * rows >= 1:
        found.append(
            f"delta is at least 1 divided by the number of rows ({rows:,}): publishing the "
            "row of a random person would satisfy this guarantee. Choose a delta far below "
            "that, such as 1e-6."
        )
    return tuple(found)


def warn_of_budget(budget: Budget, rows: int | None, callers: int) -> None:
    """Issue a `LooseBudget` warning for each problem found by `budget_cautions`.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        The budget to check.
    rows : int or None
        The number of rows, if it is public.
    callers : int
        The number of levels up the call stack at which the warning is reported.

    Examples
    --------
    >>> import warnings
    >>> from confide.privacy import Pure, warn_of_budget
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_budget(Pure(20), rows=None, callers=0)
    >>> [warning.category.__name__ for warning in caught]
    ['LooseBudget']
    """
    for text in budget_cautions(budget, rows):
        warnings.warn(text, LooseBudget, stacklevel=callers + 1)
