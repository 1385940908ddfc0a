"""Private classifiers: logistic regression and the linear support-vector machine."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin

from confide._types import AnyArray, Array
from confide.data import Schema
from confide.errors import InvalidParameter, MissingPublicBound
from confide.estimators._base import PrivateLinearModel
from confide.estimators._spec import (
    FitSpec,
    IntervalSetting,
    LedgerSetting,
    MechanismSetting,
    NeighbourSetting,
    RangeSetting,
    RidgeSetting,
)
from confide.estimators._summary import Facts
from confide.estimators._target import ClassRule, TargetSpec
from confide.evaluation import (
    FARTHEST_SCORE,
    ScoreRule,
    SeveralClasses,
    TwoClasses,
    fine_edges,
)
from confide.evaluation.noises import Look
from confide.mechanisms import MECHANISMS, Release
from confide.mechanisms.base import SEVERAL_SCORES
from confide.noise import RandomState
from confide.objectives import (
    Clipped,
    Hinge,
    HuberizedHinge,
    Logistic,
    Loss,
    Penalty,
    SmoothedHinge,
    class_coefficients,
    is_multinomial,
)
from confide.objectives.multinomial import MOST_CLASSES, class_map
from confide.privacy import Budget, Neighbours
from confide.reporting.effect_scale import Link

ONE_SOFTMAX = "one multinomial loss; coefficients of a column add up to 0 over them"
MultiClass: TypeAlias = Literal["auto", "multinomial", "one-vs-rest"]


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

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, holdout: Any = None
    ) -> Any:
        """Fit privately; with a schema, ``X`` is a table that holds the target.

        ``sample_weight`` says how much records count, up to ``weight_cap``. With a share
        like 0.2 as ``holdout`` so many rows, drawn by secret coins, are held out:
        `holdout_score_` says how good the model is on them, for the same budget.
        """
        return self._fit(X, y, sample_weight, holdout)

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

    def score_looks(self, classes: int, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return what a private score will release, before the model is fitted."""
        if classes > 2:
            return SeveralClasses(("",) * classes, self._chances).looks(neighbours)
        return TwoClasses((0.0,), "", bool(self._chances)).looks(neighbours)

    def score_rule(self) -> ScoreRule:
        """Return what is counted of predictions for a private score."""
        labels = tuple(str(label) for label in self.classes_)
        if len(labels) > 2:
            return SeveralClasses(labels, self._chances)
        farthest = FARTHEST_SCORE if self._chances else np.inf
        edges = fine_edges(*self._reach(), farthest)
        return TwoClasses(edges, labels[1], bool(self._chances))

    @property
    def _chances(self) -> str:
        """How margins of several classes become chances; "" where they do not."""
        return ""

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
        Public bound on the length of a feature row; longer rows are scaled to it. Arrays
        need one; with a schema, which bounds every column, it has no effect.
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
    weight_cap : float, optional
        Public cap on ``sample_weight``. Larger weights are clamped to it; records count
        by their share of it, and l2 is the ridge next to that sum.
    multi_class : "auto", "multinomial" or "one-vs-rest"
        Three classes or more: one multinomial loss with one noise for all of them, whose
        coefficients add up to 0 over the classes, or one fit for every class, which share
        the budget. "auto" is multinomial where mechanism ("objective", "output") and
        settings (a ridge alone) allow it. A row with an unknown label then counts for
        nothing.

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
        row_norm: float | None = None,
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
        weight_cap: float | None = None,
        multi_class: MultiClass = "auto",
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
        self.weight_cap = weight_cap
        self.multi_class = multi_class

    def _loss(self) -> Loss:
        return Logistic()

    def _spec(self) -> FitSpec:
        known = get_args(MultiClass)
        if not isinstance(self.multi_class, str) or self.multi_class not in known:
            raise InvalidParameter("multi_class", f"one of {list(known)}", self.multi_class)
        if self.multi_class == "multinomial" and not self._fits_together:
            raise InvalidParameter(
                "multi_class",
                "'one-vs-rest' for this mechanism or with l1, penalty, slope_bound or "
                "coef_norm: a multinomial fit has a ridge alone, and mechanism "
                "'objective' or 'output'",
                self.multi_class,
            )
        return super()._spec()

    @property
    def _together(self) -> bool:
        """Whether three classes or more have one loss."""
        return self.multi_class != "one-vs-rest" and self._fits_together

    @property
    def _fits_together(self) -> bool:
        """Whether the mechanism takes several scores, and no setting forbids them."""
        bounded = self.slope_bound is not None or self.coef_norm is not None
        if self.l1 or self.penalty is not None or bounded:
            return False
        if isinstance(self.mechanism, str) and self.mechanism not in MECHANISMS:
            return False
        return SEVERAL_SCORES in self._mechanism().needs

    @property
    def _multinomial(self) -> bool:
        """Whether the coefficients are those of one softmax."""
        return self._together and 2 < len(self.classes_) <= MOST_CLASSES

    @property
    def _chances(self) -> str:
        """How margins of several classes become chances."""
        fitted = hasattr(self, "classes_")
        return "softmax" if fitted and self._multinomial else "one-vs-rest"

    def _own_facts(self) -> Facts:
        return (("Classes", ONE_SOFTMAX),) if self._multinomial else ()

    def _link(self) -> Link:
        return "softmax" if self._multinomial else "logit"

    def _keep(self, release: Release, task: TargetSpec) -> None:
        """Take over a release, with a line of coefficients for every class."""
        if is_multinomial(task.loss):
            release = by_class(release, len(task.classes))  # type: ignore[arg-type]
        super()._keep(release, task)

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities; one-vs-rest ones are normalised."""
        margins = self._margins(X)
        if margins.shape[1] == 1:
            return np.asarray(expit(np.hstack([-margins, margins])))
        if self._multinomial:
            return np.asarray(softmax(margins, axis=1))
        chances = expit(margins) + np.finfo(np.float64).tiny
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def by_class(release: Release, classes: int) -> Release:
    """Return a multinomial release with a line, and a law of errors, for every class."""
    columns = release.value.size // (classes - 1)
    kept = release.intervals
    if kept is not None:
        maps = [class_map(classes, place, columns) for place in range(classes)]
        kept = replace(
            kept,
            laws=tuple(law.mapped(one) for law in kept.laws for one in maps),
            plain=tuple(law.mapped(one) for law in kept.plain for one in maps),
        )
    value = class_coefficients(release.value, classes)
    return replace(release, value=value, intervals=kept)


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
        row_norm: float | None = None,
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
        weight_cap: float | None = None,
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
        self.weight_cap = weight_cap
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
