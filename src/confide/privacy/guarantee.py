"""Guarantee: neighbour relation, budget, theorem, status and assumptions."""

import textwrap
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Any

from confide.errors import ClaimedGuarantee, InvalidParameter
from confide.privacy.budgets import Budget


def _noise_on(statistic: str) -> str:
    return (
        f"Noise in double precision is added to {statistic}, with nothing random after it. "
        "Some results can then be reached from only one of two neighbouring tables, and "
        "whoever knows all other rows may tell from the last digits which table it was."
    )


_MINIMISER = _noise_on("the minimiser")
_SUMS = _noise_on("sums over the rows")
_GRADIENTS = _noise_on("gradients of the rows")
_MOMENTS = _noise_on("curvature and scatter, from which intervals are computed")

DOWNGRADED: Mapping[str, str] = MappingProxyType(
    {
        "output-perturbation.md#output-pure": _MINIMISER,
        "output-perturbation.md#output-gaussian": _MINIMISER,
        "output-perturbation.md#output-joint": _MINIMISER,
        "output-perturbation.md#output-rls": _MINIMISER,
        "sufficient-statistics.md#sums-pure": _SUMS,
        "sufficient-statistics.md#sums-gaussian": _SUMS,
        "sufficient-statistics.md#adassp": _SUMS,
        "sufficient-statistics.md#functional": _SUMS,
        "sufficient-statistics.md#histogram": _noise_on("counts of rows"),
        "gradient-mechanisms.md#noisy-gradient": _GRADIENTS,
        "gradient-mechanisms.md#sampled-gradient": _GRADIENTS,
        "gradient-mechanisms.md#mpadmm-sensitivity": _GRADIENTS,
        "gradient-mechanisms.md#dp-admm": _GRADIENTS,
        "sparse-selection.md#hard-thresholding": _GRADIENTS,
        "private-intervals.md#moments-pure": _MOMENTS,
        "private-intervals.md#moments-gaussian": _MOMENTS,
        "private-intervals.md#interval-release": _MOMENTS,
        "private-tuning.md#random-stopping": _noise_on("the winner's score"),
    }
)
"""Why a guarantee by this theorem is CLAIMED and not PROVED."""

COMPOSED = frozenset({"sparse-selection.md#select-then-fit", "private-tuning.md#chunks"})
"""Theorems that are worth as much as those of the parts that they put together."""

UNKNOWN_PARTS = _noise_on("a statistic in one of the parts")


def shortfall(theorems: Iterable[str]) -> str:
    """Return why one of these theorems is only claimed; nothing where all are proved."""
    return next((DOWNGRADED[name] for name in theorems if name in DOWNGRADED), "")


class Neighbours(Enum):
    """The relation under which a guarantee holds."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @classmethod
    def of(cls, value: Any) -> "Neighbours":
        """Accept the relation itself or its name."""
        try:
            return cls(value)
        except ValueError:
            raise InvalidParameter(
                "neighbours", "'add-remove' or 'replace-one'", value
            ) from None

    @property
    def shifts(self) -> int:
        """How many records' worth of a sum can change: 1 or 2."""
        return 1 if self is Neighbours.ADD_REMOVE else 2

    def __str__(self) -> str:
        return self.value


class Status(Enum):
    """How much a claimed guarantee can be trusted."""

    PROVED = "PROVED"
    CLAIMED = "CLAIMED"
    REFUTED = "REFUTED"

    def __str__(self) -> str:
        return self.value


IDEAL_NOISE = "ideal real-number noise (doubles are used)"
ARITHMETIC = (
    "uniform random bits from the operating system, IEEE 754 arithmetic, and nobody times "
    "the run"
)
ROW_LIMIT = "at most 1,000,000,000 rows"
SHORT_NOISE = (
    "a linear term no longer than a billion gradients (a longer one has a chance below "
    "1e-2000, whatever the rows)"
)
EXACT = "-exact"
"""How theorems end that cover what is published to its last digit."""
ONE_ROW = "one row per person"
PUBLIC_LABELS = "labels are public"
ROW_BY_ROW = "features were computed row by row, from public constants"
SEEDED = "the noise was seeded: whoever knows the seed sees through it"
NAME, LINE = 13, 76
"""Widths of a name and of a folded line, in letters."""


def effective_status(theorem: str, status: Status, reason: str = "") -> tuple[Status, str]:
    """Lower a status to what its theorem is worth in doubles, and say why; never raise."""
    found = shortfall((theorem,))
    if not found or status is Status.REFUTED:
        return status, reason
    return Status.CLAIMED, reason or found


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A privacy claim that can stand next to a number in print.

    ``budget`` is None for a REFUTED mechanism: its releases have no guarantee at all.
    ``reason`` says why a guarantee is not PROVED. No guarantee is PROVED by a theorem that
    `confide.privacy.guarantee` lists. Without ``assumptions`` they follow from the theorem.
    """

    budget: Budget | None
    neighbours: Neighbours
    status: Status
    theorem: str
    assumptions: tuple[str, ...] = ()
    private: bool = True
    reason: str = ""

    def __post_init__(self) -> None:
        if not self.assumptions:
            exact = self.theorem.endswith(EXACT)
            about = (ARITHMETIC, ROW_LIMIT) if exact else (IDEAL_NOISE,)
            object.__setattr__(self, "assumptions", (*about, ONE_ROW))
        status, reason = effective_status(self.theorem, self.status, self.reason)
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "reason", reason)

    def __setstate__(self, state: list[Any]) -> None:
        """Take over a pickled guarantee, also of a time when none had a reason."""
        for name, value in zip(self.__slots__, [*state, ""], strict=False):
            object.__setattr__(self, name, value)
        self.__post_init__()

    def claimed(self, reason: str) -> "Guarantee":
        """Lower a PROVED guarantee for a reason."""
        if self.status is not Status.PROVED:
            return self
        return replace(self, status=Status.CLAIMED, reason=reason)

    def assuming(self, assumption: str) -> "Guarantee":
        """Add an assumption."""
        if assumption in self.assumptions:
            return self
        return replace(self, assumptions=(*self.assumptions, assumption))

    def of_persons(self, rows: int) -> "Guarantee":
        """Say that a person may have so many rows; the budget is the person's already."""
        several = f"at most {rows} rows per person (group privacy)"
        lines = (several if line == ONE_ROW else line for line in self.assumptions)
        return self if rows == 1 else replace(self, assumptions=tuple(lines))

    def seeded(self) -> "Guarantee":
        """Stamp the guarantee of a release whose noise can be drawn again."""
        return replace(self.assuming(SEEDED), private=False)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What is promised and what speaks for it, each with its name."""
        promise = "none" if self.budget is None else str(self.budget)
        seeded = ("NOT PRIVATE", "a seed was used: for tests and studies only")
        return (
            *(() if self.private else (seeded,)),
            ("Guarantee", f"{promise}, {self.neighbours} neighbours"),
            ("Status", f"{self.status} ({self.theorem})"),
            *((("Reason", self.reason),) if self.reason else ()),
            ("Assuming", "; ".join(self.assumptions)),
        )

    def __str__(self) -> str:
        lines = []
        for name, text in self.facts:
            start, indent = f"{name:<{NAME}}", " " * NAME
            folded = textwrap.wrap(
                text, LINE, initial_indent=start, subsequent_indent=indent
            )
            lines += folded if name == "Reason" else [start + text]
        return "\n".join(lines)


def assumptions_of(parts: Iterable[Guarantee]) -> tuple[str, ...]:
    """Return what any of some guarantees assumes, each once, in their order."""
    return tuple(dict.fromkeys(line for part in parts for line in part.assumptions))


def weakest(*parts: Guarantee) -> Guarantee:
    """Return the guarantee that can be trusted least, the first of several such."""
    order = (Status.REFUTED, Status.CLAIMED, Status.PROVED)
    return min(parts, key=lambda part: order.index(part.status))


INSTEAD = (
    "Mechanisms that are PROVED, as objective perturbation (mechanism='objective') is, "
    "publish exact roundings."
)


def warn_if_claimed(guarantee: Guarantee, callers: int) -> None:
    """Warn of a CLAIMED guarantee at the line so many callers above this one."""
    if guarantee.status is Status.CLAIMED:
        text = f"The guarantee will be CLAIMED, not PROVED. {guarantee.reason} {INSTEAD}"
        warnings.warn(text, ClaimedGuarantee, stacklevel=callers + 1)
