"""Several numeric targets at once, whose coefficients form one matrix."""

from dataclasses import replace
from typing import Any

import numpy as np

from confide._types import Array
from confide.data import Schema
from confide.errors import InvalidParameter
from confide.estimators._base import PrivateLinearModel
from confide.estimators._spec import (
    FitSpec,
    IntervalSetting,
    LedgerSetting,
    MechanismSetting,
    NeighbourSetting,
    RidgeSetting,
)
from confide.estimators._target import SeveralTargetsRule, TargetSpec
from confide.estimators._validate import read_number
from confide.estimators.regressors import _PrivateRegressor
from confide.mechanisms import Release
from confide.noise import RandomState
from confide.objectives import Clipped, Penalty, Squared
from confide.privacy import Budget


class MultiResponseRegression(_PrivateRegressor):
    """Linear regression of several targets on the same rows, under differential privacy.

    ``y`` has a column for every target; one record is a row of ``X`` with all its targets.
    ``target_bound`` is a public bound on all of them: bring them to a common scale first.
    ``nuclear`` weighs the nuclear norm of the matrix of slopes, which makes its rank small;
    ``l1`` and ``penalty`` are the alternatives, a penalty's coordinates being the matrix
    line by line, a line for every column of the design, the intercepts last. The slope of
    every squared loss is clipped at ``slope_bound`` (by default at ``target_bound``). The
    mechanism must be driven by gradients. Everything else is as in `LogisticRegression`.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        schema: Schema | None = None,
        row_norm: float | None = None,
        mechanism: MechanismSetting = "mpadmm",
        l2: RidgeSetting = "auto",
        l1: float = 0.0,
        penalty: Penalty | None = None,
        nuclear: float = 0.0,
        fit_intercept: bool = True,
        neighbours: NeighbourSetting = None,
        intervals: IntervalSetting = None,
        ledger: LedgerSetting = None,
        random_state: RandomState = None,
        target_bound: float | None = None,
        slope_bound: float | None = None,
    ) -> None:
        self.budget = budget
        self.schema = schema
        self.row_norm = row_norm
        self.mechanism = mechanism
        self.l2 = l2
        self.l1 = l1
        self.penalty = penalty
        self.nuclear = nuclear
        self.fit_intercept = fit_intercept
        self.neighbours = neighbours
        self.intervals = intervals
        self.ledger = ledger
        self.random_state = random_state
        self.target_bound = target_bound
        self.slope_bound = slope_bound

    def predict(self, X: Any) -> Array:
        """Return a column of predictions for every target, within the declared range."""
        return np.clip(self._margins(X), *self._ends(None))

    def _spec(self) -> FitSpec:
        weight = read_number("nuclear", self.nuclear, "0 means none.", zero=True)
        if weight and (self.l1 or self.penalty is not None):
            raise InvalidParameter("nuclear", "0 next to another penalty", weight)
        if self.schema is not None:
            raise InvalidParameter(
                "schema", "None for several targets: a schema declares one", "a schema"
            )
        return super()._spec()

    def _units(self, schema: Schema | None) -> tuple[float, float]:
        lower, upper = self._ends(schema)
        return max(-lower, upper), 0.0

    def _rule(self, schema: Schema | None) -> SeveralTargetsRule:
        bound, _ = self._units(schema)
        cut = 1.0 if self.slope_bound is None else float(self.slope_bound) / bound
        return SeveralTargetsRule(bound, Clipped(Squared(), cut))

    def _keep(self, release: Release, task: TargetSpec) -> None:
        """Take over a release with a line of coefficients for every target."""
        matrix = release.value.reshape(-1, task.responses)
        super()._keep(replace(release, value=np.ascontiguousarray(matrix.T)), task)

    def _check_release(self, release: Release) -> None:
        width = self.n_features_in_ + bool(self.fit_intercept)
        if release.value.ndim != 2 or release.value.shape[1] != width:
            raise InvalidParameter("coefficients", f"lines of {width}", "another shape")

    def _set_coefficients(self, value: Array) -> None:
        PrivateLinearModel._set_coefficients(self, value)  # noqa: SLF001

    def _row_labels(self, count: int) -> list[str]:
        return [f"y{j}: " for j in range(count)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags
