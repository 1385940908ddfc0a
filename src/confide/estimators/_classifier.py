"""Base class of the classifiers: labels, loss, predictions and scores."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from confide._types import AnyArray, Array
from confide.data import Schema
from confide.errors import MissingPublicBound
from confide.estimators._base import PrivateLinearModel
from confide.estimators._target import ClassRule, TargetSpec
from confide.evaluation import (
    FARTHEST_SCORE,
    ScoreRule,
    SeveralClasses,
    TwoClasses,
    fine_edges,
)
from confide.evaluation.noises import Look
from confide.mechanisms import Release
from confide.objectives import (
    Clipped,
    Loss,
)
from confide.privacy import Neighbours


class PrivateClassifier(ClassifierMixin, PrivateLinearModel):  # type: ignore[misc]
    """Base class of classifiers, which extend a binary loss to more classes by one-vs-rest.

    With two classes, there is only one set of coefficients.
    """

    classes: Any
    classes_: Any
    slope_bound: float | None
    coef_norm: float | None

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the binary loss, for a target coded as ±1."""

    def _declared(self) -> Any:
        """Return the public labels, or None if they are to be read from the target."""
        declared = self.classes
        if declared is None and self.schema is not None:
            declared = self.schema.target.labels
            if declared is None:
                raise MissingPublicBound(
                    f"{type(self).__name__} needs public labels: declare labels for the "
                    "target in the schema, or set classes."
                )
        return declared

    @property
    def _together(self) -> bool:
        """Whether three or more classes are fitted with one joint (multinomial) loss."""
        return False

    def _rule(self, schema: Schema | None) -> ClassRule:
        loss = self._loss()
        if self.slope_bound is not None:
            loss = Clipped(loss, float(self.slope_bound))
        radius = None if self.coef_norm is None else float(self.coef_norm)
        return ClassRule(self._declared(), loss, radius, self._together)

    def _keep(self, release: Release, task: TargetSpec) -> None:
        super()._keep(release, task)
        self.classes_ = task.classes

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions. This is NOT private: see `private_score`.

        Parameters
        ----------
        X : table or array
            Rows to predict. With a schema, a data frame, which may include the target.
        y : array, optional
            True labels; by default the target column of ``X``, as named by the schema.
        sample_weight : array, optional
            Weights of the rows.

        Returns
        -------
        float
            Share of correct predictions. Rows with a missing target are left out.
        """
        rows, known = self._with_target(X, y)
        return float(super().score(rows, known, sample_weight))

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, holdout: Any = None
    ) -> Any:
        """Fit the model privately.

        All checks are made first, then the ledger is charged. Only after that are rows
        summed and noise is drawn.

        Parameters
        ----------
        X : table, path or array
            With a schema: a data frame, one or several CSV or Parquet files, or a Dask
            collection, including the target column. Without a schema: an array or data
            frame of features.
        y : array or str, optional
            Labels, or the name of their column in a table without a schema. Omit it with a
            schema.
        sample_weight : array, optional
            Weight of each record, from 0 to ``weight_cap``. For arrays only; a schema
            declares a column of weights instead.
        holdout : float or Holdout, optional
            Share of rows to hold out, for example 0.2. The rows are chosen by secret random
            bits. `holdout_score_` is then the score of the model on the held-out rows. The
            budget covers both fit and score.

        Returns
        -------
        LogisticRegression or LinearSVC
            The fitted model itself.

        Raises
        ------
        InvalidParameter
            A setting is invalid.
        MissingPublicBound
            A bound or the labels were not declared, and must not be taken from the rows.
        InvalidData
            The table does not match the schema, or cannot be read.
        BudgetExceeded
            The budget left in the ledger is too small. Nothing was spent.
        """
        return self._fit(X, y, sample_weight, holdout)

    def decision_function(self, X: Any) -> Array:
        """Return the linear predictor of every row.

        Parameters
        ----------
        X : table, path or array
            Rows, as in `fit`; a target column is not needed.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            With two classes, one score per row, which is above 0 if the positive class is
            predicted. Otherwise one score per class.
        """
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X: Any) -> AnyArray:
        """Predict the class of every row.

        Parameters
        ----------
        X : table, path or array
            Rows, as in `fit`; a target column is not needed.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels from `classes_`. Predictions for new rows cost no budget.
        """
        margins = self._margins(X)
        if margins.shape[1] == 1:
            return self.classes_[(margins[:, 0] > 0).astype(np.intp)]
        return self.classes_[margins.argmax(axis=1)]

    def score_looks(self, classes: int, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return the sensitivities of the noisy sums from which a score is computed.

        They are known before the model is fitted.

        Parameters
        ----------
        classes : int
            Number of classes.
        neighbours : Neighbours
            Neighbour relation of the guarantee.

        Returns
        -------
        tuple of Look
            Sensitivities and share of the budget, for each vector of noisy sums.
        """
        if classes > 2:
            return SeveralClasses(("",) * classes, self._chances).looks(neighbours)
        return TwoClasses((0.0,), "", bool(self._chances)).looks(neighbours)

    def score_rule(self) -> ScoreRule:
        """Return the rule by which private scores are computed from predictions.

        Returns
        -------
        TwoClasses or SeveralClasses
            The rule, which depends on public information only.
        """
        labels = tuple(str(label) for label in self.classes_)
        if len(labels) > 2:
            return SeveralClasses(labels, self._chances)
        farthest = FARTHEST_SCORE if self._chances else np.inf
        edges = fine_edges(*self._reach(), farthest)
        return TwoClasses(edges, labels[1], bool(self._chances))

    @property
    def _chances(self) -> str:
        """Name of the map from linear predictors to class probabilities; empty if none."""
        return ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        declared = self.classes
        tags.classifier_tags.multi_class = declared is None or np.size(declared) > 2
        return tags
