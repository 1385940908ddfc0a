"""Specification of a fit: all public settings, checked and immutable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np

from confide._types import Array
from confide.data import (
    Schema,
)
from confide.data.schema.case_weights import offset_bound
from confide.errors import Described, InvalidParameter
from confide.estimators._bounding import Bounding
from confide.estimators._target import TargetInfo, TargetRule, TargetSpec
from confide.ledger import Ledger
from confide.mechanisms import (
    AdaptiveObjectivePerturbation,
    Calibration,
    Intervals,
    Mechanism,
    WithIntervals,
)
from confide.mechanisms.ranges.mechanism import Ranges, WithRanges, is_affordable
from confide.mechanisms.ranges.read_range import RangeQuery
from confide.objectives import (
    L1,
    PENALTIES,
    Box,
    Constraint,
    L2Ball,
    Nuclear,
    Objective,
    Penalty,
    guess_coef_norm_of_columns,
)
from confide.privacy import Budget, Neighbours, row_budget

MechanismSetting: TypeAlias = str | Mechanism
RidgeSetting: TypeAlias = float | Literal["auto"]
NeighbourSetting: TypeAlias = str | Neighbours | None
IntervalSetting: TypeAlias = (
    bool | float | str | Sequence[Any] | Mapping[str, Any] | Intervals | None
)
LedgerSetting: TypeAlias = Ledger | str | Path | None
RangeMode: TypeAlias = Literal["auto", "private", "public"]
RangeSetting: TypeAlias = RangeMode | Ranges


@dataclass(frozen=True, slots=True)
class RangePolicy:
    """Policy that determines which ranges a fit estimates privately, and how."""

    mode: RangeMode
    settings: Ranges

    @classmethod
    def of(cls, value: Any) -> "RangePolicy":
        """Read the ``ranges`` argument of an estimator: a mode or settings."""
        if isinstance(value, Ranges):
            return cls("private", value)
        if isinstance(value, str) and value in get_args(RangeMode):
            return cls(cast("RangeMode", value), Ranges())
        must = "'auto', 'private', 'public' or Ranges(...)"
        raise InvalidParameter("ranges", must, value)


@dataclass(frozen=True, slots=True)
class FitSpec:
    """All public settings of a fit, checked and immutable.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        Privacy budget of the fit.
    mechanism : Mechanism
        Mechanism that releases the coefficients.
    neighbours : Neighbours
        Neighbour relation of the guarantee.
    target : TargetRule
        Rule for reading and coding the target.
    schema : Schema or None
        Public description of the table.
    bounding : Bounding
        Public bounds on rows.
    l2 : float or None
        Ridge parameter; None to choose it automatically.
    l1 : float
        Weight of an ℓ1 penalty.
    penalty : Penalty or None
        Penalty instead of ``l1``.
    nuclear : float
        Weight of the nuclear norm of a matrix of coefficients.
    fit_intercept : bool
        Whether there is a constant column.
    intervals : Intervals or None
        Settings of the intervals; None without intervals.
    dataset : str or None
        Name of the dataset in the ledger; None without a ledger.
    classifies : bool
        Whether targets are labels.
    ranges : RangePolicy
        Policy that determines which ranges are estimated privately.
    weight_cap : float, optional
        Cap on weights that are passed as ``sample_weight``.

    Examples
    --------
    >>> from confide import LogisticRegression, Number, Pure, Schema, Target
    >>> schema = Schema([Number("age", 18, 90)], Target("ill", labels=("no", "yes")))
    >>> spec = LogisticRegression(Pure(1), schema=schema).calibrated(rows=1000).spec
    >>> str(spec.neighbours), spec.fit_intercept, spec.rows_per_person
    ('add-remove', True, 1)

    By default, a fit hides whether a person is in the table at all.
    """

    budget: Budget
    mechanism: Mechanism
    neighbours: Neighbours
    target: TargetRule
    schema: Schema | None
    bounding: Bounding
    l2: float | None
    l1: float
    penalty: Penalty | None
    nuclear: float
    fit_intercept: bool
    intervals: Intervals | None
    dataset: str | None
    classifies: bool
    ranges: RangePolicy
    weight_cap: float | None = None

    @property
    def rows_per_person(self) -> int:
        """Largest number of rows that one person may have."""
        return 1 if self.schema is None else self.schema.rows_per_person

    @property
    def unidentified(self) -> Array | None:
        """Directions in which no table identifies coefficients; None without a schema."""
        if self.schema is None:
            return None
        return self.schema.unidentified_directions(self.bounding.height)

    def mechanism_for(self, rows: int) -> Mechanism:
        """Return the mechanism, extended by intervals and estimated ranges if requested.

        Parameters
        ----------
        rows : int
            Number of rows. Used only if it is public.

        Returns
        -------
        Mechanism
            The mechanism to calibrate.
        """
        found = self.mechanism
        if self.intervals is not None:
            heights = None if self.schema is None else self.schema.weights
            found = WithIntervals(found, self.intervals, rows, self.unidentified, heights)
        queries = self.range_queries(rows)
        return WithRanges(found, queries, self.ranges.settings) if queries else found

    def range_queries(self, rows: int) -> tuple[RangeQuery, ...]:
        """Return queries for the ranges that the fit estimates, from public information.

        Parameters
        ----------
        rows : int
            Number of rows. Used only if it is public.

        Returns
        -------
        tuple of RangeQuery
            One query per range.
        """
        if self.schema is None:
            return ()
        public = self.neighbours is Neighbours.REPLACE_ONE
        about = rows if public else self.schema.rows
        return tuple(range_queries(self, self.schema, about))

    def possible_queries(self) -> tuple[RangeQuery, ...]:
        """Return queries for all ranges that might be estimated, whatever the row count.

        Returns
        -------
        tuple of RangeQuery
            One query per range.
        """
        if self.neighbours is Neighbours.ADD_REMOVE:
            return self.range_queries(0)
        if self.schema is None or self.ranges.mode == "public":
            return ()
        whole = replace(self, ranges=replace(self.ranges, mode="private"))
        return tuple(range_queries(whole, self.schema, None))

    def affords_ranges(self, columns: int, rows: int | None) -> bool:
        """Return whether it is worthwhile to estimate the ranges of some columns.

        Parameters
        ----------
        columns : int
            Number of ranges.
        rows : int or None
            Number of rows, possibly approximate; None if it is not public.

        Returns
        -------
        bool
            True if the expected counts in the tails sufficiently exceed their noise.
        """
        budget = row_budget(self.budget, self.rows_per_person)
        settings = self.ranges.settings
        return columns > 0 and is_affordable(
            budget, columns, self.neighbours, settings, rows
        )

    def with_ranges(self, ranges: Mapping[str, tuple[float, float]]) -> "FitSpec":
        """Return the specification with estimated ranges.

        Parameters
        ----------
        ranges : mapping of str to (float, float)
            Lower and upper end of the range, by column.

        Returns
        -------
        FitSpec
            The same fit with columns scaled by these ranges.
        """
        assert self.schema is not None, "ranges can only be estimated with a schema"  # noqa: S101
        schema, target = self.schema.with_ranges(ranges), self.target
        if schema.target.name in ranges:
            target = target.with_range(*ranges[schema.target.name])
        return replace(self, schema=schema, target=target)

    def objective(self, task: TargetSpec, columns: int) -> Objective:
        """Return the objective of the fit: loss, ridge, penalty and constraint.

        Parameters
        ----------
        task : TargetSpec
            Specification of the target, with its loss and coding.
        columns : int
            Number of columns of the design matrix, without the constant column.

        Returns
        -------
        Objective
            The objective, with its public constants.
        """
        dimension = task.responses * (columns + (1 if self.fit_intercept else 0))
        longest, most = self.bounding.norm(columns), self.bounding.most
        offset = None if self.schema is None else self.schema.offset
        return Objective(
            task.loss,
            dimension,
            longest if most is None else most,
            self.l2,
            self._penalty(task, columns, dimension),
            _constraint(task),
            task.target_bound,
            task.responses,
            self._typical_norm(task),
            self.bounding.known,
            self.bounding.height,
            None if most is None else longest,
            self.has_weights,
            0.0 if offset is None else offset_bound(offset),
        )

    @property
    def has_weights(self) -> bool:
        """Whether records have case weights."""
        declared = self.schema is not None and self.schema.case_weights is not None
        return declared or self.weight_cap is not None

    def calibrate(self, task: TargetSpec, columns: int, rows: int) -> Calibration:
        """Choose noise and ridge from public information.

        Parameters
        ----------
        task : TargetSpec
            Specification of the target, with its loss and coding.
        columns : int
            Number of columns of the design matrix, without the constant column.
        rows : int
            Number of rows. Used only if it is public.

        Returns
        -------
        Calibration
            Noise, ridge, tolerance and guarantee.
        """
        return self.mechanism_for(rows).calibrate(
            self.objective(task, columns),
            row_budget(self.budget, self.rows_per_person),
            self.neighbours,
            copies=len(task.codings),
        )

    def kept_numbers(self, values: Array) -> Array:
        """Clamp and scale values of a numeric target as the fit would.

        Parameters
        ----------
        values : ndarray
            Values in the unit of the target.

        Returns
        -------
        ndarray
            Values in the unit of the objective.
        """
        read: Any = self.target.spec(TargetInfo()).read
        return np.asarray(read(values, len(values)), dtype=np.float64)

    def _penalty(self, task: TargetSpec, columns: int, dimension: int) -> Penalty | None:
        if self.nuclear:
            return Nuclear(self.nuclear, (columns, task.responses))
        if self.l1:
            spared = (0.0,) * task.responses if self.fit_intercept else ()
            return L1((self.l1,) * (task.responses * columns) + spared)
        if self.penalty is not None:
            check_coordinates(self.penalty, dimension)
        return self.penalty

    def _typical_norm(self, task: TargetSpec) -> float | None:
        schema = self.schema
        if schema is None:
            return None
        return guess_coef_norm_of_columns(
            task.loss, schema.weights, len(schema.effects), task.target_bound
        )


def range_queries(spec: FitSpec, schema: Schema, rows: int | None) -> list[RangeQuery]:
    """Return queries for the ranges that a fit estimates.

    In mode "public" there are none. In mode "private", and in mode "auto" if there are
    enough rows, these are all ranges that are not declared public. Otherwise they are those
    that the schema declares private and those of columns without limits. ``rows`` is the
    approximate number of rows, or None if it is not public.
    """
    wanted = spec.intervals
    inference = wanted is not None and wanted.of == "plain"
    tail = spec.ranges.settings.tail_for(inference=inference)
    columns: Sequence[Any] = schema.predictors
    parts: list[tuple[Any, RangeQuery]] = [
        (
            column,
            RangeQuery(
                column.name, column.grid, tail, tail, column.has_limits, not inference
            ),
        )
        for column in columns
        if column.grid is not None
    ]
    of_target = spec.target.range_query(schema.target)
    if of_target is not None:
        parts.append((schema.target, of_target))
    elif schema.target.grid is not None and not schema.target.has_limits:
        raise InvalidParameter(
            "range of the target",
            "declared when target_bound, slope_bound or coef_norm is given, because "
            "these are in the unit of the target",
            Described("none"),
            "Leave those bounds out, or declare lower and upper of the target.",
        )
    parts = [(part, query) for part, query in parts if part.range != "public"]
    needed = [
        query for part, query in parts if part.range == "private" or not part.has_limits
    ]
    if spec.ranges.mode == "public":
        open_ended = [part.name for part, _ in parts if not part.has_limits]
        if open_ended:
            raise InvalidParameter(
                "ranges",
                f"'private' or 'auto' if columns have no limits: {open_ended}",
                "public",
                "Declare lower and upper for them, or let the fit estimate their ranges.",
            )
        return []
    if spec.ranges.mode == "private" or spec.affords_ranges(len(parts), rows):
        return [query for _, query in parts]
    return needed


def _constraint(task: TargetSpec) -> Constraint | None:
    if task.coef_norm is not None:
        return L2Ball(task.coef_norm)
    if task.largest_coef is not None:
        return Box(-task.largest_coef, task.largest_coef)
    return None


def check_penalty(mechanism: Mechanism, l1: float, penalty: Any) -> None:
    """Raise an error if mechanism, ``l1`` and ``penalty`` cannot be combined."""
    if penalty is not None:
        if not isinstance(penalty, tuple(PENALTIES.values())):
            known = ", ".join(kind.__name__ for kind in PENALTIES.values())
            raise InvalidParameter("penalty", f"None or one of {known}", penalty)
        if l1:
            raise InvalidParameter("l1", "0 if penalty is set", l1, "Use only one of them.")
        return
    if isinstance(mechanism, AdaptiveObjectivePerturbation) and not l1:
        raise InvalidParameter(
            "l1",
            "greater than 0 for mechanism='adaptive', which weights an l1 penalty",
            l1,
            "A good value is near the scale of the noise: try 5. Or use "
            "mechanism='objective'.",
        )


def check_coordinates(penalty: Penalty, dimension: int) -> None:
    """Raise an error if a penalty has the wrong number of coordinates."""
    somewhere = np.ones(dimension)
    try:
        moved = penalty.prox(somewhere, 1e-9)
        fits = moved.shape == somewhere.shape and penalty.ridge(dimension).size == dimension
    except (IndexError, ValueError):
        fits = False
    if not fits:
        raise InvalidParameter(
            "penalty",
            f"defined for {dimension} coefficients (with the intercept last, if there is "
            "one)",
            penalty,
        )
