"""Private classifiers: logistic regression and the linear support-vector machine."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin

from confide._types import AnyArray, Array
from confide.data import Schema
from confide.errors import InvalidParameter, MissingPublicBound
from confide.estimators._base import PrivateLinearModel
from confide.estimators._spec import (
    IntervalSetting,
    LedgerSetting,
    MechanismSetting,
    NeighbourSetting,
    RangeSetting,
    RidgeSetting,
)
from confide.estimators._target import ClassRule, TargetSpec
from confide.mechanisms import Release
from confide.noise import RandomState
from confide.objectives import (
    Clipped,
    Hinge,
    HuberizedHinge,
    Logistic,
    Loss,
    Penalty,
    SmoothedHinge,
)
from confide.privacy import Budget


class _PrivateClassifier(ClassifierMixin, PrivateLinearModel):  # type: ignore[misc]
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

    def _rule(self, schema: Schema | None) -> ClassRule:
        loss = self._loss()
        if self.slope_bound is not None:
            loss = Clipped(loss, float(self.slope_bound))
        radius = None if self.coef_norm is None else float(self.coef_norm)
        return ClassRule(self._declared(), loss, radius)

    def _keep(self, release: Release, task: TargetSpec) -> None:
        super()._keep(release, task)
        self.classes_ = task.classes

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit privately; with a schema, ``X`` is a table that holds the target."""
        return self._fit(X, y)

    def decision_function(self, X: Any) -> Array:
        """Return the signed margin of every row (one column per class if several)."""
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted class of every row."""
        margins = self._margins(X)
        if margins.shape[1] == 1:
            return self.classes_[(margins[:, 0] > 0).astype(np.intp)]
        return self.classes_[margins.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        declared = self.classes
        tags.classifier_tags.multi_class = declared is None or np.size(declared) > 2
        return tags


class LogisticRegression(_PrivateClassifier):
    """Logistic regression under differential privacy.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        What the fit may spend.
    schema : Schema, optional
        Public knowledge of a table; ``fit(df)`` then needs nothing else.
    row_norm : float
        Public bound on the length of a feature row; longer rows are scaled to it.
    mechanism : str or instance
        "objective" (default), "output", "adaptive"; driven by gradients "momentum",
        "ssadmm", "mpadmm", "sgd", "dp-admm"; "admm-objective"; or a configured mechanism;
        for few of many columns `confide.selection.SelectThenFit`, which bounds entries
        instead of rows. All of them are PROVED, also with intervals. Where a guarantee is
        CLAIMED, as that of "mpadmm-published" is, `ClaimedGuarantee` warns of it before
        anything is charged or drawn.
    l2 : "auto" or float
        Ridge Λ of the sum objective, intercept included; "auto" chooses from the budget.
    l1 : float
        Weight of an l1 penalty on the slopes; with mechanism "adaptive" of a slope that
        looked average in a first private look.
    penalty : Penalty, optional
        Instead of l1 one of `confide.objectives`: L1, ElasticNet, GroupL2, Nuclear, and
        for mechanisms driven by gradients Scad and Mcp. Its coordinates are the columns
        of the design in their order, the intercept last.
    fit_intercept : bool
        Add a penalised constant column of height 0.3 times the row norm.
    neighbours : "add-remove", "replace-one" or None
        The relation to protect; None takes the mechanism's own.
    intervals : None, True, float or Intervals
        Release intervals too: True chooses their share of the budget, a number sets it.
        Neighbours are then replace-one by default.
    ranges : "auto", "private", "public" or Ranges
        Whether ranges of number columns are bought from the budget, and with what share.
        "auto" buys where limits are absent, and where the rows can be expected to be
        enough; "public" takes the limits of the schema as they are.
    ledger : Ledger, path or None
        Budget book to charge before anything is drawn, under the name of the schema;
        without a schema under that of `Ledger.for_dataset`.
    random_state : None, int or generator
        None draws from the operating system; a seed makes the release not private.
    classes : list, optional
        The public labels; read from ``y`` if absent, which becomes an assumption. Of two
        the second is the positive one. A row with any other label counts as none of them
        (of two: as the first).
    slope_bound, coef_norm : float, optional
        Clip the slope of the loss, or confine the coefficients to a ball.

    Attributes
    ----------
    release_ : Release
        Coefficients with their guarantee and noise.
    coef_, intercept_ : arrays
        In the user's units.
    selected_ : tuple
        Where ``l1`` or ``penalty`` is set or the mechanism selects: the names of the
        variables with coefficients that are not 0.
    support_ : array
        Their columns.
    intervals_ : IntervalTable
        Estimates with intervals, where they were asked for.
    classes_ : array
        The labels.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        schema: Schema | None = None,
        row_norm: float = 1.0,
        mechanism: MechanismSetting = "objective",
        l2: RidgeSetting = "auto",
        l1: float = 0.0,
        penalty: Penalty | None = None,
        fit_intercept: bool = True,
        neighbours: NeighbourSetting = None,
        intervals: IntervalSetting = None,
        ranges: RangeSetting = "auto",
        ledger: LedgerSetting = None,
        random_state: RandomState = None,
        classes: Sequence[Any] | AnyArray | None = None,
        slope_bound: float | None = None,
        coef_norm: float | None = None,
    ) -> None:
        self.budget = budget
        self.schema = schema
        self.row_norm = row_norm
        self.mechanism = mechanism
        self.l2 = l2
        self.l1 = l1
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.neighbours = neighbours
        self.intervals = intervals
        self.ranges = ranges
        self.ledger = ledger
        self.random_state = random_state
        self.classes = classes
        self.slope_bound = slope_bound
        self.coef_norm = coef_norm

    def _loss(self) -> Loss:
        return Logistic()

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities; one-vs-rest ones are normalised."""
        margins = self._margins(X)
        if margins.shape[1] == 1:
            return np.asarray(expit(np.hstack([-margins, margins])))
        chances = expit(margins) + np.finfo(np.float64).tiny
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class LinearSVC(_PrivateClassifier):
    """Linear support-vector machine under differential privacy.

    ``loss`` is "huber" (default), "smoothed" or "hinge" (output perturbation only), or a
    loss instance; everything else is as in `LogisticRegression`.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        schema: Schema | None = None,
        row_norm: float = 1.0,
        mechanism: MechanismSetting = "objective",
        l2: RidgeSetting = "auto",
        l1: float = 0.0,
        penalty: Penalty | None = None,
        fit_intercept: bool = True,
        neighbours: NeighbourSetting = None,
        intervals: IntervalSetting = None,
        ranges: RangeSetting = "auto",
        ledger: LedgerSetting = None,
        random_state: RandomState = None,
        classes: Sequence[Any] | AnyArray | None = None,
        slope_bound: float | None = None,
        coef_norm: float | None = None,
        loss: str | Loss = "huber",
    ) -> None:
        self.budget = budget
        self.schema = schema
        self.row_norm = row_norm
        self.mechanism = mechanism
        self.l2 = l2
        self.l1 = l1
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.neighbours = neighbours
        self.intervals = intervals
        self.ranges = ranges
        self.ledger = ledger
        self.random_state = random_state
        self.classes = classes
        self.slope_bound = slope_bound
        self.coef_norm = coef_norm
        self.loss = loss

    def _loss(self) -> Loss:
        named: dict[str, Loss] = {
            "huber": HuberizedHinge(),
            "smoothed": SmoothedHinge(),
            "hinge": Hinge(),
        }
        if isinstance(self.loss, str) and self.loss in named:
            return named[self.loss]
        if not isinstance(self.loss, type) and getattr(self.loss, "targets", "") == "signs":
            return cast("Loss", self.loss)
        must = (
            f"one of {list(named)}, or a loss for two classes such as HuberizedHinge(0.5)"
        )
        raise InvalidParameter("loss", must, self.loss)
