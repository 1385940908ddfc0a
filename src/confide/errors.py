"""The exceptions of confide.

    ConfideError
    ├── InvalidParameter      a public argument is wrong (also a ValueError)
    ├── InvalidData           a table has a wrong shape, type or value (also a ValueError)
    ├── MissingPublicBound    a bound that a theorem needs was not declared
    ├── UnmetNeeds            a mechanism cannot treat this objective; lists every reason
    ├── Unproved              a mechanism's guarantee is refuted or only claimed
    ├── MixedBudgets          two kinds of budget met unconverted (also a TypeError)
    ├── MixedNeighbours       a charge says nothing under a limit's neighbours
    ├── BudgetExceeded        a charge would go over a limit; nothing was spent
    ├── TamperedLedger        the entries of a ledger do not fit together any more
    ├── PrivacyLeak           something tried to look at or copy what must not leave
    ├── DataNotFound          a dataset is neither on this machine nor to be downloaded
    ├── NoRandomness          the operating system has no random bits; nothing was spent
    └── NotSolved             a solver broke its promise: a defect of confide

    ClaimedGuarantee          a warning: what is about to be paid for is not PROVED
    NoiseChanged              a warning: a parameter changes the kind of noise
    LooseBudget               a warning: a budget promises little
    RepeatedSpending          a warning: copies of a model spend one after the other
    UnrecordedRelease         a warning: a release was paid for, and not entered

Messages say what must hold, what came and what to do. They never quote a record.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any

LONGEST_NAME = 80
"""Longer words are nobody's spelling mistake."""


class ConfideError(Exception):
    """Any error that confide raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (type(self), str(self), self.__dict__)


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that a misspelt one most likely meant."""
    forms = {one.strip().casefold()[:LONGEST_NAME]: one for one in known}
    found = get_close_matches(word.strip().casefold()[:LONGEST_NAME], forms, n=1)
    return forms[found[0]] if found else None


def did_you_mean(word: Any, known: Iterable[str]) -> str:
    """Return a question to end a message with, or nothing."""
    near = closest(word, known) if isinstance(word, str) else None
    return "" if near is None else f"Did you mean {near!r}?"


def _shown(value: Any) -> str:
    """Show a parameter; anything that could be data by mistake only by its type."""
    plain = (bool, int, float, complex, str, bytes, type(None))
    parts = value if isinstance(value, list | tuple | set | dict) else (value,)
    if len(parts) <= 12 and all(isinstance(part, (*plain, Enum)) for part in parts):
        try:
            text = repr(value)
        except ValueError:
            return "a number too long to show"
        return text if len(text) <= 200 else text[:200] + "..."
    return f"a {type(value).__name__}"


class InvalidParameter(ConfideError, ValueError):
    """A public argument is wrong: what must hold, what came, what to do."""

    def __init__(self, name: str, must: str, got: Any, do: str = "") -> None:
        self.name, self.must, self.got, self.do = name, must, got, do
        super().__init__(f"{name} must be {must}; got {_shown(got)}. {do}".rstrip())


class InvalidData(ConfideError, ValueError):
    """A table has the wrong shape, type, or values that are not finite."""


class MissingPublicBound(ConfideError, ValueError):
    """A theorem needs a bound that nobody declared; it is never read off the data."""


class UnmetNeeds(ConfideError, ValueError):
    """A mechanism cannot treat an objective; every unmet need with its remedy."""

    def __init__(self, mechanism: str, unmet: tuple[tuple[str, str], ...]) -> None:
        self.mechanism, self.unmet = mechanism, unmet
        lines = "".join(f"\n  - needs {need}: {remedy}" for need, remedy in unmet)
        super().__init__(f"{mechanism} cannot treat this objective:{lines}")


class Unproved(ConfideError, ValueError):
    """A guarantee is refuted or only claimed, and nobody said that this is accepted."""


class ClaimedGuarantee(UserWarning):
    """A guarantee that is about to be paid for is CLAIMED, not PROVED.

    It comes before a ledger is charged and before noise is drawn: turned into an error,
    as by ``warnings.simplefilter("error", ClaimedGuarantee)``, it stops the fit in time.
    """


class NoiseChanged(UserWarning):
    """A parameter makes a calibration take another kind of noise than it else would.

    It comes with the calibration, before a ledger is charged and before noise is drawn.
    """


class LooseBudget(UserWarning):
    """A budget promises little: by its size, or by the public number of rows.

    It comes before a ledger is charged and before noise is drawn.
    """


class RepeatedSpending(UserWarning):
    """Copies of a model are fitted one after the other, and no ledger adds them up."""


class UnrecordedRelease(UserWarning):
    """A release was paid for and made, and the ledger could not enter it.

    The charge stands, and the model is as good as any other: save it.
    """


class MixedBudgets(ConfideError, TypeError):
    """Budgets of different kinds met; convert one of them by name first."""


class MixedNeighbours(ConfideError, ValueError):
    """A charge was proved for neighbours about which a limit does not speak."""


class BudgetExceeded(ConfideError):
    """A charge would go over the limit; nothing was spent and nothing was read."""


class TamperedLedger(ConfideError):
    """The entries of a ledger do not fit together: somebody changed or removed one."""


class PrivacyLeak(ConfideError):
    """Something tried to look at, copy or carry away what must not leave."""


class DataNotFound(ConfideError, FileNotFoundError):
    """A dataset is neither on this machine nor can it be downloaded."""


class NoRandomness(ConfideError, RuntimeError):
    """The operating system has no random bits; nothing was drawn and nothing spent."""


class NotSolved(ConfideError, RuntimeError):
    """A solver could not certify its answer: a defect in confide, please report it."""


def restored(
    kind: type[ConfideError], message: str, about: Mapping[str, Any] | None = None
) -> ConfideError:
    """Return an error of a kind by its message, as it arrives from another process."""
    error = kind.__new__(kind, message)
    error.__dict__.update(about or {})
    return error
