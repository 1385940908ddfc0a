"""The budget book: who spent what on which dataset, and what is left."""

from confide.ledger.amounts import Amount
from confide.ledger.balance import Entry
from confide.ledger.ledger import Account, Charge, Ledger

__all__ = ["Account", "Amount", "Charge", "Entry", "Ledger"]
