"""The contract of a kind of column: public, bounded, and read one value at a time."""

import csv
import math
import tempfile
from collections.abc import Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from confide._types import AnyArray
from confide.data import COLUMNS, Column, Schema, Target, read_table, schema_template
from confide.data.schema.sections import read_column
from confide.errors import InvalidData, InvalidParameter
from confide.testing._expect import check_frozen, expect

PARTS = 5
HEIGHT = 0.4
ROUNDING = 1e-12


class Nonsense:
    """A value that no column can read."""


def check_column(column: Column, values: Sequence[Any]) -> None:
    """Assert that a column satisfies the contract of `confide.data.Column`.

    Parameters
    ----------
    column : Column
        The column to check, of a kind that is registered in `confide.data.COLUMNS`.
    values : sequence
        At least two different values that a table may hold, none of them missing. They must
        have the same meaning when they are written as text.

    Raises
    ------
    AssertionError
        If a property of the contract fails; the message states which one, and where.

    Examples
    --------
    No error means that the contract is satisfied:

    >>> from confide.data import Number
    >>> from confide.testing import check_column
    >>> check_column(Number("age", lower=18, upper=90), [30, 61.5])
    """
    expect(
        COLUMNS.get(column.kind) is type(column),
        "a column class must be registered under the name in its attribute `kind`",
        at=column.kind,
    )
    check_frozen(column, "a column")
    _check_section(column)
    _check_template(column)
    _check_features(column)
    _check_reading(column, values)
    _check_missing(column, values)
    _check_range(column, values)
    _check_text(column, values)
    _check_faults(column, values)
    _check_possible(column)
    _check_lines(column)
    _check_statistics(column)


def _schema(column: Column) -> Schema:
    return Schema((column,), Target("\0target", bound=1.0))


def _frame(column: Column, values: Sequence[Any]) -> pd.DataFrame:
    return pd.DataFrame({column.name: pd.Series(list(values), dtype=object)})


def _check_section(column: Column) -> None:
    schema = _schema(column)
    expect(
        Schema.from_mapping(schema.to_mapping()).columns == (column,),
        "a column must not change when it is written to a model file and read back",
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "schema.toml")
        path.write_text(schema.to_toml(), "utf-8")
        expect(
            Schema.from_toml(path).columns == (column,),
            "a column must not change when it is written to a schema file and read back",
        )
    needed = [f.name for f in fields(type(column)) if f.default is MISSING]  # type: ignore[arg-type]
    expect(
        {*needed} - {"name"} <= {*column.examples},
        "examples must hold a value for every required field",
        at=needed,
    )
    if len(needed) > 1:
        try:
            read_column(column.name, {"kind": column.kind})
        except InvalidParameter:
            return
        raise AssertionError("a section without a required field must be rejected")


def _check_template(column: Column) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_text("first,second\n", "utf-8")
        text = schema_template(path)
    expect(
        column.hint and column.hint in text and "\n" not in column.hint,
        "hint must be a single line, which a template shows for the kind",
        at=column.hint,
    )


def _check_features(column: Column) -> None:
    names = column.features
    expect(
        names and len({*names}) == len(names) and all(map(str.strip, names)),
        "features must have different names, and there must be at least one",
        at=names,
    )
    expect(
        all(column.name in name for name in names),
        "the name of a feature must contain the name of its column",
        at=names,
    )
    expect(
        column.coded or len(names) == 1,
        "a column that is not coded must have exactly one feature",
        at=names,
    )
    lower, upper = column.ends
    expect(
        -math.inf < lower < upper < math.inf,
        "ends must be two finite numbers in ascending order",
        at=column.ends,
    )
    factors, origin = column.units()
    expect(
        factors.shape == (len(names),)
        and np.isfinite(factors).all()
        and (factors > 0).all()
        and math.isfinite(origin),
        "units must be a positive factor for every feature, and a finite origin",
        at=(factors, origin),
    )
    expect(bool(column.per), "per must name the unit of change of the coefficients")


def _check_reading(column: Column, values: Sequence[Any]) -> None:
    """Check that every value is read independently of the values in other rows."""
    whole = _read(column, values)
    expect(whole.shape == (len(values),), "read must return a number for every value")
    expect(
        len(np.unique(whole)) > 1,
        "different values must be read as different numbers",
        at=whole,
    )
    turned = _read(column, values[::-1])[::-1]
    alone = np.array([_read(column, [value])[0] for value in values])
    beside = np.array([_read(column, [None, values[0], value])[2] for value in values])
    for found in (turned, alone, beside):
        expect(
            np.array_equal(whole, found),
            "a value must be read as the same number, whatever the other rows hold",
            at=(whole, found),
        )
    if column.coded:
        expect(
            (whole == np.floor(whole)) & (whole >= -1) & (whole < len(column.features)),
            "a coded column must be read as indices of features, or −1 for none",
            at=whole,
        )
    else:
        expect(~np.isnan(whole), "a known value must be read as a number", at=whole)


def _read(column: Column, values: Sequence[Any]) -> AnyArray:
    lenient = column if column.missing != "refuse" else _lenient(column)
    return np.asarray(lenient.read(pd.Series(list(values), dtype=object)), dtype=np.float64)


def _lenient(column: Any) -> Any:
    """Return a copy of a column that accepts missing values."""
    return replace(column, missing="category" if column.coded else "midpoint")


def _check_missing(column: Any, values: Sequence[Any]) -> None:
    for absent in (None, math.nan, pd.NA):
        code = float(_read(column, [values[0], absent])[1])
        expect(
            code == -1 if column.coded else math.isnan(code),
            "a missing value must be read as −1 (coded) or NaN",
            at=(absent, code),
        )
        row = _schema(_lenient(column)).encode(_frame(column, [values[0], absent]))[1]
        expect(not row.any(), "a missing value must be encoded as zeros", at=row)
    strict = _schema(replace(column, missing="refuse"))
    try:
        strict.encode(_frame(column, [values[0], None]))
    except InvalidData:
        return
    raise AssertionError('missing = "refuse" must reject a table with a missing value')


def _check_range(column: Column, values: Sequence[Any]) -> None:
    """Check encoded values, and that encoded rows have a norm of at most 1."""
    schema = _schema(column)
    frame = _frame(column, values)
    matrix = schema.encode(frame)
    expect(
        matrix.shape == (len(values), len(column.features)),
        "a column must be encoded as one number per feature",
        at=matrix.shape,
    )
    expect(np.abs(matrix) <= 1, "encoded values must lie in [−1, 1]", at=matrix)
    lengths = np.linalg.norm(schema.design(frame), axis=1)
    expect(lengths <= 1, "no encoded row may have a norm above 1", at=float(lengths.max()))
    if column.coded:
        expect(
            matrix.sum(axis=1) == (_read(column, values) >= 0),
            "a value must set only the indicator of the level that it is read as",
            at=matrix,
        )
        return
    lower, upper = column.ends
    place = (_read(column, values) - (lower + upper) / 2) / ((upper - lower) / 2)
    expect(
        np.abs(matrix[:, 0] - np.clip(place, -1, 1)) <= ROUNDING,
        "a number must be encoded as its position between the ends",
        at=matrix[:, 0],
    )


def _check_text(column: Column, values: Sequence[Any]) -> None:
    """Check that the same table in a text file is encoded in the same way."""
    schema = _schema(column)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([column.name, "note"])
            writer.writerows([str(value), "kept"] for value in values)
        try:
            read = schema.encode(read_table(path, schema, target=False))
        except InvalidData as error:
            raise AssertionError(f"values must be readable as text: {error}") from None
    expect(
        np.array_equal(read, schema.encode(_frame(column, values))),
        "a value from a CSV file must be encoded like the same value in a data frame: "
        "check dtype",
        at=column.dtype,
    )


def _check_faults(column: Column, values: Sequence[Any]) -> None:
    known = pd.Index(list(values), dtype=object)
    found = column.faults(known)
    for name in ("unreadable", "outside", "undeclared"):
        expect(
            getattr(found, name).shape == known.shape,
            f"faults must state for every value whether it is {name}",
        )
    expect(
        ~found.unreadable,
        "faults must not mark values as unreadable that can be read",
        at=values,
    )
    numbers, (lower, upper) = _read(column, values), column.ends
    beyond = (numbers < lower) | (numbers > upper)
    expect(
        found.undeclared == _undeclared(column, values)
        if column.coded
        else found.outside == beyond,
        "faults must mark exactly the values outside the range, or outside the levels",
        at=found,
    )
    strange = column.faults(pd.Index([values[0], Nonsense()], dtype=object))
    expect(
        (strange.unreadable | strange.undeclared).tolist() == [False, True],
        "faults must mark the values that cannot be read, only those, and raise no error",
        at=strange,
    )


def _undeclared(column: Column, values: Sequence[Any]) -> AnyArray:
    places = _read(column, values)
    return (places < 0) | (places >= len(column.levels))


def _check_possible(column: Column) -> None:
    possible = column.possible
    if column.coded:
        expect(
            possible == column.levels and len(column.features) - len(possible) in (0, 1),
            "the possible values of a coded column must be its levels, with one feature "
            "each and at most one more for other values",
            at=possible,
        )
    if possible:
        codes = _read(column, possible)
        expect(
            len(np.unique(codes)) == len(possible) and not np.isnan(codes).any(),
            "every possible value must be read as a different number",
            at=codes,
        )


def _check_lines(column: Column) -> None:
    """Check that table lines plus the intercept reproduce the coefficients of features."""
    lines, count = column.lines(), len(column.features)
    # A reference level, with weight 1 in the baseline, has no line: it is the intercept.
    alone = count > 1 and column.coded
    shown = [k for k in range(count) if not alone or column.baseline[k] != 1]
    expect(
        lines.names[: len(shown)] == tuple(column.features[k] for k in shown)
        and lines.dense().shape == (len(lines.names), count)
        and lines.intercept.shape == (count,),
        "lines must have a name and a row of the matrix for every feature, in order",
        at=lines.names,
    )
    if alone:
        expect(
            abs(column.baseline.sum() - 1) <= ROUNDING and column.baseline.min() >= 0,
            "the weights of the baseline must be non-negative and add up to 1",
            at=column.baseline,
        )
    told = lines.dense() + lines.intercept
    expect(
        np.abs(told[: len(shown)] - np.eye(count)[shown]) <= ROUNDING,
        "a line and the intercept must add up to the coefficient of the feature",
        at=told,
    )
    count = len(shown)
    expect(
        np.abs(told[count:]) <= ROUNDING,
        "a line without a feature and the intercept must add up to 0",
        at=told,
    )


def _check_statistics(column: Column) -> None:
    count = len(column.features)
    mean, covariance = column.moments()
    expect(
        mean.shape == (count,) and covariance.shape == (count, count),
        "moments must have one entry, and one row and column, per feature",
        at=(mean.shape, covariance.shape),
    )
    second = np.diag(covariance) + mean**2
    expect(
        np.array_equal(covariance, covariance.T)
        and np.linalg.eigvalsh(covariance).min() >= -ROUNDING
        and second.sum() <= 1 + ROUNDING,
        "moments must be attainable by features whose rows have a norm of at most 1",
        at=(mean, covariance),
    )
    expect(
        np.abs(column.mean_squares() - second) <= ROUNDING,
        "mean squares must agree with the moments",
        at=(column.mean_squares(), second),
    )
    shares, typical = column.shares, column.typical_ends
    possible = count if column.coded else len(column.possible)
    expect(
        shares is None
        or (len(shares) == possible and min(shares) >= 0 and sum(shares) <= 1 + ROUNDING),
        "there must be one share per possible value, and they must add up to at most 1",
        at=shares,
    )
    expect(
        typical is None or column.ends[0] <= typical[0] <= typical[1] <= column.ends[1],
        "a typical range must lie between the ends",
        at=typical,
    )
    centres = column.centres(HEIGHT, PARTS)
    expect(
        centres.shape == (count if column.coded else PARTS, count)
        and (np.linalg.norm(centres, axis=1) <= HEIGHT * (1 + ROUNDING)).all(),
        "centres must be vectors of features whose norm is at most the height",
        at=centres,
    )
