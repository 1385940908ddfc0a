"""The contract of a loss: convexity, correct derivatives, and valid bounds.

The checks are exact for convex functions: a difference quotient of the value lies between
the slopes at its two end points, even at kinks, so no numerical derivative is needed.
"""

import math

import numpy as np

from confide._types import Array
from confide.noise import Entropy
from confide.objectives import Loss, PublicBounds, curvature_bound
from confide.testing._expect import expect, first_failure

MARGINS = 1201
WIDEST_MARGIN = 12.0
FAR_MARGIN = 1000.0
STEP = 1e-4
MOST_LABELS = 9


def check_loss(loss: Loss, public: PublicBounds) -> None:
    """Assert that a loss satisfies the contract of `confide.objectives.Loss`.

    Parameters
    ----------
    loss : Loss
        The loss to check.
    public : PublicBounds
        The public bounds for which the constants of the loss are checked. The targets are
        ±1 for a loss with targets "signs", a grid on [−B, B] for "numbers", and whole
        numbers from 0 to B for "counts", where B is the bound on the target.

    Raises
    ------
    AssertionError
        If a property of the contract fails; the message states which one, and where.

    Examples
    --------
    No error means that the contract is satisfied:

    >>> from confide.objectives import Logistic, PublicBounds
    >>> from confide.testing import check_loss
    >>> check_loss(Logistic(), PublicBounds(row_norm=1.0, coef_norm=3.0))
    """
    for label in _labels(loss, public):
        eta = _margins(public)
        y = np.full_like(eta, label)
        _check_value(loss, eta, y)
        _check_slope(loss, eta, y, public)
        _check_curvature(loss, eta, y, public)
        _check_inverse(loss, eta, label, public)
        _check_precision(loss, eta, y)
        _check_traits(loss, eta, y, public)
    _check_curvature_of_slope(loss, public)
    _check_extreme_targets(loss, public)
    _check_model(loss, public)


def _labels(loss: Loss, public: PublicBounds) -> Array:
    bound = 1.0 if public.target_bound is None else public.target_bound
    match loss.targets:
        case "signs":
            return np.array([-1.0, 1.0])
        case "numbers":
            return np.linspace(-bound, bound, MOST_LABELS)
        case _:
            return np.unique(np.floor(np.linspace(0.0, bound, MOST_LABELS)))


def _margins(public: PublicBounds) -> Array:
    """Return margins within the public bound: a randomly shifted grid and its two ends.

    All margins are at least one step inside the bound, as difference quotients require.
    """
    reach = min(public.margin_bound, WIDEST_MARGIN) - STEP
    spacing = 2 * reach / MARGINS
    grid = np.linspace(-reach, reach - spacing, MARGINS)
    grid += spacing * Entropy.seeded(0).uniform(MARGINS)
    return np.concatenate([[-reach], grid, [reach]])


def _check_value(loss: Loss, eta: Array, y: Array) -> None:
    kept_eta, kept_y = eta.copy(), y.copy()
    middle = loss.value(eta, y)
    sides = loss.value(eta - STEP, y), loss.value(eta + STEP, y)
    expect(np.isfinite(middle), "the value must be finite", at=float(y[0]))
    rounding = 1e-14 * (1 + np.abs(middle))
    convex = sides[0] + sides[1] - 2 * middle >= -rounding
    expect(
        convex,
        "the value must be convex in the margin: a second difference is negative",
        at=first_failure(convex, margin=eta, label=y),
    )
    wide = loss.value(eta[:-2], y[:-2]), loss.value(eta[2:], y[2:])
    part = (eta[1:-1] - eta[:-2]) / (eta[2:] - eta[:-2])
    chord = (1 - part) * wide[0] + part * wide[1]
    below = middle[1:-1] <= chord + rounding[1:-1]
    expect(
        below,
        "the value must be convex in the margin: it lies above a chord",
        at=first_failure(below, margin=eta[1:-1], label=y[1:-1]),
    )
    quotient = (sides[1] - sides[0]) / (2 * STEP)
    lower, upper = loss.slope(eta - STEP, y), loss.slope(eta + STEP, y)
    between = (lower - rounding / STEP <= quotient) & (quotient <= upper + rounding / STEP)
    expect(
        between,
        "the slope must be the derivative of the value: a difference quotient of the value "
        "is not between the slopes at its ends",
        at=first_failure(between, margin=eta, label=y),
    )
    unchanged = np.array_equal(eta, kept_eta) and np.array_equal(y, kept_y)
    expect(unchanged, "value and slope must not change their arguments")


def _check_slope(loss: Loss, eta: Array, y: Array, public: PublicBounds) -> None:
    steepest = loss.slope_bound(public)
    expect(
        0 < steepest < math.inf,
        "slope_bound must be positive and finite for these public bounds, or raise "
        "MissingPublicBound",
        at=steepest,
    )
    edge = min(public.margin_bound, FAR_MARGIN)
    eta = np.concatenate([[-edge], eta, [edge]])
    y = np.full_like(eta, y[0])
    slope = loss.slope(eta, y)
    inside = np.abs(slope) <= steepest * (1 + 1e-12)
    expect(
        inside,
        f"|slope| must not exceed slope_bound = {steepest:g}",
        at=first_failure(inside, margin=eta, label=y, slope=slope),
    )
    if loss.monotone:
        one_sign = slope.min() >= 0 or slope.max() <= 0
        expect(
            one_sign,
            "the slope of a monotone loss must not change its sign for a fixed label",
            at={"label": float(y[0]), "from": slope.min(), "to": slope.max()},
        )


def _check_curvature(loss: Loss, eta: Array, y: Array, public: PublicBounds) -> None:
    slope, curvature = loss.slope(eta, y), loss.curvature(eta, y)
    sides = loss.slope(eta - STEP, y), loss.slope(eta + STEP, y)
    expect(curvature >= 0, "the curvature must not be negative", at=float(y[0]))
    rounding = 1e-14 * (1 + np.abs(slope)) / STEP
    quotient = (sides[1] - sides[0]) / (2 * STEP)
    ends = loss.curvature(eta - STEP, y), loss.curvature(eta + STEP, y)
    steady = np.abs(ends[0] - curvature) + np.abs(ends[1] - curvature)
    regular = steady <= 0.01 * (1 + curvature)
    expect(
        regular.mean() >= 0.9,
        "the curvature must be continuous at nearly all margins",
        at=float(y[0]),
    )
    equal = np.abs(quotient - curvature) <= 2 * steady + rounding
    wrong = regular & ~equal
    allowed = 0 if loss.smooth else 0.01 * len(eta)
    expect(
        wrong.sum() <= allowed,
        "the curvature must be the derivative of the slope where it is continuous",
        at=first_failure(~wrong, margin=eta, label=y, curvature=curvature),
    )
    bound = curvature_bound(loss, public)
    if not loss.smooth:
        expect(
            math.isinf(bound),
            "a loss that is not smooth must have an infinite curvature bound",
            at=bound,
        )
        return
    lipschitz = quotient <= bound * (1 + 1e-9) + rounding
    expect(
        lipschitz,
        f"a smooth loss must have a slope with Lipschitz constant {bound:g} (the largest "
        "value of max_curvature, found at slope_of_peak_curvature)",
        at=first_failure(lipschitz, margin=eta, label=y, quotient=quotient),
    )
    allowed_here = loss.max_curvature(np.abs(slope), public)
    within = curvature <= allowed_here * (1 + 1e-9) + 1e-15
    expect(
        within,
        "the curvature must not exceed max_curvature(|slope|)",
        at=first_failure(within, margin=eta, label=y, curvature=curvature),
    )


def _check_inverse(loss: Loss, eta: Array, label: float, public: PublicBounds) -> None:
    """Check that the slopes on both sides of ``inverse_slope`` enclose its argument."""
    steepest = loss.slope_bound(public)
    asked = np.append(np.linspace(-1.1 * steepest, 1.1 * steepest, 221), 0.0)
    y = np.full_like(asked, label)
    found = np.asarray(loss.inverse_slope(asked, y))
    expect(~np.isnan(found), "inverse_slope must not return NaN", at=label)
    finite = np.isfinite(found)
    margin = np.where(finite, found, 0.0)
    reach = 1e-6 * (1 + np.abs(margin))
    lower, upper = loss.slope(margin - reach, y), loss.slope(margin + reach, y)
    rounding = 1e-12 * (1 + np.abs(asked))
    inverted = ~finite | ((lower <= asked + rounding) & (asked <= upper + rounding))
    expect(
        inverted,
        "inverse_slope must return a margin where the slope has the requested value",
        at=first_failure(inverted, slope=asked, label=y, margin=margin),
    )
    slopes = loss.slope(eta, np.full_like(eta, label))
    never = np.where(found > 0, slopes.max() <= asked, slopes.min() >= asked)
    expect(
        finite | never,
        "inverse_slope may be +inf only above and −inf only below every slope of the loss",
        at=first_failure(finite | never, slope=asked, label=y),
    )


def _check_curvature_of_slope(loss: Loss, public: PublicBounds) -> None:
    if not loss.smooth:
        return
    slopes = np.linspace(0.0, loss.slope_bound(public), 801)
    heights = loss.max_curvature(slopes, public)
    bound = curvature_bound(loss, public)
    expect(
        np.isfinite(heights) & (heights >= 0),
        "max_curvature must be finite and not negative on [0, slope_bound]",
    )
    expect(
        heights <= bound * (1 + 1e-12),
        "curvature_bound must be at least max_curvature everywhere: check "
        "slope_of_peak_curvature",
        at=first_failure(heights <= bound * (1 + 1e-12), slope=slopes, height=heights),
    )
    if loss.monotone:
        bends = heights[:-2] + heights[2:] - 2 * heights[1:-1] <= 1e-12 * bound
        expect(
            bends,
            "max_curvature must be concave on [0, slope_bound] for a monotone loss",
            at=first_failure(bends, slope=slopes[1:-1]),
        )


def _check_precision(loss: Loss, eta: Array, y: Array) -> None:
    for dtype in (np.float32, np.longdouble):
        here, label = eta.astype(dtype), y.astype(dtype)
        for name in ("value", "slope"):
            result = getattr(loss, name)(here, label)
            expect(
                result.dtype == dtype,
                f"{name} must keep the precision of its arguments, because sums rely on it",
                at=(np.dtype(dtype).name, result.dtype.name),
            )
    fine, coarse = loss.slope(eta.astype(np.longdouble), y), loss.slope(eta, y)
    unit = np.finfo(np.float64).eps
    stretch = 4 * (1 + np.abs(coarse)) + np.abs(eta) * loss.curvature(eta, y)
    close = np.abs(fine - coarse) <= 4 * unit * stretch
    if loss.smooth:
        expect(
            close,
            "slopes in double and in extended precision must agree to a few units in the "
            "last place; the solver's rounding bound relies on this",
            at=first_failure(close, margin=eta, label=y),
        )


def _check_traits(loss: Loss, eta: Array, y: Array, public: PublicBounds) -> None:
    slope, second = loss.slope(eta, y), loss.curvature(eta, y)
    same = np.isclose(
        loss.curvature_from_slope(slope, eta, y), second, rtol=1e-9, atol=1e-12
    )
    expect(
        same,
        "curvature_from_slope must return the curvature",
        at=first_failure(same, margin=eta, label=y),
    )
    for reach in (0.1, 1.0, float(np.abs(eta).max())):
        near = np.abs(eta) <= reach
        steepest = loss.steepest_slope(public, reach) * (1 + 1e-12)
        expect(
            np.abs(slope[near]) <= steepest,
            "steepest_slope must bound the slopes at all margins up to its argument",
            at=reach,
        )
    if loss.quadratic:
        expect(np.ptp(second) <= 1e-12, "a quadratic loss must have a constant curvature")
    if loss.polynomial is not None:
        curvature, pull = loss.polynomial
        origin = np.zeros(1)
        found = loss.curvature(origin, y[:1]), loss.slope(origin, y[:1])
        inside = abs(float(found[1][0])) < loss.slope_bound(public)
        expect(
            not inside or np.isclose(found[0], curvature).all(),
            "the first number of 'polynomial' must be the curvature at 0",
            at=float(found[0][0]),
        )
        expect(
            not inside or np.isclose(found[1], -pull * y[:1]).all(),
            "the second number of 'polynomial' times the target must be minus the slope "
            "at 0",
            at=float(found[1][0]),
        )


def _check_extreme_targets(loss: Loss, public: PublicBounds) -> None:
    """Check that no target gives a larger range of losses than the extreme targets."""
    extreme = loss.extreme_targets(public.target_bound or 1.0)
    if extreme is None:
        return
    for reach in (0.3, min(public.margin_bound, WIDEST_MARGIN)):
        eta = np.linspace(-reach, reach, MARGINS)
        widths = [
            float(np.ptp(loss.value(eta, np.full_like(eta, label))))
            for label in (*extreme, *_labels(loss, public))
        ]
        most = max(widths[: len(extreme)])
        expect(
            max(widths) <= most * (1 + 1e-9),
            "no target may have a larger range of values than the extreme targets",
            at=reach,
        )


def _check_model(loss: Loss, public: PublicBounds) -> None:
    """Check that the curvature of a canonical loss is the variance of its slope."""
    if not loss.canonical or loss.targets == "numbers":
        return
    eta = _margins(public)
    if loss.targets == "signs":
        down, up = (loss.slope(eta, np.full_like(eta, label)) for label in (1.0, -1.0))
        variance = -down * up
    else:
        variance = loss.slope(eta, np.zeros_like(eta))
    same = np.isclose(variance, loss.curvature(eta, np.ones_like(eta)), rtol=1e-9)
    expect(
        same,
        "the curvature of a canonical loss must be the variance of its slope",
        at=first_failure(same, margin=eta),
    )
