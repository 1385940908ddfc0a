"""What counts as one change to the table."""

from enum import Enum
from typing import Any

from confide.errors import InvalidParameter


class Neighbours(Enum):
    """The relation under which a guarantee holds."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @classmethod
    def of(cls, value: Any) -> "Neighbours":
        """Accept the relation itself or its name."""
        try:
            return cls(value)
        except ValueError:
            raise InvalidParameter(
                "neighbours", "'add-remove' or 'replace-one'", value
            ) from None

    @property
    def shifts(self) -> int:
        """How many records' worth of a sum can change: 1 or 2."""
        return 1 if self is Neighbours.ADD_REMOVE else 2

    def __str__(self) -> str:
        return self.value
