"""Inference methods of fitted models, all at no privacy cost."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from confide.data import Schema
from confide.errors import Described, InvalidParameter, did_you_mean
from confide.estimators._summary import coefficient_lines, row_facts
from confide.estimators._table_lines import table_lines, term_name
from confide.inference import (
    Amount,
    Coefficient,
    CoefficientLaw,
    Contrast,
    EffectScale,
    Inference,
    IntervalTable,
    WaldTest,
)
from confide.inference.terms import as_contrasts
from confide.reporting.effect_scale import Link


class InferenceMethods:
    """Standard errors, tests, contrasts, ratios and effects of a fitted model.

    All results are post-processing of the release: they cost no budget and use no rows.
    If a model has several sets of coefficients, ``label`` selects the class.
    """

    def inference(self: Any, label: Any = None) -> Inference:
        """Return an `Inference` object for one set of released coefficients.

        Parameters
        ----------
        label : object, optional
            Class whose coefficients are used, if the model has several sets.

        Returns
        -------
        Inference
            Standard errors, tests, contrasts and ratios of these coefficients.

        Raises
        ------
        InvalidParameter
            The model was fitted without intervals.
        """
        check_is_fitted(self, "release_")
        if self.release_.intervals is None:
            raise InvalidParameter(
                "this model",
                "fitted with intervals: standard errors, tests and contrasts come from "
                "the same release",
                Described("one without"),
                "Fit with intervals=True, or a share of the budget such as 0.2.",
            )
        return self._inference_at(self._coding_of(label))

    def _inference_at(self: Any, place: int) -> Inference:
        """Return the `Inference` object for one set of coefficients, by index."""
        kept = self.release_.intervals
        value = np.atleast_2d(self.release_.value)[place]
        display = self._display()
        law = CoefficientLaw.of(kept, value, place)
        return Inference(
            law,
            table_lines(self.schema_, display),
            np.asarray(display.matrix),
            display.constant,
            value,
            self._scale_of(place),
            kept.level,
            kept.of,
            self._residual_dispersion(law),
        )

    def _residual_dispersion(self: Any, law: CoefficientLaw) -> float | None:
        """Return the residual dispersion on the scale of the target, or None if unknown."""
        if law.plain is None or law.plain.dispersion is None:
            return None
        return self._dispersion_in_units(law.plain.dispersion)

    def _link(self) -> Link:
        """Return the link function of the model."""
        return "none"

    def _dispersion_in_units(self, ratio: float) -> float:
        """Convert a dispersion from the scale of the objective to that of the target."""
        return ratio

    def _scale_of(self: Any, place: int) -> EffectScale:
        """Return the scale of effects for one set of coefficients: link, target, unit."""
        schema, classes = self.schema_, list(getattr(self, "classes_", ()))
        outcome = ""
        if classes:
            outcome = str(classes[1] if len(classes) == 2 else classes[place])
        if schema is None:
            return EffectScale(self._link(), outcome=outcome)
        target = schema.target
        return EffectScale(self._link(), target.column, outcome, target.unit or "")

    def _coding_of(self: Any, label: Any) -> int:
        """Return the index of the set of coefficients for a class label."""
        count = len(np.atleast_2d(self.release_.value))
        labels = np.asarray(getattr(self, "classes_", ())).tolist()
        if count == 1:
            if label is not None and label not in labels:
                must = (
                    f"one of {labels}" if labels else "left out: the target has no labels"
                )
                raise InvalidParameter("label", must, label)
            return 0
        labels = labels or list(range(count))
        if label not in labels:
            raise InvalidParameter(
                "label", f"one of {labels}: every class has its own coefficients", label
            )
        return labels.index(label)

    def _lines(self: Any) -> tuple[Coefficient, ...]:
        """Return the displayed coefficients of all sets, with intervals if released."""
        count = len(np.atleast_2d(self.release_.value))
        labels, kept = self._row_labels(count), self.release_.intervals
        if kept is None or kept.variant == "published":
            display = self._display()
            spans = table_lines(self.schema_, display).spans
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
        """Return the ratios and tests of a model with a single set of coefficients."""
        kept, several = self.release_.intervals, np.ndim(self.release_.value) > 1
        if kept is None or kept.variant == "published" or several:
            return None, ()
        asked = self._inference_at(0)
        ratios = asked.ratios("range") if asked.scale.ratio else None
        return ratios, () if self.schema_ is None else asked.tests()

    def covariance(self, *, label: Any = None) -> pd.DataFrame:
        """Return the covariance matrix of the coefficients in the summary.

        Parameters
        ----------
        label : object, optional
            Class whose coefficients are used, if the model has several sets.

        Returns
        -------
        pandas.DataFrame
            Covariances from sampling error and privacy noise; NaN if not identified.
        """
        asked = self.inference(label)
        names = list(asked.shown_names)
        return pd.DataFrame(asked.covariance(), index=names, columns=names)

    def standard_errors(self, *, label: Any = None) -> pd.Series:
        """Return the standard errors of the coefficients in the summary.

        Parameters
        ----------
        label : object, optional
            Class whose coefficients are used, if the model has several sets.

        Returns
        -------
        pandas.Series
            Standard errors by coefficient; NaN if a coefficient is not identified.
        """
        square = np.diag(self.covariance(label=label))
        names = list(self.inference(label).shown_names)
        return pd.Series(np.sqrt(square), index=names)

    def confidence_intervals(
        self, level: float | None = None, *, simultaneous: bool = False, label: Any = None
    ) -> IntervalTable:
        """Return the coefficients with confidence intervals.

        Parameters
        ----------
        level : float, optional
            Confidence level; by default that of the fit.
        simultaneous : bool, default=False
            Whether the level holds for all intervals jointly, which makes them longer. The
            intercept is then left out.
        label : object, optional
            Class whose coefficients are used, if the model has several sets.

        Returns
        -------
        IntervalTable
            One row per coefficient.

        Examples
        --------
        >>> import numpy as np
        >>> from confide import Approx, LinearRegression
        >>> X = np.linspace(-1, 1, 5000)[:, None]
        >>> y = X[:, 0] + np.sin(np.arange(5000)) / 2
        >>> model = LinearRegression(
        ...     Approx(1, 1e-6), row_norm=1, target_bound=2, intervals=True, random_state=0
        ... ).fit(X, y)
        >>> wide = model.confidence_intervals(0.99)["x0"]
        >>> usual = model.confidence_intervals(0.95)["x0"]
        >>> round((wide.upper - wide.lower) / (usual.upper - usual.lower), 1)
        1.3

        From the same release, a 99 % interval is 1.3 times as long as a 95 % interval.
        """
        return self.inference(label).coefficients(level, simultaneous=simultaneous)

    def wald_test(
        self: Any, of: Contrast | Sequence[Contrast], *, label: Any = None
    ) -> WaldTest:
        """Test the hypothesis that several coefficients or contrasts are all 0.

        Parameters
        ----------
        of : str, mapping or sequence of them
            Columns, all of whose coefficients are tested, or contrasts as in `contrast`.
        label : object, optional
            Class whose coefficients are used, if the model has several sets.

        Returns
        -------
        WaldTest
            Statistic, degrees of freedom and p value, which account for privacy noise.
        """
        asked = self.inference(label)
        several = tuple(term_name(self.schema_, one) for one in as_contrasts(of))
        names = [one for one in several if isinstance(one, str)]
        columns = [term.name for term in asked.terms.terms]
        if len(names) == len(several) and (
            all(name in columns for name in names) or not _are_sums(names, asked)
        ):
            return asked.wald_test(names)
        return asked.joint_contrast_test(several)

    def contrast(
        self,
        contrasts: Contrast | Sequence[Contrast],
        level: float | None = None,
        *,
        simultaneous: bool = False,
        label: Any = None,
    ) -> IntervalTable:
        """Estimate linear combinations of coefficients, with intervals.

        Parameters
        ----------
        contrasts : str, mapping or sequence of them
            Text such as "region=north - region=south", or weights by coefficient name.
        level : float, optional
            Confidence level; by default that of the fit.
        simultaneous : bool, default=False
            Whether the level holds for all intervals jointly.
        label : object, optional
            Class whose coefficients are used, if the model has several sets.

        Returns
        -------
        IntervalTable
            One row per contrast.
        """
        asked = self.inference(label)
        return asked.contrast(contrasts, level, simultaneous=simultaneous)

    def odds_ratios(
        self: Any,
        per: Amount | Mapping[str, float] = "unit",
        level: float | None = None,
        *,
        simultaneous: bool = False,
        label: Any = None,
    ) -> IntervalTable:
        """Return odds ratios with intervals.

        Parameters
        ----------
        per : {"unit", "range", "deviation"} or mapping, default="unit"
            Change in a numeric column to which its ratio refers, as in `effects`.
        level : float, optional
            Confidence level; by default that of the fit.
        simultaneous : bool, default=False
            Whether the level holds for all intervals jointly.
        label : object, optional
            Class whose coefficients are used, if the model has several sets.

        Returns
        -------
        IntervalTable
            One row per coefficient except the intercept. A ratio of 1 means no effect.

        Raises
        ------
        InvalidParameter
            The model is not a binary or one-vs-rest logistic regression.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from confide import Approx, Boolean, LogisticRegression, Schema, Target
        >>> order = np.arange(6000)
        >>> people = pd.DataFrame({"smoker": order % 2 == 0})
        >>> people["ill"] = np.where(order // 2 % 4 < 1 + people["smoker"], "yes", "no")
        >>> schema = Schema([Boolean("smoker")], Target("ill", labels=("no", "yes")))
        >>> model = LogisticRegression(
        ...     Approx(1, 1e-6), schema=schema, intervals=True, random_state=0
        ... ).fit(people)
        >>> round(model.odds_ratios()["smoker"].estimate)
        3

        Half of the smokers and a quarter of the others are ill: the odds are 1 and 1/3.
        """
        self._refuse_other_link("logit", "odds ratios", "rate_ratios()")
        return self.inference(label).ratios(per, level, simultaneous=simultaneous)

    def rate_ratios(
        self: Any,
        per: Amount | Mapping[str, float] = "unit",
        level: float | None = None,
        *,
        simultaneous: bool = False,
    ) -> IntervalTable:
        """Return rate ratios, by which the expected count is multiplied, with intervals.

        Parameters
        ----------
        per : {"unit", "range", "deviation"} or mapping, default="unit"
            Change in a numeric column to which its ratio refers, as in `effects`.
        level : float, optional
            Confidence level; by default that of the fit.
        simultaneous : bool, default=False
            Whether the level holds for all intervals jointly.

        Returns
        -------
        IntervalTable
            One row per coefficient except the intercept. A ratio of 1 means no effect.

        Raises
        ------
        InvalidParameter
            The model is not a Poisson regression.
        """
        self._refuse_other_link("log", "rate ratios", "odds_ratios()")
        return self.inference().ratios(per, level, simultaneous=simultaneous)

    def _refuse_other_link(self: Any, link: str, what: str, other: str) -> None:
        own = self._scale_of(0).link
        if own == link:
            return
        model = {"logit": "a logistic", "log": "a Poisson"}[link]
        hint = f"See {other}." if own in ("logit", "log") else "See effects()."
        name = type(self).__name__
        if own == "softmax":
            name = "a multinomial model of three or more classes"
            hint = "Fit it with multi_class='one-vs-rest', or see effects()."
        raise InvalidParameter(what, f"requested from {model} regression", name, hint)

    def effects(
        self,
        per: Amount | Mapping[str, float] = "range",
        level: float | None = None,
        *,
        simultaneous: bool = False,
        label: Any = None,
    ) -> IntervalTable:
        """Return the effects of comparable changes in all columns, with intervals.

        Parameters
        ----------
        per : {"range", "unit", "deviation"} or mapping, default="range"
            Change in a numeric column: its range, one unit, about a standard deviation
            (from public information), or the amount in a mapping such as {"age": 10}.
        level : float, optional
            Confidence level; by default that of the fit.
        simultaneous : bool, default=False
            Whether the level holds for all intervals jointly.
        label : object, optional
            Class whose coefficients are used, if the model has several sets.

        Returns
        -------
        IntervalTable
            One row per coefficient except the intercept.
        """
        return self.inference(label).effects(per, level, simultaneous=simultaneous)

    def compare(
        self: Any,
        smaller: Any = None,
        *,
        without: str | Sequence[str] = (),
        label: Any = None,
    ) -> WaldTest:
        """Compare this model with a smaller one, by a Wald test.

        The hypothesis is that the coefficients of the omitted columns are 0 in this model.
        The smaller model need not be fitted, so comparisons cost no budget.

        Parameters
        ----------
        smaller : estimator or Schema, optional
            A model with the same target and fewer columns, or its schema.
        without : str or sequence of str, default=()
            Columns to leave out, if ``smaller`` is not given.
        label : object, optional
            Class whose coefficients are used, if the model has several sets.

        Returns
        -------
        WaldTest
            A small p value is evidence that the columns are needed.
        """
        names = [without] if isinstance(without, str) else list(without or ())
        if (smaller is None) == (not names):
            raise InvalidParameter(
                "compare",
                "given either a smaller model or without=[...] (the columns to leave out), "
                "not both",
                Described("neither" if smaller is None else "both"),
            )
        if smaller is not None:
            names = self._left_out(smaller)
        return self.inference(label).wald_test([term_name(self.schema_, n) for n in names])

    def _left_out(self: Any, smaller: Any) -> list[str]:
        own, other = self.schema_, getattr(smaller, "schema", smaller)
        if own is None:
            must, hint = "None for a model without a schema", "Use without=[...] instead."
            raise InvalidParameter("smaller", must, type(smaller).__name__, hint)
        if not isinstance(other, Schema):
            must = "a Schema, or a model that was fitted with one"
            raise InvalidParameter("smaller", must, type(smaller).__name__)
        mine = [effect.name for effect in own.effects]
        theirs = [effect.name for effect in other.effects]
        strange = [name for name in theirs if name not in mine]
        left = [name for name in mine if name not in theirs]
        if other.target.column != own.target.column:
            must = f"the same as in this model, {own.target.column!r}"
            raise InvalidParameter("target of the smaller model", must, other.target.column)
        if strange or not left:
            must = f"some of {mine}, but not all"
            raise InvalidParameter("columns of the smaller model", must, theirs)
        return left

    def with_reference(self: Any, **levels: Any) -> Any:
        """Return the model with other reference levels for its categorical columns.

        Parameters
        ----------
        **levels : str or None
            New reference level by column, as in ``region="north"``; None for the average.

        Returns
        -------
        estimator
            A copy that reports the same release relative to the new levels, at no cost.
        """
        if self.schema is None:
            must = "left out for a model without a schema"
            raise InvalidParameter("reference", must, levels)
        columns = {column.name: column for column in self.schema.columns}
        used = {column.name for column in self.schema.predictors}
        for name, level in levels.items():
            if name not in used or not hasattr(columns[name], "reference"):
                known = [
                    n for n in columns if n in used and hasattr(columns[n], "reference")
                ]
                hint = did_you_mean(name, known)
                must = f"for one of {known}" if known else "left out: there is no category"
                raise InvalidParameter("reference", must, name, hint)
            named = {str(one): one for one in columns[name].possible}
            columns[name] = replace(columns[name], reference=named.get(str(level), level))
        again = copy(self)
        again.schema = replace(self.schema, columns=tuple(columns.values()))
        again._set_coefficients(again.release_.value)  # noqa: SLF001
        return again


def _are_sums(names: Sequence[str], asked: Inference) -> bool:
    """Whether every text is the name of a coefficient or contains an operator."""
    known = {*asked.lines, *(zero for term in asked.terms.terms for zero in term.zero)}
    return all(name in known or any(sign in name for sign in " *+") for name in names)
