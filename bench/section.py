"""A section of the page: named jobs that measure, and a function that returns the text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Jobs: TypeAlias = Mapping[str, Callable[[], Any]]
"""Measurements by name; each job returns a value that can be stored as JSON."""


@dataclass(frozen=True)
class Section:
    """A section: ``jobs(quick)`` returns its jobs, and ``page(results)`` its text.

    ``results`` has the return values of the jobs, by name.
    """

    name: str
    title: str
    jobs: Callable[[bool], Jobs]
    page: Callable[[Mapping[str, Any]], str]
