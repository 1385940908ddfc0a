"""A study: a grid of cells, a function that computes one of them, and what is shown."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pandas as pd

from confide._registry import Registry
from confide.errors import InvalidParameter

Scalar: TypeAlias = str | int | float | bool
Cell: TypeAlias = Mapping[str, Scalar]
"""The parameters of one computation."""
Row: TypeAlias = Mapping[str, Scalar | None]
"""What a computation found; a cell may yield several."""

QUICK_SUFFIX: Final = "-quick"
"""Marks the files of a quick run."""


@dataclass(frozen=True, slots=True)
class Study:
    """A table or figure of a paper and how it is computed.

    Parameters
    ----------
    name
        How it is asked for and how its files are called, such as ``"ci-table3"``.
    title
        One line.
    source
        Paper and table or figure, in words.
    cells
        Returns the grid; called with True for a quick look, with False for the whole.
    run
        Computes one cell from its parameters and a seed, and nothing else. It runs in
        another process: a function at the top of a module.
    table
        Makes the table from all rows, each with the parameters of its cell.
    figure
        Makes a matplotlib figure from the same rows; None where there is none.
    datasets
        Names in `confide.data.DATASETS`; looked for before anything is computed.
    version
        To be raised when ``run`` changes, so that stored results are not used again.
    """

    name: str
    title: str
    source: str
    cells: Callable[[bool], Sequence[Cell]]
    run: Callable[[Cell, int], Sequence[Row]]
    table: Callable[[pd.DataFrame], pd.DataFrame]
    figure: Callable[[pd.DataFrame], Any] | None = None
    datasets: tuple[str, ...] = ()
    version: int = 1

    def __post_init__(self) -> None:
        plain = re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name)
        if plain is None or self.name.endswith(QUICK_SUFFIX):
            raise InvalidParameter(
                "name",
                f"words of a-z and 0-9 with hyphens between, not ending in {QUICK_SUFFIX}",
                self.name,
            )

    def stem(self, quick: bool) -> str:
        """Return what the files of a run are called, without their endings."""
        return self.name + (QUICK_SUFFIX if quick else "")


STUDIES: Final[Registry[Study]] = Registry("the study")
"""Every study by name."""


def register(study: Study) -> Study:
    """Enter a study under its name."""
    return STUDIES.register(study.name)(study)
