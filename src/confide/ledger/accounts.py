"""What a book tells of one charge, and of one dataset."""

from dataclasses import dataclass

from confide.ledger.amounts import Amount
from confide.privacy import Budget, Neighbours


@dataclass(frozen=True, slots=True)
class Charge:
    """A receipt: what was asked, what it counts against the limit, what is left.

    ``neighbours`` is the relation for which ``counted`` and ``left`` are; ``anchor`` is
    the entry's number and digest, which show later whether the book still holds it.
    """

    number: int
    dataset: str
    budget: Budget
    counted: Amount
    left: Amount
    neighbours: Neighbours | None
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """How a dataset stands, under the relation that its limit is for.

    ``neighbours`` is None as long as the first charge is to decide it, and where the
    charges do not record it.
    """

    dataset: str
    limit: Budget
    spent: Amount
    left: Amount
    charges: int
    neighbours: Neighbours | None
