"""Public declaration of the column to predict."""

import numbers
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from confide.data.schema.columns import Faults
from confide.data.schema.columns.kinds import RangeSource
from confide.data.schema.columns.plan_facts import (
    inside,
    plain_shares,
    plain_typical,
)
from confide.data.schema.parse_values import numbers_or_nan, plain_levels
from confide.data.schema.range_grid import RangeGrid, is_divisible
from confide.errors import Described, InvalidParameter

LARGEST_NUMBER = 1e100
"""Bound on public numbers and their inverses, so that squares do not overflow."""
ENDS = ("lower", "upper")


@dataclass(frozen=True, slots=True)
class Target:
    """The column to predict, declared by its labels or by its range.

    Parameters
    ----------
    column : str
        Name of the column in the table.
    labels : sequence, optional
        Public labels, for a classifier. If there are two, the second is the positive class.
    bound : float, optional
        Abbreviation for the range from −bound to bound, or from 0 to bound for counts.
    missing : {"refuse", "drop"}, default="refuse"
        Whether a row without a target causes the table to be rejected, or is dropped.
    lower : float, optional
        Public lower limit of a number or count; smaller values are clamped to it.
    upper : float, optional
        Public upper limit of a number or count; larger values are clamped to it.
    unit : str, default=""
        Name of the unit, for display.
    range : {"auto", "private", "public"}, default="auto"
        "private" spends part of the privacy budget of a fit on estimating the range, so
        that limits may be wider than necessary or missing; "public" uses the limits
        unchanged; "auto" leaves the choice to the fit.
    typical : tuple of two floats, optional
        Numbers between which about four in five values lie, if this is publicly known.
        Plans use them; fits do not.
    share : sequence of float or mapping, optional
        Proportions of the labels, if publicly known. Plans use them; fits do not.

    Raises
    ------
    InvalidParameter
        A field has a wrong type or an invalid value, or both labels and a range are given.

    Examples
    --------
    >>> from confide import Target
    >>> Target("readmitted", labels=("no", "yes")).levels
    ('no', 'yes')
    >>> Target("dose", lower=0, upper=200, unit="mg/week").ends
    (0.0, 200.0)
    """

    column: str
    labels: tuple[Any, ...] | None = None
    bound: float | None = None
    missing: Literal["refuse", "drop"] = "refuse"
    lower: float | None = None
    upper: float | None = None
    unit: str = ""
    range: RangeSource = "auto"
    typical: tuple[float, float] | None = None
    share: Any = None
    kind: ClassVar[str] = "target"

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise InvalidParameter("column of the target", "text, not empty", self.column)
        if self.missing not in ("refuse", "drop"):
            raise InvalidParameter(
                f"missing of target {self.column!r}", "'refuse' or 'drop'", self.missing
            )
        if not isinstance(self.unit, str) or (self.unit and self.labels is not None):
            must = "text" if self.labels is None else "left out, because it has labels"
            raise InvalidParameter(f"unit of target {self.column!r}", must, self.unit)
        if self.range not in get_args(RangeSource):
            raise InvalidParameter(
                f"range of target {self.column!r}",
                f"one of {list(get_args(RangeSource))}",
                self.range,
            )
        bought = self.range == "private"
        ranged = self.lower is not None or self.upper is not None or bought
        if [self.labels is not None, self.bound is not None, ranged].count(True) != 1:
            raise InvalidParameter(
                f"target {self.column!r}",
                "declared by exactly one of labels (for a classifier), limits or a bound",
                {
                    name: getattr(self, name)
                    for name in ("labels", "bound", *ENDS)
                    if getattr(self, name) is not None
                }
                or Described("none of them"),
                "Write labels = [...], or lower = ... and upper = ..., or bound = ..., or "
                'range = "private".',
            )
        if self.labels is not None:
            what = f"labels of target {self.column!r}"
            object.__setattr__(self, "labels", plain_levels(what, self.labels, least=2))
        elif ranged:
            self._check_range()
        else:
            self._check_bound()
        self._check_facts()

    def _check_facts(self) -> None:
        what = f"target {self.column!r}"
        limits = (self.lower, self.upper) if self.bound is None else self.ends
        if self.labels is not None and self.typical is not None:
            must = "left out: for labels, declare share instead"
            raise InvalidParameter(f"typical of {what}", must, self.typical)
        if self.labels is None and self.share is not None:
            must = "left out: for numbers, declare typical instead"
            raise InvalidParameter(f"share of {what}", must, self.share)
        typical = plain_typical(what, self.typical, limits or (None, None))
        object.__setattr__(self, "typical", typical)
        object.__setattr__(self, "share", plain_shares(what, self.share, self.levels))

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column

    @property
    def levels(self) -> tuple[Any, ...]:
        """The labels; empty for a number."""
        return self.labels or ()

    @property
    def dtype(self) -> type[float] | type[str]:
        """Type for reading the column from a text file."""
        return float if self.labels is None else str

    def faults(self, values: Any) -> Faults:
        """Return masks of the non-missing values that violate the declaration."""
        if self.ends is None:
            return Faults.of_levels(values, self.levels, self.column)
        return Faults.of_numbers(numbers_or_nan(values), self.ends)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The smallest and the largest value of a number; None for labels."""
        if self.bound is not None:
            return -float(self.bound), float(self.bound)
        if self.labels is not None:
            return None
        if self.lower is None or self.upper is None:
            return self._grid.ends
        return float(self.lower), float(self.upper)

    @property
    def has_limits(self) -> bool:
        """Whether both ends are declared."""
        return self.bound is not None or None not in (self.lower, self.upper)

    @property
    def whole(self) -> bool:
        """Whether the limits are declared as whole numbers."""
        ends = (self.lower, self.upper) if self.bound is None else (self.bound,)
        return all(isinstance(end, int) for end in ends)

    @property
    def _grid(self) -> RangeGrid:
        if self.bound is not None:
            return RangeGrid.between(-float(self.bound), float(self.bound))
        reach = (-LARGEST_NUMBER, LARGEST_NUMBER)
        return RangeGrid.between(self.lower, self.upper, reach=reach)

    @property
    def grid(self) -> RangeGrid | None:
        """Histogram grid for a private estimate of the range.

        It is None for labels, and if the declared range is too narrow to be divided.
        """
        ends = self.ends
        return self._grid if ends is not None and is_divisible(*ends) else None

    def within(self, lower: float, upper: float) -> "Target":
        """Return the target with an estimated range."""
        typical = None if self.typical is None else inside(self.typical, (lower, upper))
        bought = replace(self, bound=None, lower=lower, upper=upper, typical=None)
        return replace(bought, range="public", typical=typical)

    def _check_range(self) -> None:
        for name in ENDS:
            value = getattr(self, name)
            if value is None and self.range == "private":
                continue
            if not _is_real(value) or not abs(value) <= LARGEST_NUMBER:
                must = f"a finite number from -{LARGEST_NUMBER:g} to {LARGEST_NUMBER:g}"
                raise InvalidParameter(f"{name} of target {self.column!r}", must, value)
            object.__setattr__(self, name, _plain(value))
        ends = self.ends
        narrow = ends is None or not ends[1] - ends[0] >= 1 / LARGEST_NUMBER
        if narrow or not (self.has_limits or self.grid):
            raise InvalidParameter(
                f"range of target {self.column!r}",
                "two finite numbers, lower below upper",
                (self.lower, self.upper),
            )

    def _check_bound(self) -> None:
        bound: Any = self.bound
        if not _is_real(bound) or not 1 / LARGEST_NUMBER <= bound <= LARGEST_NUMBER:
            raise InvalidParameter(
                f"bound of target {self.column!r}",
                f"a positive number of at most {LARGEST_NUMBER:g}",
                bound,
            )
        object.__setattr__(self, "bound", _plain(bound))


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _plain(value: Any) -> float:
    """Return an int unchanged, and any other number as a float."""
    return value if type(value) is int else float(value)
