"""The exceptions of confide.

    ConfideError
    ├── InvalidParameter      a public argument is wrong (also a ValueError)
    ├── InvalidData           a table has the wrong shape, type or values (also a ValueError)
    ├── MissingPublicBound    a bound that a theorem needs was not declared
    ├── UnmetNeeds            a mechanism cannot treat this objective; lists every reason
    ├── MixedBudgets          two kinds of budget met unconverted (also a TypeError)
    ├── PrivacyLeak           something tried to look at or copy what must not leave
    ├── DataNotFound          a dataset is neither on this machine nor to be downloaded
    └── NotSolved             a solver broke its promise: a defect of confide

Messages say what must hold, what came and what to do. They never quote a record.
"""

from typing import Any


class ConfideError(Exception):
    """Any error that confide raises on purpose."""


class InvalidParameter(ConfideError, ValueError):
    """A public argument is wrong: what must hold, what came, what to do."""

    def __init__(self, name: str, must: str, got: Any, do: str = "") -> None:
        self.name, self.must, self.got, self.do = name, must, got, do
        super().__init__(f"{name} must be {must}; got {got!r}. {do}".rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.must, self.got, self.do)


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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.mechanism, self.unmet)


class MixedBudgets(ConfideError, TypeError):
    """Budgets of different kinds met; convert one of them by name first."""


class PrivacyLeak(ConfideError):
    """Something tried to look at, copy or carry away what must not leave."""


class DataNotFound(ConfideError, FileNotFoundError):
    """A dataset is neither on this machine nor can it be downloaded."""


class NotSolved(ConfideError, RuntimeError):
    """A solver could not certify its answer: a defect in confide, please report it."""
