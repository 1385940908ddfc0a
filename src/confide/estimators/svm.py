"""The linear support-vector machine."""

from collections.abc import Sequence
from typing import Any, cast

from confide._types import AnyArray
from confide.data import Schema
from confide.errors import InvalidParameter
from confide.estimators._classifier import PrivateClassifier
from confide.estimators._spec import (
    IntervalSetting,
    LedgerSetting,
    MechanismSetting,
    NeighbourSetting,
    RangeSetting,
    RidgeSetting,
)
from confide.noise import RandomState
from confide.objectives import (
    Hinge,
    HuberizedHinge,
    Loss,
    Penalty,
    SmoothedHinge,
)
from confide.privacy import Budget


class LinearSVC(PrivateClassifier):
    """Linear support-vector machine under differential privacy.

    It separates two classes or more by hyperplanes and gives scores, not probabilities. The
    guarantee of the default mechanism is PROVED (docs/proofs/objective-perturbation.md).

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
    loss : {"huber", "smoothed", "hinge"} or Loss, default="huber"
        The hinge loss or a smooth version of it. "hinge" itself needs mechanism "output" or
        noisy gradients; `HuberizedHinge(0.5)` and others set the width of the curved part.

    Attributes
    ----------
    release_ : Release
        Coefficients with their guarantee, their noise and, if requested, intervals.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the score, per unit of each column.
    intercept_ : ndarray
        Intercepts of the score.
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
    LogisticRegression : Probabilities and odds ratios as well.

    Examples
    --------
    Points on a line, of which those above 0 belong to class 1. It is public that rows are
    at most 1 long:

    >>> import numpy as np
    >>> from confide import LinearSVC, Pure
    >>> X = np.linspace(-1, 1, 2000)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = LinearSVC(Pure(1), row_norm=1.0, classes=[0, 1], random_state=0).fit(X, y)
    >>> model.predict([[-0.5], [0.5]])
    array([0, 1])

    Both points are on the right side of the private boundary, which is close to 0.
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
