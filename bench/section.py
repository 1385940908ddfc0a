"""A section of the page: named jobs that measure, and a function that writes it up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Jobs: TypeAlias = Mapping[str, Callable[[], Any]]
"""What to measure, by name; each job returns something that JSON can hold."""


@dataclass(frozen=True)
class Section:
    """``jobs(quick)`` lists the work; ``page(results)`` turns its results into text.

    ``results`` maps the names of the jobs to what they returned.
    """

    name: str
    title: str
    jobs: Callable[[bool], Jobs]
    page: Callable[[Mapping[str, Any]], str]
