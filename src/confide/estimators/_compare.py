"""Private comparison of two released models on the same rows, for one charge."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from confide.data.matrix.sums import Partial
from confide.errors import Described, InvalidParameter
from confide.estimators._prepare import dataset_name
from confide.estimators._score import (
    Payment,
    ScoreChunk,
    ScoredRows,
    ScorePrice,
    check_level,
    chunk_of,
    paid_score,
    relation_of,
    tallied,
    tally_in_blocks,
)
from confide.estimators._spec import LedgerSetting, NeighbourSetting
from confide.evaluation import ModelScore, PairedLosses
from confide.noise import RandomState
from confide.privacy import Budget, check_budget


@dataclass(frozen=True, slots=True, repr=False)
class PairedChunk:
    """Picklable function that computes the score sums of two models over a chunk."""

    first: ScoreChunk
    second: ScoreChunk
    rule: PairedLosses

    def __call__(self, piece: Any) -> Partial:
        """Return the sums, and the number of rows including rows without a target."""
        target, listed, margins = None, 0, []
        for chunk in (self.first, self.second):
            features, column, listed, table = chunk.split(piece)
            if target is None:
                target = chunk.read(column, features.shape[0])
            margins.append(chunk.margins_of(features, table))
        found = tally_in_blocks(self.rule, np.hstack(margins), np.asarray(target))
        return *found, np.array(listed)


def compare_models(
    first: Any,
    second: Any,
    X: Any,
    budget: Budget | None,
    *,
    y: Any = None,
    neighbours: NeighbourSetting = None,
    ledger: LedgerSetting = None,
    random_state: RandomState = None,
    level: float = 0.95,
) -> ModelScore:
    """Release the differences between the scores of two models on the same rows.

    A difference is the score of the first model minus that of the second. Both models must
    predict the same target and be of the same type: classifiers, linear regressions or
    Poisson regressions. If only one of two classifiers predicts probabilities (a
    support-vector machine does not), they are compared by error rates and, with two
    classes, areas under the ROC curve. The guarantee is PROVED
    (docs/proofs/evaluation.md).

    Parameters
    ----------
    first : estimator
        Fitted model.
    second : estimator
        Fitted model. With schemas, it must not use columns that the first model lacks.
    X : table, path or Dask collection
        Rows that neither model was fitted on.
    budget : Pure, Approx or Zcdp
        Privacy budget of the comparison. A larger budget gives shorter intervals.
    y : array or str, optional
        Target, or the name of its column, for models without a schema.
    neighbours : {"add-remove", "replace-one"}, optional
        Neighbour relation of the guarantee; by default that of the first model.
    ledger : Ledger, str or Path, optional
        Ledger to charge; the charge is recorded under the name of the schema.
    random_state : int or generator, optional
        A seed makes the comparison repeatable and NOT private.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    ModelScore
        Differences, with intervals that account for sampling error and privacy noise.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import LinearRegression, Pure, compare_models
    >>> X = np.linspace(-1, 1, 4000)[:, None]
    >>> y = X[:, 0] / 2
    >>> settings = dict(row_norm=1, target_bound=1, random_state=0)
    >>> good = LinearRegression(Pure(1), **settings).fit(X[::2], y[::2])
    >>> poor = LinearRegression(Pure(1), **settings, l2=1e6).fit(X[::2], y[::2])
    >>> found = compare_models(good, poor, X[1::2], Pure(1), y=y[1::2], random_state=1)
    >>> found["squared error, residuals clipped at 0.5"].upper < 0
    True

    The interval of the difference excludes zero: the first model has the smaller error.
    """
    price = check_budget(budget)
    check_level(level)
    relation = relation_of(first, neighbours)
    rules = (first.score_rule(), second.score_rule())
    check_same_target(first, second)
    rule = PairedLosses(*rules, len(first.margin_map().slopes))
    schema = first.schema_
    cost = ScorePrice.of(rule, price, relation, schema, level)
    if second.schema_ is not None:
        cost = cost.assuming(second.schema_.assumptions)
    name = None if ledger is None else dataset_name(schema, ledger)
    rows = ScoredRows.of(schema, X, y, classifies=is_classifier(first))
    for model in (first, second):
        rows.check_names(model)
    own = chunk_of(first, rows.split, rules[0])
    other = chunk_of(second, rows.split_for(second.schema_), rules[1])
    sums = tallied(rows, PairedChunk(own, other, rule), cost, callers=2)
    what = f"comparison of {type(first).__name__} and {type(second).__name__}"
    return paid_score(cost, sums, Payment(ledger, name, what), random_state)


def check_same_target(first: Any, second: Any) -> None:
    """Raise an error if two models cannot be scored on the same table."""
    schemas = (first.schema_, second.schema_)
    if (schemas[0] is None) != (schemas[1] is None):
        must = "both fitted with a schema, or both without"
        raise InvalidParameter("models", must, Described("only one with a schema"))
    if schemas[0] is None or schemas[1] is None:
        return
    aims = [(s.target.column, s.target.labels, s.target.missing) for s in schemas]
    if aims[0] != aims[1]:
        must = "for the same target: the same column, labels and rule for missing values"
        apart = next(pair for pair in zip(*aims, strict=True) if pair[0] != pair[1])
        raise InvalidParameter("models", must, Described(f"{apart[0]} and {apart[1]}"))
    counts = [schema.rows_per_person for schema in schemas]
    if counts[0] != counts[1]:
        must = "fitted with the same rows_per_person"
        raise InvalidParameter("models", must, Described(f"{counts[0]} and {counts[1]}"))
    own = {column.name for column in schemas[0].columns}
    missing = [c.name for c in schemas[1].columns if c.name not in own]
    if missing:
        raise InvalidParameter(
            "second model",
            "one that uses only columns of the first",
            missing,
            "Give the model with more columns first.",
        )
