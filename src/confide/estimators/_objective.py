"""What a target asks for, and the objective that a model makes of it."""

from dataclasses import dataclass
from typing import Any

from confide._types import AnyArray
from confide.estimators._row_bounds import Bounding
from confide.estimators._support import check_coordinates
from confide.estimators._target_coding import Code, ReadTarget, as_read
from confide.objectives import (
    L1,
    Box,
    Constraint,
    L2Ball,
    Loss,
    Objective,
    Penalty,
    guess_coef_norm_of_columns,
)


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """One objective for every coding of the target; they share rows and budget."""

    loss: Loss
    read: ReadTarget
    codings: tuple[Code, ...] = (as_read,)
    target_bound: float | None = None
    coef_norm: float | None = None
    largest_coef: float | None = None
    classes: AnyArray | None = None
    labels_were_read: bool = False
    responses: int = 1


def objective_of(
    model: Any, task: TargetSpec, columns: int, bounding: Bounding
) -> Objective:
    """Return loss, ridge, penalty and constraint from a model's settings."""
    dimension = task.responses * (columns + (1 if model.fit_intercept else 0))
    automatic = isinstance(model.l2, str)
    return Objective(
        task.loss,
        dimension,
        bounding.norm(columns),
        None if automatic else float(model.l2),
        _penalty(model, task, columns, dimension),
        _constraint(task),
        task.target_bound,
        task.responses,
        _typical_norm(model, task),
        bounding.known,
        bounding.height,
    )


def _penalty(model: Any, task: TargetSpec, columns: int, dimension: int) -> Penalty | None:
    penalty: Penalty | None = model.penalty
    if model.l1:
        spared = (0.0,) * task.responses if model.fit_intercept else ()
        return L1((float(model.l1),) * (task.responses * columns) + spared)
    if penalty is not None:
        check_coordinates(penalty, dimension)
    return penalty


def _constraint(task: TargetSpec) -> Constraint | None:
    if task.coef_norm is not None:
        return L2Ball(task.coef_norm)
    if task.largest_coef is not None:
        return Box(-task.largest_coef, task.largest_coef)
    return None


def _typical_norm(model: Any, task: TargetSpec) -> float | None:
    schema = model.schema
    if schema is None:
        return None
    return guess_coef_norm_of_columns(
        task.loss, schema.weights, len(schema.columns), task.target_bound
    )
