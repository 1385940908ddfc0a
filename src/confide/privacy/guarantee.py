"""What is promised, under which relation, by which theorem, assuming what."""

import textwrap
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from confide.privacy.budgets import Budget
from confide.privacy.downgrades import shortfall
from confide.privacy.neighbours import Neighbours


class Status(Enum):
    """How much a claimed guarantee can be trusted."""

    PROVED = "PROVED"
    CLAIMED = "CLAIMED"
    REFUTED = "REFUTED"

    def __str__(self) -> str:
        return self.value


IDEAL_NOISE = "ideal real-number noise (doubles are used)"
ONE_ROW = "one row per person"
PUBLIC_LABELS = "labels are public"
SEEDED = "the noise was seeded: whoever knows the seed sees through it"
LINE = 76


def effective_status(theorem: str, status: Status, reason: str = "") -> tuple[Status, str]:
    """Lower a status to what its theorem is worth in doubles, and say why; never raise."""
    found = shortfall((theorem,))
    if not found or status is Status.REFUTED:
        return status, reason
    return Status.CLAIMED, reason or found


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A privacy claim that can stand next to a number in print.

    ``budget`` is None for a REFUTED mechanism: its releases have no guarantee at all.
    ``reason`` says why a guarantee is not PROVED. No guarantee is PROVED by a theorem that
    `confide.privacy.downgrades` lists.
    """

    budget: Budget | None
    neighbours: Neighbours
    status: Status
    theorem: str
    assumptions: tuple[str, ...] = (IDEAL_NOISE, ONE_ROW)
    private: bool = True
    reason: str = ""

    def __post_init__(self) -> None:
        status, reason = effective_status(self.theorem, self.status, self.reason)
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "reason", reason)

    def __setstate__(self, state: list[Any]) -> None:
        """Take over a pickled guarantee, also of a time when none had a reason."""
        for name, value in zip(self.__slots__, [*state, ""], strict=False):
            object.__setattr__(self, name, value)
        self.__post_init__()

    def claimed(self, reason: str) -> "Guarantee":
        """Lower a PROVED guarantee for a reason."""
        if self.status is not Status.PROVED:
            return self
        return replace(self, status=Status.CLAIMED, reason=reason)

    def assuming(self, assumption: str) -> "Guarantee":
        """Add an assumption."""
        if assumption in self.assumptions:
            return self
        return replace(self, assumptions=(*self.assumptions, assumption))

    def seeded(self) -> "Guarantee":
        """Stamp the guarantee of a release whose noise can be drawn again."""
        return replace(self.assuming(SEEDED), private=False)

    def __str__(self) -> str:
        promise = "none" if self.budget is None else str(self.budget)
        lines = [
            f"Guarantee    {promise}, {self.neighbours} neighbours",
            f"Status       {self.status} ({self.theorem})",
            *self._because(),
            f"Assuming     {'; '.join(self.assumptions)}",
        ]
        if not self.private:
            lines.insert(0, "NOT PRIVATE  a seed was used: for tests and studies only")
        return "\n".join(lines)

    def _because(self) -> list[str]:
        """Return the reason, folded under the status."""
        start, indent = "Reason       ", " " * 13
        return textwrap.wrap(
            self.reason, LINE, initial_indent=start, subsequent_indent=indent
        )


def weakest(*parts: Guarantee) -> Guarantee:
    """Return the guarantee that can be trusted least, the first of several such."""
    order = (Status.REFUTED, Status.CLAIMED, Status.PROVED)
    return min(parts, key=lambda part: order.index(part.status))
