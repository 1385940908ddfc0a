"""Private selectors of columns: calibration from public information, then selection."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from confide._registry import Registry
from confide._types import AnyArray, Array
from confide.accounting import Event
from confide.data import INTERCEPT_HEIGHT, EntryBounds
from confide.data.rows.in_memory import Rows
from confide.errors import MissingPublicBound
from confide.mechanisms import NoiseRecord
from confide.mechanisms.release import RowBounds
from confide.noise import Entropy, Gumbel, Laplace, Noise
from confide.objectives import Objective
from confide.privacy import Budget, Guarantee, Neighbours, Status, effective_status


def target_size(objective: Objective) -> float:
    """Return the largest |y|: 1 for classes, the declared bound for numbers and counts."""
    if objective.loss.targets == "signs":
        return 1.0
    if objective.target_bound is None:
        raise MissingPublicBound(
            "selecting columns needs a public bound on the target: set target_bound."
        )
    return objective.target_bound


def scaled_target(objective: Objective, target: AnyArray) -> Array:
    """Return y divided by its bound, clipped to [−1, 1]."""
    return np.clip(target / target_size(objective), -1.0, 1.0)


def entry_bounds(column_bound: float, size: int, *, scaled: bool) -> EntryBounds:
    """Return the bounds on rows, which are clipped by entry or scaled as a whole."""
    if scaled:
        return EntryBounds.scaled(size, column_bound)
    return EntryBounds(column_bound)


def height_beside(column_bound: float, size: int) -> float:
    """Return the value of the constant column, given the number of other columns."""
    return INTERCEPT_HEIGHT * column_bound * math.sqrt(size)


def bounds_of(objective: Objective) -> RowBounds | None:
    """Return the bounds on entries that a release records; None if there are none."""
    if objective.entries is None:
        return None
    return RowBounds(objective.entries, objective.height)


PAGE = "sparse-selection.md#"


@dataclass(frozen=True, slots=True)
class SelectorCalibration:
    """Everything that is fixed for a selection before the data are read.

    Parameters
    ----------
    objective : Objective
        Loss and bounds, which determine sensitivities.
    budget : Pure, Approx or Zcdp
        Budget of all selections together.
    neighbours : Neighbours
        Neighbour relation of the guarantee.
    theorem : str
        Theorem that proves the guarantee.
    noise : Gumbel or Laplace
        Noise on the scores of columns, or of sets of columns.
    events : tuple of Event
        Privacy events of the selection, for a ledger.
    copies : int, default=1
        Number of selections that share rows and budget.
    centre : Noise, optional
        Noise on the mean target, which is used to centre the scores; None if scores are not
        centred.
    status : Status, default=Status.PROVED
        How well the guarantee is established.
    reason : str, default=""
        Why the guarantee is not PROVED.

    Examples
    --------
    The noise is fixed before any row is read:

    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Neighbours, Pure
    >>> from confide.selection import ScreeningSelector
    >>> objective = Objective(Logistic(), dimension=20, row_norm=1.0)
    >>> found = ScreeningSelector(size=2).calibrate(
    ...     objective, Pure(1), Neighbours.ADD_REMOVE
    ... )
    >>> found.guarantee.status
    <Status.PROVED: 'PROVED'>
    """

    objective: Objective
    budget: Budget
    neighbours: Neighbours
    theorem: str
    noise: Gumbel | Laplace
    events: tuple[Event, ...]
    copies: int = 1
    centre: Noise | None = None
    status: Status = Status.PROVED
    reason: str = ""

    def __post_init__(self) -> None:
        status, reason = effective_status(self.theorem, self.status, self.reason)
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "reason", reason)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the selection."""
        return Guarantee(
            self.budget, self.neighbours, self.status, self.theorem, reason=self.reason
        )

    def records(self) -> tuple[NoiseRecord, ...]:
        """Return records of the noise for a release.

        Returns
        -------
        tuple of NoiseRecord
            Distribution and scale of each noise.
        """
        first = NoiseRecord(self.noise.kind, self.noise.scale, "scores of columns")
        if self.centre is None:
            return (first,)
        second = NoiseRecord(self.centre.kind, self.centre.scale, "mean of the target")
        return first, second


class Selector(Protocol):
    """Protocol for selectors of columns, which are frozen objects with public settings.

    Examples
    --------
    >>> from confide.selection import ScreeningSelector
    >>> ScreeningSelector(size=3).size
    3
    """

    name: ClassVar[str]
    theorems: ClassVar[tuple[str, ...]]

    @property
    def size(self) -> int:
        """Number of columns to select."""
        ...

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> SelectorCalibration:
        """Choose the noise from public information only.

        Parameters
        ----------
        objective : Objective
            Loss and public bounds.
        budget : Pure, Approx or Zcdp
            Budget of all selections together.
        neighbours : Neighbours
            Neighbour relation to protect.
        copies : int, default=1
            Number of selections that share rows and budget.

        Returns
        -------
        SelectorCalibration
            Noise and guarantee of the selection.
        """
        ...

    def check_rows(self, calibration: SelectorCalibration, rows: Rows) -> None:
        """Raise if the table has an unsuitable shape, before any budget is spent.

        Parameters
        ----------
        calibration : SelectorCalibration
            Result of `calibrate`.
        rows : Rows
            The rows.
        """
        ...

    def select(
        self, calibration: SelectorCalibration, rows: Rows, entropy: Entropy
    ) -> Sequence[int]:
        """Select ``size`` columns privately.

        Parameters
        ----------
        calibration : SelectorCalibration
            Result of `calibrate`.
        rows : Rows
            The rows.
        entropy : Entropy
            Source of randomness.

        Returns
        -------
        sequence of int
            Indices of the columns, in increasing order.
        """
        ...


SELECTORS: Registry[type[Any]] = Registry("selector")
