"""Standard errors, tests, contrasts, ratios and effects after a regression fit.

All results are post-processing of the release of one set of coefficients.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np

from confide._types import Array
from confide.errors import Described, InvalidParameter
from confide.inference.law import CoefficientLaw, rounded_level
from confide.inference.terms import (
    Contrast,
    TableLines,
    as_contrasts,
    contrast_name,
)
from confide.reporting import Coefficient, CoefficientTable, EffectScale, WaldTest
from confide.reporting.coefficients import INTERCEPT, without_unit
from confide.reporting.effect_scale import plural_unit

Amount: TypeAlias = Literal["unit", "range", "deviation"]
AMOUNTS = ("unit", "range", "deviation")
EXPONENT = 700.0


@dataclass(frozen=True)
class Inference:
    """Statistical inference from one set of released coefficients.

    No method costs any budget or uses rows of the private table.

    Parameters
    ----------
    law : CoefficientLaw
        Distribution of the errors.
    terms : TableLines
        Names of the coefficients in the table, and the columns to which they belong.
    matrix : ndarray
        Matrix that maps the fitted coefficients to those in the table.
    constant : ndarray
        Constants that are added to obtain the coefficients in the table.
    released : ndarray
        Coefficients as released, which are penalised.
    scale : EffectScale
        Scale of the effects: link, target and unit.
    level : float
        Default confidence level.
    of : {"plain", "penalised"}
        Whether results are for plain (unpenalised) or for penalised coefficients.
    dispersion : float, optional
        Variance of the residuals or, for counts, its ratio to the mean, if known.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.inference import (
    ...     CoefficientLaw, EffectScale, Inference, TableLines, TermLines,
    ... )
    >>> from confide.mechanisms.release import Uncertainty
    >>> error = Uncertainty(np.diag([0.04, 0.25]), np.zeros((2, 2)), "gaussian", 2)
    >>> law = CoefficientLaw(np.array([1.0, 0.5]), error, None, held=False)
    >>> columns = TermLines("age", (0,)), TermLines("dose", (1,))
    >>> terms, scale = TableLines(("age", "dose"), columns), EffectScale("identity")
    >>> asked = Inference(
    ...     law, terms, np.eye(2), np.zeros(2), law.estimate, scale, 0.95, "penalised"
    ... )
    >>> asked.contrast("age - dose").to_frame()[["estimate", "lower", "upper"]].round(2)
                estimate  lower  upper
    name
    age - dose       0.5  -0.56   1.56

    The interval of the difference contains 0, so the two effects may be equal.
    """

    law: CoefficientLaw
    terms: TableLines
    matrix: Array
    constant: Array
    released: Array
    scale: EffectScale
    level: float
    of: str
    dispersion: float | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """Names of the coefficients in the table."""
        return self.terms.lines

    @property
    def _slopes(self) -> list[int]:
        """Positions of the coefficients that are shown, except the intercept."""
        lines = self.lines
        return [place for place in self._shown if not lines[place].endswith(INTERCEPT)]

    def estimates(
        self,
        names: Sequence[str],
        directions: Array,
        constants: Array,
        level: float,
        *,
        spans: Array | None = None,
        quantile: float | None = None,
    ) -> tuple[Coefficient, ...]:
        """Estimate linear functions of the coefficients, as rows of a table.

        Parameters
        ----------
        names : sequence of str
            Names of the linear functions.
        directions : ndarray
            Weights, one row per linear function.
        constants : ndarray
            Constants that are added to the functions.
        level : float
            Confidence level.
        spans : ndarray, optional
            Width of the range to which each function refers.
        quantile : float, optional
            Half-length of simultaneous intervals, in standard errors.

        Returns
        -------
        tuple of Coefficient
            One row per function. A function that is not identified has its penalised
            estimate and no interval.
        """
        law = self.law
        known = law.identified(directions)
        values = law.values(directions) + constants
        shown = directions @ self.released + constants
        half = law.half_lengths(directions, level)
        errors = law.standard_errors(directions)
        if quantile is not None:
            half = quantile * errors + np.abs(law.allowance(directions))
        alone = law.sampling_half_lengths(directions, level)
        tails = law.p_values(directions, values)
        found = []
        for place, name in enumerate(names):
            span = 1.0 if spans is None else float(spans[place])
            if not known[place]:
                found.append(
                    Coefficient(name, float(shown[place]), identified=False, span=span)
                )
                continue
            value, width = float(values[place]), float(half[place])
            found.append(
                Coefficient(
                    name,
                    value,
                    value - width,
                    value + width,
                    float(alone[place]),
                    float(shown[place]) - value if self.of == "plain" else None,
                    std_error=float(errors[place]),
                    p_value=float(tails[place]),
                    span=span,
                )
            )
        return tuple(found)

    def coefficients(
        self, level: float | None = None, *, simultaneous: bool = False
    ) -> CoefficientTable:
        """Return the coefficients that the summary shows, with intervals.

        If intervals are simultaneous, the intercept is left out. Coefficients that are not
        identified have no interval.

        Parameters
        ----------
        level : float, optional
            Confidence level; by default that of the fit.
        simultaneous : bool, default=False
            Whether the level holds for all intervals jointly.

        Returns
        -------
        CoefficientTable
            One row per coefficient.
        """
        asked = rounded_level(level, self.level)
        kept = self._slopes if simultaneous else self._shown
        matrix = self.matrix[kept]
        rows = self.estimates(
            [self.lines[place] for place in kept],
            matrix,
            self.constant[kept],
            asked,
            spans=self.terms.spans[kept],
            quantile=self._joint_quantile(matrix, asked) if simultaneous else None,
        )
        return CoefficientTable(rows, asked, self.of)

    @property
    def _shown(self) -> list[int]:
        absent = self.law.is_absent(self.matrix)
        return [
            place
            for place, name in enumerate(self.lines)
            if not (absent[place] and name in self.terms.rare)
        ]

    def covariance(self) -> Array:
        """Return the covariance matrix of the coefficients that are shown.

        Returns
        -------
        ndarray
            Covariance matrix; NaN if a coefficient is not identified.
        """
        kept = self._shown
        rows = self.matrix[kept]
        found = self.law.covariance(rows)
        unknown = ~self.law.identified(rows)
        found[unknown, :] = found[:, unknown] = math.nan
        return np.asarray(found)

    @property
    def shown_names(self) -> tuple[str, ...]:
        """Names of the coefficients in `covariance`."""
        return tuple(self.lines[place] for place in self._shown)

    def contrast(
        self,
        contrasts: Contrast | Sequence[Contrast],
        level: float | None = None,
        *,
        simultaneous: bool = False,
    ) -> CoefficientTable:
        """Estimate linear combinations of coefficients, with intervals.

        Parameters
        ----------
        contrasts : str, mapping or sequence of them
            Sums such as "age - 2*income", or weights by name.
        level : float, optional
            Confidence level; by default that of the fit.
        simultaneous : bool, default=False
            Whether the level holds for all intervals jointly.

        Returns
        -------
        CoefficientTable
            One row per contrast.
        """
        asked = rounded_level(level, self.level)
        several = as_contrasts(contrasts)
        weights = np.stack([self.terms.weights(one) for one in several])
        names = [contrast_name(one) for one in several]
        directions = weights @ self.matrix
        rows = self.estimates(
            names,
            directions,
            weights @ self.constant,
            asked,
            quantile=self._joint_quantile(directions, asked) if simultaneous else None,
        )
        return CoefficientTable(rows, asked, self.of)

    def _joint_quantile(self, directions: Array, level: float) -> float | None:
        """Return the half-length of simultaneous intervals, in standard errors."""
        known = directions[self.law.identified(directions)]
        return self.law.joint_quantile(known, level) if len(known) else None

    def joint_contrast_test(self, contrasts: Sequence[Contrast]) -> WaldTest:
        """Test the hypothesis that several contrasts are all 0.

        Parameters
        ----------
        contrasts : sequence of str or mapping
            Sums such as "age - 2*income", or weights by name.

        Returns
        -------
        WaldTest
            Result of the test.
        """
        weights = np.stack([self.terms.weights(one) for one in contrasts])
        return self._test(tuple(map(contrast_name, contrasts)), weights)

    def wald_test(self, columns: str | Sequence[str]) -> WaldTest:
        """Test the hypothesis that all coefficients of some columns are 0.

        Parameters
        ----------
        columns : str or sequence of str
            Names of columns.

        Returns
        -------
        WaldTest
            Result of the test.

        Raises
        ------
        InvalidParameter
            No column is named, or a named column does not exist.
        """
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        if not names:
            raise InvalidParameter("columns to test", "one or more names", names)
        places = [place for name in names for place in self.terms.tested(name)]
        return self._test(names, np.eye(len(self.lines))[places])

    def _test(self, names: tuple[str, ...], weights: Array) -> WaldTest:
        directions = weights @ self.matrix
        offsets = self.law.values(directions) + weights @ self.constant
        found = self.law.wald(directions, offsets)
        return WaldTest(
            names, found.statistic, found.degrees, found.p_value, found.rank, self.of
        )

    def tests(self) -> tuple[WaldTest, ...]:
        """Test every column except those with a single level.

        Returns
        -------
        tuple of WaldTest
            One test per column.
        """
        tested = [term for term in self.terms.terms if not term.coded or term.levels > 1]
        return tuple(self.wald_test(term.name) for term in tested)

    def effects(
        self,
        per: Amount | Mapping[str, float] = "range",
        level: float | None = None,
        *,
        simultaneous: bool = False,
    ) -> CoefficientTable:
        """Return the effects of comparable changes in all columns.

        Levels are compared with the same reference as in the summary.

        Parameters
        ----------
        per : {"unit", "range", "deviation"} or mapping, default="range"
            Change in a numeric column: one unit, its range, about a standard deviation, or
            the amounts in a mapping from column names.
        level : float, optional
            Confidence level; by default that of the fit.
        simultaneous : bool, default=False
            Whether the level holds for all intervals jointly.

        Returns
        -------
        CoefficientTable
            One row per coefficient except the intercept.
        """
        asked = rounded_level(level, self.level)
        amounts = self._amounts(per)
        table = self.coefficients(asked, simultaneous=simultaneous)
        scaled = [
            _scaled(row, amounts[self.lines.index(row.name)], self._label(row, amounts))
            for row in table.rows
            if not row.name.endswith(INTERCEPT)
        ]
        return CoefficientTable(tuple(scaled), asked, self.of)

    def _amounts(self, per: Amount | Mapping[str, float]) -> Array:
        found = np.ones(len(self.lines))
        if isinstance(per, Mapping):
            for name, amount in dict[str, Any](per).items():
                term = self.terms.find(name, "column in per")
                if term.coded or len(term.lines) > 1:
                    must = "a numeric column: factors and curves have no amount"
                    raise InvalidParameter("column in per", must, name)
                real = isinstance(amount, Real) and math.isfinite(amount)
                if not real or not amount:
                    raise InvalidParameter(
                        f"amount for {name!r}", "a number other than 0", amount
                    )
                found[list(term.lines)] = float(amount)
            return found
        if per not in AMOUNTS:
            must = f"one of {list(AMOUNTS)}, or a mapping from columns to amounts"
            raise InvalidParameter("per", must, per)
        for term in self.terms.terms:
            if term.coded or per == "unit":
                continue
            part = 1.0 if per == "range" else term.deviation
            found[list(term.lines)] = part * np.array(term.spans)
        return found

    def _label(self, row: Coefficient, amounts: Array) -> str:
        place = self.lines.index(row.name)
        amount = float(amounts[place])
        if amount == 1:
            return row.name
        term = next(one for one in self.terms.terms if place in one.lines)
        unit = f" {plural_unit(term.unit)}" if term.unit else ""
        size = f"{amount:,.0f}" if 1e4 <= abs(amount) < 1e9 else f"{amount:.4g}"
        return f"{without_unit(row.name)} (per {size}{unit})"

    def ratios(
        self,
        per: Amount | Mapping[str, float] = "unit",
        level: float | None = None,
        *,
        simultaneous: bool = False,
    ) -> CoefficientTable:
        """Return odds ratios or rate ratios, with intervals.

        Parameters
        ----------
        per : {"unit", "range", "deviation"} or mapping, default="unit"
            Change in a numeric column: one unit, its range, about a standard deviation, or
            the amounts in a mapping from column names.
        level : float, optional
            Confidence level; by default that of the fit.
        simultaneous : bool, default=False
            Whether the level holds for all intervals jointly.

        Returns
        -------
        CoefficientTable
            One row per coefficient except the intercept.

        Raises
        ------
        InvalidParameter
            The model has neither odds ratios nor rate ratios.
        """
        if not self.scale.ratio:
            raise InvalidParameter(
                "ratios",
                "requested from a logistic (odds) or a Poisson (rates) regression",
                Described(f"a model of the {self.scale.predictor}"),
                "Its effects are differences: see effects().",
            )
        table = self.effects(per, level, simultaneous=simultaneous)
        rows = tuple(map(_ratio, table.rows))
        return replace(table, rows=rows, heading=self.scale.ratio)


def _scaled(row: Coefficient, amount: float, name: str) -> Coefficient:
    """Return the effect of a change by some amount, from the effect of one unit."""

    def times(value: float | None) -> float | None:
        return None if value is None else amount * value

    ends = sorted(end for end in (times(row.lower), times(row.upper)) if end is not None)
    lower, upper = ends or (None, None)
    size = abs(amount)
    return replace(
        row,
        name=name,
        estimate=amount * row.estimate,
        lower=lower,
        upper=upper,
        sampling=None if row.sampling is None else size * row.sampling,
        pull=times(row.pull),
        std_error=None if row.std_error is None else size * row.std_error,
        span=row.span / size,
    )


def _ratio(row: Coefficient) -> Coefficient:
    """Return the exponential of an effect, without standard error and ridge effect."""

    def power(value: Any) -> Any:
        return None if value is None else math.exp(min(value, EXPONENT))

    return Coefficient(
        row.name,
        power(row.estimate),
        power(row.lower),
        power(row.upper),
        identified=row.identified,
        p_value=row.p_value,
        span=row.span,
        null=1.0,
    )
