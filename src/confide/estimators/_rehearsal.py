"""A fit up to the moment it is paid for, and what it would promise."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from confide.data import Rows
from confide.estimators._booking import dataset_name
from confide.estimators._uncertain import Prepared
from confide.inference import Intervals
from confide.privacy import Budget, Guarantee


class Ready(NamedTuple):
    """A fit that only has to be paid for and released."""

    budget: Budget
    crowd: int
    wish: Intervals | None
    size: int
    calibration: Prepared
    task: Any
    tasks: Iterable[Rows]
    height: float


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The guarantee of a fit, the name it books under, and the labels it read off y.

    ``dataset`` is None without a ledger; ``labels`` where they were declared, or where
    the target is a number.
    """

    guarantee: Guarantee
    dataset: str | None
    labels: list[Any] | None


def rehearsed(model: Any, ready: Ready) -> Rehearsal:
    """Return what may be said of a fit that is ready."""
    booked = None if model.ledger is None else dataset_name(model.schema, model.ledger)
    labels = ready.task.classes.tolist() if ready.task.labels_were_read else None
    return Rehearsal(ready.calibration.guarantee, booked, labels)
