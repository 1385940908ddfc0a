"""A fit up to the moment it is paid for, what it would promise, and what else it could."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from sklearn.base import clone

from confide.data import Rows
from confide.errors import ConfideError
from confide.estimators._dataset_name import dataset_name
from confide.estimators._interval_release import Prepared
from confide.estimators._row_bounds import bounding_for
from confide.estimators._target_coding import TargetInfo
from confide.inference import Intervals
from confide.mechanisms.intervals.budget import check_intervals
from confide.privacy import Budget, Guarantee


class PreparedFit(NamedTuple):
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
class DryRun:
    """The guarantee of a fit, the name it books under, and the labels it read off y.

    ``dataset`` is None without a ledger; ``labels`` where they were declared, or where
    the target is a number.
    """

    guarantee: Guarantee
    dataset: str | None
    labels: list[Any] | None


def rehearsed(model: Any, ready: PreparedFit) -> DryRun:
    """Return what may be said of a fit that is ready."""
    booked = None if model.ledger is None else dataset_name(model.schema, model.ledger)
    labels = ready.task.classes.tolist() if ready.task.labels_were_read else None
    return DryRun(ready.calibration.guarantee, booked, labels)


def offers_intervals(model: Any) -> bool:
    """Whether a model that was fitted without intervals could have had them.

    Only public facts are asked, and nothing is calibrated.
    """
    trial = clone(model).set_params(intervals=True, ledger=None)
    try:
        _, mechanism, _ = trial._settings()  # noqa: SLF001
        task = trial._task(TargetInfo(getattr(model, "classes_", None)))  # noqa: SLF001
        bounding = bounding_for(trial, mechanism)
        objective = trial._objective(  # noqa: SLF001
            task, model.n_features_in_, bounding
        )
        check_intervals(mechanism, objective)
    except ConfideError:
        return False
    return True
