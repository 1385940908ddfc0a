"""Private scores as a method of a fitted model."""

from typing import Any

import numpy as np

from confide._types import Array
from confide.data import Schema
from confide.errors import InvalidParameter
from confide.estimators._bounding import Bounding
from confide.estimators._score import private_score
from confide.estimators._spec import LedgerSetting, NeighbourSetting
from confide.estimators._target import TargetRule
from confide.evaluation import ModelScore, ScoreRule
from confide.evaluation.noises import Look
from confide.noise import RandomState
from confide.privacy import Budget, Neighbours


class ScoredModel:
    """Mixin for private scores of an estimator."""

    n_features_in_: int
    holdout_score_: ModelScore
    _levels: Array
    _slopes: Array
    _rule: Any

    @property
    def schema_(self) -> Schema | None:
        """The schema with the ranges that the fit estimated; None without a schema."""
        raise NotImplementedError

    @property
    def _bounding(self) -> Bounding:
        """Bounds on the rows that the model was fitted to."""
        raise NotImplementedError

    def target_rule(self) -> TargetRule:
        """Return the rule by which the fitted model reads a target.

        Returns
        -------
        TargetRule
            Labels or range of the target, and the treatment of other values.
        """
        return self._rule(self.schema_)

    def score_looks(self, classes: int, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return the sensitivities of the noisy sums from which a score is computed.

        They are known before the model is fitted.

        Parameters
        ----------
        classes : int
            Number of classes; 0 for a numeric target.
        neighbours : Neighbours
            Neighbour relation of the guarantee.

        Returns
        -------
        tuple of Look
            Sensitivities and share of the budget, for each vector of noisy sums.
        """
        raise self._unscored()

    def score_rule(self) -> ScoreRule:
        """Return the rule by which private scores are computed from predictions.

        Returns
        -------
        ScoreRule
            The rule, which depends on public information only.
        """
        raise self._unscored()

    def _unscored(self) -> InvalidParameter:
        return InvalidParameter(
            "model", "one with a single target, for a private score", type(self).__name__
        )

    def _with_target(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the rows and their target, taken from the table if ``y`` is None."""
        schema = self.schema_
        if y is not None or schema is None:
            return X, y
        column = schema.target.column
        if column not in getattr(X, "columns", ()):
            must = f"a data frame with the column {column!r}, if y is not given"
            raise InvalidParameter("X", must, type(X).__name__)
        known = X[column].notna()
        return X[known], X[column][known]

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
        """Release scores of the model on a table, with intervals.

        The guarantee is PROVED (docs/proofs/evaluation.md).

        Parameters
        ----------
        X : table, path or Dask collection
            Rows that the model was not fitted on. Scores on the rows used for fitting are
            too optimistic.
        budget : Pure, Approx or Zcdp
            Budget of the score, in addition to earlier charges on these rows. A larger
            budget gives shorter intervals.
        y : array or str, optional
            Target, or the name of its column, for a model without a schema.
        neighbours : {"add-remove", "replace-one"}, optional
            Neighbour relation of the guarantee; by default that of the model.
        ledger : Ledger, str or Path, optional
            Ledger to charge; the charge is recorded under the name of the schema.
        random_state : int or generator, optional
            A seed makes the score repeatable and NOT private.
        level : float, default=0.95
            Confidence level of the intervals.

        Returns
        -------
        ModelScore
            Curves, and estimates with intervals that account for sampling error and
            privacy noise.

        Examples
        --------
        >>> import numpy as np
        >>> from confide import LogisticRegression, Pure
        >>> X = np.linspace(-1, 1, 4000)[:, None]
        >>> y = (X[:, 0] > 0).astype(int)
        >>> model = LogisticRegression(Pure(1), row_norm=1, classes=[0, 1], random_state=0)
        >>> score = model.fit(X[::2], y[::2]).private_score(
        ...     X[1::2], Pure(1), y=y[1::2], random_state=1
        ... )
        >>> round(score["accuracy"].value, 1)
        1.0

        On 2,000 other rows, nearly all predictions are correct.
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
        """Return the centre and half-width of an interval containing all predictors."""
        longest = self._bounding.norm(self.n_features_in_)
        reach = longest * float(np.linalg.norm(self._slopes[0]))
        offset = None if self.schema_ is None else self.schema_.offset
        if offset is not None:
            reach += (offset.ends[1] - offset.ends[0]) / 2
        return float(self._levels[0]), reach
