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

    The fit minimises the sum of logistic losses plus a ridge penalty. The noise is
    calibrated from public information alone. With the default mechanism the guarantee is
    PROVED (docs/proofs/objective-perturbation.md), also with intervals and estimated
    ranges. If the guarantee of a mechanism is only CLAIMED, a warning is issued before
    anything is charged.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        Privacy budget of the fit, for coefficients, intervals and estimated ranges
        together. A larger budget means less noise and a weaker guarantee. It is the only
        required argument.
    schema : Schema, optional
        Public description of a table: its columns with their ranges or levels, and the
        target. With a schema, `fit` takes a data frame or a file. Write the schema without
        looking at the private rows.
    row_norm : float, optional
        Public bound on the Euclidean norm of a row of features; rows with a larger norm are
        scaled down to it. It is required for arrays, and ignored with a schema. A larger
        bound means more noise; a smaller bound distorts more rows.
    mechanism : str or Mechanism, default="objective"
        Mechanism that releases the coefficients. "objective" adds noise to the objective,
        and "output" to the minimiser. "adaptive" weights an ``l1`` penalty by a first
        private estimate. "momentum", "ssadmm", "mpadmm", "sgd" and "dp-admm" use noisy
        gradients and allow penalties that are not convex. "admm-objective" is ADMM with
        objective perturbation in every step. Instances of classes in `confide.mechanisms`
        and `confide.selection`, such as `SelectThenFit`, are also accepted.
    l2 : float or "auto", default="auto"
        Ridge parameter Λ: ½Λ‖θ‖² is added to the sum of the losses (not their mean). θ
        includes the intercept. A larger value shrinks the coefficients and reduces the
        effect of the noise. "auto" chooses a value from public information.
    l1 : float, default=0
        Weight of an ℓ1 penalty on the slopes. A larger weight sets more of them to 0. With
        mechanism "adaptive", it is the weight for a slope of average size.
    penalty : Penalty, optional
        Penalty from `confide.objectives` instead of ``l1``: `L1`, `ElasticNet`, `GroupL2`
        or `Nuclear`. Mechanisms that use noisy gradients also allow `Scad` and `Mcp`. The
        penalty has one coordinate per column of the design matrix, with the intercept last.
    fit_intercept : bool, default=True
        Whether to add a constant column. Its value is 0.3 times the row norm, and its
        coefficient is penalised like the others.
    neighbours : {"add-remove", "replace-one"}, optional
        Neighbour relation of the guarantee. "add-remove" hides whether a person is in the
        table; the number of rows is then private. "replace-one" hides the values of a
        person; the number of rows is then public, and the noise is larger. By default, the
        relation is that of the mechanism, usually "add-remove".
    intervals : bool, float or Intervals, optional
        Whether to release confidence intervals, standard errors and tests within the same
        budget. True chooses their share of the budget automatically, and a number such as
        0.2 sets it. The rest of the budget is spent on the coefficients.
    ranges : {"auto", "private", "public"} or Ranges, default="auto"
        Whether part of the budget is spent on estimating the ranges of numeric columns.
        "private" estimates all ranges that the schema does not declare public. "public"
        uses the declared limits. "auto" estimates the ranges of columns without limits, and
        also those of other columns if there are enough rows to make this worthwhile.
    ledger : Ledger, str or Path, optional
        Ledger to charge before any noise is drawn. The charge is recorded under the name of
        the schema or, for arrays, the name given to `Ledger.for_dataset`. Without a ledger,
        spending is not recorded.
    random_state : int or generator, optional
        Seed or generator for tests and studies. It makes a fit repeatable and NOT private.
        By default, the random bits for the noise come from the operating system.
    classes : sequence, optional
        Public labels, for arrays. With two labels, the second is the positive one. If the
        labels are read from ``y`` instead, the guarantee assumes that they are public. A
        row with any other label is assigned to the first class if there are two classes,
        and to no class if there are more.
    slope_bound : float, optional
        Public bound at which the slope of the loss is clipped. A smaller bound means less
        noise, but predicted probabilities are no longer calibrated.
    coef_norm : float, optional
        Public bound on the Euclidean norm of the coefficients, imposed as a constraint.
    weight_cap : float, optional
        Public cap on ``sample_weight``; larger weights are clamped to it. The noise grows
        with the cap. The ridge penalty is added to the sum of the losses, each multiplied
        by its ``sample_weight`` divided by the cap.
    multi_class : {"auto", "multinomial", "one-vs-rest"}, default="auto"
        How three or more classes are fitted. "multinomial" uses one multinomial loss, with
        coefficients that add up to 0 over the classes. "one-vs-rest" makes one fit per
        class, and the fits share the budget. "auto" selects "multinomial" if the mechanism
        is "objective" or "output", the ridge is the only penalty, and ``slope_bound`` and
        ``coef_norm`` are not set; otherwise it selects "one-vs-rest". More than 100 classes
        are always fitted one-vs-rest.

    Attributes
    ----------
    release_ : Release
        Coefficients with their guarantee, their noise and, if requested, intervals.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients on the log-odds scale, per unit of each column.
    intercept_ : ndarray
        Intercepts on the same scale.
    classes_ : ndarray
        Labels of the classes.
    intervals_ : IntervalTable
        Coefficients with confidence intervals, if requested.
    selected_ : tuple of str
        Names of the variables with a coefficient other than 0, if a penalty or the
        mechanism selects variables.
    support_ : ndarray
        Indices of the columns of the design matrix with a coefficient other than 0.
    schema_ : Schema or None
        The schema with the ranges that the fit estimated; None without a schema.
    rows_ : int or None
        Number of rows, if it is public.
    holdout_score_ : ModelScore
        Score of the model on held-out rows, after ``fit(..., holdout=0.2)``.
    n_features_in_ : int
        Number of columns of the design matrix.
    feature_names_in_ : ndarray
        Names of the columns, if the input had names.

    See Also
    --------
    confide.planning.plan_fit : Expected interval widths, before anything is spent.
    confide.tuning.PrivateSearch : Choice of settings for the cost of one fit.

    Examples
    --------
    A synthetic table of 6,000 people whose risk rises with age and is higher for smokers:

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

    For a smoker of age 20, the probability is below one half, so "no" is predicted.
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
                "coef_norm: a multinomial fit allows no penalty but the ridge, and needs "
                "mechanism 'objective' or 'output'",
                self.multi_class,
            )
        return super()._spec()

    @property
    def _together(self) -> bool:
        """Whether three or more classes are fitted with one joint (multinomial) loss."""
        return self.multi_class != "one-vs-rest" and self._fits_together

    @property
    def _fits_together(self) -> bool:
        """Whether the mechanism and the settings allow a multinomial loss."""
        bounded = self.slope_bound is not None or self.coef_norm is not None
        if self.l1 or self.penalty is not None or bounded:
            return False
        if isinstance(self.mechanism, str) and self.mechanism not in MECHANISMS:
            return False
        return SEVERAL_SCORES in self._mechanism().needs

    @property
    def _multinomial(self) -> bool:
        """Whether the classes were fitted with one multinomial loss."""
        return self._together and 2 < len(self.classes_) <= MOST_CLASSES

    @property
    def _chances(self) -> str:
        """Name of the map from linear predictors to probabilities of several classes."""
        fitted = hasattr(self, "classes_")
        return "softmax" if fitted and self._multinomial else "one-vs-rest"

    def _own_facts(self) -> Facts:
        return (("Classes", ONE_SOFTMAX),) if self._multinomial else ()

    def _link(self) -> Link:
        return "softmax" if self._multinomial else "logit"

    def _keep(self, release: Release, task: TargetSpec) -> None:
        """Store a release, with one set of coefficients per class."""
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
            Probabilities, which add up to 1 in every row. Those of one-vs-rest fits are
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
    """Expand a multinomial release to one set of coefficients and errors per class."""
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
