"""Linear regression of several numeric targets, with one matrix of coefficients."""

from dataclasses import replace
from typing import Any

import numpy as np

from confide._types import Array
from confide.data import Schema
from confide.errors import Described, InvalidParameter
from confide.estimators._base import PrivateLinearModel
from confide.estimators._regressor import PrivateRegressor
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
from confide.mechanisms import Release
from confide.noise import RandomState
from confide.objectives import Clipped, Penalty, Squared
from confide.privacy import Budget


class MultiResponseRegression(PrivateRegressor):
    """Linear regression of several targets on the same rows under differential privacy.

    A record is a row of ``X`` with all its targets. The slope of every squared loss is
    clipped, and so is the norm of a record's gradient for all targets. The guarantee is
    PROVED (docs/proofs/gradient-mechanisms.md).

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        Privacy budget of the fit. A larger budget means less noise and a weaker guarantee.
        It is the only required argument.
    schema : None
        Not available, because a schema declares a single target.
    row_norm : float, optional
        Public bound on the Euclidean norm of a row of features; rows with a larger norm are
        scaled down to it. It is required. A larger bound means more noise; a smaller bound
        distorts more rows.
    mechanism : str or Mechanism, default="mpadmm"
        Mechanism that uses noisy gradients: "mpadmm", "momentum", "ssadmm", "sgd" or
        "dp-admm", or an instance of such a mechanism.
    l2 : float or "auto", default="auto"
        Ridge parameter Λ: ½Λ‖θ‖² is added to the sum of the losses (not their mean). θ
        includes the intercept. A larger value shrinks the coefficients and reduces the
        effect of the noise. "auto" chooses a value from public information.
    l1 : float, default=0
        Weight of an ℓ1 penalty on the slopes. A larger weight sets more of them to 0.
    penalty : Penalty, optional
        Penalty from `confide.objectives` instead of ``l1`` and ``nuclear``. Its coordinates
        are the entries of the coefficient matrix row by row. The matrix has one row per
        column of the design matrix, with the intercepts last.
    nuclear : float, default=0
        Weight of the nuclear norm of the matrix of slopes. A larger weight lowers its rank.
    fit_intercept : bool, default=True
        Whether to add a constant column. Its value is 0.3 times the row norm, and its
        coefficient is penalised like the others.
    neighbours : {"add-remove", "replace-one"}, optional
        Neighbour relation of the guarantee. "add-remove" hides whether a person is in the
        table; the number of rows is then private. "replace-one" hides the values of a
        person; the number of rows is then public, and the noise is larger. By default, the
        relation is that of the mechanism, usually "add-remove".
    intervals : None
        Not available for mechanisms that use noisy gradients.
    ledger : Ledger, str or Path, optional
        Ledger to charge before any noise is drawn. The charge is recorded under the name
        given to `Ledger.for_dataset`. Without a ledger, spending is not recorded.
    random_state : int or generator, optional
        Seed or generator for tests and studies. It makes a fit repeatable and NOT private.
        By default, the random bits for the noise come from the operating system.
    target_bound : float
        Public bound on the absolute value of every target; larger targets are clamped.
        Scale the targets to comparable sizes first.
    slope_bound : float, optional
        Size of a residual, in the unit of the targets, beyond which its influence no longer
        grows. By default ``target_bound``.

    Attributes
    ----------
    release_ : Release
        Coefficients with their guarantee and their noise.
    coef_ : ndarray of shape (n_targets, n_features)
        Slopes, one row per target.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    selected_ : tuple of str
        Names of the variables with a coefficient other than 0, if a penalty or the
        mechanism selects variables.
    support_ : ndarray
        Indices of the columns of the design matrix with a coefficient other than 0.
    schema_ : Schema or None
        Always None.
    rows_ : int or None
        Number of rows, if it is public.
    holdout_score_ : ModelScore
        Not available for several targets.
    n_features_in_ : int
        Number of columns of the design matrix.
    feature_names_in_ : ndarray
        Names of the columns, if the input had names.

    See Also
    --------
    LinearRegression : Fits one target, with intervals if requested.

    Examples
    --------
    Two targets, of which the second is minus the first:

    >>> import numpy as np
    >>> from confide import Approx, MultiResponseRegression
    >>> X = np.linspace(-1, 1, 4000)[:, None]
    >>> Y = np.hstack([X / 2, -X / 2])
    >>> model = MultiResponseRegression(
    ...     Approx(2, 1e-6), row_norm=1.0, target_bound=1.0, random_state=0
    ... ).fit(X, Y)
    >>> model.predict([[1.0]]).round(1)
    array([[ 0.5, -0.5]])

    At 1, the two private predictions have the right size and opposite signs.
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

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, holdout: Any = None
    ) -> Any:
        """Fit all targets privately.

        Parameters
        ----------
        X : array or table
            Features.
        y : array of shape (n_rows, n_targets)
            Targets, with one column per target.
        holdout : None
            Not available for several targets.

        Returns
        -------
        MultiResponseRegression
            The fitted model itself.
        """
        return self._fit(X, y, holdout=holdout)

    def predict(self, X: Any) -> Array:
        """Predict all targets of every row.

        Parameters
        ----------
        X : array or table
            Features.

        Returns
        -------
        ndarray of shape (n_rows, n_targets)
            Predictions, within ``target_bound``.
        """
        return np.clip(self._margins(X), *self._ends(None))

    def _spec(self) -> FitSpec:
        weight = read_number("nuclear", self.nuclear, "0 means no penalty.", zero=True)
        if weight and (self.l1 or self.penalty is not None):
            raise InvalidParameter(
                "nuclear", "0 if l1 or penalty is set", weight, "Use only one of them."
            )
        if self.schema is not None:
            raise InvalidParameter(
                "schema",
                "None for several targets: a schema has only one",
                Described("a schema"),
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
        """Store a release, with one set of coefficients per target."""
        matrix = release.value.reshape(-1, task.responses)
        super()._keep(replace(release, value=np.ascontiguousarray(matrix.T)), task)

    def _check_release(self, release: Release) -> None:
        width = self.n_features_in_ + bool(self.fit_intercept)
        if release.value.ndim != 2 or release.value.shape[1] != width:
            must = f"a matrix with {width} columns"
            raise InvalidParameter(
                "coefficients", must, Described(f"shape {release.value.shape}")
            )

    def _set_coefficients(self, value: Array) -> None:
        PrivateLinearModel._set_coefficients(self, value)  # noqa: SLF001

    def _row_labels(self, count: int) -> list[str]:
        return [f"y{j}: " for j in range(count)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags
