"""Names that moved to another room, still found where they were for a while."""

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def moved(room: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that warns, and looks where a name is now."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        warnings.warn(
            f"{room}.{name} moved: import it from {names[name]}.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(import_module(names[name]), name)

    return find
