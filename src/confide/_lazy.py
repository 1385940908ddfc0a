"""Lazy imports, and support for names that have moved to another module."""

import sys
import warnings
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def lazy(
    package: str, modules: Mapping[str, Collection[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package with lazy imports.

    ``modules`` maps each module of the package to the names that the package re-exports
    from that module.
    """
    lent = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in lent:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{lent[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules, *lent})

    return find, names


def moved(room: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` that imports moved names from new modules, with a warning.

    ``names`` maps every moved name to its new module.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        warnings.warn(
            f"{room}.{name} has moved: import it from {names[name]}.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(import_module(names[name]), name)

    return find
