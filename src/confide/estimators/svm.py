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

    Two or more classes are separated by hyperplanes. The model predicts scores, not
    probabilities. The guarantee of the default mechanism is PROVED
    (docs/proofs/objective-perturbation.md).

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
        noise.
    coef_norm : float, optional
        Public bound on the Euclidean norm of the coefficients, imposed as a constraint.
    weight_cap : float, optional
        Public cap on ``sample_weight``; larger weights are clamped to it. The noise grows
        with the cap. The ridge penalty is added to the sum of the losses, each multiplied
        by its ``sample_weight`` divided by the cap.
    loss : {"huber", "smoothed", "hinge"} or Loss, default="huber"
        The hinge loss or a smooth version of it. "hinge" needs mechanism "output" or one
        that uses noisy gradients. An instance such as `HuberizedHinge(0.5)` sets the width
        of the curved part.

    Attributes
    ----------
    release_ : Release
        Coefficients with their guarantee, their noise and, if requested, intervals.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the score, per unit of each column.
    intercept_ : ndarray
        Intercepts of the score.
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
    LogisticRegression : Also predicts probabilities and estimates odds ratios.

    Examples
    --------
    Points on a line, where those above 0 belong to class 1. It is public that rows have
    length at most 1:

    >>> import numpy as np
    >>> from confide import LinearSVC, Pure
    >>> X = np.linspace(-1, 1, 2000)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = LinearSVC(Pure(1), row_norm=1.0, classes=[0, 1], random_state=0).fit(X, y)
    >>> model.predict([[-0.5], [0.5]])
    array([0, 1])

    Both points are on the correct side of the private boundary, which is close to 0.
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
