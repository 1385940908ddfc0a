"""Privacy guarantees: budget, neighbour relation, theorem, status and assumptions."""

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
        f"Noise in double precision is added to {statistic}, with no random step after it. "
        "Some results are then possible for only one of two neighbouring tables, and "
        "someone who knows all other rows may be able to tell from the last digits which "
        "table was used."
    )


_MINIMISER = _noise_on("the minimiser")
_SUMS = _noise_on("sums over the rows")
_GRADIENTS = _noise_on("gradients of the rows")
_MOMENTS = _noise_on(
    "the curvature and the covariance of the gradients, from which intervals are computed"
)

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
"""The reasons why guarantees are CLAIMED, not PROVED, by the name of their theorem."""

COMPOSED = frozenset({"sparse-selection.md#select-then-fit", "private-tuning.md#chunks"})
"""Theorems about compositions, whose status follows from the theorems of the parts."""

UNKNOWN_PARTS = _noise_on("a statistic in one of the parts")


def shortfall(theorems: Iterable[str]) -> str:
    """Return the reason why a theorem is claimed, but not proved, for doubles.

    Parameters
    ----------
    theorems : iterable of str
        Names of theorems, such as ``"output-perturbation.md#output-gaussian"``.

    Returns
    -------
    str
        The first reason found, or an empty string if all theorems are proved for doubles.

    Examples
    --------
    Noise is added to the minimiser in double precision, so output perturbation is CLAIMED:

    >>> from confide.privacy import shortfall
    >>> shortfall(["output-perturbation.md#output-gaussian"])[:57]
    'Noise in double precision is added to the minimiser, with'
    >>> shortfall(["objective-perturbation.md#gaussian-exact"])
    ''
    """
    return next((DOWNGRADED[name] for name in theorems if name in DOWNGRADED), "")


class Neighbours(Enum):
    """The neighbour relation under which a guarantee holds.

    A replacement is a removal followed by an addition, so it costs up to twice as much.

    Attributes
    ----------
    ADD_REMOVE
        Tables are neighbours if one of them is the other with one row added. The number of
        rows is protected as well.
    REPLACE_ONE
        Tables are neighbours if they differ in the values of one row. The number of rows is
        public.

    Examples
    --------
    >>> from confide import Neighbours
    >>> Neighbours("add-remove")
    <Neighbours.ADD_REMOVE: 'add-remove'>

    Replacing a row changes a sum by up to twice the largest contribution of a row:

    >>> Neighbours.REPLACE_ONE.shifts
    2
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @classmethod
    def of(cls, value: Any) -> "Neighbours":
        """Return a neighbour relation, given the relation itself or its name.

        Parameters
        ----------
        value : Neighbours or str
            A relation, ``'add-remove'`` or ``'replace-one'``.

        Returns
        -------
        Neighbours
            The relation.

        Raises
        ------
        InvalidParameter
            If there is no relation of this name.
        """
        try:
            return cls(value)
        except ValueError:
            raise InvalidParameter(
                "neighbours", "'add-remove' or 'replace-one'", value
            ) from None

    @property
    def shifts(self) -> int:
        """The largest change of a sum between neighbours, in units of one row: 1 or 2."""
        return 1 if self is Neighbours.ADD_REMOVE else 2

    def __str__(self) -> str:
        return self.value


class Status(Enum):
    """The degree to which a guarantee is established: PROVED, CLAIMED or REFUTED.

    Attributes
    ----------
    PROVED
        A theorem covers the published numbers, to the last digit.
    CLAIMED
        The theorem is proved for real numbers but not for doubles, or rests only on an
        incomplete published proof.
    REFUTED
        A counterexample shows that the claim is wrong.

    Examples
    --------
    The status is part of every release, and is stored by name:

    >>> from confide import Status
    >>> Status("PROVED") is Status.PROVED
    True
    """

    PROVED = "PROVED"
    CLAIMED = "CLAIMED"
    REFUTED = "REFUTED"

    def __str__(self) -> str:
        return self.value


IDEAL_NOISE = "unrounded noise (computers round to double precision)"
EARLIER_IDEAL_NOISE = "ideal real-number noise (doubles are used)"
"""The text of `IDEAL_NOISE` in files of earlier versions."""
ARITHMETIC = (
    "uniform random bits from the operating system, IEEE 754 arithmetic, and nobody times "
    "the run"
)
ROW_LIMIT = "at most 1,000,000,000 rows"
SHORT_NOISE = (
    "noise (the random linear term) whose norm is at most a billion times the gradient "
    "bound of one row (a larger norm has a probability below 1e-2000 for every table)"
)
EXACT = "-exact"
"""The suffix of names of theorems that cover the published numbers to the last digit."""
ONE_ROW = "one row per person"
PUBLIC_LABELS = "labels are public"
ROW_BY_ROW = (
    "the features of each row were computed from that row and public constants only"
)
SEEDED = "the noise was seeded: anyone who knows the seed can remove it"
NAME, LINE = 13, 76
"""The widths of the names and of the lines of a printed guarantee, in characters."""


def effective_status(theorem: str, status: Status, reason: str = "") -> tuple[Status, str]:
    """Return the status that holds in floating-point arithmetic, never above ``status``.

    Parameters
    ----------
    theorem : str
        The theorem, by page and name, such as ``"output-perturbation.md#output-pure"``.
    status : Status
        The status that the mechanism declares.
    reason : str, default ''
        The reason that the mechanism declares for a status other than PROVED, if any.

    Returns
    -------
    tuple of Status and str
        The status to report, and the reason if it is not PROVED.

    Examples
    --------
    >>> from confide.privacy import Status, effective_status
    >>> status, reason = effective_status(
    ...     "output-perturbation.md#output-pure", Status.PROVED
    ... )
    >>> str(status), reason[:25]
    ('CLAIMED', 'Noise in double precision')
    """
    found = shortfall((theorem,))
    if not found or status is Status.REFUTED:
        return status, reason
    return Status.CLAIMED, reason or found


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A privacy guarantee: budget, neighbour relation, theorem, status and assumptions.

    A guarantee whose theorem is listed in `DOWNGRADED` cannot be PROVED: its status is set
    to CLAIMED on construction.

    Parameters
    ----------
    budget : Pure, Approx, Zcdp or None
        The budget that is guaranteed to every person; None for a REFUTED mechanism, whose
        releases have no guarantee at all.
    neighbours : Neighbours
        The neighbour relation under which the guarantee holds.
    status : Status
        Whether the guarantee is proved for the published numbers, claimed, or refuted.
    theorem : str
        The theorem, by page and name under ``docs/proofs``.
    assumptions : tuple of str, default ()
        The assumptions of the guarantee. If empty, they are derived from the theorem.
    private : bool, default True
        False if the noise was seeded, so that anybody who knows the seed can reproduce it.
    reason : str, default ''
        The reason why the guarantee is not PROVED.

    Examples
    --------
    A printed guarantee shows the budget, the status and the assumptions:

    >>> from confide import Guarantee, Neighbours, Pure, Status
    >>> guarantee = Guarantee(
    ...     Pure(1),
    ...     Neighbours.ADD_REMOVE,
    ...     Status.PROVED,
    ...     "objective-perturbation.md#gaussian-exact",
    ... )
    >>> print(guarantee)
    Guarantee    ε = 1, add-remove neighbours
    Status       PROVED (objective-perturbation.md#gaussian-exact)
    Assuming     uniform random bits from the operating system, ...
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
        """Restore a pickled guarantee, also from old versions without a reason."""
        for name, value in zip(self.__slots__, [*state, ""], strict=False):
            object.__setattr__(self, name, value)
        self.__post_init__()

    def claimed(self, reason: str) -> "Guarantee":
        """Downgrade a PROVED guarantee to CLAIMED.

        Parameters
        ----------
        reason : str
            The reason why it is not proved.

        Returns
        -------
        Guarantee
            A CLAIMED copy, or the guarantee itself if it was not PROVED.
        """
        if self.status is not Status.PROVED:
            return self
        return replace(self, status=Status.CLAIMED, reason=reason)

    def assuming(self, assumption: str) -> "Guarantee":
        """Return the guarantee with an additional assumption.

        Parameters
        ----------
        assumption : str
            The assumption, which is listed only once even if it is added repeatedly.

        Returns
        -------
        Guarantee
            A copy with the assumption.
        """
        if assumption in self.assumptions:
            return self
        return replace(self, assumptions=(*self.assumptions, assumption))

    def of_persons(self, rows: int) -> "Guarantee":
        """Return the guarantee for persons with several rows; the budget is per person.

        Parameters
        ----------
        rows : int
            The largest number of rows of one person.

        Returns
        -------
        Guarantee
            A copy that assumes this number of rows per person instead of one.
        """
        several = f"at most {rows} rows per person (group privacy)"
        lines = (several if line == ONE_ROW else line for line in self.assumptions)
        return self if rows == 1 else replace(self, assumptions=tuple(lines))

    def seeded(self) -> "Guarantee":
        """Mark the guarantee as not private, because the noise was drawn from a seed.

        Returns
        -------
        Guarantee
            A copy with ``private=False`` and an assumption that states the reason.
        """
        return replace(self.assuming(SEEDED), private=False)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The lines of the printed guarantee, each as a pair of a heading and a text."""
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
    """Return the assumptions of several guarantees, without duplicates.

    Parameters
    ----------
    parts : iterable of Guarantee
        The guarantees of the parts of a release.

    Returns
    -------
    tuple of str
        The assumptions in the order in which they first occur.

    Examples
    --------
    Two guarantees share all assumptions but one:

    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status, assumptions_of
    >>> one = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, "a.md#b-exact")
    >>> assumptions_of([one, one.assuming("labels are public")])[-2:]
    ('one row per person', 'labels are public')
    """
    return tuple(dict.fromkeys(line for part in parts for line in part.assumptions))


def weakest(*parts: Guarantee) -> Guarantee:
    """Return the guarantee with the weakest status; the first one in a tie.

    Parameters
    ----------
    *parts : Guarantee
        The guarantees of the parts of a release, at least one.

    Returns
    -------
    Guarantee
        One of the parts: REFUTED before CLAIMED before PROVED.

    Examples
    --------
    A release is no better established than its weakest part:

    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status, weakest
    >>> fit = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, "a.md#b-exact")
    >>> str(weakest(fit, fit.claimed("noise in double precision")).status)
    'CLAIMED'
    """
    order = (Status.REFUTED, Status.CLAIMED, Status.PROVED)
    return min(parts, key=lambda part: order.index(part.status))


INSTEAD = (
    "Mechanisms that are PROVED, such as objective perturbation (mechanism='objective'), "
    "publish exactly rounded numbers."
)


def warn_if_claimed(guarantee: Guarantee, callers: int) -> None:
    """Issue a `ClaimedGuarantee` warning unless a guarantee is PROVED or REFUTED.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee of the pending charge.
    callers : int
        The number of levels up the call stack at which the warning is reported.

    Examples
    --------
    >>> import warnings
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status, warn_if_claimed
    >>> fit = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, "a.md#b-exact")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_if_claimed(fit, callers=0)
    ...     warn_if_claimed(fit.claimed("noise in double precision"), callers=0)
    >>> len(caught)
    1
    """
    if guarantee.status is Status.CLAIMED:
        text = f"The guarantee will be CLAIMED, not PROVED. {guarantee.reason} {INSTEAD}"
        warnings.warn(text, ClaimedGuarantee, stacklevel=callers + 1)
