"""The ledger: privacy budgets of datasets, their charges, and the remainders."""

from confide.ledger.accounts import Account, Charge
from confide.ledger.address import redacted
from confide.ledger.amounts import Amount
from confide.ledger.balance import Entry
from confide.ledger.ledger import Ledger

__all__ = ["Account", "Amount", "Charge", "Entry", "Ledger", "redacted"]
