"""Plans of fits to arrays, of which only the numbers of rows and columns are known."""

import math
from typing import Any, Literal, cast

from confide.data import INTERCEPT_HEIGHT
from confide.errors import ConfideError, InvalidParameter, MissingPublicBound, UnmetNeeds
from confide.mechanisms import MECHANISMS, Intervals, Mechanism, WithIntervals
from confide.objectives import (
    MODELS,
    USUAL_CLIP,
    Clipped,
    Loss,
    Multinomial,
    Objective,
    PublicBounds,
    is_logistic,
)
from confide.objectives.multinomial import MOST_CLASSES
from confide.planning.plan import NOISE_IS_ON, Plan, positive, solve_errors, whole_number
from confide.privacy import Budget, Neighbours, check_budget

MOST_COLUMNS = 10**6
MOST_WITH_INTERVALS = 500
"""Largest number of columns in a plan with intervals, since planning takes cubic time."""
NOT_PLANNED = (
    "The effect of noise over several fits or steps cannot be predicted: fit simulated "
    "data, or plan with mechanism='objective'."
)


def make_plan(
    rows: int,
    columns: int,
    budget: Budget,
    *,
    model: str = "logistic",
    mechanism: str | Mechanism = "objective",
    neighbours: Neighbours | str | None = None,
    row_norm: float = 1.0,
    l2: float | Literal["auto"] = "auto",
    level: float = 0.95,
    signal: float = 1.0,
    target_bound: float | None = None,
    slope_bound: float | None = None,
    intervals: Any = None,
    classes: int = 2,
) -> Plan:
    """Predict the accuracy of a fit to arrays, without reading data or spending budget.

    Use `plan_fit` for fits with a schema.

    Parameters
    ----------
    rows : int
        Planned number of rows.
    columns : int
        Number of features.
    budget : Pure, Approx or Zcdp
        Budget of the fit.
    model : {"logistic", "svm", "linear", "poisson"}, default="logistic"
        Name of the model.
    mechanism : str or Mechanism, default="objective"
        Mechanism that releases the coefficients.
    neighbours : {"add-remove", "replace-one"}, optional
        Neighbour relation to protect; by default that of the mechanism.
    row_norm : float, default=1.0
        Public bound on the norm of a row.
    l2 : float or "auto", default="auto"
        Ridge penalty of the fit; by default the mechanism chooses it.
    level : float, default=0.95
        Confidence level of intervals; a level in ``intervals`` takes precedence.
    signal : float, default=1.0
        Standard deviation of the linear predictor over the rows; for "linear" in units of
        the residual standard deviation.
    target_bound : float, optional
        Public bound on the target, for "linear" and "poisson".
    slope_bound : float, optional
        Public bound on the slope of the loss.
    intervals : bool, float or Intervals, optional
        Intervals that the fit releases, specified as for an estimator.
    classes : int, default=2
        Number of classes of a logistic model.

    Returns
    -------
    Plan
        Expected errors and interval widths.

    Raises
    ------
    InvalidParameter
        A setting is not valid, or there are too many columns.
    MissingPublicBound
        The model needs a bound that was not given.

    Examples
    --------
    Ten times as many rows reduce the error due to privacy to a tenth:

    >>> from confide import Approx
    >>> from confide.planning import make_plan
    >>> few, many = (make_plan(rows, 5, Approx(1, 1e-6)) for rows in (10**4, 10**5))
    >>> round(few.privacy_error / many.privacy_error)
    10
    """
    plain = MODELS.find(model)()
    chosen = MECHANISMS.find(mechanism)() if isinstance(mechanism, str) else mechanism
    if isinstance(chosen, type) or getattr(chosen, "name", None) not in NOISE_IS_ON:
        must = f"one of {list(NOISE_IS_ON)}, by name or as an object"
        raise InvalidParameter("mechanism", must, mechanism, NOT_PLANNED)
    wish = Intervals.read(intervals)
    usual = chosen.default_neighbours
    if wish is not None and wish.variant == "published":
        usual = Neighbours.REPLACE_ONE
    relation = Neighbours.of(usual if neighbours is None else neighbours)
    width, norm = whole_number("columns", columns), positive("row_norm", row_norm)
    _check_width(width, with_intervals=wish is not None)
    target = None if target_bound is None else positive("target_bound", target_bound)
    slope = None if slope_bound is None else positive("slope_bound", slope_bound)
    automatic = isinstance(l2, str) and l2 == "auto"
    several = _several(plain, classes) if slope is None else 2
    scores = several - 1
    objective = Objective(
        Multinomial(several) if scores > 1 else _clipped(plain, model, target, slope),
        (width + 1) * scores,
        math.hypot(norm, INTERCEPT_HEIGHT * norm),
        None if automatic else positive("l2", cast("float", l2)),
        target_bound=1.0 if plain.family.identity_link else target,
        responses=scores,
    )
    count = whole_number("rows", rows)
    whole = check_budget(budget)
    joint = None
    if wish is not None:
        combined = WithIntervals(chosen, wish, count)
        joint = combined.calibrate(objective, whole, relation)
    fixed = chosen.calibrate(objective, budget, relation) if joint is None else joint.main
    draft = Plan(
        count,
        width,
        model,
        chosen.name,
        budget,
        fixed.neighbours,
        norm,
        positive("level", level if wish is None else wish.level, below=1.0),
        positive("signal", signal, below=10.0),
        target,
        slope,
        fixed.noise.kind,
        fixed.noise.scale,
        fixed.objective.strong_convexity,
        fixed,
        joint,
        classes=several,
    )
    return solve_errors(draft)


def compare_mechanisms(
    rows: int,
    columns: int,
    budget: Budget,
    *,
    model: str = "logistic",
    neighbours: Neighbours | str | None = None,
    row_norm: float = 1.0,
    l2: float | Literal["auto"] = "auto",
    level: float = 0.95,
    signal: float = 1.0,
    target_bound: float | None = None,
    slope_bound: float | None = None,
    intervals: Any = None,
) -> tuple[Plan, ...]:
    """Compare plans of the same fit with different mechanisms.

    Mechanisms whose errors cannot be predicted or that do not support the model are left
    out.

    Parameters
    ----------
    rows : int
        Planned number of rows.
    columns : int
        Number of features.
    budget : Pure, Approx or Zcdp
        Budget of the fit.
    model : {"logistic", "svm", "linear", "poisson"}, default="logistic"
        Name of the model.
    neighbours : {"add-remove", "replace-one"}, optional
        Neighbour relation to protect; by default that of each mechanism.
    row_norm : float, default=1.0
        Public bound on the norm of a row.
    l2 : float or "auto", default="auto"
        Ridge penalty of the fit; by default every mechanism chooses its own.
    level : float, default=0.95
        Confidence level of intervals.
    signal : float, default=1.0
        Standard deviation of the linear predictor over the rows; for "linear" in units of
        the residual standard deviation.
    target_bound : float, optional
        Public bound on the target.
    slope_bound : float, optional
        Public bound on the slope of the loss.
    intervals : bool, float or Intervals, optional
        Intervals that the fit releases, specified as for an estimator.

    Returns
    -------
    tuple of Plan
        One plan for each mechanism, sorted by total error with the smallest first.

    Examples
    --------
    >>> from confide import Approx
    >>> from confide.planning import compare_mechanisms
    >>> plans = compare_mechanisms(20_000, 5, Approx(1, 1e-6))
    >>> sorted(plan.mechanism for plan in plans)
    ['objective', 'output']
    """
    plans: list[Plan] = []
    refusals: list[ConfideError] = []
    for name in (name for name in MECHANISMS if name in NOISE_IS_ON):
        try:
            plan = make_plan(
                rows,
                columns,
                budget,
                model=model,
                mechanism=name,
                neighbours=neighbours,
                row_norm=row_norm,
                l2=l2,
                level=level,
                signal=signal,
                target_bound=target_bound,
                slope_bound=slope_bound,
                intervals=intervals,
            )
            plans.append(plan)
        except (UnmetNeeds, InvalidParameter) as refusal:
            refusals.append(refusal)
    if not plans:
        raise refusals[0]
    return tuple(sorted(plans, key=lambda plan: plan.total_error))


def _several(loss: Loss, classes: int) -> int:
    """Return the number of classes in the loss; 2 for binary and one-vs-rest fits."""
    count = whole_number("classes", classes)
    return count if is_logistic(loss) and 2 < count <= MOST_CLASSES else 2


def _clipped(
    loss: Any, model: str, target_bound: float | None, slope_bound: float | None
) -> Loss:
    """Return the loss that the estimator minimises, clipped if its slope is unbounded."""
    if loss.targets != "signs" and target_bound is None:
        raise MissingPublicBound(f"a plan for model={model!r} needs target_bound: set it.")
    scaled = loss.family.identity_link
    if slope_bound is not None:
        unit = (target_bound or 1.0) if scaled else 1.0
        return Clipped(loss, slope_bound / unit)
    try:
        loss.slope_bound(PublicBounds(1.0, target_bound=target_bound))
    except MissingPublicBound:
        if scaled:
            return Clipped(loss, USUAL_CLIP)
        lacking = f"a plan for model={model!r} needs slope_bound: set it."
        raise MissingPublicBound(lacking) from None
    return cast("Loss", loss)


def _check_width(columns: int, *, with_intervals: bool) -> None:
    """Raise if there are so many columns that a plan would take hours."""
    if columns > MOST_COLUMNS:
        raise InvalidParameter("columns", f"at most {MOST_COLUMNS:,} in a plan", columns)
    if with_intervals and columns > MOST_WITH_INTERVALS:
        raise InvalidParameter(
            "columns",
            f"at most {MOST_WITH_INTERVALS} in a plan with intervals",
            columns,
            "Plan without intervals, or for fewer columns.",
        )
