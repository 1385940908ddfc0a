"""A named collection that feeds tests, documentation and the command line alike."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import TypeVar

from confide.errors import InvalidParameter

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Names and what they stand for; entries are added by decoration, never changed."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._entries: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Enter the decorated class under a name."""

        def enter(entry: T) -> T:
            if name in self._entries:
                raise InvalidParameter(self._what, "registered once", name)
            self._entries[name] = entry
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
