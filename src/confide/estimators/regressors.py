"""Private regressors: linear and Poisson."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from confide._types import Array
from confide.errors import InvalidParameter, MissingPublicBound
from confide.estimators._base import PrivateLinearModel
from confide.estimators._objective import TargetSpec
from confide.estimators._target_coding import ClippedCounts, ScaledTarget, TargetInfo
from confide.objectives import USUAL_CLIP, Clipped, Loss, Poisson, Squared


class _PrivateRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """A numeric target within a public range; what lies outside is clamped to it."""

    target_bound: Any
    slope_bound: Any
    coef_norm: Any

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
        budget: Any = None,
        *,
        schema: Any = None,
        row_norm: float = 1.0,
        mechanism: Any = "objective",
        l2: Any = "auto",
        l1: float = 0.0,
        penalty: Any = None,
        fit_intercept: bool = True,
        neighbours: Any = None,
        intervals: Any = None,
        ledger: Any = None,
        random_state: Any = None,
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

    def _unit(self) -> float:
        lower, upper = self._ends()
        return (upper - lower) / 2

    def _origin(self) -> float:
        lower, upper = self._ends()
        return (lower + upper) / 2

    def _loss(self) -> Loss:
        """Return the loss of a target in [−1, 1]; other regressors override it."""
        if self.slope_bound is not None:
            return Clipped(Squared(), float(self.slope_bound) / self._unit())
        return Clipped(Squared(), USUAL_CLIP) if self.coef_norm is None else Squared()

    def _task(self, found: TargetInfo) -> TargetSpec:
        unit = self._unit()
        radius = None if self.coef_norm is None else float(self.coef_norm) / unit
        read = ScaledTarget(self._origin(), unit)
        return TargetSpec(self._loss(), read, target_bound=1.0, coef_norm=radius)

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
        budget: Any = None,
        *,
        schema: Any = None,
        row_norm: float = 1.0,
        mechanism: Any = "objective",
        l2: Any = "auto",
        l1: float = 0.0,
        penalty: Any = None,
        fit_intercept: bool = True,
        neighbours: Any = None,
        intervals: Any = None,
        ledger: Any = None,
        random_state: Any = None,
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

    def _task(self, found: TargetInfo) -> TargetSpec:
        bound = self._most()
        if self.slope_bound is None and self.coef_norm is None:
            raise MissingPublicBound(
                "PoissonRegression needs a bound on the slope of its loss: set slope_bound "
                "(a few times the typical count) or coef_norm."
            )
        loss: Loss = Poisson()
        if self.slope_bound is not None:
            loss = Clipped(loss, float(self.slope_bound))
        radius = None if self.coef_norm is None else float(self.coef_norm)
        return TargetSpec(loss, ClippedCounts(bound), target_bound=bound, coef_norm=radius)

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
