"""From what a user passes to numbers that a mechanism can bound.

Errors raised here speak of shapes, types and columns, never of a value in a record.
"""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import column_or_1d, validate_data

from confide._types import AnyArray, Array
from confide.data import Schema
from confide.data.columns import level_codes
from confide.errors import InvalidData, InvalidParameter


def read_features(estimator: Any, X: Any, schema: Schema | None, *, reset: bool) -> Any:
    """Return a float matrix, dense or CSR, from an array or a table."""
    if schema is not None:
        if not hasattr(X, "columns"):
            raise InvalidData(
                "with a schema the data must be a table with named columns; "
                "pass a DataFrame."
            )
        matrix = schema.design(X)
        if reset:
            estimator.n_features_in_ = matrix.shape[1]
        return matrix
    _refuse_text_columns(X)
    try:
        return validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
        )
    except (ValueError, OverflowError) as error:
        text = str(error)
        if "could not convert" in text or isinstance(error, OverflowError):
            text = "X must hold numbers; some entry is not one, or is too large."
        raise InvalidData(text) from None


def read_target(y: Any, count: int) -> AnyArray:
    """Return a one-dimensional target of the right length."""
    if y is None:
        raise InvalidData("requires y to be passed, but the target y is None.")
    try:
        column = column_or_1d(y, warn=True)
    except ValueError as error:
        raise InvalidData(str(error)) from None
    if len(column) != count:
        raise InvalidData(
            "X and y must have the same number of rows: inconsistent numbers of samples."
        )
    return np.asarray(column)


def read_numbers(y: Any, count: int) -> Array:
    """Return a target of finite numbers."""
    column = read_target(y, count)
    if np.iscomplexobj(column):
        raise InvalidData("Complex data not supported: y must hold real numbers.")
    try:
        numbers = column.astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        raise InvalidData("y must hold numbers; some entry is not one.") from None
    if not np.isfinite(numbers).all():
        raise InvalidData("y must hold finite numbers; it contains NaN or infinity.")
    return numbers


def read_labels(y: Any, count: int, classes: Any) -> tuple[AnyArray, AnyArray]:
    """Return the classes and each row's position among them, −1 for none.

    Undeclared classes are read off y, in which case the caller must say so.
    """
    column = read_target(y, count)
    if classes is not None:
        known = np.asarray(classes)
        if known.ndim != 1 or len(known) < 2 or len(set(known.tolist())) < len(known):
            raise InvalidParameter("classes", "a list of two or more labels", classes)
        return known, level_codes(column, tuple(known.tolist()))
    if column.dtype.kind == "f":
        if not np.isfinite(column).all():
            raise InvalidData("y must hold finite labels; it contains NaN or infinity.")
        if (column != np.floor(column)).any():
            raise InvalidData(
                "Unknown label type: continuous. y must hold class labels; "
                "use LinearRegression for numbers."
            )
    if pd.isna(column).any():
        raise InvalidData("y must hold a label in every row; some are missing.")
    try:
        known = np.sort(np.asarray(pd.unique(pd.Series(column))).astype(column.dtype))
    except TypeError:
        raise InvalidData("y must hold labels of one type; it mixes several.") from None
    if len(known) < 2:
        raise InvalidData(
            "y must hold at least two classes; it holds one class only. Declare the "
            "labels with classes= if the other is merely absent."
        )
    if len(known) == 2:
        return known, (column == known[1]).astype(np.intp)
    return known, np.searchsorted(known, column)


def _refuse_text_columns(X: Any) -> None:
    if not isinstance(X, pd.DataFrame):
        return
    text = [
        str(name)
        for name, kind in X.dtypes.items()
        if not (pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_object_dtype(kind))
    ]
    if text:
        raise InvalidData(
            f"columns {text} are not numbers. Declare them in a schema "
            "(schema=Schema(...)), which encodes categories by public levels."
        )
