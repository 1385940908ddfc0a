"""Validation of user input, and its conversion to numbers that a mechanism can bound.

Error messages mention shapes, types and columns, but never a value in a record. They are
meant for the holder of the data, and the guarantee does not cover them.
"""

import numbers
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_object_dtype
from scipy import sparse
from sklearn.utils.validation import check_array, column_or_1d

from confide._types import AnyArray, Array
from confide.data import Schema
from confide.data.matrix.csr import as_csr
from confide.data.matrix.matrix import Matrix, as_matrix
from confide.data.schema.parse_values import (
    CodedText,
    as_cells,
    cells_as_numbers,
    check_levels,
    check_levels_of_type,
    level_codes,
    not_numbers,
)
from confide.errors import InvalidData, InvalidParameter


class NotNumbers(InvalidData, TypeError):
    """A table contains entries that are not numbers."""


LARGEST = 1e100
"""Public parameters must lie between this number and its reciprocal, to avoid overflow."""


def read_number(name: str, value: Any, do: str, *, zero: bool = False) -> float:
    """Return a public parameter as a float, or raise an error if it is extreme."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if real and (1 / LARGEST <= value <= LARGEST or (zero and value == 0)):
        return float(value)
    must = f"a number between {1 / LARGEST:g} and {LARGEST:g}"
    raise InvalidParameter(name, f"0 or {must}" if zero else must, value, do)


def check_count_is_public(schema: Schema | None) -> None:
    """Reject the replace-one relation if rows without a target are dropped."""
    if schema is not None and schema.target.missing == "drop":
        raise InvalidParameter(
            "neighbours",
            "'add-remove' when the schema drops rows without a target: under replace-one "
            "this mechanism treats the number of rows as public, but the number of rows "
            "with a target is private",
            "replace-one",
            "If that number is public after all, drop such rows before the fit and declare "
            "missing = 'refuse' for the target.",
        )


def refuse_empty(rows: int) -> None:
    """Raise an error if a table has no rows."""
    if not rows:
        raise InvalidData("the table must hold one row or more; it is empty.")


def read_features(X: Any, schema: Schema | None, check: Callable[..., Any]) -> Matrix:
    """Return the features of an array or sparse matrix, or the design matrix of a table.

    ``check`` is the scikit-learn function that validates arrays for an estimator.
    """
    if schema is not None:
        return schema.compact_design(X)
    return read_matrix(X, check)


def read_matrix(X: Any, check: Callable[..., Any] | None = None) -> Matrix:
    """Return a table of numbers as a matrix, validated by ``check`` or `check_array`."""
    _refuse_other_types(X)
    check = check or partial(check_array, ensure_min_samples=0)
    try:
        matrix = check(
            _as_numbers(as_cells(X)),
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
        )
        return as_matrix(matrix).without_duplicates()
    except InvalidData:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise _sanitise_sklearn_error(error) from None


def _as_numbers(X: Any) -> Any:
    """Convert entries of type object to numbers, and sparse matrices to CSR."""
    if sparse.issparse(X):
        return as_csr(X)
    if isinstance(X, pd.DataFrame):
        objects = [k for k, kind in enumerate(X.dtypes) if is_object_dtype(kind)]
        if not objects:
            return X
        X = X.copy(deep=False)
        for place in objects:
            X.isetitem(place, _numbers_of(X.iloc[:, place].to_numpy()))
        return X
    if isinstance(X, np.ndarray) and X.dtype == object:
        return _numbers_of(X)
    return X


def _numbers_of(cells: AnyArray) -> Array:
    read = cells_as_numbers(cells)
    if read is None:
        raise NotNumbers(_NO_NUMBER)
    return read


def read_target(y: Any, count: int, *, clamped: bool = False) -> AnyArray:
    """Return a one-dimensional target of the right length, without missing values.

    Infinite values are rejected, as in scikit-learn, unless they will be ``clamped``.
    """
    if y is None:
        raise InvalidData(
            "fit requires y to be passed, but the target y is None. Call fit(X, y), or "
            "fit(table) with a schema, which names the target."
        )
    _refuse_masked(y, "the target y")
    plain = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biuf"
    try:
        column = y if plain else np.asarray(column_or_1d(as_cells(y), warn=True))
        column = column.astype(object) if column.dtype.kind == "T" else column
    except (ValueError, TypeError):
        raise InvalidData(
            "the target y must be one dense column of real numbers or of labels: y "
            "should be a 1d array with an entry for every row of X."
        ) from None
    if len(column) != count:
        raise InvalidData(
            "X and the target y must have the same number of rows; they have inconsistent "
            "numbers of samples."
        )
    if column.dtype.kind in "mM":
        raise InvalidData(
            "the target y must hold numbers or labels; it holds dates or durations."
        )
    if column.dtype.kind == "f" and not clamped and np.isinf(column).any():
        raise _infinite_target()
    if column.dtype.kind not in "biu" and _has_missing(column):
        raise InvalidData(
            "the target y must be known in every row; it contains NaN or other missing "
            "values. Drop those rows."
        )
    return column


def read_numbers(y: Any, count: int, *, clamped: bool = False) -> Array:
    """Return a numeric target, which must be finite unless it will be ``clamped``."""
    column = read_target(y, count, clamped=clamped)
    numeric = column.dtype.kind in "biuf"
    with np.errstate(over="ignore"):
        target = column.astype(np.float64) if numeric else cells_as_numbers(column)
    if target is None or np.isnan(target).any():
        raise InvalidData(
            "the target y must hold numbers; an entry is not a number. Convert it first."
        )
    if not clamped and not np.isfinite(target).all():
        raise _infinite_target()
    return target


def _infinite_target() -> InvalidData:
    return InvalidData(
        "the target y must be finite in every row; it contains infinity, or a number that "
        "is too large for a double."
    )


def declared_classes(declared: Any) -> AnyArray:
    """Return public labels as an array, without turning numbers into text."""
    levels = check_levels("classes", declared, least=2)
    texts = sum(isinstance(level, str) for level in levels)
    if texts not in (0, len(levels)):
        raise InvalidParameter("classes", "labels of one type", list(levels))
    return np.asarray(levels)


def labels_in(y: Any, count: int) -> AnyArray:
    """Return the distinct labels of a target in sorted order.

    Labels are not protected by noise, so the caller must add the assumption that they are
    public.
    """
    column = _label_column(y, count)
    if count and column.dtype.kind in "iu":
        ends = np.array([column.min(), column.max()])
        if ((column == ends[1]) | (column == ends[0])).all():
            return ends if ends[0] < ends[1] else ends[:1]
    if column.dtype != object:
        return np.sort(np.asarray(pd.unique(pd.Series(column))).astype(column.dtype))
    try:
        labels = sorted({*column.tolist()})
    except TypeError:
        labels = [0, ""]
    texts = [label for label in labels if isinstance(label, str)]
    if len(texts) not in (0, len(labels)) or any(text.endswith("\0") for text in texts):
        raise InvalidData(
            "the target y must hold labels of one type that can be ordered (Unknown label "
            "type); it mixes types, or a text ends in a null character. Convert all "
            "labels to text."
        )
    return np.array(labels) if texts else np.array(labels, dtype=object)


def check_several(labels: AnyArray) -> AnyArray:
    """Raise an error if the target has only one label."""
    if len(labels) < 2:
        raise InvalidData(
            "the target y must hold two classes or more; it holds one class only. If "
            "other classes exist, declare all labels with classes=."
        )
    return labels


def label_codes(y: Any, count: int, classes: tuple[Any, ...]) -> AnyArray:
    """Return the class index of each row.

    Labels outside ``classes`` have index −1 or, with two integer classes, possibly 0.
    """
    if _is_text(y, count) or (
        isinstance(y, CodedText) and len(y) == count and not y.missing
    ):
        return level_codes(y, classes, "the target y")
    column = _label_column(y, count)
    kinds = set(map(type, column)) if column.dtype == object else set()
    if kinds and all(issubclass(kind, str) for kind in kinds):
        check_levels_of_type(classes, "the target y", text=True)
    whole = all(isinstance(label, int) for label in classes)
    if len(classes) == 2 and whole and column.dtype.kind in "iu":
        return column == classes[1]
    return level_codes(column, classes, "the target y")


def _label_column(y: Any, count: int) -> AnyArray:
    column = read_target(y, count)
    if column.dtype.kind == "f" and (column != np.floor(column)).any():
        raise InvalidData(
            "the target y must hold class labels; it holds fractions (Unknown label type: "
            "continuous). Use LinearRegression for numbers."
        )
    return column


def _is_text(y: Any, count: int) -> bool:
    """Whether a target is a text column without missing values, so no copy is needed."""
    kinds = (pd.StringDtype, pd.CategoricalDtype)
    text = isinstance(y, pd.Series) and isinstance(y.dtype, kinds)
    return text and len(y) == count and not y.isna().any()


def _has_missing(column: AnyArray) -> bool:
    try:
        return bool(pd.isna(column).any())
    except ArithmeticError:
        return True


def _refuse_masked(values: Any, what: str) -> None:
    """Reject masked arrays, whose masks would be ignored."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidData(
            f"{what} must be a plain array; it is masked. Impute or drop masked values "
            "by a rule chosen before looking at the data."
        )


def _refuse_other_types(X: Any) -> None:
    """Reject column types that scikit-learn would silently convert to numbers."""
    _refuse_masked(X, "X")
    kinds = dict(X.dtypes.items()) if isinstance(X, pd.DataFrame) else {}
    types = pd.api.types
    other = [
        str(name)
        for name, kind in kinds.items()
        if not (types.is_numeric_dtype(kind) or types.is_object_dtype(kind))
    ]
    if other:
        raise not_numbers(other)
    if getattr(getattr(X, "dtype", None), "kind", "f") in "mM":
        raise InvalidData("X must hold numbers; it holds dates or durations.")


_SAFE_MESSAGE = re.compile("Found array with|X has|The feature names|Feature names")


_FAULTS = {
    "Expected 2D array": (
        "X must have two dimensions; it has one or none. Reshape your data with "
        "X.reshape(-1, 1) for a single column, or X.reshape(1, -1) for a single row."
    ),
    "Complex data": "X must hold real numbers. Complex data not supported.",
    "inhomogeneous": "X must be a table of numbers; its rows differ in length.",
    "too large": "X must hold numbers; one is too large for a double. Rescale its column.",
}
_NO_NUMBER = (
    "X must hold numbers; an entry is of another type (float() argument must be a string "
    "or a real number). Convert it, or declare its column in a schema."
)


def _sanitise_sklearn_error(error: Exception) -> InvalidData:
    """Return an error whose message cannot quote a value of the data."""
    text = str(error)
    if _SAFE_MESSAGE.match(text):
        return InvalidData(text)
    for sign, fault in _FAULTS.items():
        if sign in text:
            return InvalidData(fault)
    return NotNumbers(_NO_NUMBER)
