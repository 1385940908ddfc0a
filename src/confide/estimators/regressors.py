"""Private regressors: linear and Poisson."""

import math
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from confide._types import Array
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
from confide.estimators._target import CountRule, RangeRule
from confide.evaluation import CountErrors, NumberErrors, ScoreRule
from confide.evaluation.counts import LOWEST_LOG
from confide.evaluation.noises import Look
from confide.inference import unclipped_variance
from confide.noise import RandomState
from confide.objectives import (
    USUAL_CLIP,
    Clipped,
    Loss,
    Penalty,
    Poisson,
    Squared,
)
from confide.privacy import Budget, Neighbours
from confide.reporting.effect_scale import Link

LARGEST_COUNT = 4.0
"""Where no slope is bounded, counts are scaled so that the largest becomes this."""
USUAL_COUNT_CLIP = 3.0
"""And residuals count up to this: three quarters of the largest count."""


class _PrivateRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """A numeric target within a public range; what lies outside is clamped to it."""

    target_bound: float | None
    slope_bound: float | None
    coef_norm: float | None

    def _ends(self, schema: Schema | None) -> tuple[float, float]:
        """Return the range of the target."""
        if self.target_bound is not None:
            return -float(self.target_bound), float(self.target_bound)
        ends = None if schema is None else schema.target.ends
        if ends is not None:
            return ends
        raise MissingPublicBound(
            f"{type(self).__name__} needs a public range of the target: set target_bound "
            "(targets beyond it are clamped), or declare lower and upper in the schema."
        )

    def _scales(self, schema: Schema | None) -> bool:
        """Whether no bound was given in the unit of the target."""
        bounds = (self.target_bound, self.slope_bound, self.coef_norm)
        return schema is not None and all(bound is None for bound in bounds)

    def fit(self, X: Any, y: Any = None, *, holdout: Any = None) -> Any:
        """Fit privately; with a schema, ``X`` is a table that holds the target.

        ``holdout`` is a share of the rows to score on, as in `LogisticRegression`.
        """
        return self._fit(X, y, holdout=holdout)

    def _set_coefficients(self, value: Array) -> None:
        super()._set_coefficients(value)
        self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]


class LinearRegression(_PrivateRegressor):
    """Linear regression under differential privacy.

    ``target_bound`` is a public bound on |y|; a schema may declare any range instead.
    Targets beyond are clamped. Inside, the middle of the range is subtracted and half its
    width divided by, and ridge, intercept and ``coef_norm`` apply to that; coefficients
    and predictions are in the target's own unit. The slope of the squared loss is clipped
    at ``slope_bound`` (by default at a quarter of the width of the range, which makes it
    Huber's loss: residuals beyond count, but no more than that) unless ``coef_norm``
    confines the coefficients to a ball. Mechanisms that release sums need no clip and
    take no notice of it. Everything else is as in `LogisticRegression`.
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

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, holdout: Any = None
    ) -> Any:
        """Fit privately; with a schema, ``X`` is a table that holds the target.

        ``sample_weight`` says how much records count, up to ``weight_cap``; ``holdout`` is
        a share of the rows to score on, as in `LogisticRegression`.
        """
        return self._fit(X, y, sample_weight, holdout)

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
        """Return the loss of a target in [−1, 1]; other regressors override it."""
        clip = self._clip()
        return Squared() if clip is None else Clipped(Squared(), clip)

    def _clip(self) -> float | None:
        """Return where residuals are cut, in the unit of the loss; None if nowhere."""
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
        """Return what a private score will release, before the model is fitted."""
        return NumberErrors(0.0, 1.0).looks(neighbours)

    def score_rule(self) -> ScoreRule:
        """Return what is counted of predictions for a private score."""
        unit, origin = self._units(self.schema_)
        return NumberErrors(origin, unit)

    def predict(self, X: Any) -> Array:
        """Return the predicted target of every row, within the declared range."""
        return np.clip(self._margins(X)[:, 0], *self._ends(self.schema_))


class PoissonRegression(_PrivateRegressor):
    """Poisson regression with a log link under differential privacy.

    ``target_bound``, or ``upper`` in the schema, is a bound on the counts; larger ones are
    clamped. The slope needs a bound too: ``slope_bound``, where it is clipped, or
    ``coef_norm``, a ball for the coefficients. Without either, counts are divided by a
    quarter of their bound, and residuals beyond three quarters of it count no more than
    that. Everything else is as in `LogisticRegression`.
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

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, holdout: Any = None
    ) -> Any:
        """Fit privately; with a schema, ``X`` is a table that holds the target.

        ``sample_weight`` says how much records count, up to ``weight_cap``; ``holdout`` is
        a share of the rows to score on, as in `LogisticRegression`.
        """
        return self._fit(X, y, sample_weight, holdout)

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
        """Return what counts are divided by: 1 where a bound on the slope is given."""
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
        """Return the largest count; a range of counts begins at 0, unless it was bought."""
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
                "lower of the target", "0, for Poisson regression is for counts", lower
            )
        return upper

    def score_looks(self, classes: int, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return what a private score will release, before the model is fitted."""
        return CountErrors(1.0, 1.0, 0.0, 1.0).looks(neighbours)

    def score_rule(self) -> ScoreRule:
        """Return what is counted of predictions for a private score."""
        most, (level, reach) = self._most(self.schema_), self._reach()
        ends = (max(level - reach, LOWEST_LOG), min(level + reach, math.log(most)))
        return CountErrors(most, self._unit(self.schema_), ends[0], max(ends))

    def predict(self, X: Any) -> Array:
        """Return the expected count of every row, at most the upper end of the range."""
        highest = np.log(self._most(self.schema_))
        return np.asarray(np.exp(np.minimum(self._margins(X)[:, 0], highest)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
