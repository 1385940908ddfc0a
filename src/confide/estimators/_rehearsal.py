"""What a fit would promise, known before it spends anything."""

from dataclasses import dataclass
from typing import Any

from confide.privacy import Guarantee


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The guarantee of a fit, the name it books under, and the labels it read off y.

    ``labels`` is None where they were declared, or where the target is a number.
    """

    guarantee: Guarantee
    dataset: str | None
    labels: list[Any] | None
