"""How well a model does on records: a sum of losses, each cut off at a public bound.

One record moves such a sum by at most the bound, whatever the model and the record.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from confide._registry import Registry
from confide._types import AnyArray, Array
from confide.data import Schema, read_table
from confide.data.matrix.sums import MAX_ROWS
from confide.data.schema.parse_values import as_cells, cells_as_numbers
from confide.errors import InvalidData, InvalidParameter, MissingPublicBound


@dataclass(frozen=True, slots=True, repr=False)
class SearchTable:
    """Rows and targets; ``target`` is None where a schema names it among the columns."""

    features: Any
    target: AnyArray | None
    schema: Schema | None = None

    @classmethod
    def of(cls, X: Any, y: Any, schema: Schema | None) -> "SearchTable":
        """Take over what an estimator has accepted already."""
        if schema is not None:
            return cls(read_table(X, schema, target=y is None), _column(y), schema)
        if isinstance(X, pd.DataFrame):
            return cls(X, _column(y))
        return cls(X.tocsr() if sparse.issparse(X) else np.asarray(as_cells(X)), _column(y))

    @property
    def count(self) -> int:
        """How many rows there are: private under add-remove neighbours."""
        return int(self.features.shape[0])

    @property
    def actual(self) -> AnyArray:
        """The target of every row."""
        if self.target is None and self.schema is not None:
            return np.asarray(self.schema.target_column(self.features))
        assert self.target is not None  # noqa: S101
        return self.target

    def take(self, places: AnyArray) -> "SearchTable":
        """Return the rows at these places."""
        frame = isinstance(self.features, pd.DataFrame)
        rows = self.features.iloc[places] if frame else self.features[places]
        return SearchTable(
            rows, None if self.target is None else self.target[places], self.schema
        )

    @property
    def kept(self) -> "SearchTable":
        """The rows to judge by: where a schema drops rows without a target, the others."""
        if self.target is not None or self.schema is None:
            return self
        return SearchTable(self.schema.kept(self.features), None, self.schema)

    def rehearse(self, model: Any) -> Any:
        """Return what a fit on all rows would promise, or raise what it would refuse."""
        return model.rehearse(self.features, self.target)

    def fit(self, model: Any) -> Any:
        """Fit a model on all rows."""
        return model.fit(self.features, self.target)


def _column(y: Any) -> AnyArray | None:
    if y is None:
        return None
    column = np.asarray(as_cells(y))
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise InvalidData("a search needs one target; y has several columns.")
    return column


LARGEST_DEVIANCE = 4.0
"""A probability of 1.8 % given to what happened; worse guesses all count as this bad."""

SMALLEST_BOUND, LARGEST_BOUND = 1e-140, 1e140
TOTAL_ERROR = 2 * MAX_ROWS * 2.0**-53
"""Bound on the rounding error of a total, in units of the bound."""


@dataclass(frozen=True, slots=True)
class Score:
    """Losses of single records, from 0 to ``bound``; the smaller their sum the better."""

    bound: float
    losses: Callable[[Any, Any, AnyArray], Array]

    def __post_init__(self) -> None:
        if not SMALLEST_BOUND <= self.bound <= LARGEST_BOUND:
            raise InvalidParameter(
                "largest loss of a record",
                f"from {SMALLEST_BOUND} to {LARGEST_BOUND}, so that sums stay exact",
                self.bound,
                "Change the unit of the target so that its bound is nearer to 1.",
            )

    def total(self, model: Any, table: SearchTable) -> float:
        """Return the sum over a table, correctly rounded."""
        judges = table.kept
        if not judges.count:
            return 0.0
        losses = self.losses(model, judges.features, judges.actual)
        kept = np.clip(np.where(np.isnan(losses), self.bound, losses), 0.0, self.bound)
        return math.fsum(kept)


SCORES: Registry[Callable[[Any], Score]] = Registry("score")


def score_for(scoring: Any, estimator: Any) -> Score:
    """Return the score of this name for an estimator, by default its usual one."""
    if scoring is None:
        scoring = "misclassification" if is_classifier(estimator) else "squared"
    if isinstance(scoring, str):
        return SCORES.find(scoring)(estimator)
    raise InvalidParameter("scoring", f"None or one of {sorted(SCORES)}", scoring)


@SCORES.register("squared")
def squared(estimator: Any) -> Score:
    """(y − ŷ)², both within the range of the target: at most its width squared."""
    lower, upper = _range(estimator, "squared")

    def losses(model: Any, features: Any, actual: AnyArray) -> Array:
        return _error(model, features, actual, lower, upper) ** 2

    return Score((upper - lower) * (upper - lower), losses)


@SCORES.register("absolute")
def absolute(estimator: Any) -> Score:
    """|y − ŷ|, both within the range of the target: at most its width."""
    lower, upper = _range(estimator, "absolute")

    def losses(model: Any, features: Any, actual: AnyArray) -> Array:
        return np.abs(_error(model, features, actual, lower, upper))

    return Score(upper - lower, losses)


@SCORES.register("misclassification")
def misclassification(estimator: Any) -> Score:
    """1 for a wrong class and 0 for the right one."""
    _check_classifier(estimator, "misclassification", "predict")

    def losses(model: Any, features: Any, actual: AnyArray) -> Array:
        return np.asarray(model.predict(features) != actual, dtype=np.float64)

    return Score(1.0, losses)


@SCORES.register("deviance")
def deviance(estimator: Any) -> Score:
    """−log of the probability given to the actual class, cut off at 4."""
    _check_classifier(estimator, "deviance", "predict_proba")

    def losses(model: Any, features: Any, actual: AnyArray) -> Array:
        same = np.asarray(actual)[:, None] == model.classes_[None, :]
        chance = np.where(same, model.predict_proba(features), 0.0).sum(axis=1)
        with np.errstate(divide="ignore"):
            return np.minimum(-np.log(chance), LARGEST_DEVIANCE)

    return Score(LARGEST_DEVIANCE, losses)


def _error(
    model: Any, features: Any, actual: AnyArray, lower: float, upper: float
) -> Array:
    seen = np.clip(_numbers(actual), lower, upper)
    return seen - np.clip(model.predict(features), lower, upper)


def _numbers(actual: AnyArray) -> Array:
    """Read a target as a fit does: numbers beyond doubles are infinite."""
    read = cells_as_numbers(actual) if actual.dtype == object else None
    return actual.astype(np.float64) if read is None else read


def _range(estimator: Any, name: str) -> tuple[float, float]:
    """Return the public range of a numeric target."""
    if is_classifier(estimator):
        raise InvalidParameter(
            "scoring", "for classes, because the estimator is a classifier", name
        )
    bound, schema = getattr(estimator, "target_bound", None), estimator.schema
    if bound is not None:
        ends = (-float(bound), float(bound))
    elif schema is not None and schema.target.ends is not None:
        ends = schema.target.ends
    else:
        raise MissingPublicBound(
            f"the score {name!r} needs a public range of the target: set target_bound, or "
            "declare lower and upper in the schema."
        )
    return (0.0, ends[1]) if get_tags(estimator).target_tags.positive_only else ends


def _check_classifier(estimator: Any, name: str, method: str) -> None:
    if not (is_classifier(estimator) and hasattr(estimator, method)):
        must = f"one that {type(estimator).__name__} has a {method} for"
        raise InvalidParameter("scoring", must, name)
