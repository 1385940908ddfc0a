"""The exceptions of confide.

    ConfideError
    ├── InvalidParameter      a public argument is wrong (also a ValueError)
    ├── InvalidData           a table has a wrong shape, type or value (also a ValueError)
    ├── MissingPublicBound    a bound that a theorem needs was not declared
    ├── UnmetNeeds            a mechanism cannot handle this objective; lists every reason
    ├── Unproved              a mechanism's guarantee is refuted or only claimed
    ├── MixedBudgets          two kinds of budget without a conversion (also a TypeError)
    ├── MixedNeighbours       the charge's neighbour relation does not imply the limit's
    ├── BudgetExceeded        a charge would go over a limit; nothing was spent
    ├── TamperedLedger        the entries of a ledger are inconsistent
    ├── PrivacyLeak           private data would be copied, stored or disclosed
    ├── DataNotFound          a dataset is not on this machine and cannot be downloaded
    ├── NoRandomness          the operating system has no random bits; nothing was spent
    └── NotSolved             a solver could not certify its answer: a bug in confide

    ClaimedGuarantee          a warning: the guarantee of a charge is not PROVED
    NoiseChanged              a warning: a parameter changes the kind of noise
    LooseBudget               a warning: a budget gives little protection
    RepeatedSpending          a warning: copies of a model are fitted without a ledger
    UnrecordedRelease         a warning: a release was charged but not recorded

Messages state what must hold, what was given and what to do. They never quote a record.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any, Final

BUG: Final = "bug in confide, please report it"
"""Beginning of the messages of errors that are caused by a bug in confide."""
LONGEST_NAME = 80
"""Number of leading characters of a word that `closest` compares."""


class ConfideError(Exception):
    """Base class of all errors that confide raises on purpose.

    Messages state what must hold, what was given and what to do. They never quote a record.

    Examples
    --------
    All errors of the library can be caught at once:

    >>> from confide import ConfideError, Pure
    >>> try:
    ...     Pure(-1)
    ... except ConfideError as error:
    ...     print(error)
    epsilon must be greater than 0; got -1. A budget of zero allows no release.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (type(self), str(self), self.__dict__)


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is closest to a misspelt one.

    Parameters
    ----------
    word : str
        The misspelt word.
    known : iterable of str
        The valid words.

    Returns
    -------
    str or None
        The closest known word, or None if none is close.

    Examples
    --------
    >>> from confide.errors import closest
    >>> closest("epsilom", ["epsilon", "delta"])
    'epsilon'
    """
    forms = {one.strip().casefold()[:LONGEST_NAME]: one for one in known}
    found = get_close_matches(word.strip().casefold()[:LONGEST_NAME], forms, n=1)
    return forms[found[0]] if found else None


def did_you_mean(word: Any, known: Iterable[str]) -> str:
    """Return "Did you mean ...?" for the end of a message, or an empty string.

    Parameters
    ----------
    word : object
        The value that was given. Only strings can be misspelt.
    known : iterable of str
        The valid words.

    Returns
    -------
    str
        The question, or an empty string if no known word is close.

    Examples
    --------
    >>> from confide.errors import did_you_mean
    >>> did_you_mean("replace_one", ["add-remove", "replace-one"])
    "Did you mean 'replace-one'?"
    """
    near = closest(word, known) if isinstance(word, str) else None
    return "" if near is None else f"Did you mean {near!r}?"


def _shown(value: Any) -> str:
    """Format a value for a message; of a value that may be data, show only the type."""
    plain = (bool, int, float, complex, str, bytes, type(None))
    parts = value if isinstance(value, list | tuple | set | dict) else (value,)
    if len(parts) <= 12 and all(isinstance(part, (*plain, Enum)) for part in parts):
        try:
            text = repr(value)
        except ValueError:
            return "a number too long to show"
        return text if len(text) <= 200 else text[:200] + "..."
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'AEIOUaeio' else 'a'} {kind}"


class Described(str):
    """A description of what was given, which messages show without quotation marks.

    Examples
    --------
    >>> from confide.errors import Described, InvalidParameter
    >>> print(InvalidParameter("the table", "a file", Described("t.csv, a folder")))
    the table must be a file; got t.csv, a folder.

    A text that was given itself is quoted:

    >>> print(InvalidParameter("model", "'logistic' or 'linear'", "probit"))
    model must be 'logistic' or 'linear'; got 'probit'.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class InvalidParameter(ConfideError, ValueError):
    """A public argument is wrong; the message states the requirement and a remedy.

    Parameters
    ----------
    name : str
        The name of the argument.
    must : str
        The requirement; the message reads "name must be ...".
    got : object
        The value that was passed. Anything that might be data is shown by its type only.
    do : str, default ''
        A sentence with the remedy.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.errors import InvalidParameter
    >>> print(InvalidParameter("rate", "between 0 and 1", 2))
    rate must be between 0 and 1; got 2.
    >>> print(InvalidParameter("rate", "between 0 and 1", np.ones(3)))
    rate must be between 0 and 1; got a ndarray.
    """

    def __init__(self, name: str, must: str, got: Any, do: str = "") -> None:
        self.name, self.must, self.got, self.do = name, must, got, do
        super().__init__(f"{name} must be {must}; got {_shown(got)}. {do}".rstrip())


class InvalidData(ConfideError, ValueError):
    """A table has a wrong shape or type, or values that are not finite.

    Examples
    --------
    The error is also a ValueError, which scikit-learn expects for unsuitable data:

    >>> from confide.errors import InvalidData
    >>> issubclass(InvalidData, ValueError)
    True
    """


class MissingPublicBound(ConfideError, ValueError):
    """A theorem needs a bound that was not declared; bounds are never taken from the data.

    Examples
    --------
    >>> from confide.errors import ConfideError, MissingPublicBound
    >>> issubclass(MissingPublicBound, ConfideError)
    True
    """


class UnmetNeeds(ConfideError, ValueError):
    """A mechanism cannot handle an objective; the message lists every reason and remedy.

    Parameters
    ----------
    mechanism : str
        The name of the mechanism.
    unmet : tuple of pairs of str
        Pairs of an unmet requirement and a way to meet it.

    Examples
    --------
    All reasons are listed at once, so that they can be dealt with together:

    >>> from confide.errors import UnmetNeeds
    >>> print(UnmetNeeds("ssp", (("squared loss", "use LinearRegression"),)))
    ssp cannot handle this objective:
      - needs squared loss: use LinearRegression
    """

    def __init__(self, mechanism: str, unmet: tuple[tuple[str, str], ...]) -> None:
        self.mechanism, self.unmet = mechanism, unmet
        lines = "".join(f"\n  - needs {need}: {remedy}" for need, remedy in unmet)
        super().__init__(f"{mechanism} cannot handle this objective:{lines}")


class Unproved(ConfideError, ValueError):
    """A guarantee is refuted or only claimed, and the caller did not accept this.

    Examples
    --------
    >>> from confide.errors import ConfideError, Unproved
    >>> issubclass(Unproved, ConfideError)
    True
    """


class ClaimedGuarantee(UserWarning):
    """The guarantee of a pending charge is CLAIMED, not PROVED.

    The warning is issued before a ledger is charged and before noise is drawn.

    Examples
    --------
    If the warning is turned into an error, a fit stops before anything is spent:

    >>> import warnings
    >>> from confide import ClaimedGuarantee
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ClaimedGuarantee)
    """


class NoiseChanged(UserWarning):
    """A parameter makes a calibration choose a different kind of noise.

    The warning is issued during calibration, before a ledger is charged and before noise is
    drawn.

    Examples
    --------
    >>> import warnings
    >>> from confide import NoiseChanged
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", NoiseChanged)
    """


class LooseBudget(UserWarning):
    """A budget gives little protection, by itself or for the public number of rows.

    The warning is issued before a ledger is charged and before noise is drawn.

    Examples
    --------
    The messages are also available without a warning:

    >>> from confide import Pure
    >>> from confide.privacy import budget_cautions
    >>> len(budget_cautions(Pure(20)))
    1
    """


class RepeatedSpending(UserWarning):
    """Copies of a model are fitted one after the other, and no ledger adds up their cost.

    Examples
    --------
    >>> from confide.errors import RepeatedSpending
    >>> issubclass(RepeatedSpending, UserWarning)
    True
    """


class UnrecordedRelease(UserWarning):
    """A release was charged and made, but the ledger could not record it.

    The charge remains and the model is valid: save it.

    Examples
    --------
    >>> from confide.errors import UnrecordedRelease
    >>> issubclass(UnrecordedRelease, UserWarning)
    True
    """


class MixedBudgets(ConfideError, TypeError):
    """Budgets of different kinds were combined; convert one of them explicitly first.

    Examples
    --------
    >>> from confide import Pure, Zcdp
    >>> from confide.errors import MixedBudgets
    >>> from confide.privacy import pure_to_zcdp
    >>> try:
    ...     Pure(0.1) + Zcdp("0.005")
    ... except MixedBudgets:
    ...     print(pure_to_zcdp(Pure(0.1)) + Zcdp("0.005"))
    ρ = 0.01 (zCDP)
    """


class MixedNeighbours(ConfideError, ValueError):
    """The neighbour relation of a charge does not imply that of the limit.

    Examples
    --------
    >>> from confide.errors import ConfideError, MixedNeighbours
    >>> issubclass(MixedNeighbours, ConfideError)
    True
    """


class BudgetExceeded(ConfideError):
    """A charge would exceed the limit, or no limit is set; nothing was spent or read.

    Examples
    --------
    >>> import tempfile
    >>> from confide import Ledger, Pure
    >>> from confide.errors import BudgetExceeded
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.open(f"{folder}/budget.db")
    ...     ledger.set_limit("visits", Pure(1))
    ...     try:
    ...         ledger.charge("visits", Pure(2))
    ...     except BudgetExceeded:
    ...         print(ledger.account("visits").charges)
    ...     ledger.close()
    0
    """


class TamperedLedger(ConfideError):
    """The entries of a ledger are inconsistent: some were changed or removed.

    Examples
    --------
    >>> from confide.errors import ConfideError, TamperedLedger
    >>> issubclass(TamperedLedger, ConfideError)
    True
    """


class PrivacyLeak(ConfideError):
    """Private data would be copied, stored, or released without a valid guarantee.

    Examples
    --------
    Sources of randomness cannot be pickled:

    >>> import pickle
    >>> from confide.errors import PrivacyLeak
    >>> from confide.noise import Entropy
    >>> try:
    ...     pickle.dumps(Entropy.system())
    ... except PrivacyLeak as error:
    ...     print(error)
    a source of randomness cannot be copied or stored
    """


class DataNotFound(ConfideError, FileNotFoundError):
    """A dataset is not on this machine and cannot be downloaded.

    Examples
    --------
    >>> from confide.errors import DataNotFound
    >>> issubclass(DataNotFound, FileNotFoundError)
    True
    """


class NoRandomness(ConfideError, RuntimeError):
    """The operating system has no random bits; nothing was drawn and nothing was spent.

    Examples
    --------
    >>> from confide.errors import ConfideError, NoRandomness
    >>> issubclass(NoRandomness, ConfideError)
    True
    """


class NotSolved(ConfideError, RuntimeError):
    """A solver could not certify its answer: a bug in confide, please report it.

    Examples
    --------
    >>> from confide.errors import ConfideError, NotSolved
    >>> issubclass(NotSolved, ConfideError)
    True
    """


def restored(
    kind: type[ConfideError], message: str, about: Mapping[str, Any] | None = None
) -> ConfideError:
    """Restore an error from its message, as received from another process.

    Parameters
    ----------
    kind : type
        The class of the error.
    message : str
        The message of the error.
    about : mapping or None, default None
        The attributes of the error.

    Returns
    -------
    ConfideError
        The error, to be raised.

    Examples
    --------
    >>> from confide.errors import InvalidParameter, restored
    >>> restored(InvalidParameter, "rate must be positive; got 0.", {"name": "rate"}).name
    'rate'
    """
    error = kind.__new__(kind, message)
    error.__dict__.update(about or {})
    return error
