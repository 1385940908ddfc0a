"""Under which name a fit is booked in a ledger."""

from typing import Any

from confide.data import UNNAMED, Schema
from confide.errors import InvalidParameter
from confide.ledger import Ledger


def dataset_name(schema: Schema | None, ledger: Any) -> str:
    """Return the name under which a ledger books; the fit must have one of its own.

    It is the schema's, or for data without a schema that of `Ledger.for_dataset`.
    """
    declared = UNNAMED if schema is None else schema.name
    chosen = ledger.dataset if isinstance(ledger, Ledger) else ""
    names = {name for name in (declared, chosen) if name and name != UNNAMED}
    if len(names) == 1:
        return names.pop()
    if names:
        raise InvalidParameter(
            "name of the dataset",
            "the same in the schema and in the ledger's for_dataset",
            sorted(names),
        )
    raise InvalidParameter(
        "name of the dataset",
        "given where a ledger is: all unnamed tables would share one budget",
        declared,
        'Begin the schema with name = "people" (in Python Schema(..., name="people")); '
        'without a schema pass ledger=Ledger.open("book.db").for_dataset("people"). '
        "Nothing was spent.",
    )
