"""Search by chunks: candidates are fitted to disjoint chunks and compared on another.

No record is in two chunks, so a single budget pays for all fits and for the choice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from confide._types import AnyArray, Array
from confide.errors import InvalidData, InvalidParameter
from confide.noise import Entropy, assign_groups, choose, shuffle
from confide.privacy import Budget, Neighbours, Zcdp, round_down, row_budget
from confide.tuning.base import PAGE, SearchResult
from confide.tuning.scores import TOTAL_ERROR, Score, SearchTable

MOST_CHUNKS = 2000


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """Budget of each fit, number of chunks, and sensitivity of the choice.

    ``log_range`` bounds how much one record can change the log-odds between any two
    candidates in the choice of the winner.
    """

    fit_budget: Budget
    chunks: int
    log_range: float

    def check_rows(self, count: int, neighbours: Neighbours) -> None:
        """Raise an error if a public number of rows is smaller than the number of chunks.

        If the number of rows is private, chunks may be empty; fits to empty chunks release
        only noise.
        """
        if neighbours is Neighbours.REPLACE_ONE and count < self.chunks:
            raise InvalidData(
                f"a search over {self.chunks - 1} candidates in chunks needs at least "
                f"{self.chunks} rows under replace-one neighbours, one per chunk; the "
                "table has fewer. Try fewer candidates, or method='random-stopping'."
            )

    def smallest_part(self, count: int) -> int:
        """Return the number of rows in the smallest chunk, if rows are divided equally."""
        return count // self.chunks

    def run(
        self,
        candidates: Sequence[Any],
        table: SearchTable,
        score: Score,
        neighbours: Neighbours,
        entropy: Entropy,
    ) -> SearchResult:
        """Fit each candidate to its own chunk, and choose the winner on the last chunk."""
        *own, held_out = chunks_of(table.count, self.chunks, neighbours, entropy)
        models = [
            table.take(places).fit(one.set_params(random_state=entropy))
            for one, places in zip(candidates, own, strict=True)
        ]
        judge = table.take(held_out)
        totals = np.array([score.total(model, judge) for model in models])
        odds = choice_powers(totals, score.bound, self.log_range, neighbours)
        index = choose(odds, entropy)
        return SearchResult(index, models[index])


@dataclass(frozen=True, slots=True)
class ChunkedSearch:
    """Fit each candidate on a separate chunk of rows, and choose the winner on another.

    Every record is in one chunk, so the search has the guarantee of a single fit.

    Guarantee    that of one fit; pure, (epsilon, delta) or zCDP; add-remove or
                 replace-one.
    Public       the candidates, the bound on a record's loss, the budget.
    Proof        docs/proofs/private-tuning.md

    Examples
    --------
    >>> from confide import LogisticRegression, Pure
    >>> from confide.tuning import ChunkedSearch, PrivateSearch
    >>> model = LogisticRegression(Pure(1), row_norm=1.0, classes=[0, 1])
    >>> search = PrivateSearch(model, {"l2": [1, 10, 100]}, method=ChunkedSearch())
    >>> len(search.param_grid["l2"])
    3
    """

    name: ClassVar[str] = "chunks"
    theorem: ClassVar[str] = PAGE + "chunks-exact"

    def plan(self, budget: Budget, candidates: int, rows_per_person: int) -> ChunkPlan:
        """Plan a search in which each fit, and also the choice, uses the whole budget.

        Parameters
        ----------
        budget : Pure, Approx or Zcdp
            Budget of the search.
        candidates : int
            Number of candidates.
        rows_per_person : int
            Largest number of rows of one person.

        Returns
        -------
        ChunkPlan
            Budgets of the fits and of the choice.
        """
        if candidates >= MOST_CHUNKS:
            must = f"below {MOST_CHUNKS}, because each candidate needs its own rows"
            raise InvalidParameter("number of candidates", must, candidates)
        row = row_budget(budget, rows_per_person)
        exact = math.sqrt(8 * row.rho) if isinstance(row, Zcdp) else row.epsilon
        return ChunkPlan(budget, candidates + 1, round_down(exact))


def chunks_of(
    count: int, chunks: int, neighbours: Neighbours, entropy: Entropy
) -> list[AnyArray]:
    """Divide row positions into chunks without reading the rows.

    Under replace-one, the number of rows is public, and the rows are divided at random into
    chunks of (nearly) equal size. Under add-remove, each record is assigned to a random
    chunk, independently of the others.
    """
    if neighbours is Neighbours.REPLACE_ONE:
        return [np.sort(part) for part in np.array_split(shuffle(count, entropy), chunks)]
    joined = assign_groups(count, chunks, entropy)
    return [np.flatnonzero(joined == k) for k in range(chunks)]


def choice_powers(
    totals: Array, bound: float, log_range: float, neighbours: Neighbours
) -> Array:
    """Return the log weights with which candidates are chosen at random, −rate·total.

    Each total is the sum of a candidate's losses, to which a record adds between 0 and
    ``bound``. The difference of two totals changes by at most ``bound`` if a record is
    added or removed, and by at most twice that if a record is replaced. The rate is reduced
    to allow for rounding errors in totals and logarithms.
    """
    rate = log_range * (1 - 8 * TOTAL_ERROR) / (neighbours.shifts * bound)
    return -rate * totals
