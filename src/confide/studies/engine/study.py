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
COMMANDS: Final = ("all", "check")
"""What `confide reproduce` takes in place of the name of a study."""


@dataclass(frozen=True, slots=True)
class Study:
    """A table or figure of a paper and how it is computed.

    Parameters
    ----------
    name : str
        Name of the study and of its files, such as "ci-table3".
    title : str
        One line.
    source : str
        Paper, and table or figure, in words.
    cells : callable
        Returns the grid: all of it for False, and a few of its cells for True.
    run : callable
        Computes one cell from its parameters and a seed, and from nothing else. It runs in
        another process: a function at the top level of a module.
    table : callable
        Makes the table from all rows, each with the parameters of its cell.
    figure : callable, optional
        Makes a matplotlib figure from the same rows.
    datasets : tuple of str, default=()
        Names in `DATASETS`; checked before anything is computed.
    version : int, default=1
        To be increased when ``run`` changes, so that stored results are not used again.
    grid : str, default=""
        Name under which cells are stored and committed; by default that of the study.
        Studies that show the same cells have the same grid and the same ``run``.
    repetition : tuple of str, default=()
        Parameters of a cell that number the repetitions of one setting, such as ("part",):
        variation between them is the noise of the study.

    Raises
    ------
    InvalidParameter
        The name is not valid.

    Examples
    --------
    >>> from confide.studies import STUDIES
    >>> STUDIES["ci-table3"].name
    'ci-table3'
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
    grid: str = ""
    repetition: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, name in (("name", self.name), ("grid", self.grid_name)):
            plain = re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
            if plain is None or name.endswith(QUICK_SUFFIX) or name in COMMANDS:
                raise InvalidParameter(
                    what,
                    "words of a-z and 0-9 with hyphens between, not ending in "
                    f"{QUICK_SUFFIX}, and none of {', '.join(COMMANDS)}",
                    name,
                )

    @property
    def grid_name(self) -> str:
        """The name under which its cells are stored and committed."""
        return self.grid or self.name

    def stem(self, quick: bool) -> str:
        """Return the name of the files of a run, without extension.

        Parameters
        ----------
        quick : bool
            Whether only some cells are run.

        Returns
        -------
        str
            The name.
        """
        return self.name + (QUICK_SUFFIX if quick else "")


STUDIES: Final[Registry[Study]] = Registry("the study")
"""Every study by name."""


def register(study: Study) -> Study:
    """Register a study under its name; studies of one grid must have the same ``run``.

    Parameters
    ----------
    study : Study
        The study.

    Returns
    -------
    Study
        The same study.

    Raises
    ------
    InvalidParameter
        The name is taken, or the grid is computed in another way.

    Examples
    --------
    >>> from confide.studies import STUDIES, register
    >>> try:
    ...     register(STUDIES["ci-table3"])
    ... except ValueError:
    ...     print("that name is taken")
    that name is taken
    """
    for other in STUDIES.values():
        alike = (other.run, other.version, other.repetition) == (
            study.run,
            study.version,
            study.repetition,
        )
        if other.grid_name == study.grid_name and not alike:
            raise InvalidParameter(
                f"the grid of {study.name}",
                f"shared only if run, version and repetition are those of {other.name}",
                study.grid_name,
            )
    return STUDIES.register(study.name)(study)
