"""Poisson regression of counts."""

import math
from typing import Any

import numpy as np

from confide._types import Array
from confide.data import Schema
from confide.errors import InvalidParameter
from confide.estimators._regressor import PrivateRegressor
from confide.estimators._spec import (
    IntervalSetting,
    LedgerSetting,
    MechanismSetting,
    NeighbourSetting,
    RangeSetting,
    RidgeSetting,
)
from confide.estimators._target import CountRule
from confide.evaluation import CountErrors, ScoreRule
from confide.evaluation.counts import LOWEST_LOG
from confide.evaluation.noises import Look
from confide.noise import RandomState
from confide.objectives import (
    Clipped,
    Loss,
    Penalty,
    Poisson,
)
from confide.privacy import Budget, Neighbours
from confide.reporting.effect_scale import Link

LARGEST_COUNT = 4.0
"""Largest count after scaling, if no slope or coefficient bound is given."""
USUAL_COUNT_CLIP = 3.0
"""Default bound on residuals of scaled counts: three quarters of the largest count."""


class PoissonRegression(PrivateRegressor):
    """Poisson regression with a log link under differential privacy.

    The fit minimises the sum of Poisson losses, whose slopes are clipped by default, plus a
    ridge penalty. Without ``slope_bound`` and ``coef_norm``, counts are divided internally
    by a quarter of their bound. The guarantee of the default mechanism is PROVED
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
    target_bound : float, optional
        Public bound on the counts, for arrays; larger counts are clamped. A schema declares
        ``upper`` instead. The noise grows with the bound.
    slope_bound : float, optional
        Size of a residual, in counts, beyond which its influence no longer grows. By
        default three quarters of the bound on the counts.
    coef_norm : float, optional
        Public bound on the Euclidean norm of the coefficients, imposed as a constraint. It
        replaces the default clipping of residuals.
    weight_cap : float, optional
        Public cap on ``sample_weight``; larger weights are clamped to it. The noise grows
        with the cap. The ridge penalty is added to the sum of the losses, each multiplied
        by its ``sample_weight`` divided by the cap.

    Attributes
    ----------
    release_ : Release
        Coefficients with their guarantee, their noise and, if requested, intervals.
    coef_ : ndarray of shape (n_features,)
        Coefficients on the log scale, per unit of each column.
    intercept_ : float
        Intercept on the log scale.
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
    rate_ratios : Factors by which one unit of a column multiplies the expected count.

    Examples
    --------
    A synthetic table of 8,000 people who visit a doctor twice a year on average, and four
    times if they smoke:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from confide import Approx, Boolean, PoissonRegression, Schema, Target
    >>> order = np.arange(8000)
    >>> people = pd.DataFrame({"smoker": order % 2 == 0})
    >>> people["visits"] = np.where(people["smoker"], order // 2 % 9, order // 2 % 5)
    >>> schema = Schema([Boolean("smoker")], Target("visits", lower=0, upper=10))
    >>> model = PoissonRegression(
    ...     Approx(1, 1e-6), schema=schema, intervals=True, random_state=0
    ... ).fit(people)
    >>> ratios = model.rate_ratios().to_frame()
    >>> ratios.loc["smoker", ["estimate", "lower", "upper"]].round(1)
    estimate    2.0
    lower       1.9
    upper       2.1
    Name: smoker, dtype: float64

    Smokers have about twice as many visits. The interval covers sampling error and privacy
    noise.
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

    def _rule(self, schema: Schema | None) -> CountRule:
        most, unit = self._most(schema), self._unit(schema)
        loss: Loss = Poisson()
        if self.slope_bound is not None:
            loss = Clipped(loss, float(self.slope_bound))
        elif self.coef_norm is None:
            loss = Clipped(loss, USUAL_COUNT_CLIP)
        radius = None if self.coef_norm is None else float(self.coef_norm)
        return CountRule(
            most,
            loss,
            radius,
            clamped=schema is not None,
            unit=unit,
            scales=self._scales(schema),
        )

    def _unit(self, schema: Schema | None) -> float:
        """Return the divisor of the counts: 1 if a slope or coefficient bound is given."""
        if self.slope_bound is not None or self.coef_norm is not None:
            return 1.0
        return self._most(schema) / LARGEST_COUNT

    def _units(self, schema: Schema | None) -> tuple[float, float]:
        return 1.0, math.log(self._unit(schema))

    def _link(self) -> Link:
        return "log"

    def _dispersion_in_units(self, ratio: float) -> float:
        return ratio * self._unit(self.schema_)

    def _most(self, schema: Schema | None) -> float:
        """Return the largest count, after a check that a declared range begins at 0."""
        lower, upper = self._ends(schema)
        if schema is not None and self.target_bound is None:
            name = schema.target.name
            open_below = schema.target.bound is None and schema.target.lower is None
            if open_below or any(
                one.kind == "ranges" and name in one.facts for one in schema.bought
            ):
                return upper
        if lower not in (0.0, -upper):
            raise InvalidParameter(
                "lower of the target", "0, because Poisson regression is for counts", lower
            )
        return upper

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
        return CountErrors(1.0, 1.0, 0.0, 1.0).looks(neighbours)

    def score_rule(self) -> ScoreRule:
        """Return the rule by which private scores are computed from residuals.

        Returns
        -------
        CountErrors
            The rule, which depends on public information only.
        """
        most, (level, reach) = self._most(self.schema_), self._reach()
        ends = np.clip([level - reach, level + reach], LOWEST_LOG, math.log(most))
        return CountErrors(most, self._unit(self.schema_), *ends.tolist())

    def predict(self, X: Any) -> Array:
        """Predict the expected count of every row.

        Parameters
        ----------
        X : table, path or array
            Rows, as in `fit`; a target column is not needed.

        Returns
        -------
        ndarray of shape (n_rows,)
            Expected counts, at most the public bound on the counts.
        """
        highest = np.log(self._most(self.schema_))
        return np.asarray(np.exp(np.minimum(self._margins(X)[:, 0], highest)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
