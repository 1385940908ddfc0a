"""Linear regression of one target in a public range."""

from typing import Any

import numpy as np

from confide._types import Array
from confide.data import Schema
from confide.estimators._regressor import PrivateRegressor
from confide.estimators._spec import (
    IntervalSetting,
    LedgerSetting,
    MechanismSetting,
    NeighbourSetting,
    RangeSetting,
    RidgeSetting,
)
from confide.estimators._target import RangeRule
from confide.evaluation import NumberErrors, ScoreRule
from confide.evaluation.noises import Look
from confide.inference import unclipped_variance
from confide.noise import RandomState
from confide.objectives import (
    USUAL_CLIP,
    Clipped,
    Loss,
    Penalty,
    Squared,
)
from confide.privacy import Budget, Neighbours
from confide.reporting.effect_scale import Link


class LinearRegression(PrivateRegressor):
    """Linear regression under differential privacy.

    The fit minimises half the sum of squared residuals plus a ridge penalty. By default,
    large residuals count less (Huber's loss). Internally, targets are centred at the middle
    of their range and divided by half its width, but coefficients and predictions are in
    the unit of the target. The guarantee of the default mechanism is PROVED
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
        and "output" to the minimiser. "ssp", "adassp" and "functional" release sums of
        products. "adaptive" weights an ``l1`` penalty by a first private estimate.
        "momentum", "ssadmm", "mpadmm", "sgd" and "dp-admm" use noisy gradients.
        "admm-objective" is ADMM with objective perturbation in every step. Instances of
        classes in `confide.mechanisms` and `confide.selection` are also accepted.
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
    target_bound : float, optional
        Public bound on the absolute value of the target; larger targets are clamped. A
        schema may declare any range instead. The noise grows with the range.
    slope_bound : float, optional
        Size of a residual, in the unit of the target, beyond which its influence no longer
        grows (Huber's loss). By default a quarter of the width of the target's range. A
        smaller bound means less noise, but more bias if residuals are skewed. Mechanisms
        that release sums do not clip residuals.
    coef_norm : float, optional
        Public bound on the Euclidean norm of the coefficients, imposed as a constraint. The
        coefficients are those for scaled columns, in units of the target. With this bound,
        residuals are not clipped unless ``slope_bound`` is set.
    weight_cap : float, optional
        Public cap on ``sample_weight``; larger weights are clamped to it. The noise grows
        with the cap. The ridge penalty is added to the sum of the losses, each multiplied
        by its ``sample_weight`` divided by the cap.

    Attributes
    ----------
    release_ : Release
        Coefficients with their guarantee, their noise and, if requested, intervals.
    coef_ : ndarray of shape (n_features,)
        Slopes, in the unit of the target per unit of each column.
    intercept_ : float
        Intercept, in the unit of the target.
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
    SparseLinearRegression : Selects a few of many columns.
    MultiResponseRegression : Fits several targets at once.

    Examples
    --------
    A synthetic table of 6,000 people whose blood pressure rises by half a unit per year of
    age:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from confide import Approx, LinearRegression, Number, Schema, Target
    >>> order = np.arange(6000)
    >>> people = pd.DataFrame({"age": 20 + order % 60})
    >>> people["pressure"] = 100 + people["age"] / 2 + order // 60 % 25 - 12
    >>> schema = Schema(
    ...     [Number("age", 18, 90)], Target("pressure", lower=60, upper=200, unit="mmHg")
    ... )
    >>> model = LinearRegression(
    ...     Approx(1, 1e-6), schema=schema, intervals=True, ranges="public", random_state=0
    ... ).fit(people)
    >>> model.intervals_.to_frame().loc["age", ["estimate", "lower", "upper"]].round(1)
    estimate    0.5
    lower       0.5
    upper       0.5
    Name: age, dtype: float64

    Rounded to one digit, both ends of the private interval equal the slope that generated
    the table.

    >>> model.predict(pd.DataFrame({"age": [30, 70]})).round()
    array([115., 135.])

    The predicted pressure at age 70 is 20 mmHg higher than at age 30.
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
        target_bound: float | None = None,
        slope_bound: float | None = None,
        coef_norm: float | None = None,
        weight_cap: float | None = None,
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
        self.target_bound = target_bound
        self.slope_bound = slope_bound
        self.coef_norm = coef_norm
        self.weight_cap = weight_cap

    def _units(self, schema: Schema | None) -> tuple[float, float]:
        lower, upper = self._ends(schema)
        return (upper - lower) / 2, (lower + upper) / 2

    def _link(self) -> Link:
        return "identity"

    def _dispersion_in_units(self, ratio: float) -> float:
        clip = self._clip()
        if clip is not None:
            ratio = unclipped_variance(ratio, clip)
        return ratio * self._units(self.schema_)[0] ** 2

    def _loss(self) -> Loss:
        """Return the loss for a target in [−1, 1]; subclasses may override it."""
        clip = self._clip()
        return Squared() if clip is None else Clipped(Squared(), clip)

    def _clip(self) -> float | None:
        """Return the bound at which scaled residuals are clipped; None if they are not."""
        if self.slope_bound is not None:
            return float(self.slope_bound) / self._units(self.schema)[0]
        return USUAL_CLIP if self.coef_norm is None else None

    def _rule(self, schema: Schema | None) -> RangeRule:
        unit, origin = self._units(schema)
        radius = None if self.coef_norm is None else float(self.coef_norm) / unit
        return RangeRule(
            unit,
            origin,
            self._loss(),
            radius,
            clamped=schema is not None,
            scales=self._scales(schema),
        )

    def score_looks(self, classes: int, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return the sensitivities of the noisy sums from which a score is computed.

        They are known before the model is fitted.

        Parameters
        ----------
        classes : int
            Not used.
        neighbours : Neighbours
            Neighbour relation of the guarantee.

        Returns
        -------
        tuple of Look
            Sensitivities and share of the budget, for each vector of noisy sums.
        """
        return NumberErrors(0.0, 1.0).looks(neighbours)

    def score_rule(self) -> ScoreRule:
        """Return the rule by which private scores are computed from residuals.

        Returns
        -------
        NumberErrors
            The rule, which depends on public information only.
        """
        unit, origin = self._units(self.schema_)
        return NumberErrors(origin, unit)

    def predict(self, X: Any) -> Array:
        """Predict the target of every row.

        Parameters
        ----------
        X : table, path or array
            Rows, as in `fit`; a target column is not needed.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions in the unit of the target, within its public range.
        """
        return np.clip(self._margins(X)[:, 0], *self._ends(self.schema_))
