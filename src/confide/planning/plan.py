"""Prediction of the accuracy of a fit to arrays, from public information only.

The noise and the ridge Λ come from the calibration of the mechanism. For n rows, a loss φ
and a feature j with τ² = E xⱼ², the curvature H of the objective and the two variances of a
coefficient are

    H = n·E[φ″]·τ² + Λ
    sampling   n·E[φ′²]·τ² / H²
    privacy    Cov(b) / H² for noise b on the linear term, plus Cov(noise) on coefficients

The expectations depend on the coefficients that result from ridge and noise. Errors of the
coefficients increase the variance of the linear predictor. This lowers the curvature φ″,
which in turn enlarges the errors. The equations are therefore solved iteratively. The
curvature in the direction of the true coefficients differs from the curvature at right
angles to it, so errors are reported as root mean squares over all coefficients.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np
from scipy.special import ndtri

from confide._types import Array
from confide.data import INTERCEPT_HEIGHT
from confide.data.matrix.sums import MAX_ROWS
from confide.errors import InvalidParameter
from confide.mechanisms import (
    Calibration,
    IntervalCalibration,
)
from confide.objectives import (
    MODELS,
    Family,
    sum_zero_basis,
)
from confide.planning.interval_width import ExpectedMoments, planned_widths
from confide.planning.population import synthetic_population
from confide.privacy import Budget, Guarantee, Neighbours
from confide.privacy.guarantee import ROW_BY_ROW

NOISE_IS_ON = {"objective": "linear term", "output": "coefficients"}


@dataclass(frozen=True, slots=True)
class Plan:
    """Predicted errors and interval widths of a fit to arrays.

    Errors are standard deviations. All quantities are in the user's units. Use `make_plan`
    to create a plan.

    Parameters
    ----------
    rows : int
        Planned number of rows.
    columns : int
        Number of features.
    model : str
        Name of the model, such as "logistic".
    mechanism : str
        Name of the mechanism.
    budget : Pure, Approx or Zcdp
        Budget of the fit.
    neighbours : Neighbours
        Neighbour relation of the guarantee.
    row_norm : float
        Bound on the norm of a row.
    level : float
        Confidence level of intervals.
    signal : float
        Standard deviation of the linear predictor over the rows.
    target_bound : float or None
        Bound on the target.
    slope_bound : float or None
        Bound on the slope of the loss.
    noise_kind : str
        Name of the noise distribution, such as "gaussian".
    noise_scale : float
        Scale of the noise.
    ridge : float
        Ridge penalty of the fit.
    calibration : Calibration
        Noise and guarantee of the fit.
    intervals : IntervalCalibration, optional
        Noise and guarantee of a fit with intervals. If None, the fit releases no intervals,
        and the widths are those of hypothetical intervals that cost no budget.
    privacy_error : float
        Error of a coefficient due to privacy noise.
    sampling_error : float
        Error of a coefficient due to sampling.
    shrinkage : float
        Share of a coefficient that the ridge removes; negative if strong noise inflates the
        coefficient.
    typical_coefficient : float
        Absolute value of a coefficient if all features contribute equally to the linear
        predictor.
    curvature : float
        Mean over the rows of the second derivative of the loss, weighted by squared
        features.
    scatter : float
        Mean over the rows of the squared derivative of the loss, with the same weights.
    classes : int, default=2
        Number of classes. With three or more, coefficients are those of one class in a
        multinomial fit.

    Examples
    --------
    >>> from confide import Approx
    >>> from confide.planning import make_plan
    >>> plan = make_plan(20_000, 5, Approx(1, 1e-6))
    >>> plan.privacy_error > 0, plan.sampling_error > 0
    (True, True)
    """

    rows: int
    columns: int
    model: str
    mechanism: str
    budget: Budget
    neighbours: Neighbours
    row_norm: float
    level: float
    signal: float
    target_bound: float | None
    slope_bound: float | None
    noise_kind: str
    noise_scale: float
    ridge: float
    calibration: Calibration = field(repr=False)
    intervals: IntervalCalibration | None = field(default=None, repr=False)
    privacy_error: float = math.nan
    sampling_error: float = math.nan
    shrinkage: float = math.nan
    typical_coefficient: float = math.nan
    curvature: float = math.nan
    scatter: float = math.nan
    classes: int = 2

    @property
    def scores_share(self) -> float:
        """Curvature of the K-class loss per score, relative to two classes: 4/K."""
        return 4 / self.classes if self.classes > 2 else 1.0

    @property
    def class_share(self) -> float:
        """Error of one class's coefficient per unit of error in the sum-to-zero basis.

        This is the norm √(1 − 1/K) of a row of the basis for K classes, and 1 for two
        classes.
        """
        return math.sqrt(1 - 1 / self.classes) if self.classes > 2 else 1.0

    @property
    def family(self) -> Family:
        """The distribution that is assumed for targets given the linear predictor."""
        return cast("Family", MODELS[self.model].family)

    @property
    def target_unit(self) -> float:
        """One unit of the target in the objective, expressed in the user's units."""
        return (self.target_bound or 1.0) if self.family.identity_link else 1.0

    @property
    def noise_variances(self) -> tuple[float, float]:
        """Noise variances per coordinate, on the linear term and on the coefficients."""
        *linear, last = _variances(self.calibration)
        return float(sum(linear)), float(last)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the planned fit."""
        return (self.intervals or self.calibration).guarantee.assuming(ROW_BY_ROW)

    @property
    def interval_width(self) -> float:
        """Expected width of a confidence interval, from privacy and sampling errors."""
        if self.intervals is not None:
            unit = self.row_norm / math.sqrt(self.columns)
            heights = [unit] * self.columns + [INTERCEPT_HEIGHT * self.row_norm]
            second = np.diag(np.square(heights))
            lines = self.target_unit * np.eye(self.columns, self.columns + 1)
            widths, _ = self.released_widths(second, lines)
            return math.sqrt(float(np.mean(widths**2)))
        both = math.hypot(self.privacy_error, self.sampling_error)
        return 2 * float(ndtri((1 + self.level) / 2)) * both

    def released_widths(self, second: Array, lines: Array) -> tuple[Array, Array]:
        """Return the expected interval widths for linear functions of the coefficients.

        Parameters
        ----------
        second : ndarray
            Matrix of the mean products of all pairs of features, with the constant column
            last.
        lines : ndarray
            Matrix with one linear function of the coefficients in each row.

        Returns
        -------
        tuple of two ndarray
            Medians and upper quartiles of the widths over draws of the noise.
        """
        assert self.intervals is not None  # noqa: S101
        kept = self.typical_coefficient * (1 - self.shrinkage)
        size = math.hypot(kept, self.privacy_error) / self.target_unit
        signs = np.where(np.arange(len(second)) % 2, -size, size)
        signs[-1] = 0.0
        if self.classes > 2:
            line = sum_zero_basis(self.classes)[:1]
            each = np.eye(self.classes - 1)
            second, lines = _kron(second, each), _kron(lines, line)
            signs = np.kron(signs, line[0]) / self.class_share
        whole = self.rows * second
        expected = ExpectedMoments(
            self.rows, self.curvature * whole, self.scatter * whole, signs
        )
        return planned_widths(self.intervals, expected, lines, self.level)

    @property
    def total_error(self) -> float:
        """Root mean square error of a coefficient, from privacy, sampling and shrinkage."""
        bias = self.shrinkage * self.typical_coefficient
        return math.hypot(self.privacy_error, self.sampling_error, bias)

    @property
    def dominated_by(self) -> Literal["privacy", "sampling"]:
        """Name of the larger of the two sources of error."""
        return "privacy" if self.privacy_error >= self.sampling_error else "sampling"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the plan about unseen data."""
        targets = self.family.assumption(self.signal)
        if self.classes > 2:
            targets = f"{self.classes} {targets.replace('logistic', 'multinomial')}"
        return (
            f"rows have norm {self.row_norm:g} and uniformly distributed directions",
            targets,
            "all coefficients contribute equally to the signal",
            "errors are roughly normal, and not much larger than a typical coefficient",
        )

    def with_rows(self, rows: int) -> "Plan":
        """Return the plan for another number of rows, with the same noise and ridge.

        Parameters
        ----------
        rows : int
            The number of rows.

        Returns
        -------
        Plan
            The plan.
        """
        return solve_errors(replace(self, rows=whole_number("rows", rows)))

    def smallest_rows(self, width: float) -> int:
        """Return the smallest number of rows for an interval no wider than ``width``.

        Numbers of rows at which the ridge removes more than half of a coefficient are
        excluded, because the interval would be narrow but biased.

        Parameters
        ----------
        width : float
            Desired width.

        Returns
        -------
        int
            The number of rows.

        Raises
        ------
        InvalidParameter
            No number of rows gives this width.
        """
        goal = positive("width", width)

        def enough(rows: int) -> bool:
            plan = self.with_rows(rows)
            return plan.interval_width <= goal and plan.shrinkage <= 0.5

        few, many = 0, self.rows
        while not enough(many):
            if many == MAX_ROWS:
                least = self.with_rows(MAX_ROWS).interval_width
                must = f"more than {least:.4g}, the width at {MAX_ROWS:,} rows"
                remedy = "Raise l2 or the budget, or use mechanism='objective'."
                raise InvalidParameter("width", must, width, remedy)
            few, many = many, min(4 * many, MAX_ROWS)
        while many - few > 1:
            middle = max(few + 1, math.isqrt(few * many)) if few else many // 2
            few, many = (few, middle) if enough(middle) else (middle, many)
        return many

    def records(self) -> list[dict[str, Any]]:
        """Return the names and values in the printed plan as a list of dictionaries.

        Returns
        -------
        list of dict
            One dictionary with a name and a value for each line.
        """
        return [{"name": name, "value": value} for name, value in self._lines()]

    def __str__(self) -> str:
        cells = [
            (n, f"{v:.4g}" if isinstance(v, float) else f"{v}") for n, v in self._lines()
        ]
        left, right = (max(map(len, column)) for column in zip(*cells, strict=True))
        table = [f"{name:<{left}}  {text:>{right}}" for name, text in cells]
        supposed = ["Assuming", *(f"  - {one}" for one in self.assumptions)]
        return "\n".join([str(self.guarantee), "", *table, "", *supposed])

    def _lines(self) -> list[tuple[str, str | int | float]]:
        return [
            ("model", self.model),
            ("mechanism", self.mechanism),
            ("rows", self.rows),
            ("columns", self.columns),
            *([("classes", self.classes)] if self.classes > 2 else []),
            (f"{self.noise_kind} on {NOISE_IS_ON[self.mechanism]}", self.noise_scale),
            ("ridge (l2)", self.ridge),
            ("typical coefficient", self.typical_coefficient),
            ("error from privacy", self.privacy_error),
            ("error from sampling", self.sampling_error),
            ("shrinkage by the ridge", self.shrinkage),
            ("total error", self.total_error),
            *self._share(),
            (f"width of a {100 * self.level:g} % interval", self.interval_width),
            ("dominated by", self.dominated_by),
        ]

    def _share(self) -> list[tuple[str, str]]:
        """Return a line with the share of the budget for intervals, if there are any."""
        if self.intervals is None:
            return []
        share = 1 - self.intervals.split[0]
        return [("share of the budget for intervals", f"{float(share):.0%}")]


def _kron(one: Any, other: Array) -> Array:
    dense = one @ np.eye(one.shape[1])
    return np.asarray(np.kron(dense, other), dtype=np.float64)


def solve_errors(plan: Plan) -> Plan:
    """Return the plan with its errors, obtained by iteration to a fixed point.

    Errors of the coefficients increase the variance of the linear predictor, which lowers
    the curvature and so enlarges the errors. Sums over the rows are divided by the
    number of rows, and each coefficient is multiplied by the root mean square τ of its
    feature.
    """
    loss, across = plan.calibration.objective.loss, plan.columns - 1
    if plan.classes > 2:
        loss = MODELS[plan.model]()
    count = plan.rows * plan.scores_share
    unit = plan.row_norm / math.sqrt(plan.columns)
    units = np.array([unit, INTERCEPT_HEIGHT * plan.row_norm])
    ridge = plan.ridge / (count * units**2)
    on_term, last = plan.noise_variances
    pull = on_term / (count * units) ** 2
    people = synthetic_population(plan.family, plan.columns, plan.signal, plan.target_bound)
    free = people.centre(loss, np.zeros(2), 0.0, np.array([plan.signal, 0.0]))
    centre, stray, before = free, 0.0, math.inf
    while abs(stray - before) > 1e-5 * stray:
        centre = people.centre(loss, ridge, stray, centre)
        at = people.moments(loss, centre, stray)
        inverse = np.linalg.inv(at.hessian + np.diag(ridge))
        stiffness = at.hessian_across + ridge[0]
        scatter = at.scatter - np.outer(at.gradient, at.gradient)
        sampling = np.diag(inverse @ scatter @ inverse) / count
        sampling_across = at.scatter_across / stiffness**2 / count
        privacy = np.diag(inverse @ np.diag(pull) @ inverse)
        privacy_across = pull[0] / stiffness**2
        strays = (sampling + privacy).sum() + across * (sampling_across + privacy_across)
        before, stray = stray, max(stray, math.sqrt(strays))
    shared = plan.class_share * plan.target_unit / plan.row_norm
    told = plan.scores_share / plan.columns
    noisy = privacy[0] + across * privacy_across + plan.columns * last * unit**2
    return replace(
        plan,
        privacy_error=shared * math.sqrt(noisy),
        sampling_error=shared * math.sqrt(sampling[0] + across * sampling_across),
        shrinkage=float(1 - centre[0] / free[0]),
        typical_coefficient=float(shared * free[0]),
        curvature=float(at.hessian[0, 0] + across * at.hessian_across) * told,
        scatter=float(at.scatter[0, 0] + across * at.scatter_across) * told,
    )


def _variances(calibration: Calibration) -> list[float]:
    """Return the noise variances per coordinate, with that on the coefficients last."""
    noises = [calibration.noise, *filter(None, [calibration.solver_noise])]
    return [noise.deviation(calibration.objective.dimension) ** 2 for noise in noises]


def whole_number(name: str, value: int) -> int:
    """Return a number of rows, columns or classes, or raise if the number is not valid."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole and 1 <= value <= MAX_ROWS):
        raise InvalidParameter(name, f"a whole number from 1 to {MAX_ROWS:,}", value)
    return int(value)


def positive(name: str, value: float, below: float = math.inf) -> float:
    """Return a number as a float, or raise unless it is positive and below ``below``."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (number and 0 < value < below):
        must = "a positive finite number" if math.isinf(below) else f"in (0, {below:g})"
        raise InvalidParameter(name, must, value)
    return float(value)
