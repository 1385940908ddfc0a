"""Base class of the regressors: a numeric target in a public range."""

from typing import Any

from sklearn.base import RegressorMixin

from confide._types import Array
from confide.data import Schema
from confide.errors import MissingPublicBound
from confide.estimators._base import PrivateLinearModel


class PrivateRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """Base class of regressors, whose targets are clamped to a public range."""

    target_bound: float | None
    slope_bound: float | None
    coef_norm: float | None

    def _ends(self, schema: Schema | None) -> tuple[float, float]:
        """Return the lower and the upper end of the range of the target."""
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
        """Return whether the range of the target may be estimated.

        This needs a schema, and no bound may be given in the unit of the target.
        """
        bounds = (self.target_bound, self.slope_bound, self.coef_norm)
        return schema is not None and all(bound is None for bound in bounds)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the R² of the predictions. This is NOT private: see `private_score`.

        Parameters
        ----------
        X : table or array
            Rows to predict. With a schema, a data frame, which may include the target.
        y : array, optional
            True values; by default the target column of ``X``, as named by the schema.
        sample_weight : array, optional
            Weights of the rows.

        Returns
        -------
        float
            R², at most 1. Rows with a missing target are left out.
        """
        rows, known = self._with_target(X, y)
        return float(super().score(rows, known, sample_weight))

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, holdout: Any = None
    ) -> Any:
        """Fit the model privately.

        All checks are made first, then the ledger is charged. Only after that are rows
        summed and noise is drawn.

        Parameters
        ----------
        X : table, path or array
            With a schema: a data frame, one or several CSV or Parquet files, or a Dask
            collection, including the target column. Without a schema: an array or data
            frame of features.
        y : array or str, optional
            Target, or the name of its column in a table without a schema. Omit it with a
            schema.
        sample_weight : array, optional
            Weight of each record, from 0 to ``weight_cap``. For arrays only; a schema
            declares a column of weights instead.
        holdout : float or Holdout, optional
            Share of rows to hold out, for example 0.2. The rows are chosen by secret random
            bits. `holdout_score_` is then the score of the model on the held-out rows. The
            budget covers both fit and score.

        Returns
        -------
        LinearRegression or PoissonRegression
            The fitted model itself.

        Raises
        ------
        InvalidParameter
            A setting is invalid.
        MissingPublicBound
            A bound was not declared, and must not be taken from the rows.
        InvalidData
            The table does not match the schema, or cannot be read.
        BudgetExceeded
            The budget left in the ledger is too small. Nothing was spent.
        """
        return self._fit(X, y, sample_weight, holdout)

    def _set_coefficients(self, value: Array) -> None:
        super()._set_coefficients(value)
        self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]
