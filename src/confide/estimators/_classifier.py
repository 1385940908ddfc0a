"""Common ground of the classifiers: labels, codings, predictions and scores."""

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
    """One-vs-rest over a binary loss; two classes need one coding only."""

    classes: Any
    classes_: Any
    slope_bound: float | None
    coef_norm: float | None

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss of a binary coding."""

    def _declared(self) -> Any:
        """Return the public labels; None where they are to be read from the target."""
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
        """Whether three classes or more have one loss."""
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
        """Return the accuracy of predictions. It is NOT private: see `private_score`.

        Parameters
        ----------
        X : table or array
            Rows to predict. With a schema a data frame, which may hold the target.
        y : array, optional
            Known target; by default the column of ``X`` that the schema names.
        sample_weight : array, optional
            Weights of the rows.

        Returns
        -------
        float
            Share of correct predictions. Rows without a known target are left out.
        """
        rows, known = self._with_target(X, y)
        return float(super().score(rows, known, sample_weight))

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, holdout: Any = None
    ) -> Any:
        """Fit the model privately.

        Whatever must be rejected is rejected first; then the ledger is charged; only then
        are rows summed and noise is drawn.

        Parameters
        ----------
        X : table, path or array
            With a schema a data frame, a file of CSV or Parquet, several files, or a Dask
            collection, which holds the target; otherwise an array or data frame of
            features.
        y : array or str, optional
            Labels, or the name of their column in a table without a schema. Absent with a
            schema.
        sample_weight : array, optional
            How much each record counts, from 0 to ``weight_cap``. For arrays; a schema
            declares a column of weights instead.
        holdout : float or Holdout, optional
            Share of rows to hold out, for example 0.2. A secret coin decides for every row.
            `holdout_score_` then says how good the model is on them, for the same budget.

        Returns
        -------
        LogisticRegression or LinearSVC
            The fitted model itself.

        Raises
        ------
        InvalidParameter
            A setting is wrong.
        MissingPublicBound
            A bound or the labels were not declared, and must not be read off the rows.
        InvalidData
            The table does not fit the schema, or cannot be read.
        BudgetExceeded
            The ledger has too little left. Nothing was spent.
        """
        return self._fit(X, y, sample_weight, holdout)

    def decision_function(self, X: Any) -> Array:
        """Score rows by the linear predictor.

        Parameters
        ----------
        X : table, path or array
            Rows, as in `fit`; a target column is not needed.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            With two classes one score per row, above 0 for the positive class; otherwise
            one per class.
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
        """Return the counts of a private score, known before the model is fitted.

        Parameters
        ----------
        classes : int
            Number of classes.
        neighbours : Neighbours
            Relation that the score protects.

        Returns
        -------
        tuple of Look
            The successive noisy counts.
        """
        if classes > 2:
            return SeveralClasses(("",) * classes, self._chances).looks(neighbours)
        return TwoClasses((0.0,), "", bool(self._chances)).looks(neighbours)

    def score_rule(self) -> ScoreRule:
        """Return how a private score counts the predictions of this model.

        Returns
        -------
        TwoClasses or SeveralClasses
            The rule, made of public facts alone.
        """
        labels = tuple(str(label) for label in self.classes_)
        if len(labels) > 2:
            return SeveralClasses(labels, self._chances)
        farthest = FARTHEST_SCORE if self._chances else np.inf
        edges = fine_edges(*self._reach(), farthest)
        return TwoClasses(edges, labels[1], bool(self._chances))

    @property
    def _chances(self) -> str:
        """How margins of several classes become probabilities; "" where they do not."""
        return ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        declared = self.classes
        tags.classifier_tags.multi_class = declared is None or np.size(declared) > 2
        return tags
