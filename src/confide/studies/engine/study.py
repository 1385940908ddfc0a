"""A study: a parameter grid, a function that computes a cell of it, a table or figure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pandas as pd

from confide._registry import Registry
from confide.errors import InvalidParameter

Scalar: TypeAlias = str | int | float | bool
Cell: TypeAlias = Mapping[str, Scalar]
"""A cell of a study's grid: the parameter values of one computation, by name."""
Row: TypeAlias = Mapping[str, Scalar | None]
"""A row of results; the computation of one cell may return several rows."""

QUICK_SUFFIX: Final = "-quick"
"""Suffix of the file names of a quick run."""
COMMANDS: Final = ("all", "check")
"""Words that `confide reproduce` accepts in place of the name of a study."""


@dataclass(frozen=True, slots=True)
class Study:
    """A table or figure of a paper, with the functions that compute it.

    Parameters
    ----------
    name : str
        Name of the study and of its files, such as "ci-table3".
    title : str
        Title, in one line.
    source : str
        The paper, and the number of the table or figure.
    cells : callable
        Function of a bool that returns the cells of the parameter grid: all of them for
        False, and the few of a quick run for True. A cell is one combination of parameter
        values.
    run : callable
        Function that returns the result rows of one cell. They may depend only on its two
        arguments, the parameters of the cell and a seed. It is called in other processes,
        so it must be defined at the top level of a module.
    table : callable
        Function that makes the table from a data frame of all result rows, each with the
        parameters of its cell.
    figure : callable, optional
        Function that makes a matplotlib figure from the same data frame.
    datasets : tuple of str, default=()
        Names in `DATASETS`; their availability is checked before any cell is computed.
    version : int, default=1
        Version of ``run``. Increase it when ``run`` changes, so that results of the old
        function are not used again.
    grid : str, default=""
        Name under which results are stored; by default the name of the study. Studies that
        present the same results have the same grid name and the same ``run``.
    repetition : tuple of str, default=()
        Names of the parameters that number the repetitions of a setting, such as
        ("part",). A check of results estimates the noise from the variation between
        repetitions.

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
                    "words of a-z and 0-9, separated by hyphens, not ending in "
                    f"{QUICK_SUFFIX}, and none of {', '.join(COMMANDS)}",
                    name,
                )

    @property
    def grid_name(self) -> str:
        """The name under which the results are stored and committed."""
        return self.grid or self.name

    def stem(self, quick: bool) -> str:
        """Return the file name of the results, without extension.

        Parameters
        ----------
        quick : bool
            Whether the run is a quick run.

        Returns
        -------
        str
            The name.
        """
        return self.name + (QUICK_SUFFIX if quick else "")


STUDIES: Final[Registry[Study]] = Registry("the study")
"""All registered studies, by name."""


def register(study: Study) -> Study:
    """Register a study under its name.

    Studies that share a grid must have the same ``run``, version and repetition parameters.

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
        The name is taken, or another study computes the same grid differently.

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
