"""Two released models on the same rows: the difference of their scores, for one price."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from confide.data.matrix.sums import Partial
from confide.errors import InvalidParameter
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
    """From a piece of a table to private sums of both models: it can travel."""

    first: ScoreChunk
    second: ScoreChunk
    rule: PairedLosses

    def __call__(self, piece: Any) -> Partial:
        """Return the sums, and the number of rows with a target or without one."""
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
    """Release by how much the scores of two models differ on the same rows.

    Differences are the first model's score minus the second's, with intervals that count
    sampling and privacy noise. Both models must be of one kind, for one target.

    Parameters
    ----------
    first, second : fitted estimators
        With schemas, the second may use columns of the first alone.
    X, budget, y, neighbours, ledger, random_state, level
        As in `private_score`.
    """
    price = check_budget(budget)
    check_level(level)
    relation = relation_of(first, neighbours)
    rules = (first.score_rule(), second.score_rule())
    check_same_target(first, second)
    rule = PairedLosses(*rules, len(first.margin_map().slopes))
    schema = first.schema_
    cost = ScorePrice.of(rule, price, relation, schema, level)
    name = None if ledger is None else dataset_name(schema, ledger)
    rows = ScoredRows.of(schema, X, y, classifies=is_classifier(first))
    for model in (first, second):
        rows.check_names(model)
    own = chunk_of(first, rows.split, rules[0])
    other = chunk_of(second, rows.split_for(second.schema_), rules[1])
    sums = tallied(rows, PairedChunk(own, other, rule), relation)
    what = f"comparison of {type(first).__name__} and {type(second).__name__}"
    return paid_score(cost, sums, Payment(ledger, name, what), random_state)


def check_same_target(first: Any, second: Any) -> None:
    """Refuse models whose tables are not read alike."""
    schemas = (first.schema_, second.schema_)
    if (schemas[0] is None) != (schemas[1] is None):
        raise InvalidParameter("models", "both with a schema, or both without", "others")
    if schemas[0] is None or schemas[1] is None:
        return
    aims = [(s.target.column, s.target.labels, s.target.missing) for s in schemas]
    if aims[0] != aims[1]:
        must = "for one target: the same column, labels and rule for missing ones"
        raise InvalidParameter("models", must, "others")
    own = {column.name for column in schemas[0].columns}
    missing = [c.name for c in schemas[1].columns if c.name not in own]
    if missing:
        raise InvalidParameter(
            "second model",
            "one that uses columns of the first alone",
            missing,
            "Give the model with more columns first.",
        )
