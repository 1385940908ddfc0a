"""Targets, and how they become numbers, record by record.

A rule is made from public settings alone. The functions that read and code a target are
values that can be sent to where the rows are.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from confide._types import AnyArray, Array
from confide.data.schema.parse_values import as_cells
from confide.data.schema.range_grid import RangeGrid
from confide.data.schema.target import Target
from confide.errors import InvalidData
from confide.estimators._validate import (
    check_several,
    declared_classes,
    label_codes,
    labels_in,
    read_numbers,
    read_target,
)
from confide.mechanisms.ranges.read_range import RangeQuery
from confide.objectives import Loss, Multinomial
from confide.objectives.multinomial import FEWEST_CLASSES, MOST_CLASSES

TARGET_TAIL = 0.01
"""Targets are clamped less than columns: clamping them biases predictions."""
COUNT_TAIL = 0.005
"""Counts have longer tails, on one side."""
ReadTarget: TypeAlias = Callable[[Any, int], AnyArray]
"""From a column of a table and its length to the target as it is kept."""
Code: TypeAlias = Callable[[AnyArray], Array]
"""From the target as it is kept to what a loss takes."""


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """Facts read from the target: undeclared labels, number of targets."""

    labels: AnyArray | None = None
    responses: int = 1


def as_read(target: AnyArray) -> Array:
    """Return the target unchanged."""
    return target


def as_places(places: AnyArray) -> Array:
    """Take labels that were read as places; negative ones are none of the classes."""
    return places.astype(np.float64)


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


class TargetRule(Protocol):
    """What a model makes of its target, by public settings alone."""

    @property
    def seeks_labels(self) -> bool:
        """Whether undeclared labels are to be read from the target."""
        ...

    @property
    def takes_offset(self) -> bool:
        """Whether the linear predictor may have an offset."""
        ...

    def range_query(self, target: Target) -> RangeQuery | None:
        """Return how a range of the target is found; None if none may be bought."""
        ...

    def with_range(self, lower: float, upper: float) -> "TargetRule":
        """Return the rule for another range of the target."""
        ...

    def look(self, y: Any, count: int) -> TargetInfo:
        """Read from a target what is not declared."""
        ...

    def spec(self, found: TargetInfo) -> TargetSpec:
        """Return the loss, its bounds, and the coding of the target."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ClassRule:
    """One-vs-rest over a binary loss; two classes need one coding only.

    ``declared`` are the public labels; None where they are to be read from the target.
    ``together`` takes the multinomial loss for three classes or more.
    """

    declared: Any
    loss: Loss
    coef_norm: float | None
    together: bool = False

    def range_query(self, target: Target) -> RangeQuery | None:
        """Return None: labels have no range."""
        return None

    def with_range(self, lower: float, upper: float) -> "ClassRule":
        """Return the rule unchanged: labels have no range."""
        return self

    @property
    def seeks_labels(self) -> bool:
        """Whether undeclared labels are to be read from the target."""
        return self.declared is None

    @property
    def takes_offset(self) -> bool:
        """Whether the linear predictor may have an offset: log-odds of one label."""
        two = self.declared is not None and len(declared_classes(self.declared)) == 2
        return two and self.loss.canonical

    def look(self, y: Any, count: int) -> TargetInfo:
        """Read the labels, where none were declared."""
        return TargetInfo(labels_in(y, count) if self.seeks_labels else None)

    def spec(self, found: TargetInfo) -> TargetSpec:
        """Return a coding for every class, or for the second of two."""
        classes = found.labels
        if classes is None:
            classes = declared_classes(self.declared)
        read = LabelIndex(tuple(check_several(classes).tolist()))
        if self.together and FEWEST_CLASSES <= len(classes) <= MOST_CLASSES:
            return TargetSpec(
                Multinomial(len(classes)),
                read,
                (as_places,),
                classes=classes,
                labels_were_read=self.seeks_labels,
                responses=len(classes) - 1,
            )
        positives = range(len(classes)) if len(classes) > 2 else (1,)
        return TargetSpec(
            self.loss,
            read,
            tuple(map(OneVsRest, positives)),
            coef_norm=self.coef_norm,
            classes=classes,
            labels_were_read=self.seeks_labels,
        )


@dataclass(frozen=True, slots=True)
class RangeRule:
    """Numbers around an origin, brought to [−1, 1]; bounds are in those units.

    ``clamped`` is whether a schema says that infinite numbers count as the largest;
    ``scales`` whether no bound was given in the target's own unit.
    """

    unit: float
    origin: float
    loss: Loss
    coef_norm: float | None = None
    largest_coef: float | None = None
    clamped: bool = False
    scales: bool = False
    seeks_labels: ClassVar[bool] = False
    takes_offset: ClassVar[bool] = False

    def range_query(self, target: Target) -> RangeQuery | None:
        """Return both ends, unless a bound was given in the target's own unit."""
        grid = target.grid
        if grid is None or not self.scales:
            return None
        tail, limits = TARGET_TAIL, target.has_limits
        return RangeQuery(target.name, grid, tail, tail, limits)

    def with_range(self, lower: float, upper: float) -> "RangeRule":
        """Return the rule for another range of the target."""
        unit, origin = upper / 2 - lower / 2, lower / 2 + upper / 2
        return replace(self, unit=unit, origin=origin)

    def look(self, y: Any, count: int) -> TargetInfo:
        """Read nothing: the range is declared."""
        return TargetInfo()

    def spec(self, found: TargetInfo) -> TargetSpec:
        """Return the loss of a target within ±1."""
        return TargetSpec(
            self.loss,
            ScaledTarget(self.origin, self.unit, self.clamped),
            target_bound=1.0,
            coef_norm=self.coef_norm,
            largest_coef=self.largest_coef,
        )


@dataclass(frozen=True, slots=True)
class CountRule:
    """Counts from 0 to a bound, in units; ``clamped`` as in `RangeRule`."""

    most: float
    loss: Loss
    coef_norm: float | None
    clamped: bool = False
    unit: float = 1.0
    scales: bool = False
    seeks_labels: ClassVar[bool] = False
    takes_offset: ClassVar[bool] = True

    def range_query(self, target: Target) -> RangeQuery | None:
        """Return the upper end of counts, unless a bound was given in their own unit."""
        if not self.scales or target.grid is None:
            return None
        grid = RangeGrid.between(0.0, self.most)
        return RangeQuery(target.name, grid, 0.0, COUNT_TAIL, target.has_limits)

    def with_range(self, lower: float, upper: float) -> "CountRule":
        """Return the rule for another range of counts, which begins at 0."""
        # unit/most is a power of two: the scaled bound stays what it is, to the last bit.
        return replace(self, most=upper, unit=upper * (self.unit / self.most))

    def look(self, y: Any, count: int) -> TargetInfo:
        """Read nothing: the bound is declared."""
        return TargetInfo()

    def spec(self, found: TargetInfo) -> TargetSpec:
        """Return the loss of counts up to the bound."""
        read = ClippedCounts(self.most, self.clamped, self.unit)
        most = self.most / self.unit
        return TargetSpec(self.loss, read, target_bound=most, coef_norm=self.coef_norm)


@dataclass(frozen=True, slots=True)
class SeveralTargetsRule:
    """Several columns of numbers within ±unit, brought to [−1, 1]."""

    unit: float
    loss: Loss
    seeks_labels: ClassVar[bool] = False
    takes_offset: ClassVar[bool] = False

    def range_query(self, target: Target) -> RangeQuery | None:
        """Return None: several targets have no schema."""
        return None

    def with_range(self, lower: float, upper: float) -> "SeveralTargetsRule":
        """Return the rule unchanged: no range is bought for several targets."""
        return self

    def look(self, y: Any, count: int) -> TargetInfo:
        """Count the targets."""
        table = as_table(read_target(y, count) if y is None else y)
        return TargetInfo(responses=table.shape[1])

    def spec(self, found: TargetInfo) -> TargetSpec:
        """Return the loss of targets within ±1."""
        read = ScaledTargets(self.unit)
        return TargetSpec(self.loss, read, target_bound=1.0, responses=found.responses)


@dataclass(frozen=True, slots=True)
class LabelIndex:
    """Labels, as their places among the classes; −1 for none of them."""

    classes: tuple[Any, ...]

    def __call__(self, y: Any, count: int) -> AnyArray:
        """Read a column of labels."""
        return label_codes(y, count, self.classes)


@dataclass(frozen=True, slots=True)
class OneVsRest:
    """1 for the class at a place, −1 for all others."""

    place: int

    def __call__(self, places: AnyArray) -> Array:
        """Code labels that were read as places."""
        coding: Array = (places == self.place).astype(np.float64)
        coding *= 2
        coding -= 1
        return coding


@dataclass(frozen=True, slots=True)
class ScaledTarget:
    """Numbers around an origin, in units, within ±1."""

    origin: float
    unit: float
    clamped: bool = False

    def __call__(self, y: Any, count: int) -> Array:
        """Read a column of numbers."""
        with np.errstate(over="ignore"):
            target = read_numbers(y, count, clamped=self.clamped) - self.origin
            target /= self.unit
        return np.clip(target, -1.0, 1.0, out=target)


@dataclass(frozen=True, slots=True)
class ClippedCounts:
    """Counts from 0 to a bound, divided by a unit."""

    most: float
    clamped: bool = False
    unit: float = 1.0

    def __call__(self, y: Any, count: int) -> Array:
        """Read a column of counts."""
        counts = np.clip(read_numbers(y, count, clamped=self.clamped), 0.0, self.most)
        most = self.most / self.unit
        return counts if self.unit == 1 else np.minimum(counts / self.unit, most)


@dataclass(frozen=True, slots=True)
class ScaledTargets:
    """Several columns of numbers, in units of their bound, within ±1."""

    bound: float

    def __call__(self, y: Any, count: int) -> Array:
        """Read a table of numbers; one column alone becomes a plain vector."""
        table = as_table(y)
        target = np.column_stack([read_numbers(column, count) for column in table.T])
        with np.errstate(over="ignore"):
            target /= self.bound
        np.clip(target, -1.0, 1.0, out=target)
        return target[:, 0] if target.shape[1] == 1 else target


def as_table(y: Any) -> AnyArray:
    """Return targets as a table with a column for each."""
    try:
        table = np.asarray(as_cells(y))
    except ValueError:
        table = np.empty(0)
    if table.ndim != 2 or not table.shape[1]:
        raise InvalidData("the targets y must be a table with a column for each.")
    return table
