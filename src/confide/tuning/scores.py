"""Scores of a model on records: sums of losses, each capped at a public bound.

One record changes such a sum by at most the bound, for every model and every record.
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
from confide.errors import Described, InvalidData, InvalidParameter, MissingPublicBound


@dataclass(frozen=True, slots=True, repr=False)
class SearchTable:
    """Rows and targets of a search; ``target`` is None if the schema names its column."""

    features: Any
    target: AnyArray | None
    schema: Schema | None = None

    @classmethod
    def of(cls, X: Any, y: Any, schema: Schema | None) -> "SearchTable":
        """Make a table from the arguments of ``fit``, which have already been checked."""
        if schema is not None:
            return cls(read_table(X, schema, target=y is None), _column(y), schema)
        if isinstance(X, pd.DataFrame):
            return cls(X, _column(y))
        return cls(X.tocsr() if sparse.issparse(X) else np.asarray(as_cells(X)), _column(y))

    @property
    def count(self) -> int:
        """The number of rows, which is private under add-remove neighbours."""
        return int(self.features.shape[0])

    @property
    def actual(self) -> AnyArray:
        """The target of every row."""
        if self.target is None and self.schema is not None:
            return np.asarray(self.schema.target_column(self.features))
        assert self.target is not None  # noqa: S101
        return self.target

    def take(self, places: AnyArray) -> "SearchTable":
        """Return the rows at the given positions."""
        frame = isinstance(self.features, pd.DataFrame)
        rows = self.features.iloc[places] if frame else self.features[places]
        return SearchTable(
            rows, None if self.target is None else self.target[places], self.schema
        )

    @property
    def kept(self) -> "SearchTable":
        """The rows for scoring, without rows that the schema drops for lack of a target."""
        if self.target is not None or self.schema is None:
            return self
        return SearchTable(self.schema.kept(self.features), None, self.schema)

    def rehearse(self, model: Any) -> Any:
        """Make a dry run of a fit to all rows, and return the guarantee."""
        return model.rehearse(self.features, self.target)

    def fit(self, model: Any) -> Any:
        """Fit a model to all rows."""
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
"""Cap on the deviance of a record, reached if its class has predicted probability 1.8 %."""

SMALLEST_BOUND, LARGEST_BOUND = 1e-140, 1e140
TOTAL_ERROR = 2 * MAX_ROWS * 2.0**-53
"""Bound on the rounding error of a sum of losses, in units of the bound on a loss."""


@dataclass(frozen=True, slots=True)
class Score:
    """A score: the sum over records of losses from 0 to ``bound``; smaller is better."""

    bound: float
    losses: Callable[[Any, Any, AnyArray], Array]

    def __post_init__(self) -> None:
        if not SMALLEST_BOUND <= self.bound <= LARGEST_BOUND:
            raise InvalidParameter(
                "largest loss of a record",
                f"from {SMALLEST_BOUND} to {LARGEST_BOUND}, so that sums stay exact",
                self.bound,
                "Change the unit of the target so that its bound is closer to 1.",
            )

    def total(self, model: Any, table: SearchTable) -> float:
        """Return the sum of a model's losses over a table, correctly rounded."""
        judges = table.kept
        if not judges.count:
            return 0.0
        losses = self.losses(model, judges.features, judges.actual)
        kept = np.clip(np.where(np.isnan(losses), self.bound, losses), 0.0, self.bound)
        return math.fsum(kept)


SCORES: Registry[Callable[[Any], Score]] = Registry("score")


def score_for(scoring: Any, estimator: Any) -> Score:
    """Return the score named ``scoring`` for an estimator, or its default score."""
    if scoring is None:
        scoring = "misclassification" if is_classifier(estimator) else "squared"
    if isinstance(scoring, str):
        return SCORES.find(scoring)(estimator)
    raise InvalidParameter("scoring", f"None or one of {sorted(SCORES)}", scoring)


@SCORES.register("squared")
def squared(estimator: Any) -> Score:
    """Return the score (y − ŷ)², with y and ŷ clipped to the range of the target."""
    lower, upper = _range(estimator, "squared")

    def losses(model: Any, features: Any, actual: AnyArray) -> Array:
        return _error(model, features, actual, lower, upper) ** 2

    return Score((upper - lower) * (upper - lower), losses)


@SCORES.register("absolute")
def absolute(estimator: Any) -> Score:
    """Return the score |y − ŷ|, with y and ŷ clipped to the range of the target."""
    lower, upper = _range(estimator, "absolute")

    def losses(model: Any, features: Any, actual: AnyArray) -> Array:
        return np.abs(_error(model, features, actual, lower, upper))

    return Score(upper - lower, losses)


@SCORES.register("misclassification")
def misclassification(estimator: Any) -> Score:
    """Return the score that is 1 for a wrong class and 0 for the right class."""
    _check_classifier(estimator, "misclassification", "predict")

    def losses(model: Any, features: Any, actual: AnyArray) -> Array:
        return np.asarray(model.predict(features) != actual, dtype=np.float64)

    return Score(1.0, losses)


@SCORES.register("deviance")
def deviance(estimator: Any) -> Score:
    """Return the score −log p, capped at 4; p is the probability of the true class."""
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
    """Convert a target to numbers, in the same way as a fit.

    Numbers too large for double precision become infinite.
    """
    read = cells_as_numbers(actual) if actual.dtype == object else None
    return actual.astype(np.float64) if read is None else read


def _range(estimator: Any, name: str) -> tuple[float, float]:
    """Return the public range of a numeric target."""
    if is_classifier(estimator):
        raise InvalidParameter(
            "scoring", "a classification score, because the estimator is a classifier", name
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
        kind = type(estimator).__name__
        who = "classifiers" if method == "predict" else "classifiers with probabilities"
        hint = (
            "Use 'misclassification'."
            if is_classifier(estimator)
            else "Use 'squared' or 'absolute'."
        )
        raise InvalidParameter(
            "scoring", f"a score for {kind}", Described(f"{name}, which is for {who}"), hint
        )
