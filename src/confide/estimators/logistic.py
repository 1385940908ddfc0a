"""Logistic regression: two classes, or several with one multinomial loss."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy.special import expit, softmax

from confide._types import AnyArray, Array
from confide.data import Schema
from confide.errors import InvalidParameter
from confide.estimators._classifier import PrivateClassifier
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
from confide.estimators._target import TargetSpec
from confide.mechanisms import MECHANISMS, Release
from confide.mechanisms.needs import SEVERAL_SCORES
from confide.noise import RandomState
from confide.objectives import (
    Logistic,
    Loss,
    Penalty,
    class_coefficients,
    is_multinomial,
)
from confide.objectives.multinomial import MOST_CLASSES, class_map
from confide.privacy import Budget
from confide.reporting.effect_scale import Link

ONE_SOFTMAX = (
    "one multinomial loss; the coefficients of a column add up to 0 over the classes"
)
MultiClass: TypeAlias = Literal["auto", "multinomial", "one-vs-rest"]


class LogisticRegression(PrivateClassifier):
    """Logistic regression under differential privacy.

    The fit minimises the sum of logistic losses and a ridge, with noise calibrated to
    public facts before any row is read. With the default mechanism the guarantee is PROVED
    (docs/proofs/objective-perturbation.md), also with intervals and estimated ranges.
    A mechanism whose guarantee is only CLAIMED warns before anything is charged.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        What the fit may spend: coefficients, intervals and estimated ranges together. A
        larger budget gives less noise and a weaker guarantee. The only required argument.
    schema : Schema, optional
        Public description of a table: its columns with their ranges or levels, and the
        target. `fit` then takes a data frame or a file. Write it without looking at the
        private rows.
    row_norm : float, optional
        Public bound on the Euclidean length of a row of features; longer rows are scaled
        down to it. Arrays need one; with a schema it has no effect. A larger bound means
        more noise, a smaller one distorts more rows.
    mechanism : str or Mechanism, default="objective"
        How coefficients are released. "objective" adds noise to the objective, "output" to
        the minimiser; "adaptive" weights an ``l1`` penalty by a first private look;
        "momentum", "ssadmm", "mpadmm", "sgd" and "dp-admm" follow noisy gradients and take
        penalties that are not convex; "admm-objective" follows a paper. Or an instance of a
        class in `confide.mechanisms` or `confide.selection`, for example `SelectThenFit`.
    l2 : float or "auto", default="auto"
        Ridge Λ: ½Λ‖θ‖² is added to the sum of the losses (not their mean), intercept
        included. A larger one shrinks coefficients and lets less noise through. "auto"
        chooses it from public facts.
    l1 : float, default=0
        Weight of an ℓ1 penalty on the slopes; a larger one sets more of them to 0. With
        mechanism "adaptive" it is the weight for a slope of average size.
    penalty : Penalty, optional
        Penalty from `confide.objectives` instead of ``l1``: `L1`, `ElasticNet`, `GroupL2`
        or `Nuclear`; `Scad` and `Mcp` with mechanisms that follow noisy gradients. Its
        coordinates are the columns of the design, the intercept last.
    fit_intercept : bool, default=True
        Add a constant column of height 0.3 times the row norm, penalised like the others.
    neighbours : {"add-remove", "replace-one"}, optional
        What the guarantee hides: whether a person is in the table (the number of rows is
        then private), or the values of a person (the number of rows is then public, and
        noise is larger). By default that of the mechanism, usually "add-remove".
    intervals : bool, float or Intervals, optional
        Release intervals, standard errors and tests as well, from the same budget. True
        chooses their share; 0.2 sets it to a fifth. Coefficients get the rest.
    ranges : {"auto", "private", "public"} or Ranges, default="auto"
        Whether part of the budget pays for estimated ranges of numbers. "private" estimates
        all ranges that the schema does not declare public; "public" uses the declared
        limits; "auto" estimates where limits are absent, and elsewhere if the number of
        rows makes it worthwhile.
    ledger : Ledger, str or Path, optional
        Ledger to charge before any noise is drawn, under the name of the schema, or of
        `Ledger.for_dataset` for arrays. Without one, spending is not recorded.
    random_state : int or generator, optional
        A seed makes a fit repeatable and NOT private: for tests and studies. By default
        noise comes from the operating system.
    classes : sequence, optional
        Public labels, for arrays. With two labels the second is the positive one. Labels
        that are read off ``y`` instead become an assumption of the guarantee. A row with
        any other label is treated as the first of two, and as none of several.
    slope_bound : float, optional
        Clip the slope of the loss at this public bound. A smaller one means less noise, and
        probabilities that are no longer calibrated.
    coef_norm : float, optional
        Confine the coefficients to a ball of this public radius.
    weight_cap : float, optional
        Public cap on ``sample_weight``; larger weights are lowered to it. Noise grows with
        it; ``l2`` is added to the sum of weights divided by the cap.
    multi_class : {"auto", "multinomial", "one-vs-rest"}, default="auto"
        How three classes or more are fitted: with one multinomial loss, whose coefficients
        add up to 0 over the classes, or with one fit per class, which share the budget.
        "auto" is multinomial where the mechanism ("objective" or "output") and the settings
        (a ridge alone) allow it.

    Attributes
    ----------
    release_ : Release
        Coefficients with their guarantee, their noise and, if requested, intervals.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients on the log-odds scale, per unit of each column.
    intercept_ : ndarray
        Intercepts on the same scale.
    classes_ : ndarray
        The labels.
    intervals_ : IntervalTable
        Estimates with intervals, if requested.
    selected_ : tuple of str
        Names of the variables with a coefficient other than 0, where a penalty or the
        mechanism selects.
    support_ : ndarray
        Indices of the columns of the design with a coefficient other than 0.
    schema_ : Schema or None
        The schema, with the ranges that the fit estimated.
    rows_ : int or None
        Number of rows, where it is public.
    holdout_score_ : ModelScore
        How good the model is on held-out rows, after ``fit(..., holdout=0.2)``.
    n_features_in_ : int
        Number of columns of the design.
    feature_names_in_ : ndarray
        Names of the columns, where they have any.

    See Also
    --------
    confide.planning.plan_fit : Expected interval widths, before anything is spent.
    confide.tuning.PrivateSearch : Choose settings at the price of one fit.

    Examples
    --------
    A synthetic table of 6,000 people whose risk rises with age, and more for smokers:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from confide import Approx, Boolean, LogisticRegression, Number, Schema, Target
    >>> order = np.arange(6000)
    >>> people = pd.DataFrame({"age": 20 + order % 60, "smoker": order // 60 % 2 == 0})
    >>> risk = people["age"] / 2 + 10 * people["smoker"]
    >>> people["ill"] = np.where(order // 120 < risk, "yes", "no")
    >>> schema = Schema(
    ...     [Number("age", 18, 90), Boolean("smoker")], Target("ill", labels=("no", "yes"))
    ... )
    >>> model = LogisticRegression(
    ...     Approx(1, 1e-6), schema=schema, intervals=True, ranges="public", random_state=0
    ... ).fit(people)
    >>> model.intervals_.to_frame().loc["smoker", ["estimate", "lower", "upper"]].round(1)
    estimate    1.0
    lower       0.9
    upper       1.1
    Name: smoker, dtype: float64

    The interval covers sampling error and privacy noise, and excludes zero: smokers have
    higher odds, by a factor of about e = 2.7.

    >>> new = pd.DataFrame({"age": [20, 75], "smoker": [True, True]})
    >>> model.predict(new)
    array(['no', 'yes'], dtype='<U3')
    >>> model.predict_proba(new)[:, 1].round(1)
    array([0.4, 0.9])

    At 20 the probability of a smoker is below one half, so "no" is predicted.
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
        """How margins of several classes become probabilities."""
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
        """Predict the probability of every class.

        Parameters
        ----------
        X : table, path or array
            Rows, as in `fit`; a target column is not needed.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities that add up to 1 in every row; those of one-vs-rest fits are
            normalised.
        """
        margins = self._margins(X)
        if margins.shape[1] == 1:
            return np.asarray(expit(np.hstack([-margins, margins])))
        if self._multinomial:
            return np.asarray(softmax(margins, axis=1))
        chances = expit(margins) + np.finfo(np.float64).tiny
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithm of the probability of every class.

        Parameters
        ----------
        X : table, path or array
            Rows, as in `fit`; a target column is not needed.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Logarithms of `predict_proba`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def by_class(release: Release, classes: int) -> Release:
    """Return a multinomial release with coefficients and errors for every class."""
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
