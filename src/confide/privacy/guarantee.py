"""What is promised, under which relation, by which theorem, assuming what."""

from dataclasses import dataclass, replace
from enum import Enum

from confide.privacy.budgets import Budget
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


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A privacy claim that can stand next to a number in print.

    ``budget`` is None for a REFUTED mechanism: its releases have no guarantee at all.
    """

    budget: Budget | None
    neighbours: Neighbours
    status: Status
    theorem: str
    assumptions: tuple[str, ...] = (IDEAL_NOISE, ONE_ROW)
    private: bool = True

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
            f"Assuming     {'; '.join(self.assumptions)}",
        ]
        if not self.private:
            lines.insert(0, "NOT PRIVATE  a seed was used: for tests and studies only")
        return "\n".join(lines)
