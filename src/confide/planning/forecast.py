"""Prediction of coefficient errors and interval widths for one simulated table.

The prediction follows the steps of a fit. It computes the coefficients that result from
the ridge and the noise, then the moments of the loss at these coefficients, to which
separate noise is added, and finally the intervals, with the same code as a fit. The moments
are computed as expectations, not from rows, so the number of rows is not limited. The
errors of mechanisms that add noise in several steps cannot be predicted in this way, so
these mechanisms are run on simulated rows.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from confide._types import Array
from confide.data.matrix.dense import Dense
from confide.data.rows.in_memory import HEAVIEST
from confide.data.schema.terms.kinds import features_of
from confide.data.schema.terms.term import Units
from confide.errors import InvalidParameter
from confide.mechanisms import Calibration, IntervalCalibration
from confide.noise import Entropy, Generator, generator
from confide.objectives import (
    NORMAL_NODES,
    Loss,
    Objective,
    is_multinomial,
    sum_zero_basis,
)
from confide.planning.interval_width import ExpectedMoments, interval_widths
from confide.planning.supposition import SupposedTable, SupposedTarget, Supposition

ROUNDS = 4
"""Number of rounds in which the curvature and the coefficients are updated in turn."""
SCORE_DRAWS = 400
MOST_TRIAL_ROWS = 20_000
"""Largest number of simulated rows on which a mechanism is run."""
MIDDLE_OF_ERRORS = float(ndtri(0.75))
"""Median of the absolute value of a standard normal variable."""


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """Effects, errors and interval widths of the summary lines for one simulated table.

    The effects are the true effects in the simulation. A width is NaN if there are no
    intervals or if the effect is not identified.
    """

    names: tuple[str, ...]
    effects: Array
    errors: Array
    widths: Array

    @classmethod
    def together(cls, parts: "list[Forecast]") -> "Forecast":
        """Concatenate the forecasts for several codings of the target."""
        return cls(
            tuple(name for one in parts for name in one.names),
            np.concatenate([one.effects for one in parts]),
            np.concatenate([one.errors for one in parts]),
            np.concatenate([one.widths for one in parts]),
        )


def follows(calibration: Calibration) -> bool:
    """Return whether errors are predicted by a formula, without simulated rows.

    There is a formula for mechanisms that add noise once, to the objective or to its
    minimiser.
    """
    return calibration.mechanism.name in ("objective", "output", "intervals")


def forecast(table: SupposedTable, rows: int, number: int) -> Forecast:
    """Predict the summary lines for one simulated table; ``number`` is the seed."""
    draw, entropy = generator(number), Entropy.seeded(number)
    codings = range(len(table.targets))
    return Forecast.together(
        [_coding(table, coding, rows, draw, entropy) for coding in codings]
    )


def _coding(
    table: SupposedTable, coding: int, rows: int, draw: Generator, entropy: Entropy
) -> Forecast:
    names, target = table.names[coding], table.targets[coding]
    supposed = table.moments[coding]
    calibration: Any = table.calibration
    intervals = calibration if isinstance(calibration, IntervalCalibration) else None
    main: Calibration = calibration if intervals is None else intervals.main
    objective, on_term = main.objective, main.solver_noise is not None
    second, plain = supposed.second, supposed.coefficients.ravel()
    noise = main.noise.deviation(objective.dimension)
    pushed = noise * draw.standard_normal(objective.dimension)
    weight, theta = _typical_weight(objective, second), plain
    if table.schema.case_weights is not None:
        weight *= table.schema.case_weights.typical_share(table.schema.target.levels)
    for _ in range(ROUNDS):
        mean_curvature, mean_scatter = _loss_moments(
            objective.loss, supposed, target, theta
        )
        curvature = _times(rows * weight, np.kron(second, mean_curvature))
        inverse = _inverse(curvature + np.diag(objective.ridge))
        theta = inverse @ (curvature @ plain - (pushed if on_term else 0.0))
        theta = theta + (0.0 if on_term else pushed)
    scatter = _times(rows * weight**2, np.kron(second, mean_scatter))
    through = inverse if on_term else np.eye(len(plain))
    spread = inverse @ scatter @ inverse + noise**2 * (through @ through.T)
    variance = np.einsum("ij,jk,ik->i", table.lines, spread, table.lines).clip(0.0)
    pull = table.lines @ (inverse @ (objective.ridge * plain))
    widths = np.full(len(names), np.nan)
    if intervals is not None:
        expected = ExpectedMoments(rows, curvature, scatter, theta)
        wanted = table.spec.intervals
        level = math.nan if wanted is None else wanted.level
        widths = interval_widths(intervals, expected, table.lines, level, entropy)
    return Forecast(names, table.lines @ plain, np.sqrt(variance + pull**2), widths)


def _inverse(matrix: Array) -> Any:
    """Return the inverse, or the pseudo-inverse of a singular matrix."""
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrix, hermitian=True)


def _times(factor: float, matrix: Any) -> Array:
    return np.asarray(factor * matrix, dtype=np.float64)


def _typical_weight(objective: Objective, second: Array) -> float:
    """Return the weight of a typical record; 1 unless rows are weighted by their norm."""
    if objective.longest_row is None:
        return 1.0
    return min(HEAVIEST, objective.row_norm / math.sqrt(float(np.trace(second))))


def _loss_moments(
    loss: Loss, supposed: Supposition, target: SupposedTarget, theta: Array
) -> tuple[Array, Array]:
    """Return the mean curvature and mean squared slope of the loss at ``theta``."""
    if is_multinomial(loss):
        return _moments_of_scores(supposed, theta)
    plain, covariance = supposed.coefficients[:, 0], supposed.covariance
    level = float(supposed.mean @ theta)
    if not target.labelled:
        stray = theta - plain
        missed = math.sqrt(max(0.0, float(stray @ covariance @ stray)))
        node, value = np.meshgrid(NORMAL_NODES, target.values, indexing="ij")
        return _averages(loss, level + missed * node, value, np.exp(-(node**2) / 2))
    true_level, true_spread = float(target.levels[0]), float(target.spreads[0])
    along = float(plain @ covariance @ theta) / true_spread
    across = math.sqrt(max(0.0, float(theta @ covariance @ theta) - along**2))
    first, second, label = np.meshgrid(
        NORMAL_NODES, NORMAL_NODES[::4], target.values, indexing="ij"
    )
    chance = target.family.weight(label, true_level + true_spread * first)
    weight = chance * np.exp(-(first**2 + second**2) / 2)
    return _averages(loss, level + along * first + across * second, label, weight)


def _averages(
    loss: Loss, margin: Array, value: Array, weight: Array
) -> tuple[Array, Array]:
    margin, value, weight = margin.ravel(), value.ravel(), weight.ravel() / weight.sum()
    curvature = float(weight @ loss.curvature(margin, value))
    scatter = float(weight @ loss.slope(margin, value) ** 2)
    return np.full((1, 1), curvature), np.full((1, 1), scatter)


def _moments_of_scores(supposed: Supposition, theta: Array) -> tuple[Array, Array]:
    """Return the mean Hessian and the mean squared gradient of a multinomial loss.

    Both are matrices with respect to the scores. They are assumed to be equal, as they are
    for a correct model.
    """
    count = supposed.coefficients.shape[1]
    table, basis = theta.reshape(-1, count), sum_zero_basis(count + 1)
    spread = np.sqrt(np.maximum(np.diag(table.T @ supposed.covariance @ table), 0.0))
    drawn = generator(0).standard_normal((SCORE_DRAWS, count)) * spread
    scores = (supposed.mean @ table + drawn) @ basis.T
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    whole = np.diag(chances.mean(axis=0)) - chances.T @ chances / len(chances)
    curvature = basis.T @ whole @ basis
    return curvature, curvature


# ------------------------------------------------------------------------ simulated rows


def try_release(table: SupposedTable, rows: int, number: int) -> Forecast:
    """Run the mechanism on simulated rows, and return its errors without intervals.

    Every absolute error is divided by the median of |Z| for a standard normal Z. The median
    over the simulated tables then estimates a standard deviation.
    """
    objective = table.calibration.objective
    if is_multinomial(objective.loss):
        raise InvalidParameter(
            "mechanism",
            "'objective' or 'output' to plan a multinomial fit",
            table.calibration.mechanism.name,
        )
    draw = generator(number)
    count = min(rows, MOST_TRIAL_ROWS)
    design = made_up_rows(table, count, draw)
    tasks, effects = [], []
    for target, supposed in zip(table.targets, table.moments, strict=True):
        plain = _without_links(table, target, supposed.coefficients[:, 0], design)
        effects.append(table.lines @ plain)
        y = _outcomes(target, _margins(table, design, plain), draw)
        tasks.append(table.spec.bounding.enclose(Dense(design), y))
    release = table.calibration.release(tasks, Entropy.seeded(number))
    values = np.atleast_2d(release.value)
    errors = [
        np.abs(table.lines @ value - effect) / MIDDLE_OF_ERRORS
        for value, effect in zip(values, effects, strict=True)
    ]
    names = tuple(name for one in table.names for name in one)
    whole = np.concatenate(effects)
    return Forecast(names, whole, np.concatenate(errors), np.full(len(whole), np.nan))


def made_up_rows(table: SupposedTable, count: int, draw: Generator) -> Array:
    """Draw rows with independent columns, scaled as in a fit."""
    units = Units()
    for column in table.schema.predictors:
        supposed = table.columns[column.name]
        if column.coded:
            shares = supposed.shares
            places = np.searchsorted(np.cumsum(shares), draw.random(count), side="right")
            units.codes[column.name] = np.where(places < len(shares), places, -1)
        else:
            values, chances = supposed.scaled(column)
            units.numbers[column.name] = draw.choice(values, count, p=chances)
    parts = [features_of(effect, units) for effect in table.schema.effects]
    return np.vstack(parts).T * table.schema.weights


def _margins(table: SupposedTable, design: Array, plain: Array) -> Array:
    height = table.spec.bounding.height
    return design @ plain[: design.shape[1]] + (height * plain[-1] if height else 0.0)


def _without_links(
    table: SupposedTable, target: SupposedTarget, plain: Array, design: Array
) -> Array:
    """Rescale coefficients to the assumed mean and spread of the linear predictor.

    This is necessary because the coefficients were chosen for correlated columns, whereas
    the columns of ``design`` are independent.
    """
    slopes = plain[: design.shape[1]]
    reached = float(np.std(design @ slopes))
    scaled = slopes * (float(target.spreads[0]) / reached if reached else 1.0)
    height = table.spec.bounding.height
    if not height:
        return scaled
    level = (float(target.levels[0]) - float(np.mean(design @ scaled))) / height
    return np.append(scaled, level)


def _outcomes(target: SupposedTarget, margins: Array, draw: Generator) -> Array:
    """Draw a target for every row, given its linear predictor."""
    if target.labelled:
        chance = target.family.weight(np.ones_like(margins), margins)
        return np.where(draw.random(len(margins)) < chance, 1.0, -1.0)
    left = draw.choice(target.values, len(margins))
    if target.family.identity_link:
        return np.clip(margins + left - float(target.levels[0]), -1.0, 1.0)
    return np.maximum(0.0, left * np.exp(margins - float(target.levels[0])))
