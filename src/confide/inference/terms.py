"""Columns of a model, their coefficients in a table, and contrasts of coefficients.

The table shows coefficients in the user's units. They are linear functions of the
coefficients that were fitted to the scaled columns.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from confide._types import Array
from confide.errors import Described, InvalidParameter, did_you_mean
from confide.reporting.coefficients import without_unit

Contrast: TypeAlias = str | Mapping[str, float]
"""Weighted sum of coefficients: text such as "age - 2*income", or weights by name."""
NUMBER = re.compile(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)\s*\*?\s*")
FEWEST_LEVELS = 2


@dataclass(frozen=True, slots=True)
class TermLines:
    """Column or term of a model, with the positions of its coefficients in a table.

    Parameters
    ----------
    name : str
        Name of the column or term.
    lines : tuple of int
        Positions of its coefficients in the table.
    coded : bool, default=False
        Whether the column has levels, as categories do.
    levels : int, default=0
        Number of levels; 0 for a number.
    spans : tuple of float, default=(1.0,)
        Width of the range to which each coefficient refers, in user units; 1 for levels.
    deviation : float, default=1.0
        Approximate standard deviation, as a share of the range.
    unit : str, default=""
        Unit of a numeric column.
    zero : tuple of str, default=()
        Names of coefficients that are 0 by definition, such as that of a reference level.

    Examples
    --------
    >>> from confide.inference import TermLines
    >>> region = TermLines("region", (1, 2), coded=True, levels=3, zero=("region=north",))
    >>> len(region.lines) + len(region.zero) == region.levels
    True

    Three levels have two coefficients in the table: that of the reference level is 0.
    """

    name: str
    lines: tuple[int, ...]
    coded: bool = False
    levels: int = 0
    spans: tuple[float, ...] = (1.0,)
    deviation: float = 1.0
    unit: str = ""
    zero: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableLines:
    """Names of the coefficients in a table, and the columns to which they belong.

    Parameters
    ----------
    lines : tuple of str
        Names of the coefficients in the table.
    terms : tuple of TermLines
        Columns and terms of the model.
    rare : frozenset of str, default=frozenset()
        Names of coefficients for missing or undeclared levels, which may not occur.

    Examples
    --------
    >>> from confide.inference import TableLines, TermLines
    >>> columns = TermLines("age", (0,)), TermLines("dose", (1,))
    >>> table = TableLines(("age", "dose"), columns)
    >>> table.weights("10*age - dose")
    array([10., -1.])

    Contrasts are written as weighted sums of coefficients.
    """

    lines: tuple[str, ...]
    terms: tuple[TermLines, ...]
    rare: frozenset[str] = frozenset()

    def find(self, name: str, what: str = "column to test") -> TermLines:
        """Return a column by its name.

        Parameters
        ----------
        name : str
            Name of the column.
        what : str, default="column to test"
            Description of ``name`` for an error message.

        Returns
        -------
        TermLines
            The column.

        Raises
        ------
        InvalidParameter
            There is no such column.
        """
        for term in self.terms:
            if term.name == name:
                return term
        known = [term.name for term in self.terms]
        level = isinstance(name, str) and name in self._places
        hint = f"Test {name!r} as a contrast." if level else did_you_mean(name, known)
        raise InvalidParameter(what, f"one of {known}", name, hint)

    def tested(self, name: str) -> tuple[int, ...]:
        """Return the positions of the coefficients that are tested for a column.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        tuple of int
            Positions in the table.

        Raises
        ------
        InvalidParameter
            The column has a single level.
        """
        term = self.find(name)
        if term.coded and term.levels < FEWEST_LEVELS:
            raise InvalidParameter(
                f"column {name!r}",
                "a number, or a factor with two or more levels, to be tested",
                Described(f"{term.levels} level"),
                "All rows have the same value, so there is no effect to test.",
            )
        return term.lines

    @property
    def spans(self) -> Array:
        """Width of the range to which each coefficient refers, in user units."""
        found = np.ones(len(self.lines))
        for term in self.terms:
            found[list(term.lines)] = term.spans
        return found

    @property
    def _places(self) -> dict[str, int | None]:
        """Position of the coefficient of every name; None if it is 0 by definition."""
        found: dict[str, int | None] = dict.fromkeys(
            (name for term in self.terms for name in term.zero), None
        )
        for term in self.terms:
            if len(term.lines) == 1:
                found[term.name] = term.lines[0]
        for place, name in enumerate(self.lines):
            found.setdefault(without_unit(name), place)
        found |= {name: place for place, name in enumerate(self.lines)}
        return found

    def weights(self, contrast: Contrast) -> Array:
        """Return the weight of every coefficient in a contrast.

        Parameters
        ----------
        contrast : str or mapping
            A sum such as "age - 2*income", or weights by name.

        Returns
        -------
        ndarray
            One weight per coefficient in the table.

        Raises
        ------
        InvalidParameter
            A name is unknown, a weight is not finite, or the weights cancel out.
        """
        if isinstance(contrast, str):
            contrast = self._parsed(contrast)
        if not isinstance(contrast, Mapping) or not contrast:
            must = "text such as 'age - income', or weights by name"
            raise InvalidParameter("contrast", must, contrast)
        found = np.zeros(len(self.lines))
        places, given = self._places, dict[str, Any](contrast)
        for name, weight in given.items():
            if name not in places:
                raise self._unknown(str(name))
            if not isinstance(weight, Real) or not math.isfinite(weight):
                raise InvalidParameter(f"weight of {name!r}", "a finite number", weight)
            place = places[name]
            if place is not None:
                found[place] += float(weight)
        if not found.any():
            must = "a sum of coefficients that do not cancel out"
            hint = "A reference level is 0 by definition."
            raise InvalidParameter("contrast", must, contrast_name(contrast), hint)
        return found

    def _parsed(self, text: str) -> dict[str, float]:
        """Return the weights by name of a sum such as "2*age - income".

        If several names match, the longest is used, because names may contain spaces and
        signs.
        """
        known = sorted(self._places, key=len, reverse=True)
        found: dict[str, float] = {}
        rest, first = text.strip(), True
        while rest:
            sign = 1.0
            if rest[0] in "+-−":
                sign = 1.0 if rest[0] == "+" else -1.0
                rest = rest[1:].lstrip()
            elif not first:
                raise InvalidParameter("contrast", "a sum of names, with + or -", text)
            number = NUMBER.match(rest)
            name = next((one for one in known if _stands(rest, one)), None)
            if name is None and number is not None:
                sign, rest = sign * float(number[1]), rest[number.end() :]
                name = next((one for one in known if _stands(rest, one)), None)
            if name is None:
                raise self._unknown(re.split(r"\s[+-]\s", rest)[0].strip())
            found[name] = found.get(name, 0.0) + sign
            rest, first = rest[len(name) :].lstrip(), False
        return found

    def _unknown(self, name: str) -> InvalidParameter:
        known = list(self._places)
        columns = [term.name for term in self.terms if len(term.lines) > 1]
        hint = did_you_mean(name, known)
        if name in columns:
            shown = self.lines[self.find(name).lines[0]]
            hint = (
                f"{name} is a factor: name one of its levels, such as {shown!r}, or "
                "test the factor with wald_test."
            )
        return InvalidParameter("name in a contrast", f"one of {known}", name, hint)


def _stands(text: str, name: str) -> bool:
    """Whether a text begins with a name, followed by a separator or the end."""
    return text.startswith(name) and (len(text) == len(name) or text[len(name)] in " +-−\t")


def as_contrasts(given: Any) -> tuple[Contrast, ...]:
    """Return one or several contrasts as a tuple."""
    if isinstance(given, str | Mapping):
        return (given,)
    several = tuple(given) if isinstance(given, Iterable) else ()
    if not several:
        must = "text such as 'age - income', weights by name, or a list of these"
        raise InvalidParameter("contrast", must, given)
    return several


def contrast_name(contrast: Contrast) -> str:
    """Return a contrast as text."""
    if isinstance(contrast, str):
        return " ".join(contrast.split())
    parts = [
        f"{'-' if weight < 0 else '+'} {_factor(abs(weight))}{name}"
        for name, weight in contrast.items()
    ]
    return " ".join(parts).removeprefix("+ ").strip()


def _factor(size: float) -> str:
    return "" if size == 1 else f"{size:g}*"
