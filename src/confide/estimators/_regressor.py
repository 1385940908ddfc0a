"""Common ground of the regressors: a numeric target in a public range."""

from typing import Any

from sklearn.base import RegressorMixin

from confide._types import Array
from confide.data import Schema
from confide.errors import MissingPublicBound
from confide.estimators._base import PrivateLinearModel


class PrivateRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """A numeric target within a public range; what lies outside is clamped to it."""

    target_bound: float | None
    slope_bound: float | None
    coef_norm: float | None

    def _ends(self, schema: Schema | None) -> tuple[float, float]:
        """Return the range of the target."""
        if self.target_bound is not None:
            return -float(self.target_bound), float(self.target_bound)
        ends = None if schema is None else schema.target.ends
        if ends is not None:
            return ends
        raise MissingPublicBound(
            f"{type(self).__name__} needs a public range of the target: set target_bound "
            "(targets beyond it are clamped), or declare lower and upper in the schema."
        )

    def _scales(self, schema: Schema | None) -> bool:
        """Whether no bound was given in the unit of the target."""
        bounds = (self.target_bound, self.slope_bound, self.coef_norm)
        return schema is not None and all(bound is None for bound in bounds)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the R² of predictions. It is NOT private: see `private_score`.

        Parameters
        ----------
        X : table or array
            Rows to predict. With a schema a data frame, which may hold the target.
        y : array, optional
            Known target; by default the column of ``X`` that the schema names.
        sample_weight : array, optional
            Weights of the rows.

        Returns
        -------
        float
            R², at most 1. Rows without a known target are left out.
        """
        rows, known = self._with_target(X, y)
        return float(super().score(rows, known, sample_weight))

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, holdout: Any = None
    ) -> Any:
        """Fit the model privately.

        Whatever must be rejected is rejected first; then the ledger is charged; only then
        are rows summed and noise is drawn.

        Parameters
        ----------
        X : table, path or array
            With a schema a data frame, a file of CSV or Parquet, several files, or a Dask
            collection, which holds the target; otherwise an array or data frame of
            features.
        y : array or str, optional
            Target, or the name of its column in a table without a schema. Absent with a
            schema.
        sample_weight : array, optional
            How much each record counts, from 0 to ``weight_cap``. For arrays; a schema
            declares a column of weights instead.
        holdout : float or Holdout, optional
            Share of rows to hold out, for example 0.2. A secret coin decides for every row.
            `holdout_score_` then says how good the model is on them, for the same budget.

        Returns
        -------
        LinearRegression or PoissonRegression
            The fitted model itself.

        Raises
        ------
        InvalidParameter
            A setting is wrong.
        MissingPublicBound
            A bound was not declared, and must not be read off the rows.
        InvalidData
            The table does not fit the schema, or cannot be read.
        BudgetExceeded
            The ledger has too little left. Nothing was spent.
        """
        return self._fit(X, y, sample_weight, holdout)

    def _set_coefficients(self, value: Array) -> None:
        super()._set_coefficients(value)
        self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]
