"""Facts about a table that were bought with privacy budget, and what they cost.

A schema holds public knowledge. Some of it may have been released from the table itself,
under differential privacy: then it says from which, for how much, and in which ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

from confide.errors import InvalidParameter

NOT_BOOKED = ""


@dataclass(frozen=True, slots=True)
class Purchase:
    """What was bought (``kind``, as "ranges"), about which columns of which dataset.

    ``budget`` and ``neighbours`` say at what price, in words; ``entry`` is the number of
    the charge in a ledger, empty where none was kept.
    """

    kind: str
    dataset: str
    columns: tuple[str, ...]
    budget: str
    neighbours: str
    bought_on: str
    entry: str = NOT_BOOKED

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        texts = [getattr(self, field.name) for field in fields(self)]
        texts = [text for text in texts if not isinstance(text, tuple)]
        if not all(isinstance(text, str) and text.isprintable() for text in texts):
            raise InvalidParameter("purchase of a schema", "made of lines of text", texts)
        if not self.columns or not all(isinstance(name, str) for name in self.columns):
            raise InvalidParameter("purchase of a schema", "about columns", self.columns)
        try:
            date.fromisoformat(self.bought_on)
        except ValueError:
            raise InvalidParameter(
                "bought_on of a purchase", "a date such as 2024-12-31", self.bought_on
            ) from None

    def assumption(self, dataset: str) -> str:
        """Return what a guarantee for a dataset assumes about it."""
        what = f"{self.kind} of {len(self.columns)} columns"
        price = f"{self.budget}, {self.neighbours} neighbours"
        if self.dataset == dataset:
            return f"{what} were bought before and are paid for apart ({price})"
        return f"{what} were bought from {self.dataset!r} ({price}) and are public here"


def read_purchases(content: Any) -> tuple[Purchase, ...]:
    """Return the purchases that a schema file lists, each a section of its own."""
    if not isinstance(content, Mapping) or not all(
        isinstance(entry, Mapping) for entry in content.values()
    ):
        raise InvalidParameter("[bought]", "a section for every purchase", content)
    known = [field.name for field in fields(Purchase)]
    for name, entry in content.items():
        if set(entry) - set(known) or set(known) - {"entry"} - set(entry):
            raise InvalidParameter(f"[bought.{name}]", f"described by {known}", list(entry))
    return tuple(Purchase(**entry) for entry in content.values())


def purchase_records(purchases: tuple[Purchase, ...]) -> dict[str, dict[str, Any]]:
    """Return purchases as sections of a schema file."""
    return {
        f"{one.kind}-{number}": {
            field.name: getattr(one, field.name) for field in fields(one)
        }
        for number, one in enumerate(purchases, 1)
    }
