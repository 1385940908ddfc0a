"""The ledger: limits on the privacy loss of datasets, charges, and remaining budgets."""

from confide.ledger.accounts import Account, Charge
from confide.ledger.address import redacted
from confide.ledger.amounts import Amount
from confide.ledger.balance import Entry
from confide.ledger.ledger import Ledger

__all__ = ["Account", "Amount", "Charge", "Entry", "Ledger", "redacted"]
