"""Interfaces of search methods and of the plans that they make without the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from confide.noise import Entropy
from confide.privacy import Budget, Neighbours
from confide.tuning.scores import Score, SearchTable

PAGE = "private-tuning.md#"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The winner of a search: its index, fitted model, and (if any) private score."""

    index: int
    model: Any
    score: float | None = None


class SearchPlan(Protocol):
    """The plan of a search, which is fixed before the rows are read."""

    @property
    def fit_budget(self) -> Budget:
        """The budget of a single fit."""
        ...

    def check_rows(self, count: int, neighbours: Neighbours) -> None:
        """Raise an error if the number of rows is public and too small."""
        ...

    def smallest_part(self, count: int) -> int:
        """Return the smallest number of rows in a fit, under replace-one neighbours."""
        ...

    def run(
        self,
        candidates: Sequence[Any],
        table: SearchTable,
        score: Score,
        neighbours: Neighbours,
        entropy: Entropy,
    ) -> SearchResult:
        """Fit the candidates, compare them privately, and return the winner."""
        ...


class SearchMethod(Protocol):
    """A search method with its settings, which are immutable."""

    name: ClassVar[str]
    theorem: ClassVar[str]

    def plan(self, budget: Budget, candidates: int, rows_per_person: int) -> SearchPlan:
        """Plan a search within ``budget``, which is the total budget per person."""
        ...
