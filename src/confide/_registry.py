"""Registries: collections of named classes or objects."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TypeVar

from confide.errors import InvalidParameter

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """A mapping from names to entries; a decorator adds entries, which never change.

    Parameters
    ----------
    what : str
        The term for an entry in error messages, such as "loss".
    *rooms : str
        Modules that add their entries when they are imported. They are imported at the
        first look-up, so that the entries do not depend on earlier imports.

    Examples
    --------
    The registry of losses contains every loss under its name:

    >>> from confide.objectives import LOSSES
    >>> LOSSES.find("logistic").__name__
    'Logistic'
    >>> "logit" in LOSSES
    False
    """

    def __init__(self, what: str, *rooms: str) -> None:
        self._what = what
        self._rooms = rooms
        self._entered: dict[str, T] = {}

    @property
    def _entries(self) -> dict[str, T]:
        for room in self._rooms:
            import_module(room)
        return self._entered

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that adds a class under a name.

        Parameters
        ----------
        name : str
            A name that is not yet in use.

        Returns
        -------
        callable
            A decorator.
        """

        def enter(entry: T) -> T:
            if name in self._entered:
                raise InvalidParameter(self._what, "registered only once", name)
            self._entered[name] = entry
            return entry

        return enter

    def __getitem__(self, name: str) -> T:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, name: str) -> T:
        """Return an entry by its name, or raise an error that lists all names.

        Parameters
        ----------
        name : str
            The name.

        Returns
        -------
        object
            The entry.

        Raises
        ------
        InvalidParameter
            If there is no entry with this name.
        """
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            known = ", ".join(repr(entry) for entry in self._entries)
            near = get_close_matches(str(name), self._entries, n=1)
            raise InvalidParameter(
                self._what,
                f"one of {known}" if known else "registered before it is used",
                name,
                f"Did you mean {near[0]!r}?" if near else "",
            ) from None
