"""What every selector is: a calibration without data, then a support from rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from confide._registry import Registry
from confide.accounting import Event
from confide.data.rows.in_memory import Rows
from confide.mechanisms import NoiseRecord
from confide.noise import Entropy, Gumbel, Laplace, Noise
from confide.objectives import Objective
from confide.privacy import Budget, Guarantee, Neighbours, Status, effective_status

PAGE = "sparse-selection.md#"


@dataclass(frozen=True, slots=True)
class SelectorCalibration:
    """Everything that is fixed before the data are read.

    ``noise`` is added to the scores of columns or supports; ``centre`` to what scores are
    centred by, None where they are not. ``copies`` selections share rows and budget.
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
        """What the support will promise."""
        return Guarantee(
            self.budget, self.neighbours, self.status, self.theorem, reason=self.reason
        )

    def records(self) -> tuple[NoiseRecord, ...]:
        """Describe the noises for a release."""
        first = NoiseRecord(self.noise.kind, self.noise.scale, "scores of columns")
        if self.centre is None:
            return (first,)
        second = NoiseRecord(self.centre.kind, self.centre.scale, "mean of the target")
        return first, second


class Selector(Protocol):
    """A frozen configuration; every field is public."""

    name: ClassVar[str]
    theorems: ClassVar[tuple[str, ...]]

    @property
    def size(self) -> int:
        """How many columns it selects."""
        ...

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> SelectorCalibration:
        """Choose the noise from public facts alone."""
        ...

    def check_rows(self, calibration: SelectorCalibration, rows: Rows) -> None:
        """Refuse by shape, before anything is spent."""
        ...

    def select(
        self, calibration: SelectorCalibration, rows: Rows, entropy: Entropy
    ) -> Sequence[int]:
        """Return ``size`` columns in rising order, privately."""
        ...


SELECTORS: Registry[type[Any]] = Registry("selector")
