"""What a user asks for with ``intervals=``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, get_args

from confide.errors import InvalidParameter
from confide.mechanisms import (
    IntervalCalibration,
    Mechanism,
    calibrate_with_intervals,
)
from confide.mechanisms.intervals.budget import Variant
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours
from confide.privacy.budgets import exact
from confide.reporting import CoefficientTable

IntervalTable: TypeAlias = CoefficientTable
"""Coefficients with their intervals."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """How intervals are paid for and made.

    ``share`` is the part of the budget that goes to uncertainty; None chooses it from
    public facts. ``split`` fixes all three parts instead: coefficients, curvature,
    scatter. ``variant`` is "tight", "model-based" (assumes that the model is right and
    saves the scatter) or "published" (Wang, Kifer and Lee 2018, with ``samples`` draws).
    """

    share: Any = None
    split: Any = None
    level: float = 0.95
    variant: Variant = "tight"
    samples: int = 10_000

    def __post_init__(self) -> None:
        if self.variant not in get_args(Variant):
            raise InvalidParameter(
                "variant", f"one of {list(get_args(Variant))}", self.variant
            )
        if not (isinstance(self.level, float) and 0.5 <= self.level < 1):
            raise InvalidParameter("level", "from 0.5 to below 1, like 0.95", self.level)
        if type(self.samples) is not int or not 100 <= self.samples <= 10**7:
            raise InvalidParameter("samples", "between 100 and ten million", self.samples)
        if self.share is not None and self.split is not None:
            raise InvalidParameter("intervals", "a share or a split, not both", "both")
        if self.share is not None:
            part = exact(self.share, "intervals")
            if not 0 < part < 1:
                raise InvalidParameter(
                    "intervals",
                    "a share of the budget between 0 and 1",
                    self.share,
                    "Try intervals=0.2, or intervals=True to have it chosen.",
                )
            object.__setattr__(self, "share", part)
        if self.split is not None:
            object.__setattr__(self, "split", _three_parts(self.split))

    @classmethod
    def of(cls, wish: Any) -> "Intervals | None":
        """Read what an estimator was given: None, True, a share or settings."""
        if wish is None or wish is False:
            return None
        if isinstance(wish, Intervals):
            return wish
        if isinstance(wish, Mapping):
            return cls(**wish)
        if wish is True or (isinstance(wish, str) and wish == "auto"):
            return cls()
        if isinstance(wish, Sequence) and not isinstance(wish, str):
            return cls(split=tuple(wish))
        return cls(share=wish)


def calibrate_wish(
    wish: Intervals,
    mechanism: Mechanism,
    objective: Objective,
    budget: Budget,
    neighbours: Neighbours,
    *,
    rows: int,
    copies: int = 1,
) -> IntervalCalibration:
    """Divide a budget as settings ask; ``rows`` is used only where it is public."""
    return calibrate_with_intervals(
        mechanism,
        objective,
        budget,
        neighbours,
        variant=wish.variant,
        split=wish.split,
        share=wish.share,
        rows=rows if neighbours is Neighbours.REPLACE_ONE else None,
        copies=copies,
    )


def _three_parts(split: Any) -> tuple[Fraction, ...]:
    must = "three positive shares for coefficients, curvature and scatter that add up to 1"
    if not isinstance(split, Sequence) or len(split) != 3:
        raise InvalidParameter("intervals", must, split)
    parts = tuple(exact(part, "intervals") for part in split)
    if min(parts) <= 0 or sum(parts) != 1:
        raise InvalidParameter("intervals", must, split, "Try 0.5, 0.25, 0.25.")
    return parts
