"""Case weights and offsets.

A case weight multiplies the loss of a record, and is clamped to a public cap. An offset is
added to the linear predictor with a fixed coefficient of 1. Both are computed for each
record independently of other records.
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
from confide.errors import Described, InvalidData, InvalidParameter, did_you_mean

LARGEST_CAP = 1e100
LARGEST_OFFSET = 1000.0
"""Largest allowed distance of an offset from the middle of its range; prevents overflow."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Cases:
    """Case weights, from 0 to 1, and offsets of records; None if not declared."""

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
        Column with weights from 0 to ``cap``. Values outside this range are clamped.
    cap : float, optional
        Public upper limit of the weights. The noise grows with the cap.
    classes : mapping, optional
        Public weights by label of the target. Labels that are not listed have weight 1.
    missing : {"refuse", "drop"}, default="refuse"
        Whether a record without a weight causes the table to be rejected, or has weight 0.
    typical : float, optional
        A typical weight, if publicly known. Plans use this weight, by default half of the
        cap; fits do not use it.

    Raises
    ------
    InvalidParameter
        A field has a wrong type or an invalid value.

    Examples
    --------
    Weights are divided by the cap, and a weight of 9 is clamped to the cap:

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
        if self.column and self.cap is None:
            raise InvalidParameter(
                "cap of [case_weights]",
                "given with a column of weights",
                self.cap,
                "Declare the largest weight that counts, for example cap = 5. Larger "
                "weights are clamped to the cap; the larger the cap, the more noise is "
                "added.",
            )
        if self.cap is not None and not self.column:
            raise InvalidParameter(
                "cap of [case_weights]",
                "left out if there is no column of weights",
                self.cap,
                "Name the column of weights, or delete the cap.",
            )
        if self.column:
            object.__setattr__(self, "cap", check_cap("cap of [case_weights]", self.cap))
        if self.typical is not None:
            usual = check_cap("typical of [case_weights]", self.typical)
            if self.cap is None or usual > self.cap:
                must = "a typical weight, no larger than the cap"
                raise InvalidParameter("typical of [case_weights]", must, self.typical)
            object.__setattr__(self, "typical", usual)
        if self.missing not in ("refuse", "drop"):
            must = "'refuse' or 'drop'"
            raise InvalidParameter("missing of [case_weights]", must, self.missing)
        given: Any = self.classes
        if not isinstance(given, Mapping):
            must = "a weight for each label, such as { no = 1, yes = 5 }"
            raise InvalidParameter("classes of [case_weights]", must, given)
        if not (self.column or self.classes):
            must = "a section with a column or classes"
            raise InvalidParameter("[case_weights]", must, Described("neither"))
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
        """Return the typical weight of a record as a fraction of the largest weight."""
        share = 1.0
        if self.cap is not None:
            share = 0.5 if self.typical is None else self.typical / self.cap
        if not self.classes:
            return share
        return share * float(np.mean(self.of_labels(np.arange(len(labels)), labels)))

    def check_labels(self, labels: tuple[Any, ...] | None) -> None:
        """Reject weights for labels that the target does not have."""
        names = [str(label) for label in labels or ()]
        strange = [label for label in self.classes if label not in names]
        if strange:
            must = f"weights for labels of the target, {names}"
            hint = did_you_mean(strange[0], names)
            raise InvalidParameter("classes of [case_weights]", must, strange, hint)

    def faults(self, values: Any) -> Faults:
        """Return masks of the non-missing values that are not numbers from 0 to the cap."""
        return Faults.of_numbers(numbers_or_nan(values), (0.0, float(self.cap or 0.0)))

    def read(self, values: Any) -> Array:
        """Return weights as fractions of the cap, from 0 to 1."""
        found = as_numbers(values, self.column)
        absent = np.isnan(found)
        if absent.any() and self.missing == "refuse":
            raise refuse_missing(self.column, "drop")
        return share_of_cap(np.where(absent, 0.0, found), float(self.cap or 1.0))

    def of_labels(self, places: AnyArray, labels: tuple[Any, ...]) -> Array:
        """Return the weight of the label of each record, divided by the largest weight.

        Undeclared labels get the smallest weight.
        """
        known = [self.classes.get(str(label), 1.0) for label in labels]
        table = np.array([*known, min(known)]) / max(known)
        return table[np.asarray(places, dtype=np.intp)]


def check_cap(name: str, value: Any) -> float:
    """Check that a public weight or cap is a positive number, and return it."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not 1 / LARGEST_CAP <= value <= LARGEST_CAP:
        raise InvalidParameter(name, f"a positive number of at most {LARGEST_CAP:g}", value)
    return float(value)


def share_of_cap(weights: AnyArray, cap: float) -> Array:
    """Clamp weights to the range from 0 to a cap, and divide them by the cap."""
    return np.minimum(np.clip(weights, 0.0, cap) / cap, 1.0)


def read_sample_weight(values: Any, count: int, cap: float) -> Array:
    """Check the ``sample_weight`` argument, and return it as fractions of a cap."""
    found = as_numbers(np.asarray(values), "sample_weight")
    if found.shape != (count,):
        raise InvalidData("sample_weight must hold one number for every row of X.")
    if np.isnan(found).any():
        raise InvalidData("sample_weight must not contain missing values.")
    return share_of_cap(np.asarray(found, dtype=np.float64), cap)


def check_offset(column: Any) -> None:
    """Reject an offset that is not a number with a public range of limited width."""
    known = not getattr(column, "coded", True) and not column.possible
    if not (known and column.has_limits and offset_bound(column) <= LARGEST_OFFSET):
        raise InvalidParameter(
            "[offset]",
            "a numeric column with public limits, lower and upper, at most 2,000 apart",
            getattr(column, "name", column),
            'For an exposure write transform = "log".',
        )


def middle_of(column: Column) -> float:
    """Return the middle of the range of an offset, which is subtracted from offsets."""
    lower, upper = column.ends
    return lower / 2 + upper / 2


def offset_bound(column: Column) -> float:
    """Return the largest distance of an offset from the middle of its range."""
    lower, upper = column.ends
    return math.nextafter(max(upper - middle_of(column), middle_of(column) - lower), 1e308)


def read_offset(column: Column, values: Any) -> Array:
    """Return offsets, clamped to their range, minus the middle of the range."""
    found = np.asarray(column.read(values), dtype=np.float64)
    absent = np.isnan(found)
    if absent.any() and column.missing == "refuse":
        raise refuse_missing(column.name, "midpoint")
    centred: Array = np.clip(found, *column.ends) - middle_of(column)
    centred[absent] = 0.0
    return centred
