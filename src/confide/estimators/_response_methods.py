"""Means, predictions and marginal effects of a fitted model, with intervals."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from confide._types import Array
from confide.data import read_table
from confide.data.schema.effect_moments import has_terms
from confide.errors import InvalidParameter
from confide.estimators._validate import read_features
from confide.inference import (
    Inference,
    IntervalTable,
    MarginalStep,
    MeanTable,
    marginal_effects,
    mean_intervals,
    prediction_intervals,
)


class ResponseMethods:
    """Expected targets, predictions and average effects of a fitted model.

    All results are computed from the release, so they cost no budget.
    """

    def marginal_effects(
        self: Any, X: Any = None, level: float | None = None, *, label: Any = None
    ) -> IntervalTable:
        """Return the average marginal effect of each column on the expected target.

        The effect of a numeric column is per unit. The effect of a level or of a Boolean
        column is relative to the same reference as in the summary.

        Parameters
        ----------
        X : table or array, optional
            Rows to average over; by default one row, with every number in the middle of its
            range and every category at its reference. With rows of the private table, the
            result is NOT private.
        level : float, optional
            Confidence level; by default that of the fit.
        label : object, optional
            Class whose coefficients are used, if the model has several sets.

        Returns
        -------
        IntervalTable
            Changes in the probability, expected count or mean, with intervals.
        """
        asked, schema = self.inference(label), self.schema_
        if schema is not None and has_terms(schema.effects):
            raise InvalidParameter(
                "marginal effects",
                "requested from a model without interactions or splines",
                list(schema.terms),
                "Compare mean_intervals of rows that differ in one column.",
            )
        if X is None and schema is None:
            raise InvalidParameter(
                "X", "given, as rows to average over, for a model without a schema", None
            )
        rows, constant = self._middle_row(), self._origin()
        if X is not None:
            rows, constant = self._directions(X, asked)
        return marginal_effects(asked, self._steps(asked), rows, constant, level)

    def mean_intervals(
        self: Any, X: Any, level: float | None = None, *, label: Any = None
    ) -> MeanTable:
        """Estimate the expected target or class probability of every row, with intervals.

        Parameters
        ----------
        X : table or array
            Public or hypothetical rows.
        level : float, optional
            Confidence level; by default that of the fit.
        label : object, optional
            Class whose probability is estimated, if the model has several sets of
            coefficients.

        Returns
        -------
        MeanTable
            One estimate per row, with the ends of its interval.

        Examples
        --------
        >>> import numpy as np
        >>> from confide import Approx, LinearRegression
        >>> X = np.linspace(-1, 1, 5000)[:, None]
        >>> y = X[:, 0] + np.sin(np.arange(5000)) / 2
        >>> model = LinearRegression(
        ...     Approx(1, 1e-6), row_norm=1, target_bound=2, intervals=True, random_state=0
        ... ).fit(X, y)
        >>> found = model.mean_intervals([[0.5]])
        >>> found.estimate.round(1), found.lower < 0.5, 0.5 < found.upper
        (array([0.5]), array([ True]), array([ True]))

        The mean at 0.5 is 0.5, and the interval contains it.
        """
        asked = self.inference(label)
        rows, constant = self._directions(X, asked)
        return mean_intervals(asked, rows, constant, level)

    def prediction_intervals(self: Any, X: Any, level: float | None = None) -> MeanTable:
        """Return a prediction interval for a new target value at each row.

        They are longer than those of `mean_intervals`, because they include the variation
        of the target around its mean.

        Parameters
        ----------
        X : table or array
            Public or hypothetical rows.
        level : float, optional
            Probability that an interval contains the new target; by default the level of
            the fit.

        Returns
        -------
        MeanTable
            One prediction per row, with the ends of its interval.
        """
        asked = self.inference()
        rows, constant = self._directions(X, asked)
        return prediction_intervals(asked, rows, constant, level)

    def _origin(self: Any) -> float:
        return float(self._units(self.schema_)[1])

    def _directions(self: Any, X: Any, asked: Inference) -> tuple[Array, Array]:
        """Return the design rows of ``X``, and the constant term of each linear predictor.

        Rows are bounded as for predictions. The linear predictor is the product of the
        design row and the released coefficients, plus the origin and any offset.
        """
        rows = self._design(X)
        place = self._place_of(asked)
        return rows, self._margins(X)[:, place] - rows @ asked.released

    def _place_of(self: Any, asked: Inference) -> int:
        table = np.atleast_2d(self.release_.value)
        return int(np.argmin(np.abs(table - asked.released).sum(axis=1)))

    def _design(self: Any, X: Any) -> Array:
        """Return the design matrix of ``X``, in the user's unit of the linear predictor."""
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
        """Return a design row with numbers in mid-range and categories at the baseline."""
        schema = self.schema_
        if schema is None:
            return np.zeros((1, self.release_.value.shape[-1]))
        parts = [
            column.baseline if column.coded else np.zeros(len(column.features))
            for column in schema.effects
        ]
        row = np.concatenate(parts) * schema.weights
        unit, height = self._units(schema)[0], self._bounding.height
        last = [height] if self.fit_intercept else []
        return np.asarray(unit * np.append(row, last))[None, :]

    def _steps(self: Any, asked: Inference) -> tuple[MarginalStep, ...]:
        """Return the changes of a row for marginal effects, without impossible changes."""
        schema, found = self.schema_, []
        unit, start = self._units(schema)[0], 0
        for number, term in enumerate(asked.terms.terms):
            column = None if schema is None else schema.effects[number]
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
