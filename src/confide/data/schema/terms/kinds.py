"""Kinds of terms: B-splines, polynomials and interactions.

=============  ===========================================  ===============================
term           features                                     why their norm is at most 1
=============  ===========================================  ===============================
bs(x, 4)       B-splines on the range of x                  non-negative, with sum 1
poly(x, 2)     Legendre polynomials of the position in      each is within ±1, and divided
               the range, without the constant              by √k if there are k of them
a:b            products of the features of its parts        the norm of all products is the
                                                            product of the norms
=============  ===========================================  ===============================

The features of a record depend only on its own values and on public constants.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial import Polynomial as Powers
from numpy.polynomial import legendre
from scipy.interpolate import BSpline

from confide._types import AnyArray, Array
from confide.data.schema.columns import Column
from confide.data.schema.columns.lines import Lines
from confide.data.schema.terms.term import MARGIN, RangeTerm, Units
from confide.errors import InvalidParameter

MOST_FUNCTIONS = 100
MOST_DEGREE = 10
MOST_FEATURES = 10**5
"""Largest number of features of an interaction."""


@dataclass(frozen=True, slots=True)
class SplineTerm(RangeTerm):
    """A B-spline of a number with public knots.

    As in R, ``df`` is the number of degrees of freedom without the constant. There are
    ``df − degree`` inner knots, which divide the declared or estimated range evenly.
    Alternatively, ``knots`` gives the inner knots in the unit of the column. The range must
    then be declared, and is not estimated.
    """

    column: Any
    df: int
    degree: int = 3
    knots: tuple[float, ...] | None = None
    kind: ClassVar[str] = "bs"

    def __post_init__(self) -> None:
        what = f"bs({self.column.name})"
        _check_number(self.column, what)
        _check_whole(f"degree of {what}", self.degree, 1, 5)
        if self.knots is not None:
            self._check_knots(what)
            object.__setattr__(self, "df", len(self.knots) + self.degree)
        _check_whole(f"df of {what}", self.df, self.degree, MOST_FUNCTIONS)

    def _check_knots(self, what: str) -> None:
        knots = tuple(self.knots or ())
        real = bool(knots) and all(map(_is_real, knots))
        places = [self.column.place_of(knot) for knot in knots] if real else [None]
        if None in places or any(not a < b for a, b in pairwise(knots)):
            raise InvalidParameter(
                f"knots of {what}",
                "increasing numbers inside the declared range",
                list(knots),
                f"Declare limits of {self.column.name} that contain the knots, or write "
                f"{what[:-1]}, df=5), whose knots divide the range evenly.",
            )
        object.__setattr__(self, "knots", tuple(map(float, knots)))

    @property
    def name(self) -> str:
        """The name of the term in schema files."""
        own = f"df={self.df}" if self.knots is None else f"knots={list(self.knots)}"
        degree = "" if self.degree == 3 else f", degree={self.degree}"
        return f"bs({text_of(self.column)}, {own}{degree})"

    @property
    def features(self) -> tuple[str, ...]:
        """One name per basis function."""
        count = self.df + 1
        return tuple(f"{self.name} {place}/{count}" for place in range(1, count + 1))

    @property
    def per(self) -> str:
        """Description of the lines in the coefficient table."""
        return "curve, compared with its average"

    @property
    def _all_knots(self) -> Array:
        """The knots on the scale from −1 to 1, including repeated knots at the ends."""
        inner = np.linspace(-1, 1, self.df - self.degree + 2)[1:-1]
        if self.knots is not None:
            inner = np.array([self.column.place_of(knot) for knot in self.knots])
        ends = np.ones(self.degree + 1)
        return np.concatenate([-ends, inner, ends])

    @property
    def constant(self) -> Array | None:
        """The mean of every basis function over the range; the means sum to 1."""
        knots, order = self._all_knots, self.degree + 1
        mean: Array = (knots[order:] - knots[:-order]) / order / 2
        return mean

    def basis(self, places: Array) -> AnyArray:
        """Return one row per basis function, evaluated at positions from −1 to 1."""
        if not len(places):
            return np.zeros((self.df + 1, 0))
        # All positions are inside the range. Without `extrapolate`, scipy would check this
        # in a slow Python loop.
        found = BSpline.design_matrix(
            places, self._all_knots, self.degree, extrapolate=True
        )
        return np.asarray(found.toarray().T * MARGIN)

    def lines(self) -> Lines:
        """Return lines for ``df + 1`` points of the curve, relative to its average."""
        knots, degree = self._all_knots, self.degree
        points = np.array(
            [knots[j + 1 : j + degree + 1].mean() for j in range(self.df + 1)]
        )
        mean = np.asarray(self.constant) * MARGIN
        own = self.column
        names = tuple(f"{own.name} {own.shown_place(x)}" for x in points)
        return Lines(names, self.basis(points).T - mean, mean)


@dataclass(frozen=True, slots=True)
class PolynomialTerm(RangeTerm):
    """A polynomial of a number, without the constant."""

    column: Any
    degree: int = 2
    kind: ClassVar[str] = "poly"

    def __post_init__(self) -> None:
        what = f"poly({self.column.name})"
        _check_number(self.column, what)
        _check_whole(f"degree of {what}", self.degree, 1, MOST_DEGREE)

    @property
    def name(self) -> str:
        """The name of the term in schema files."""
        return f"poly({text_of(self.column)}, {self.degree})"

    @property
    def features(self) -> tuple[str, ...]:
        """One name per degree."""
        return tuple(f"{self.name} {k}" for k in range(1, self.degree + 1))

    @property
    def per(self) -> str:
        """Description of the lines in the coefficient table."""
        return "power"

    @property
    def _scale(self) -> float:
        return MARGIN / math.sqrt(self.degree)

    def basis(self, places: Array) -> AnyArray:
        """Return one row per Legendre polynomial, at positions from −1 to 1."""
        table: Any = legendre.legvander(places, self.degree)[:, 1:].T
        return np.asarray(np.clip(table, -1.0, 1.0) * self._scale)

    def lines(self) -> Lines:
        """Return lines for the coefficients of powers of the number in its own unit."""
        factors, origin = self.column.units()
        place = Powers([-origin * factors[0], factors[0]])
        matrix = np.zeros((self.degree + 1, self.degree))
        for k in range(1, self.degree + 1):
            series = Powers(legendre.leg2poly(np.eye(self.degree + 1)[k]))
            powers = np.asarray(series(place).coef, np.float64) * self._scale
            matrix[: len(powers), k - 1] = powers
        own = self.column.features[0]
        names = (own, *(f"{own}^{k}" for k in range(2, self.degree + 1)))
        return Lines(names, matrix[1:], matrix[0])


@dataclass(frozen=True, slots=True)
class Interaction:
    """Products of the features of at least two columns, splines or polynomials.

    Numbers are centred at the middle of their range, and yes and no are coded as 1 and −1.
    The main effects of the parts are therefore effects at the middle of the other parts.
    """

    parts: tuple[Any, ...]
    kind: ClassVar[str] = ":"

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        used = [column.name for part in self.parts for column in columns_of(part)]
        if len(names) < 2 or len({*used}) != len(used):
            raise InvalidParameter(
                f"interaction {self.name!r}", "a product of different columns", names
            )
        if math.prod(len(part.features) for part in self.parts) > MOST_FEATURES:
            must = f"a product with at most {MOST_FEATURES:,} features"
            raise InvalidParameter(f"interaction {self.name!r}", must, names)

    @property
    def name(self) -> str:
        """The name of the term in schema files."""
        return ":".join(map(text_of, self.parts))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of all parts."""
        return tuple(column for part in self.parts for column in columns_of(part))

    @property
    def coded(self) -> bool:
        """Whether all parts are categories, so that at most one feature is 1."""
        return all(part.coded for part in self.parts)

    @property
    def features(self) -> tuple[str, ...]:
        """One name per product."""
        return _products([part.features for part in self.parts])

    @property
    def per(self) -> str:
        """Description of the unit of the coefficients, combined from the parts."""
        return " × ".join(part.per for part in self.parts)

    def units(self) -> tuple[Array, float]:
        """Return products of the scale factors of the parts, and 0 as the origin."""
        return kron([part.units()[0] for part in self.parts]), 0.0

    def lines(self) -> Lines:
        """Return one line per product; a spline contributes the points of its curve."""
        shown = [_shown(part) for part in self.parts]
        matrix = kron([matrix for _, matrix in shown])
        names = _products([names for names, _ in shown])
        return Lines(names, matrix, np.zeros(matrix.shape[1]))

    def encode(self, units: Units) -> AnyArray:
        """Return one row per product; if coded, the index of the combination of levels."""
        if self.coded:
            return self._pair(units)
        table: AnyArray | None = None
        for part in self.parts:
            own = features_of(part, units)
            if table is None:
                table = own
            else:
                size = len(table) * len(own)
                table = (table[:, None] * own).reshape(size, own.shape[1])
        assert table is not None  # noqa: S101
        return table

    def _pair(self, units: Units) -> AnyArray:
        """Return the index of the combination of levels; −1 if a level is missing."""
        place: Any = 0
        known: Any = True
        for part in self.parts:
            code = units.codes[part.name].astype(np.int64)
            known = known & (code >= 0)
            place = place * len(part.features) + code
        return np.where(known, place, -1)

    def moments(self) -> tuple[Array, Array]:
        """Return mean and covariance, assuming that the parts are independent."""
        both = [part.moments() for part in self.parts]
        mean = kron([mean for mean, _ in both])
        second = kron([spread + np.outer(m, m) for m, spread in both])
        return mean, second - np.outer(mean, mean)

    def mean_squares(self) -> Array:
        """Return the mean squares of the features.

        They are products of the mean squares of the parts, which are assumed independent.
        """
        return kron([part.mean_squares() for part in self.parts])


def kron(factors: Sequence[Array]) -> Array:
    """Return the Kronecker product, with the index of the last factor varying fastest."""
    whole: Any = factors[0]
    for one in factors[1:]:
        whole = np.kron(whole, one)
    return np.asarray(whole, np.float64)


def text_of(effect: Any) -> str:
    """Return an effect as text for a schema file, with unusual names in backticks."""
    name: str = effect.name
    if isinstance(effect, RangeTerm | Interaction) or name.isidentifier():
        return name
    return f"`{name}`"


def columns_of(effect: Any) -> tuple[Column, ...]:
    """Return the columns from which an effect is computed; for a column, itself."""
    return effect.columns if isinstance(effect, RangeTerm | Interaction) else (effect,)


def features_of(effect: Any, units: Units) -> AnyArray:
    """Return one row per feature, with indicators as rows of zeros and ones."""
    if isinstance(effect, RangeTerm):
        return effect.encode(units)
    if isinstance(effect, Interaction):
        made = effect.encode(units)
        return _indicators(made, len(effect.features)) if effect.coded else made
    if not effect.coded:
        return units.numbers[effect.name][None, :]
    return _indicators(units.codes[effect.name], len(effect.features))


def _indicators(codes: AnyArray, count: int) -> AnyArray:
    return (codes == np.arange(count)[:, None]).astype(np.float64)


def _shown(part: Any) -> tuple[tuple[str, ...], Array]:
    """Return the names and the matrix of the lines of a part within an interaction."""
    if isinstance(part, SplineTerm):
        lines = part.lines()
        return lines.names, lines.matrix + lines.intercept
    return part.features, np.eye(len(part.features))


def _products(names: list[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(
        reduce(lambda ones, others: [f"{a}:{b}" for a in ones for b in others], names)
    )


def _check_number(column: Any, what: str) -> None:
    if column.coded or column.possible:
        must = "a term of a column of numbers or dates"
        raise InvalidParameter(what, must, column.kind)


def _check_whole(what: str, value: Any, least: int, most: int) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise InvalidParameter(what, f"a whole number from {least} to {most}", value)


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
