"""Receipts of charges, and the state of the budgets of datasets."""

from dataclasses import dataclass

from confide.ledger.amounts import Amount
from confide.privacy import Budget, Neighbours


@dataclass(frozen=True, slots=True)
class Charge:
    """The receipt of a charge: its budget, its cost, and the remainder of the limit.

    Parameters
    ----------
    number : int
        The number of the ledger entry.
    dataset : str
        The dataset that was charged.
    budget : Pure, Approx or Zcdp
        The budget of the release.
    counted : Amount
        The cost of the charge, expressed in the same kind of budget as the limit.
    left : Amount
        The remainder of the limit after the charge.
    neighbours : Neighbours or None
        The neighbour relation under which ``counted`` and ``left`` hold; None if it is not
        recorded.
    anchor : str, default ''
        Number and digest of the entry, by which it can be checked later that the ledger
        still contains the entry.

    Examples
    --------
    Half of a limit of 1 is spent, and the other half is left:

    >>> import tempfile
    >>> from confide import Ledger, Pure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.open(f"{folder}/budget.db")
    ...     ledger.set_limit("visits", Pure(1), neighbours="add-remove")
    ...     receipt = ledger.charge("visits", Pure(0.5), neighbours="add-remove")
    ...     ledger.close()
    >>> print(receipt.counted, "|", receipt.left, "|", receipt.neighbours)
    ε = 0.5 | ε = 0.5 | add-remove
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
    """The state of a dataset's budget, under the neighbour relation of its limit.

    Parameters
    ----------
    dataset : str
        The name of the dataset.
    limit : Pure, Approx or Zcdp
        The limit on the total cost of all releases.
    spent : Amount
        The total cost of the releases so far.
    left : Amount
        The limit minus the total cost.
    charges : int
        The number of charges so far.
    neighbours : Neighbours or None
        The neighbour relation of the limit. None if the first charge has yet to determine
        it, or if the charges do not record their relations.

    Examples
    --------
    The costs of three charges add up, and the rest of the limit remains:

    >>> import tempfile
    >>> from confide import Ledger, Pure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.open(f"{folder}/budget.db")
    ...     ledger.set_limit("visits", Pure(1))
    ...     for part in Pure(0.6).split(3):
    ...         _ = ledger.charge("visits", part)
    ...     account = ledger.account("visits")
    ...     ledger.close()
    >>> print(account.charges, "|", account.spent, "|", account.left)
    3 | ε = 0.6 | ε = 0.4
    """

    dataset: str
    limit: Budget
    spent: Amount
    left: Amount
    charges: int
    neighbours: Neighbours | None
