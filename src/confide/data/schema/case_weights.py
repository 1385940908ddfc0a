"""Weights and offsets of records: columns that are not effects.

A weight says how much a record counts, up to a public cap; an offset is added to its linear
predictor unchanged. Both are read record by record.
"""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from confide._types import AnyArray, Array
from confide.data.schema.columns import Column, Faults, refuse_missing
from confide.data.schema.parse_values import as_numbers, numbers_or_nan
from confide.errors import InvalidData, InvalidParameter, did_you_mean

LARGEST_CAP = 1e100
LARGEST_OFFSET = 1000.0
"""No exponential of a larger one is a double."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Cases:
    """Weights of records from 0 to 1, and offsets."""

    weight: Array | None = None
    offset: Array | None = None

    def __repr__(self) -> str:
        return "<private cases>"


NO_CASES = Cases()


@dataclass(frozen=True, slots=True)
class CaseWeights:
    """Weights of records: from a column, by label, or both.

    Parameters
    ----------
    column : str, default=""
        Column with weights from 0 to ``cap``. Values outside are clamped record by record.
    cap : float, optional
        Public upper limit of the weights. Noise grows with it.
    classes : mapping, optional
        Public weights by label; a label without one has weight 1.
    missing : {"refuse", "drop"}, default="refuse"
        Whether a record without a weight causes the table to be rejected, or is ignored.
    typical : float, optional
        A usual weight, if that is publicly known. Plans use it, or else half of the cap;
        fits do not.

    Raises
    ------
    InvalidParameter
        A field is not of the type or in the range that its description states.

    Examples
    --------
    Weights count as shares of the cap, and a weight of 9 as the cap itself:

    >>> from confide.data import CaseWeights
    >>> CaseWeights("survey_weight", cap=4).read([1.0, 2.0, 9.0]).tolist()
    [0.25, 0.5, 1.0]
    """

    column: str = ""
    cap: float | None = None
    classes: Mapping[str, float] = field(default_factory=dict)
    missing: Literal["refuse", "drop"] = "refuse"
    typical: float | None = None
    kind: ClassVar[str] = "weights"
    levels: ClassVar[tuple[Any, ...]] = ()
    dtype: ClassVar[type[float] | type[str]] = float

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise InvalidParameter("column of [case_weights]", "text", self.column)
        if bool(self.column) != (self.cap is not None):
            raise InvalidParameter(
                "[case_weights]",
                "given together with a column, and left out without one",
                self.cap,
                "Write cap = 5: weights beyond it are clamped, and noise grows with it.",
            )
        if self.column:
            object.__setattr__(self, "cap", check_cap("cap of [case_weights]", self.cap))
        if self.typical is not None:
            usual = check_cap("typical of [case_weights]", self.typical)
            if self.cap is None or usual > self.cap:
                must = "a usual weight, no larger than the cap"
                raise InvalidParameter("typical of [case_weights]", must, self.typical)
            object.__setattr__(self, "typical", usual)
        if self.missing not in ("refuse", "drop"):
            must = "'refuse' or 'drop'"
            raise InvalidParameter("missing of [case_weights]", must, self.missing)
        given: Any = self.classes
        if not isinstance(given, Mapping):
            must = "a weight for every label"
            raise InvalidParameter("classes of [case_weights]", must, given)
        if not (self.column or self.classes):
            raise InvalidParameter("[case_weights]", "given a column or classes", "neither")
        known = {
            str(label): check_cap(f"weight of label {str(label)!r}", weight)
            for label, weight in self.classes.items()
        }
        object.__setattr__(self, "classes", known)

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column

    def typical_share(self, labels: tuple[Any, ...]) -> float:
        """Return how much a usual record counts, as a share of one at the cap."""
        share = 1.0
        if self.cap is not None:
            share = 0.5 if self.typical is None else self.typical / self.cap
        if not self.classes:
            return share
        return share * float(np.mean(self.of_labels(np.arange(len(labels)), labels)))

    def check_labels(self, labels: tuple[Any, ...] | None) -> None:
        """Reject weights of labels that the target does not have."""
        names = [str(label) for label in labels or ()]
        strange = [label for label in self.classes if label not in names]
        if strange:
            must = f"weights of labels of the target, {names}"
            hint = did_you_mean(strange[0], names)
            raise InvalidParameter("classes of [case_weights]", must, strange, hint)

    def faults(self, values: Any) -> Faults:
        """Return which of some known values are not numbers from 0 to the cap."""
        return Faults.of_numbers(numbers_or_nan(values), (0.0, float(self.cap or 0.0)))

    def read(self, values: Any) -> Array:
        """Return shares of the cap, from 0 to 1."""
        found = as_numbers(values, self.column)
        absent = np.isnan(found)
        if absent.any() and self.missing == "refuse":
            raise refuse_missing(self.column, "drop")
        return share_of_cap(np.where(absent, 0.0, found), float(self.cap or 1.0))

    def of_labels(self, places: AnyArray, labels: tuple[Any, ...]) -> Array:
        """Return shares of the largest weight; an undeclared label has the smallest."""
        known = [self.classes.get(str(label), 1.0) for label in labels]
        table = np.array([*known, min(known)]) / max(known)
        return table[np.asarray(places, dtype=np.intp)]


def check_cap(name: str, value: Any) -> float:
    """Return a positive public number."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not 1 / LARGEST_CAP <= value <= LARGEST_CAP:
        raise InvalidParameter(name, "a positive number", value)
    return float(value)


def share_of_cap(weights: AnyArray, cap: float) -> Array:
    """Return weights as shares of a cap: clamped to it, and to 0 below."""
    return np.minimum(np.clip(weights, 0.0, cap) / cap, 1.0)


def read_sample_weight(values: Any, count: int, cap: float) -> Array:
    """Return shares of a cap for weights that were passed beside a table."""
    found = as_numbers(np.asarray(values), "sample_weight")
    if found.shape != (count,):
        raise InvalidData("sample_weight must hold one number for every row of X.")
    if np.isnan(found).any():
        raise InvalidData(
            "sample_weight must be known in every row; some values are missing."
        )
    return share_of_cap(np.asarray(found, dtype=np.float64), cap)


def check_offset(column: Any) -> None:
    """Reject an offset without a public range."""
    known = not getattr(column, "coded", True) and not column.possible
    if not (known and column.has_limits and offset_bound(column) <= LARGEST_OFFSET):
        raise InvalidParameter(
            "[offset]",
            "a number with lower and upper, a public range that is no wider than 2,000",
            getattr(column, "name", column),
            'For an exposure write transform = "log".',
        )


def middle_of(column: Column) -> float:
    """Return the middle of a range, from which offsets are counted."""
    lower, upper = column.ends
    return lower / 2 + upper / 2


def offset_bound(column: Column) -> float:
    """Return how far offsets lie from the middle of their range at most."""
    lower, upper = column.ends
    return math.nextafter(max(upper - middle_of(column), middle_of(column) - lower), 1e308)


def read_offset(column: Column, values: Any) -> Array:
    """Return offsets, clamped, from the middle of their range."""
    found = np.asarray(column.read(values), dtype=np.float64)
    absent = np.isnan(found)
    if absent.any() and column.missing == "refuse":
        raise refuse_missing(column.name, "midpoint")
    centred: Array = np.clip(found, *column.ends) - middle_of(column)
    centred[absent] = 0.0
    return centred
