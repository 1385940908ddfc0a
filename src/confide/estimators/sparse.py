"""Sparse linear regression: few of many columns, chosen and fitted privately."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from confide.data import Schema
from confide.errors import InvalidParameter
from confide.estimators._spec import (
    LedgerSetting,
    MechanismSetting,
    NeighbourSetting,
    RidgeSetting,
)
from confide.estimators._target import RangeRule
from confide.estimators._validate import read_number
from confide.estimators.regressors import LinearRegression
from confide.mechanisms import Mechanism, ObjectivePerturbation
from confide.noise import RandomState
from confide.objectives import Squared
from confide.privacy import Budget, Neighbours
from confide.selection import (
    FrankWolfe,
    HardThresholding,
    SampleAggregateSelector,
    ScreeningSelector,
    Selector,
    SelectThenFit,
)

ROUTES = ("screening", "sample-aggregate", "published", "thresholding", "frank-wolfe")


class SparseLinearRegression(LinearRegression):
    """Linear regression on ``size`` of many columns, under differential privacy.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        What selection and fit may spend together.
    size : int
        How many columns to select.
    column_bound : float
        Public bound on every entry; entries beyond are clipped to it.
    mechanism : str or instance
        "screening" (default) selects by covariance with the target and fits by objective
        perturbation; "sample-aggregate" lets blocks of rows vote instead. "published" is
        the recipe of Kifer, Smith and Thakurta: half the budget for votes with Laplace
        noise, rows scaled where their largest ``size`` entries exceed √size, targets within
        ±size, coefficients within ±1 and their constants (under add-remove; the sharper
        ones under replace-one). "thresholding" and "frank-wolfe" select while they fit. Or
        any mechanism, for instance a `SelectThenFit`.
    blocks : int, optional
        How many blocks vote; see `SampleAggregateSelector`.
    target_bound : float, optional
        Public bound on |y|; size·column_bound if absent, which coefficients within ±1
        cannot exceed.

    Everything else is as in `LinearRegression`. Under "published" there is no intercept.

    Attributes
    ----------
    support_ : array
        The selected columns, private as the coefficients are.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        size: int = 10,
        column_bound: float = 1.0,
        schema: Schema | None = None,
        mechanism: MechanismSetting = "screening",
        blocks: int | None = None,
        l2: RidgeSetting = "auto",
        fit_intercept: bool = True,
        neighbours: NeighbourSetting = None,
        ledger: LedgerSetting = None,
        random_state: RandomState = None,
        target_bound: float | None = None,
        slope_bound: float | None = None,
        coef_norm: float | None = None,
    ) -> None:
        self.budget = budget
        self.size = size
        self.column_bound = column_bound
        self.schema = schema
        self.mechanism = mechanism
        self.blocks = blocks
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.neighbours = neighbours
        self.ledger = ledger
        self.random_state = random_state
        self.target_bound = target_bound
        self.slope_bound = slope_bound
        self.coef_norm = coef_norm

    row_norm = 1.0
    l1 = 0.0
    penalty = None
    intervals = None
    ranges = "public"

    def _ends(self, schema: Schema | None) -> tuple[float, float]:
        if self.target_bound is None and schema is None:
            reach = float(self.size) * float(self.column_bound)
            return -reach, reach
        return super()._ends(schema)

    def _mechanism(self) -> Mechanism:
        read_number("column_bound", self.column_bound, "It bounds every entry of X.")
        if not isinstance(self.mechanism, str):
            return super()._mechanism()
        if self.mechanism not in ROUTES:
            must = f"one of {list(ROUTES)} or a mechanism"
            raise InvalidParameter("mechanism", must, self.mechanism)
        if self.mechanism == "published":
            return self._published()
        if self.mechanism == "thresholding":
            return HardThresholding(self.size, column_bound=self.column_bound)
        if self.mechanism == "frank-wolfe":
            radius = self.size / self._units(self.schema)[0]
            return FrankWolfe(radius, column_bound=self.column_bound)
        selector: Selector = ScreeningSelector(self.size)
        if self.mechanism == "sample-aggregate":
            selector = SampleAggregateSelector(self.size, self.blocks)
        return SelectThenFit(selector, column_bound=self.column_bound)

    def _published(self) -> SelectThenFit:
        if self.fit_intercept:
            raise InvalidParameter(
                "fit_intercept", "False for mechanism='published'", self.fit_intercept
            )
        add_remove = self.neighbours in (None, *_ADD_REMOVE)
        return SelectThenFit(
            SampleAggregateSelector(self.size, self.blocks, "laplace"),
            ObjectivePerturbation("kst" if add_remove else "coupled"),
            Fraction(1, 2),
            self.column_bound,
            scaled=True,
        )

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, holdout: Any = None
    ) -> Any:
        """Fit privately; with a schema, ``X`` is a table that holds the target.

        ``holdout`` is a share of the rows to score on, as in `LogisticRegression`.
        """
        return self._fit(X, y, holdout=holdout)

    def _rule(self, schema: Schema | None) -> RangeRule:
        rule = super()._rule(schema)
        if self.mechanism != "published":
            return rule
        confined = replace(rule, loss=Squared(), coef_norm=None)
        return replace(confined, largest_coef=1 / rule.unit)


_ADD_REMOVE = (Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE.value)
