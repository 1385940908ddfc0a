"""What the two ways to search have in common: a plan without data, then a winner."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from confide.noise import Entropy
from confide.privacy import Budget, Neighbours
from confide.tuning.scores import Score, SearchTable

PAGE = "private-tuning.md#"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The winner: which candidate, its fitted model, and a private score if one is paid."""

    index: int
    model: Any
    score: float | None = None


class SearchPlan(Protocol):
    """Everything that is fixed before the rows are read."""

    @property
    def fit_budget(self) -> Budget:
        """What one fit may spend."""
        ...

    def check_rows(self, count: int, neighbours: Neighbours) -> None:
        """Reject a table of the wrong size, where that is public."""
        ...

    def smallest_part(self, count: int) -> int:
        """Return how many rows the fit that sees fewest of them sees, under replace-one."""
        ...

    def run(
        self,
        candidates: Sequence[Any],
        table: SearchTable,
        score: Score,
        neighbours: Neighbours,
        entropy: Entropy,
    ) -> SearchResult:
        """Fit, compare and choose."""
        ...


class SearchMethod(Protocol):
    """A frozen configuration of a search."""

    name: ClassVar[str]
    theorem: ClassVar[str]

    def plan(self, budget: Budget, candidates: int, rows_per_person: int) -> SearchPlan:
        """Divide the budget; ``budget`` protects a person."""
        ...
