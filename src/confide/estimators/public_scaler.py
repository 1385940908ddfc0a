"""Scaling of array columns by public limits, as the first step of a pipeline."""

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from confide._types import AnyArray, Array
from confide.errors import InvalidParameter


class PublicScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transformer that scales every column of an array to [−1, 1] by public limits.

    The StandardScaler of scikit-learn is not private: it uses the means and standard
    deviations of all rows, so every scaled row depends on all others. This transformer
    scales each row separately, and ``fit`` learns only the number of columns. A missing
    value becomes 0, the middle of the range.

    Parameters
    ----------
    lower : float or sequence of float, default=-1.0
        Public lower limit: one number, or one per column. Smaller values are clamped.
    upper : float or sequence of float, default=1.0
        Public upper limit: one number, or one per column. Larger values are clamped.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    row_norm : float
        Largest possible norm of a scaled row, to be passed to the model that follows.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from confide import LogisticRegression, Pure, PublicScaler
    >>> scaler = PublicScaler(lower=[18, 0], upper=[90, 200_000])
    >>> scaler.fit_transform([[54, 0], [90, 250_000]])
    array([[ 0., -1.],
           [ 1.,  1.]])

    An age of 54 is the middle of its range, and an income of 250,000 is clamped.

    >>> model = make_pipeline(scaler, LogisticRegression(Pure(1), row_norm=2**0.5))
    """

    def __init__(self, lower: Any = -1.0, upper: Any = 1.0) -> None:
        self.lower = lower
        self.upper = upper

    def fit(self, X: Any, y: Any = None) -> "PublicScaler":
        """Check the limits, and store the number of columns.

        Parameters
        ----------
        X : array
            Rows.
        y : None
            Not used.

        Returns
        -------
        PublicScaler
            The scaler itself.
        """
        validate_data(self, X, dtype=np.float64, ensure_all_finite=False)
        self._limits()
        return self

    def transform(self, X: Any) -> Array:
        """Scale rows to [−1, 1] by the public limits.

        Parameters
        ----------
        X : array
            Rows.

        Returns
        -------
        ndarray
            Scaled values, from −1 at the lower limit to 1 at the upper limit.
        """
        check_is_fitted(self)
        values = validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite=False
        )
        lower, upper = self._limits()
        middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
        with np.errstate(over="ignore"):
            scaled = (np.clip(values, lower, upper) - middle) / half
        return np.asarray(np.clip(np.nan_to_num(scaled, nan=0.0), -1.0, 1.0))

    @property
    def row_norm(self) -> float:
        """Largest possible Euclidean norm of a scaled row."""
        check_is_fitted(self)
        return math.sqrt(self.n_features_in_)

    def _limits(self) -> tuple[AnyArray, AnyArray]:
        """Return the lower and upper limits of all columns, after a check."""
        width = self.n_features_in_
        try:
            pair = [
                np.broadcast_to(np.asarray(limit, dtype=np.float64), width)
                for limit in (self.lower, self.upper)
            ]
        except (TypeError, ValueError):
            pair = [np.full(width, np.nan)] * 2
        lower, upper = pair
        if not (np.isfinite(upper - lower).all() and (lower < upper).all()):
            raise InvalidParameter(
                "lower and upper",
                f"finite numbers, lower below upper: one pair, or one for each of {width} "
                "columns",
                (self.lower, self.upper),
                "Use limits that are known without looking at the table.",
            )
        return lower, upper

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
