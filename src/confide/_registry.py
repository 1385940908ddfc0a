"""A named collection that feeds tests, documentation and the command line alike."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TypeVar

from confide.errors import InvalidParameter

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Names and what they stand for; entries are added by decoration, never changed.

    ``rooms`` enter what they define when they are imported, which is done at the first
    look-up: the entries do not depend on what a program has imported before.
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
        """Enter the decorated class under a name."""

        def enter(entry: T) -> T:
            if name in self._entered:
                raise InvalidParameter(self._what, "registered once", name)
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
        """Return the entry, or say which names there are."""
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            known = ", ".join(repr(entry) for entry in self._entries)
            near = get_close_matches(str(name), self._entries, n=1)
            raise InvalidParameter(
                self._what,
                f"one of {known}" if known else "registered, and none is so far",
                name,
                f"Did you mean {near[0]!r}?" if near else "",
            ) from None
