"""How much of a dataset's budget is gone."""

from dataclasses import dataclass
from fractions import Fraction

from confide.errors import MixedBudgets
from confide.privacy import Budget, Neighbours, check_budget
from confide.reporting.number_format import percent_of

SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


@dataclass(frozen=True, slots=True)
class Share:
    """One number of the budget: what is spent of it, and of how much."""

    symbol: str
    spent: Fraction
    limit: Fraction

    @property
    def over(self) -> bool:
        """Whether more is spent than was allowed."""
        return self.spent > self.limit

    @property
    def percent(self) -> float:
        """How full a bar is to be drawn: at most 100."""
        return float(min(100 * self.spent / self.limit, Fraction(100)))

    def __str__(self) -> str:
        spent, limit = (f"{float(value):.6g}" for value in (self.spent, self.limit))
        share = percent_of(self.spent, self.limit)
        verdict = ", over the limit" if self.over else ""
        return f"{self.symbol}: {spent} of {limit} spent ({share}{verdict})"


@dataclass(frozen=True, slots=True)
class Spending:
    """What is known about the budget, in a sentence and in shares."""

    sentence: str
    shares: tuple[Share, ...]


def spending(
    spent: Budget | None, limit: Budget | None, counted_for: Neighbours | None
) -> Spending | None:
    """Return what can be said; nothing where nothing was given."""
    for given in (spent, limit):
        if given is not None:
            check_budget(given)
    if spent is None:
        return None if limit is None else Spending(f"The limit is {limit}.", ())
    under = _under(counted_for)
    total = f"All releases from this dataset so far have together spent {spent}, {under}."
    if limit is None:
        return Spending(f"{total} No limit was stated.", ())
    if type(spent) is not type(limit):
        raise MixedBudgets(
            f"spent is {spent!r} and limit is {limit!r}: convert one of them by name first "
            "(confide.privacy.conversions)."
        )
    shares = tuple(
        Share(SYMBOLS[name], getattr(spent, name), getattr(limit, name))
        for name in spent.fields
    )
    return Spending(f"{total} The limit is {limit}.", shares)


def _under(counted_for: Neighbours | None) -> str:
    if counted_for is None:
        return "for neighbours that the budget book does not record"
    return f"counted for {counted_for} neighbours"
