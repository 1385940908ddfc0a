"""The toolkit of a regression as methods of a fitted model: nothing is charged."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted, validate_data

from confide._types import Array
from confide.data import INTERCEPT, Display, Schema, read_table
from confide.data.schema.effect_moments import has_terms
from confide.errors import InvalidParameter, did_you_mean
from confide.estimators._amounts import effect_amounts, levels_of, unit_of
from confide.estimators._summary import coefficient_lines, row_facts
from confide.estimators._validate import read_features
from confide.inference import (
    Amount,
    Coefficient,
    CoefficientLaw,
    Contrast,
    EffectScale,
    Inference,
    IntervalTable,
    MarginalStep,
    MeanTable,
    TableLines,
    TermLines,
    WaldTest,
    marginal_effects,
    mean_intervals,
    prediction_intervals,
)
from confide.reporting.effect_scale import Link


class InferenceMethods:
    """Errors, tests, contrasts, ratios and effects of a fitted model.

    All of it is post-processing of the release: no budget, and no row of the table. Where
    a model has several sets of coefficients, ``label`` says which class is meant.
    """

    def inference(self: Any, label: Any = None) -> Inference:
        """Return what a released set of coefficients says about the population."""
        check_is_fitted(self, "release_")
        if self.release_.intervals is None:
            raise InvalidParameter(
                "this model",
                "fitted with intervals: errors, tests and contrasts are made of the same "
                "release",
                "one without",
                "Fit with intervals=True, or a share of the budget like 0.2.",
            )
        return self._inference_at(self._coding_of(label))

    def _inference_at(self: Any, place: int) -> Inference:
        """Return what one line of released coefficients says."""
        kept = self.release_.intervals
        value = np.atleast_2d(self.release_.value)[place]
        display = self._display()
        law = CoefficientLaw.of(kept, value, place)
        return Inference(
            law,
            self._terms(display),
            np.asarray(display.matrix),
            display.constant,
            value,
            self._scale_of(place),
            kept.level,
            kept.of,
            self._residual_dispersion(law),
        )

    def _residual_dispersion(self: Any, law: CoefficientLaw) -> float | None:
        """Return the dispersion of residuals in units of the target, if it is known."""
        if law.plain is None or law.plain.dispersion is None:
            return None
        return self._dispersion_in_units(law.plain.dispersion)

    def _link(self) -> Link:
        """Return how a prediction follows the linear predictor."""
        return "none"

    def _dispersion_in_units(self, ratio: float) -> float:
        """Return the variance of residuals, over what the model supposes of it."""
        return ratio

    def _scale_of(self: Any, place: int) -> EffectScale:
        """Return what the effects of one line of coefficients are measured in."""
        schema, classes = self.schema_, list(getattr(self, "classes_", ()))
        outcome = ""
        if classes:
            outcome = str(classes[1] if len(classes) == 2 else classes[place])
        if schema is None:
            return EffectScale(self._link(), outcome=outcome)
        target = schema.target
        return EffectScale(self._link(), target.column, outcome, target.unit or "")

    def _coding_of(self: Any, label: Any) -> int:
        """Return which line of coefficients a label has."""
        count = len(np.atleast_2d(self.release_.value))
        labels = list(getattr(self, "classes_", ()))
        if count == 1:
            if label is not None and label not in labels:
                raise InvalidParameter("label", f"one of {labels}", label)
            return 0
        labels = labels or list(range(count))
        if label not in labels:
            raise InvalidParameter(
                "label", f"one of {labels}: every class has its own coefficients", label
            )
        return labels.index(label)

    def _lines(self: Any) -> tuple[Coefficient, ...]:
        """Return a line for every displayed coefficient of every coding."""
        count = len(np.atleast_2d(self.release_.value))
        labels, kept = self._row_labels(count), self.release_.intervals
        if kept is None or kept.variant == "published":
            display = self._display()
            spans = self._terms(display).spans
            return coefficient_lines(self.release_, labels, display, spans)
        found = (self._inference_at(place).coefficients().rows for place in range(count))
        return tuple(
            replace(row, name=label + row.name)
            for label, rows in zip(labels, found, strict=True)
            for row in rows
        )

    def _rows_fact(self: Any) -> tuple[tuple[str, str], ...]:
        return row_facts(getattr(self, "rows_", None), self.schema_)

    def _column_tables(self: Any) -> tuple[IntervalTable | None, tuple[WaldTest, ...]]:
        """Return ratios and tests for a summary, where one set of coefficients has any."""
        kept, several = self.release_.intervals, np.ndim(self.release_.value) > 1
        if kept is None or kept.variant == "published" or several:
            return None, ()
        asked = self._inference_at(0)
        ratios = asked.ratios("range") if asked.scale.ratio else None
        return ratios, () if self.schema_ is None else asked.tests()

    def _terms(self: Any, display: Display) -> TableLines:
        """Return the columns and terms of the model with the places of their lines."""
        schema, lines = self.schema_, display.names
        if schema is None:
            alone = (
                TermLines(name, (place,))
                for place, name in enumerate(lines)
                if name != INTERCEPT
            )
            return TableLines(lines, tuple(alone))
        found, place = [], 0
        for effect in schema.effects:
            spans, deviation = effect_amounts(effect)
            own: list[tuple[int, float]] = []
            zero = set(effect.features) if effect.coded else set()
            for number, name in enumerate(effect.lines().names):
                if place == len(lines) or lines[place] != name:
                    continue
                zero.discard(name)
                if not effect.coded or name in effect.features:
                    own.append((place, spans[number]))
                place += 1
            found.append(
                TermLines(
                    effect.name,
                    tuple(where for where, _ in own),
                    effect.coded,
                    levels_of(effect),
                    tuple(span for _, span in own),
                    deviation,
                    unit_of(effect),
                    tuple(name for name in effect.features if name in zero),
                )
            )
        return TableLines(lines, tuple(found), display.rare)

    def covariance(self, *, label: Any = None) -> pd.DataFrame:
        """Return the covariance of the coefficients of the summary, by their names."""
        asked = self.inference(label)
        names = list(asked.shown_names)
        return pd.DataFrame(asked.covariance(), index=names, columns=names)

    def standard_errors(self, *, label: Any = None) -> pd.Series:
        """Return the standard errors; NaN where a coefficient is not identified."""
        square = np.diag(self.covariance(label=label))
        names = list(self.inference(label).shown_names)
        return pd.Series(np.sqrt(square), index=names)

    def confidence_intervals(
        self, level: float | None = None, *, simultaneous: bool = False, label: Any = None
    ) -> IntervalTable:
        """Return the coefficients with intervals of any level.

        With ``simultaneous`` all of them hold at once as often as the level says; the
        intercept and what is not identified are left out of that.
        """
        return self.inference(label).coefficients(level, simultaneous=simultaneous)

    def wald_test(self, of: str | Sequence[str], *, label: Any = None) -> WaldTest:
        """Test that all coefficients of one column or of several are 0.

        Contrasts may stand in place of columns: all of them are tested to be 0.
        """
        asked = self.inference(label)
        names = (of,) if isinstance(of, str) else tuple(of)
        columns = [term.name for term in asked.terms.terms]
        if all(name in columns for name in names) or not _are_sums(names, asked):
            return asked.wald_test(names)
        return asked.joint_contrast_test(names)

    def contrast(
        self,
        contrasts: Contrast | Sequence[Contrast],
        level: float | None = None,
        *,
        label: Any = None,
    ) -> IntervalTable:
        """Return sums of coefficients with intervals.

        A contrast is text, as "region=north - region=south" or "10*age - income", or the
        weights by name.
        """
        return self.inference(label).contrast(contrasts, level)

    def odds_ratios(
        self: Any,
        per: Amount | Mapping[str, float] = "unit",
        level: float | None = None,
        *,
        simultaneous: bool = False,
        label: Any = None,
    ) -> IntervalTable:
        """Return what effects multiply the odds by; ``per`` as in `effects`."""
        self._refuse_other_link("logit", "odds ratios", "rate_ratios()")
        return self.inference(label).ratios(per, level, simultaneous=simultaneous)

    def rate_ratios(
        self: Any,
        per: Amount | Mapping[str, float] = "unit",
        level: float | None = None,
        *,
        simultaneous: bool = False,
    ) -> IntervalTable:
        """Return what effects multiply the expected count by; ``per`` as in `effects`."""
        self._refuse_other_link("log", "rate ratios", "odds_ratios()")
        return self.inference().ratios(per, level, simultaneous=simultaneous)

    def _refuse_other_link(self: Any, link: str, what: str, other: str) -> None:
        own = self._scale_of(0).link
        if own == link:
            return
        model = {"logit": "a logistic", "log": "a Poisson"}[link]
        hint = f"See {other}." if own in ("logit", "log") else "See effects()."
        raise InvalidParameter(
            what, f"asked of {model} regression", type(self).__name__, hint
        )

    def effects(
        self,
        per: Amount | Mapping[str, float] = "range",
        level: float | None = None,
        *,
        simultaneous: bool = False,
        label: Any = None,
    ) -> IntervalTable:
        """Return effects of comparable amounts of every number.

        ``per`` is "unit", "range" (the column's, as declared or bought), "deviation"
        (about one, from public facts), or an amount by column, as {"age": 10}.
        """
        return self.inference(label).effects(per, level, simultaneous=simultaneous)

    def marginal_effects(
        self: Any, X: Any = None, level: float | None = None, *, label: Any = None
    ) -> IntervalTable:
        """Return how the mean changes with each column, on average over some rows.

        Of a number per unit, of a level or of yes against what the summary compares it
        with. Without ``X`` the row has all numbers in the middle of their ranges. With
        rows of the private table the result is about those rows, and not private.
        """
        asked, schema = self.inference(label), self.schema_
        if schema is not None and has_terms(schema.effects):
            raise InvalidParameter(
                "marginal effects",
                "asked of a model of columns alone, without interactions and curves",
                list(schema.terms),
                "Compare mean_intervals of rows that differ in one column instead.",
            )
        if X is None and schema is None:
            raise InvalidParameter(
                "X", "given for a model without a schema: rows to average over", None
            )
        rows, constant = self._middle_row(), self._origin()
        if X is not None:
            rows, constant = self._directions(X, asked)
        return marginal_effects(asked, self._steps(asked), rows, constant, level)

    def mean_intervals(
        self: Any, X: Any, level: float | None = None, *, label: Any = None
    ) -> MeanTable:
        """Return the expected target, or the probability, of rows with intervals."""
        asked = self.inference(label)
        rows, constant = self._directions(X, asked)
        return mean_intervals(asked, rows, constant, level)

    def prediction_intervals(self: Any, X: Any, level: float | None = None) -> MeanTable:
        """Return between which numbers a new target of every row is expected to lie."""
        asked = self.inference()
        rows, constant = self._directions(X, asked)
        return prediction_intervals(asked, rows, constant, level)

    def compare(
        self: Any,
        smaller: Any = None,
        *,
        without: str | Sequence[str] = (),
        label: Any = None,
    ) -> WaldTest:
        """Compare this model with one that leaves columns out, by a Wald test.

        The columns are those ``without``, or those that a ``smaller`` model or schema does
        not have. Their coefficients in this model are tested to be 0: the smaller one need
        not be fitted, so that one charge pays for any number of comparisons.
        """
        names = [without] if isinstance(without, str) else list(without)
        if (smaller is None) == (not names):
            raise InvalidParameter(
                "compare", "given a smaller model, or columns that it is without", smaller
            )
        if smaller is not None:
            names = self._left_out(smaller)
        return self.inference(label).wald_test(names)

    def _left_out(self: Any, smaller: Any) -> list[str]:
        own, other = self.schema_, getattr(smaller, "schema", smaller)
        if own is None or not isinstance(other, Schema):
            must = "a model with a schema, or a schema, as this model has one"
            raise InvalidParameter("smaller model", must, type(smaller).__name__)
        mine = [effect.name for effect in own.effects]
        theirs = [effect.name for effect in other.effects]
        strange = [name for name in theirs if name not in mine]
        left = [name for name in mine if name not in theirs]
        if strange or not left or other.target.column != own.target.column:
            must = f"of the same target {own.target.column!r}, with some of {mine}"
            raise InvalidParameter("columns of the smaller model", must, theirs)
        return left

    def with_reference(self: Any, **levels: Any) -> Any:
        """Return the model with levels shown against others: region="north".

        A level of None stands for the average. The release is the same.
        """
        if self.schema is None:
            must = "that of a model with a schema"
            raise InvalidParameter("reference", must, levels)
        columns = {column.name: column for column in self.schema.columns}
        for name, level in levels.items():
            if name not in columns or not hasattr(columns[name], "reference"):
                known = [n for n, one in columns.items() if hasattr(one, "reference")]
                hint = did_you_mean(name, known)
                raise InvalidParameter("reference", f"of one of {known}", name, hint)
            named = {str(one): one for one in columns[name].possible}
            columns[name] = replace(columns[name], reference=named.get(str(level), level))
        again = copy(self)
        again.schema = replace(self.schema, columns=tuple(columns.values()))
        again._set_coefficients(again.release_.value)  # noqa: SLF001
        return again

    def _origin(self: Any) -> float:
        return float(self._units(self.schema_)[1])

    def _directions(self: Any, X: Any, asked: Inference) -> tuple[Array, Array]:
        """Return rows as directions of the coefficients, and what else they add to.

        They are bounded as predictions are. The rest is what the predictor of a row is
        more: an origin, and an offset where there is one.
        """
        rows = self._design(X)
        place = self._place_of(asked)
        return rows, self._margins(X)[:, place] - rows @ asked.released

    def _place_of(self: Any, asked: Inference) -> int:
        table = np.atleast_2d(self.release_.value)
        return int(np.argmin(np.abs(table - asked.released).sum(axis=1)))

    def _design(self: Any, X: Any) -> Array:
        """Return rows as directions of the coefficients."""
        schema, bounding = self.schema_, self._bounding
        if schema is not None:
            rows = schema.design(read_table(X, schema, target=False))
        else:
            check = partial(validate_data, self, reset=False)
            features = read_features(X, schema, check)
            nothing = np.zeros(features.shape[0])
            closed = bounding.enclose(features, nothing, constant=False)
            each = np.eye(features.shape[1])
            rows = np.concatenate(
                [
                    np.column_stack([block.margin(one) for one in each])
                    for block in closed.blocks(0, closed.count)
                ]
            )
        unit = self._units(schema)[0]
        if not self.fit_intercept:
            return np.asarray(unit * rows)
        constant = np.full((len(rows), 1), bounding.height)
        return np.asarray(unit * np.hstack([rows, constant]))

    def _middle_row(self: Any) -> Array:
        """Return the row in the middle of all ranges, its levels as in the baselines."""
        schema = self.schema_
        if schema is None:
            return np.zeros((1, self.release_.value.shape[-1]))
        parts = [
            column.baseline if column.coded else np.zeros(len(column.features))
            for column in schema.columns
        ]
        row = np.concatenate(parts) * schema.weights
        unit, height = self._units(schema)[0], self._bounding.height
        last = [height] if self.fit_intercept else []
        return np.asarray(unit * np.append(row, last))[None, :]

    def _steps(self: Any, asked: Inference) -> tuple[MarginalStep, ...]:
        """Return the step of every line, the intercept and missing values aside."""
        schema, found = self.schema_, []
        unit, start = self._units(schema)[0], 0
        for number, term in enumerate(asked.terms.terms):
            column = None if schema is None else schema.columns[number]
            size = 1 if column is None else len(column.features)
            places = tuple(range(start, start + size))
            base = None
            if column is not None:
                weights = unit * schema.weights[list(places)]
                if column.coded and size > 1:
                    base = weights * column.baseline
                elif column.coded:
                    base = np.zeros(1)
                elif column.possible:
                    base = -weights
            for place in term.lines:
                line = asked.matrix[place]
                if not asked.law.is_absent(line[None, :])[0]:
                    found.append(MarginalStep(asked.lines[place], line, places, base))
            start += size
        return tuple(found)


def _are_sums(names: Sequence[str], asked: Inference) -> bool:
    """Whether names are contrasts: lines, or with a sign or a factor in between."""
    known = {*asked.lines, *(zero for term in asked.terms.terms for zero in term.zero)}
    return all(name in known or any(sign in name for sign in " *+") for name in names)
