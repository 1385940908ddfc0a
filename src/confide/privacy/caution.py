"""Budgets that promise little: what to say of them, from public facts alone."""

import warnings
from fractions import Fraction

from confide.errors import LooseBudget
from confide.privacy.budgets import Budget

MOST_EPSILON = 10
MOST_DELTA = Fraction(1, 1000)


def budget_cautions(budget: Budget, rows: int | None = None) -> tuple[str, ...]:
    """Return what speaks against a budget; ``rows`` is their number where it is public."""
    found = []
    epsilon = getattr(budget, "epsilon", 0)
    delta = getattr(budget, "delta", 0)
    if epsilon > MOST_EPSILON:
        found.append(
            f"epsilon is over {MOST_EPSILON}: odds about a person may change by a factor "
            "of more than 20,000, which protects hardly anybody. Common budgets are 1 or "
            "less."
        )
    if delta > MOST_DELTA:
        found.append(
            f"delta is over {float(MOST_DELTA):g}: that is the chance with which nothing "
            "at all is promised to a person. Take one far below 1 in the number of rows, "
            "such as 1e-6."
        )
    elif rows is not None and rows > 0 and delta * rows >= 1:
        found.append(
            f"delta is 1 in {rows:,} or more, the number of rows: to publish the row of a "
            "random person would keep this promise. Take one far below that, such as 1e-6."
        )
    return tuple(found)


def warn_of_budget(budget: Budget, rows: int | None, callers: int) -> None:
    """Warn of a budget that promises little, so many callers above this one."""
    for text in budget_cautions(budget, rows):
        warnings.warn(text, LooseBudget, stacklevel=callers + 1)
