"""Private regressors: linear and Poisson."""

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
    RidgeSetting,
)
from confide.estimators._target import CountRule, RangeRule
from confide.noise import RandomState
from confide.objectives import USUAL_CLIP, Clipped, Loss, Penalty, Poisson, Squared
from confide.privacy import Budget


class _PrivateRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """A numeric target within a public range; what lies outside is clamped to it."""

    target_bound: float | None
    slope_bound: float | None
    coef_norm: float | None

    def _ends(self) -> tuple[float, float]:
        """Return the declared range of the target."""
        if self.target_bound is not None:
            return -float(self.target_bound), float(self.target_bound)
        ends = None if self.schema is None else self.schema.target.ends
        if ends is not None:
            return ends
        raise MissingPublicBound(
            f"{type(self).__name__} needs a public range of the target: set target_bound "
            "(targets beyond it are clamped), or declare lower and upper in the schema."
        )

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit privately; with a schema, ``X`` is a table that holds the target."""
        return self._fit(X, y)

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
        row_norm: float = 1.0,
        mechanism: MechanismSetting = "objective",
        l2: RidgeSetting = "auto",
        l1: float = 0.0,
        penalty: Penalty | None = None,
        fit_intercept: bool = True,
        neighbours: NeighbourSetting = None,
        intervals: IntervalSetting = None,
        ledger: LedgerSetting = None,
        random_state: RandomState = None,
        target_bound: float | None = None,
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
        self.ledger = ledger
        self.random_state = random_state
        self.target_bound = target_bound
        self.slope_bound = slope_bound
        self.coef_norm = coef_norm

    def _units(self) -> tuple[float, float]:
        lower, upper = self._ends()
        return (upper - lower) / 2, (lower + upper) / 2

    def _loss(self) -> Loss:
        """Return the loss of a target in [−1, 1]; other regressors override it."""
        if self.slope_bound is not None:
            return Clipped(Squared(), float(self.slope_bound) / self._units()[0])
        return Clipped(Squared(), USUAL_CLIP) if self.coef_norm is None else Squared()

    def _rule(self) -> RangeRule:
        unit, origin = self._units()
        radius = None if self.coef_norm is None else float(self.coef_norm) / unit
        clamped = self.schema is not None
        return RangeRule(unit, origin, self._loss(), radius, clamped=clamped)

    def predict(self, X: Any) -> Array:
        """Return the predicted target of every row, within the declared range."""
        return np.clip(self._margins(X)[:, 0], *self._ends())


class PoissonRegression(_PrivateRegressor):
    """Poisson regression with a log link under differential privacy.

    ``target_bound``, or ``upper`` in the schema, is a public bound on the counts; larger
    ones are clamped. The slope needs a bound too: either ``slope_bound``, where it is
    clipped, or ``coef_norm``, a ball for the coefficients. Everything else is as in
    `LogisticRegression`.
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
        ledger: LedgerSetting = None,
        random_state: RandomState = None,
        target_bound: float | None = None,
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
        self.ledger = ledger
        self.random_state = random_state
        self.target_bound = target_bound
        self.slope_bound = slope_bound
        self.coef_norm = coef_norm

    def _rule(self) -> CountRule:
        most = self._most()
        if self.slope_bound is None and self.coef_norm is None:
            raise MissingPublicBound(
                "PoissonRegression needs a bound on the slope of its loss: set slope_bound "
                "(a few times the typical count) or coef_norm."
            )
        loss: Loss = Poisson()
        if self.slope_bound is not None:
            loss = Clipped(loss, float(self.slope_bound))
        radius = None if self.coef_norm is None else float(self.coef_norm)
        return CountRule(most, loss, radius, clamped=self.schema is not None)

    def _most(self) -> float:
        """Return the largest count; a range of counts begins at 0."""
        lower, upper = self._ends()
        if lower not in (0.0, -upper):
            raise InvalidParameter(
                "lower of the target", "0, for Poisson regression is for counts", lower
            )
        return upper

    def predict(self, X: Any) -> Array:
        """Return the expected count of every row, at most the declared bound."""
        highest = np.log(self._most())
        return np.asarray(np.exp(np.minimum(self._margins(X)[:, 0], highest)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
