"""What every mechanism is: a calibration without data, then a release from rows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from confide._registry import Registry
from confide._types import Array
from confide.accounting import Event
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter
from confide.mechanisms.needs import Need
from confide.mechanisms.release import NoiseRecord, Release
from confide.noise import Entropy, Noise
from confide.objectives import Objective
from confide.privacy import Budget, Guarantee, Neighbours, Status, effective_status
from confide.solvers import finest_tolerance


@dataclass(frozen=True, slots=True)
class Calibration:
    """Everything that is fixed before the data are read.

    ``noise`` perturbs the objective or the output; ``finish`` is the second, small noise
    that pays for stopping a solver within ``tolerance`` (None where one noise pays for
    both). ``copies`` objectives share the rows and the budget. ``status`` is what the
    mechanism says of itself, lowered where its theorem asks for noise that doubles are not;
    ``reason`` is why it is not PROVED.
    """

    objective: Objective
    budget: Budget
    neighbours: Neighbours
    theorem: str
    noise: Noise
    finish: Noise | None
    tolerance: float
    events: tuple[Event, ...]
    copies: int = 1
    status: Status = Status.PROVED
    reason: str = ""

    def __post_init__(self) -> None:
        status, reason = effective_status(self.theorem, self.status, self.reason)
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "reason", reason)

    @property
    def guarantee(self) -> Guarantee:
        """What the release will promise: nothing where the claim was refuted."""
        budget = None if self.status is Status.REFUTED else self.budget
        return Guarantee(
            budget, self.neighbours, self.status, self.theorem, reason=self.reason
        )

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the release rests on the number of rows being a public number."""
        return False

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Describe the noises for the release."""
        first = NoiseRecord(self.noise.kind, self.noise.scale, added_to)
        if self.finish is None:
            return (first,)
        second = NoiseRecord(self.finish.kind, self.finish.scale, "coefficients")
        return first, second

    def check_rows(self, rows: Rows) -> None:
        """Refuse by shape, before anything is spent, what no solver could certify."""
        finest = finest_tolerance(self.objective, rows)
        if finest > self.tolerance:
            raise InvalidParameter(
                "tolerance",
                f"at least {finest:.1g} for so many rows, such long rows and so small a "
                f"ridge (l2 = {self.objective.l2:.3g}): arithmetic certifies no less",
                self.tolerance,
                "Raise l2, or pass mechanism=ObjectivePerturbation(tolerance=...).",
            )


def checked_copies(tasks: Iterable[Rows], copies: int) -> Iterator[Rows]:
    """Hand out the tasks that were paid for, no more and no fewer."""
    count = 0
    for task in tasks:
        count += 1
        if count > copies:
            break
        yield task
    if count != copies:
        raise InvalidParameter("tasks", f"{copies}, as calibrated", "another number")


def make_release(
    calibration: Calibration, values: Sequence[Array], entropy: Entropy, added_to: str
) -> Release:
    """Put private values, one per copy, together with what may be said about them."""
    guarantee = calibration.guarantee
    return Release(
        values[0] if calibration.copies == 1 else np.stack(values),
        guarantee if entropy.secret else guarantee.seeded(),
        calibration.records(added_to),
        calibration.objective.l2 or 0.0,
        calibration.events,
    )


def check_whole(name: str, value: object, hint: str = "") -> None:
    """Refuse anything but a whole number of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameter(name, "a whole number, 1 or more", value, hint)


class Mechanism(Protocol):
    """A frozen configuration; every field is public."""

    name: ClassVar[str]
    needs: ClassVar[tuple[Need, ...]]
    default_neighbours: ClassVar[Neighbours]
    theorems: ClassVar[tuple[str, ...]]

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> Calibration:
        """Choose noise and ridge from public facts alone."""
        ...

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Solve every task under the calibration and release the results together."""
        ...


MECHANISMS: Registry[type[Any]] = Registry("mechanism")
