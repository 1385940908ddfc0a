"""Sparse linear regression: a few of many columns are selected and fitted privately."""

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
from confide.estimators.linear import LinearRegression
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
    """Linear regression on a small subset of many columns under differential privacy.

    Selection and fit share one budget. The guarantee is PROVED for every named mechanism
    unless `release_` states otherwise (docs/proofs/selection.md).

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        Privacy budget of selection and fit together. With a larger budget, columns with
        weaker effects can be detected. It is the only required argument.
    size : int, default=10
        Number of columns to select. The budget of the selection is divided among them.
    column_bound : float, default=1.0
        Public bound on the absolute value of every entry; larger entries are clipped to it.
    schema : Schema, optional
        Public description of a table: its columns with their ranges or levels, and the
        target. With a schema, `fit` takes a data frame or a file. Write the schema without
        looking at the private rows.
    mechanism : str or Mechanism, default="screening"
        "screening" selects columns by covariance with the target and fits them by objective
        perturbation. "sample-aggregate" selects by votes of blocks of rows instead.
        "published" is the method of Kifer, Smith and Thakurta (2012): half the budget for
        votes with Laplace noise, rows scaled down if the norm of their ``size`` largest
        entries exceeds √size, targets within ±size, coefficients within ±1, and no
        intercept. "thresholding" and "frank-wolfe" select columns during the fit. An
        instance, for example of `SelectThenFit`, is also accepted.
    blocks : int, optional
        Number of blocks of rows that vote; see `SampleAggregateSelector`.
    l2 : float or "auto", default="auto"
        Ridge parameter Λ: ½Λ‖θ‖² is added to the sum of the losses (not their mean). θ
        includes the intercept. A larger value shrinks the coefficients and reduces the
        effect of the noise. "auto" chooses a value from public information.
    fit_intercept : bool, default=True
        Whether to add a constant column. Its value is 0.3 times the row norm, and its
        coefficient is penalised like the others.
    neighbours : {"add-remove", "replace-one"}, optional
        Neighbour relation of the guarantee. "add-remove" hides whether a person is in the
        table; the number of rows is then private. "replace-one" hides the values of a
        person; the number of rows is then public, and the noise is larger. By default, the
        relation is that of the mechanism, usually "add-remove".
    ledger : Ledger, str or Path, optional
        Ledger to charge before any noise is drawn. The charge is recorded under the name of
        the schema or, for arrays, the name given to `Ledger.for_dataset`. Without a ledger,
        spending is not recorded.
    random_state : int or generator, optional
        Seed or generator for tests and studies. It makes a fit repeatable and NOT private.
        By default, the random bits for the noise come from the operating system.
    target_bound : float, optional
        Public bound on the absolute value of the target; larger targets are clamped. By
        default size·column_bound, the largest prediction with coefficients within ±1.
    slope_bound : float, optional
        Size of a residual, in the unit of the target, beyond which its influence no longer
        grows (Huber's loss). By default a quarter of the width of the target's range. A
        smaller bound means less noise, but more bias if residuals are skewed. Mechanisms
        that release sums do not clip residuals.
    coef_norm : float, optional
        Public bound on the Euclidean norm of the coefficients, imposed as a constraint. The
        coefficients are those for scaled columns, in units of the target. With this bound,
        residuals are not clipped unless ``slope_bound`` is set.

    Attributes
    ----------
    release_ : Release
        Coefficients with their guarantee and their noise.
    coef_ : ndarray of shape (n_features,)
        Slopes; those of columns that were not selected are 0.
    intercept_ : float
        Intercept, in the unit of the target.
    selected_ : tuple of str
        Names of the variables with a coefficient other than 0.
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
    confide.selection.SelectThenFit : The mechanism, with all its settings.

    Examples
    --------
    There are 20 columns between -1 and 1, and the target depends on columns 3 and 8:

    >>> import numpy as np
    >>> from confide import Approx, SparseLinearRegression
    >>> row, column = np.ogrid[:5000, :20]
    >>> X = np.sin((row + 1) * (column + 1))
    >>> y = X[:, 3] - X[:, 8]
    >>> model = SparseLinearRegression(Approx(2, 1e-6), size=2, random_state=0).fit(X, y)
    >>> model.support_
    array([3, 8])

    The two columns that matter were selected, and the selection itself is private.
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
        """Select columns and fit them privately.

        Parameters
        ----------
        X : table, path or array
            Features or, with a schema, a table that includes the target.
        y : array or str, optional
            Target, or the name of its column in a table without a schema. Omit it with a
            schema.
        holdout : float or Holdout, optional
            Share of rows to hold out, for example 0.2. `holdout_score_` is then the score
            of the model on the held-out rows, within the same budget.

        Returns
        -------
        SparseLinearRegression
            The fitted model itself.
        """
        return self._fit(X, y, holdout=holdout)

    def _rule(self, schema: Schema | None) -> RangeRule:
        rule = super()._rule(schema)
        if self.mechanism != "published":
            return rule
        confined = replace(rule, loss=Squared(), coef_norm=None)
        return replace(confined, largest_coef=1 / rule.unit)


_ADD_REMOVE = (Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE.value)
