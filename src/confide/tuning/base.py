"""Interfaces of both search methods: a plan made without data, and its result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from confide.noise import Entropy
from confide.privacy import Budget, Neighbours
from confide.tuning.scores import Score, SearchTable

PAGE = "private-tuning.md#"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The winner of a search: its index, fitted model, and private score if any."""

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
        """Reject a table with too few rows, if their number is public."""
        ...

    def smallest_part(self, count: int) -> int:
        """Return the smallest number of rows that a fit uses, under replace-one."""
        ...

    def run(
        self,
        candidates: Sequence[Any],
        table: SearchTable,
        score: Score,
        neighbours: Neighbours,
        entropy: Entropy,
    ) -> SearchResult:
        """Fit and compare the candidates, and return the winner."""
        ...


class SearchMethod(Protocol):
    """The immutable configuration of a search."""

    name: ClassVar[str]
    theorem: ClassVar[str]

    def plan(self, budget: Budget, candidates: int, rows_per_person: int) -> SearchPlan:
        """Plan a search within ``budget``, which is the total budget per person."""
        ...
