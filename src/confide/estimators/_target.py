"""Rules for reading a target and coding it as numbers, record by record.

A rule depends on public settings alone. The functions that read and code a target can be
pickled and sent to workers.
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
"""Share of targets beyond each end of an estimated range.

The share is smaller than for columns, because clamping targets biases predictions.
"""
COUNT_TAIL = 0.005
"""Share of counts beyond the upper end of an estimated range."""
ReadTarget: TypeAlias = Callable[[Any, int], AnyArray]
"""Function that converts a column of a given length to the target as it is stored."""
Code: TypeAlias = Callable[[AnyArray], Array]
"""Function that converts the stored target to the argument of a loss."""


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """Facts read from the target: undeclared labels, and the number of targets."""

    labels: AnyArray | None = None
    responses: int = 1


def as_read(target: AnyArray) -> Array:
    """Return the target unchanged."""
    return target


def as_places(places: AnyArray) -> Array:
    """Return class indices as floats; a negative index stands for any other label."""
    return places.astype(np.float64)


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """Specification of how a target is read and coded, with its loss and bounds.

    ``read`` converts a column to the stored target. Each function in ``codings`` converts
    the stored target to that of one objective. In one-vs-rest, there is one objective per
    class. All objectives share the rows and the budget.
    """

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
    """Protocol for rules, based on public settings, for reading and coding a target."""

    @property
    def seeks_labels(self) -> bool:
        """Whether undeclared labels are to be read from the target."""
        ...

    @property
    def takes_offset(self) -> bool:
        """Whether the linear predictor may have an offset."""
        ...

    def range_query(self, target: Target) -> RangeQuery | None:
        """Return the query for the range of the target, or None if it is not estimated."""
        ...

    def with_range(self, lower: float, upper: float) -> "TargetRule":
        """Return the rule for another range of the target."""
        ...

    def look(self, y: Any, count: int) -> TargetInfo:
        """Read facts from the target that were not declared, such as its labels."""
        ...

    def spec(self, found: TargetInfo) -> TargetSpec:
        """Return the loss, the bounds and the coding of the target."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ClassRule:
    """Rule for a target of labels: a binary loss with one-vs-rest, or a multinomial loss.

    Two classes need only one coding. ``declared`` are the public labels, or None if they
    are to be read from the target. With ``together``, three or more classes are fitted
    with the multinomial loss.
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
        """Whether an offset is supported: only for two classes with the logistic loss."""
        two = self.declared is not None and len(declared_classes(self.declared)) == 2
        return two and self.loss.canonical

    def look(self, y: Any, count: int) -> TargetInfo:
        """Read the labels, if none were declared."""
        return TargetInfo(labels_in(y, count) if self.seeks_labels else None)

    def spec(self, found: TargetInfo) -> TargetSpec:
        """Return the specification: a single coding or, in one-vs-rest, one per class."""
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
    """Rule for a numeric target, shifted and scaled to [−1, 1].

    Bounds on coefficients are in the scaled unit. If ``clamped``, as with a schema,
    infinite values are clamped like other large values; otherwise they are rejected.
    ``scales`` states whether the range may be estimated. This requires that no bound was
    given in the unit of the target.
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
        """Return a query for both ends, or None if the range may not be estimated."""
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
        """Return no facts, because the range is declared."""
        return TargetInfo()

    def spec(self, found: TargetInfo) -> TargetSpec:
        """Return the loss and the coding of a target within ±1."""
        return TargetSpec(
            self.loss,
            ScaledTarget(self.origin, self.unit, self.clamped),
            target_bound=1.0,
            coef_norm=self.coef_norm,
            largest_coef=self.largest_coef,
        )


@dataclass(frozen=True, slots=True)
class CountRule:
    """Rule for counts, which are clamped to ``most`` and divided by ``unit``.

    ``clamped`` and ``scales`` have the same meaning as in `RangeRule`.
    """

    most: float
    loss: Loss
    coef_norm: float | None
    clamped: bool = False
    unit: float = 1.0
    scales: bool = False
    seeks_labels: ClassVar[bool] = False
    takes_offset: ClassVar[bool] = True

    def range_query(self, target: Target) -> RangeQuery | None:
        """Return a query for the upper end, or None if the end may not be estimated."""
        if not self.scales or target.grid is None:
            return None
        grid = RangeGrid.between(0.0, self.most)
        return RangeQuery(target.name, grid, 0.0, COUNT_TAIL, target.has_limits)

    def with_range(self, lower: float, upper: float) -> "CountRule":
        """Return the rule for counts from 0 to ``upper``; ``lower`` is not used."""
        # unit/most is a power of two, so the scaled bound is exactly the same.
        return replace(self, most=upper, unit=upper * (self.unit / self.most))

    def look(self, y: Any, count: int) -> TargetInfo:
        """Return no facts, because the bound is declared."""
        return TargetInfo()

    def spec(self, found: TargetInfo) -> TargetSpec:
        """Return the loss and the coding of counts up to the bound."""
        read = ClippedCounts(self.most, self.clamped, self.unit)
        most = self.most / self.unit
        return TargetSpec(self.loss, read, target_bound=most, coef_norm=self.coef_norm)


@dataclass(frozen=True, slots=True)
class SeveralTargetsRule:
    """Rule for several numeric targets within ±``unit``, scaled to [−1, 1]."""

    unit: float
    loss: Loss
    seeks_labels: ClassVar[bool] = False
    takes_offset: ClassVar[bool] = False

    def range_query(self, target: Target) -> RangeQuery | None:
        """Return None: several targets have no schema."""
        return None

    def with_range(self, lower: float, upper: float) -> "SeveralTargetsRule":
        """Return the rule unchanged: no range is estimated for several targets."""
        return self

    def look(self, y: Any, count: int) -> TargetInfo:
        """Return the number of targets."""
        table = as_table(read_target(y, count) if y is None else y)
        return TargetInfo(responses=table.shape[1])

    def spec(self, found: TargetInfo) -> TargetSpec:
        """Return the loss and the coding of targets within ±1."""
        read = ScaledTargets(self.unit)
        return TargetSpec(self.loss, read, target_bound=1.0, responses=found.responses)


@dataclass(frozen=True, slots=True)
class LabelIndex:
    """Picklable function that converts labels to class indices, as `label_codes` does."""

    classes: tuple[Any, ...]

    def __call__(self, y: Any, count: int) -> AnyArray:
        """Return the class indices of a column of labels."""
        return label_codes(y, count, self.classes)


@dataclass(frozen=True, slots=True)
class OneVsRest:
    """Picklable function that codes one class as 1 and all others as −1."""

    place: int

    def __call__(self, places: AnyArray) -> Array:
        """Return 1 or −1 for every class index."""
        coding: Array = (places == self.place).astype(np.float64)
        coding *= 2
        coding -= 1
        return coding


@dataclass(frozen=True, slots=True)
class ScaledTarget:
    """Picklable function that shifts, scales and clamps numbers to [−1, 1]."""

    origin: float
    unit: float
    clamped: bool = False

    def __call__(self, y: Any, count: int) -> Array:
        """Return a column of numbers, scaled and clamped."""
        with np.errstate(over="ignore"):
            target = read_numbers(y, count, clamped=self.clamped) - self.origin
            target /= self.unit
        return np.clip(target, -1.0, 1.0, out=target)


@dataclass(frozen=True, slots=True)
class ClippedCounts:
    """Picklable function that clamps counts to a bound and divides them by a unit."""

    most: float
    clamped: bool = False
    unit: float = 1.0

    def __call__(self, y: Any, count: int) -> Array:
        """Return a column of counts, clamped and scaled."""
        counts = np.clip(read_numbers(y, count, clamped=self.clamped), 0.0, self.most)
        most = self.most / self.unit
        return counts if self.unit == 1 else np.minimum(counts / self.unit, most)


@dataclass(frozen=True, slots=True)
class ScaledTargets:
    """Picklable function that scales and clamps several targets to [−1, 1]."""

    bound: float

    def __call__(self, y: Any, count: int) -> Array:
        """Return a table of numbers, scaled and clamped; one column becomes a vector."""
        table = as_table(y)
        target = np.column_stack([read_numbers(column, count) for column in table.T])
        with np.errstate(over="ignore"):
            target /= self.bound
        np.clip(target, -1.0, 1.0, out=target)
        return target[:, 0] if target.shape[1] == 1 else target


def as_table(y: Any) -> AnyArray:
    """Return targets as a two-dimensional array with one column per target."""
    try:
        table = np.asarray(as_cells(y))
    except ValueError:
        table = np.empty(0)
    if table.ndim != 2 or not table.shape[1]:
        raise InvalidData("the targets y must be a table with a column for each target.")
    return table
