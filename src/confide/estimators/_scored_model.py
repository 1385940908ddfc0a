"""What a fitted model says of itself to be scored privately."""

from typing import Any

import numpy as np

from confide._types import Array
from confide.data import Schema
from confide.errors import InvalidParameter
from confide.estimators._score import private_score
from confide.estimators._spec import Bounding, LedgerSetting, NeighbourSetting
from confide.estimators._target import TargetRule
from confide.evaluation import ModelScore, ScoreRule
from confide.evaluation.noises import Look
from confide.noise import RandomState
from confide.privacy import Budget, Neighbours


class ScoredModel:
    """The part of an estimator that private scores are made of; not for direct use."""

    n_features_in_: int
    holdout_score_: ModelScore
    _levels: Array
    _slopes: Array
    _rule: Any

    @property
    def schema_(self) -> Schema | None:
        """The schema, with the ranges that the fit bought."""
        raise NotImplementedError

    @property
    def _bounding(self) -> Bounding:
        """How the rows behind the release were bounded."""
        raise NotImplementedError

    def target_rule(self) -> TargetRule:
        """Return what the fitted model makes of a target."""
        return self._rule(self.schema_)

    def score_looks(self, classes: int, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return what a private score will release, before the model is fitted."""
        raise self._unscored()

    def score_rule(self) -> ScoreRule:
        """Return what is counted of predictions for a private score."""
        raise self._unscored()

    def _unscored(self) -> InvalidParameter:
        return InvalidParameter(
            "model", "one with a single target, for a private score", type(self).__name__
        )

    def private_score(
        self,
        X: Any,
        budget: Budget | None,
        *,
        y: Any = None,
        neighbours: NeighbourSetting = None,
        ledger: LedgerSetting = None,
        random_state: RandomState = None,
        level: float = 0.95,
    ) -> ModelScore:
        """Release how good the model is on a table, with intervals.

        Parameters
        ----------
        X : table, path or Dask collection
            Rows that the model was not fitted on; on its own rows it looks too good.
        budget : Pure, Approx or Zcdp
            What the score may cost, on top of all that these rows have paid for.
        y : array or str, optional
            The target, or the name of its column, for a model without a schema.
        neighbours : "add-remove", "replace-one" or None
            The relation to protect; None is that of the model.
        ledger : Ledger, path or None
            The book to charge, under the name of the schema.
        level : float
            How often an interval is meant to hold what it estimates.
        """
        return private_score(
            self,
            X,
            budget,
            y=y,
            neighbours=neighbours,
            ledger=ledger,
            random_state=random_state,
            level=level,
        )

    def _reach(self) -> tuple[float, float]:
        """Return a score and how far from it the others can be, of a single coding."""
        longest = self._bounding.norm(self.n_features_in_)
        reach = longest * float(np.linalg.norm(self._slopes[0]))
        offset = None if self.schema_ is None else self.schema_.offset
        if offset is not None:
            reach += (offset.ends[1] - offset.ends[0]) / 2
        return float(self._levels[0]), reach
