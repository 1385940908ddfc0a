"""Search by random stopping: fit and score random candidates, and keep the best.

The number of runs is drawn from a distribution that does not depend on the data. Because
the number is random, keeping only the best of many runs costs hardly more privacy budget
than two or three runs.
"""

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from confide.accounting import rho_of_one_run
from confide.data.matrix.sums import MAX_ROWS
from confide.errors import InvalidParameter
from confide.mechanisms.base import publish
from confide.noise import Entropy, Gaussian, Laplace, TruncatedNegativeBinomial
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    Zcdp,
    round_down,
    round_up,
    row_budget,
)
from confide.privacy.budgets import exact
from confide.tuning.base import PAGE, SearchResult
from confide.tuning.scores import TOTAL_ERROR, Score, SearchTable

RUNS_PER_CANDIDATE = 4


@dataclass(frozen=True, slots=True)
class StoppingPlan:
    """Budget of a fit, budget of a score per row, distribution of the number of runs."""

    fit_budget: Budget
    score_budget: Pure | Zcdp
    runs: TruncatedNegativeBinomial

    def check_rows(self, count: int, neighbours: Neighbours) -> None:
        """Accept a table of any size."""

    def smallest_part(self, count: int) -> int:
        """Return the number of rows of the table, because every fit uses all rows."""
        return count

    def noise(self, bound: float) -> Laplace | Gaussian:
        """Return the noise for a total that one record changes by at most ``bound``.

        The noise also covers the rounding error of the total.
        """
        reach = bound * (1 + 4 * TOTAL_ERROR)
        if isinstance(self.score_budget, Pure):
            return Laplace(round_up(reach / float(self.score_budget.epsilon)))
        return Gaussian(round_up(reach / math.sqrt(2 * self.score_budget.rho)))

    def run(
        self,
        candidates: Sequence[Any],
        table: SearchTable,
        score: Score,
        neighbours: Neighbours,
        entropy: Entropy,
    ) -> SearchResult:
        """Fit and score randomly drawn candidates on all rows, and keep the best.

        Noisy scores are rounded to a public lattice. If the best score occurs more than
        once, the first model that has it is kept.
        """
        noise, reach = self.noise(score.bound), MAX_ROWS * score.bound
        best: SearchResult | None = None
        for index in entropy.below(len(candidates), self.runs.draw(entropy)):
            model = clone(candidates[index]).set_params(random_state=entropy)
            table.fit(model)
            total = np.array([-score.total(model, table)])
            found = float(publish(total, noise, entropy, reach)[0])
            if best is None or best.score is None or found > best.score:
                best = SearchResult(int(index), model, found)
        assert best is not None  # noqa: S101
        return best


@dataclass(frozen=True, slots=True)
class RandomStopping:
    """The best of a random number of fits on all rows, each with a private score.

    Guarantee    pure, with 2 + shape times the epsilon of a run, or (epsilon, delta);
                 add-remove or replace-one.
    Public       the candidates, the bound on a record's loss, and all settings.
    Proof        docs/proofs/private-tuning.md

    Parameters
    ----------
    runs : float, optional
        Expected number of runs; by default four times the number of candidates.
    shape : float, default=1
        Shape of the distribution of the number of runs; 1 is the geometric distribution.
        With 0, each run may spend more of the budget, but there is often only one run.
    score_share : float, str or Fraction, default=1/10
        Share of the budget of a run that is spent on its score.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.tuning import RandomStopping
    >>> RandomStopping(runs=20).shape
    1
    """

    runs: float | None = None
    shape: Any = 1
    score_share: Any = Fraction(1, 10)

    name: ClassVar[str] = "random-stopping"
    theorem: ClassVar[str] = PAGE + "random-stopping-exact"

    def __post_init__(self) -> None:
        shape, share = exact(self.shape, "shape"), exact(self.score_share, "score_share")
        if not 0 <= shape <= 100:
            raise InvalidParameter("shape", "from 0 to 100", self.shape)
        if not 0 < share < 1:
            raise InvalidParameter("score_share", "between 0 and 1", self.score_share)
        runs: Any = self.runs
        real = isinstance(runs, numbers.Real)
        if runs is not None and not (real and 1 < runs <= 1e6):
            raise InvalidParameter(
                "runs", "None, or above 1 and at most 1,000,000", self.runs
            )

    def plan(self, budget: Budget, candidates: int, rows_per_person: int) -> StoppingPlan:
        """Compute the budget of a run such that the whole search stays within ``budget``.

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
        StoppingPlan
            Budget of a run, and the distribution of the number of runs.
        """
        shape = exact(self.shape, "shape")
        mean = RUNS_PER_CANDIDATE * candidates if self.runs is None else self.runs
        law = TruncatedNegativeBinomial.of_mean(float(shape), float(mean))
        one = self._one_run(budget, shape, law, rows_per_person)
        share = exact(self.score_share, "score_share")
        scoring = row_budget(one.share(share), rows_per_person)
        assert isinstance(scoring, Pure | Zcdp)  # noqa: S101
        return StoppingPlan(one.share(1 - share), scoring, law)

    def _one_run(
        self,
        budget: Budget,
        shape: Fraction,
        law: TruncatedNegativeBinomial,
        rows_per_person: int,
    ) -> Pure | Zcdp:
        if isinstance(budget, Pure):
            return Pure(budget.epsilon / (2 + max(shape, Fraction(law.shape))))
        if isinstance(budget, Zcdp):
            raise InvalidParameter(
                "budget",
                "Pure or Approx for random stopping",
                budget,
                "The number K of runs adds log(E K)/(α − 1) to the divergence of order α, "
                "which zCDP cannot bound tightly. Use method='chunks' with zCDP budgets.",
            )
        if rows_per_person > 1:
            raise InvalidParameter(
                "rows_per_person",
                "1 for random stopping with an (epsilon, delta) budget",
                rows_per_person,
                "Use a Pure budget, or method='chunks'.",
            )
        return self._zcdp_run(budget, law)

    @staticmethod
    def _zcdp_run(budget: Approx, law: TruncatedNegativeBinomial) -> Zcdp:
        rho = rho_of_one_run(
            round_down(budget.epsilon),
            round_down(budget.delta),
            shape=law.shape,
            gamma=law.gamma,
            mean=law.mean,
        )
        return Zcdp(repr(round_down(rho)))
