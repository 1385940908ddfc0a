"""Simulated tables for plans, drawn from a schema and the distributions of real columns.

Numbers, levels and targets are drawn as described in `shapes`, within the limits that a
schema declares. Ranges are estimated from simulated counts with noise, as in a fit. All
columns are correlated with a common factor, and the correlations are drawn at random. All
columns contribute equally to the target.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import brentq
from scipy.special import expit

from confide._types import Array
from confide.data import Column, Display, Schema
from confide.data.schema.effect_moments import Nodes, has_terms, moments_of
from confide.estimators import ESTIMATORS, CalibratedFit, FitSpec
from confide.mechanisms import Calibration
from confide.mechanisms.ranges.mechanism import RangesCalibration
from confide.mechanisms.ranges.read_range import CountNoise, RangeQuery, read_range
from confide.noise import Entropy, Generator, generator
from confide.objectives import (
    MODELS,
    NORMAL_NODES,
    Family,
    is_multinomial,
    sum_zero_basis,
)
from confide.planning.shapes import Shapes, TargetShape

STRONGEST_LINK = 0.95
"""Largest simulated correlation of a column with the common factor; the smallest is 0."""
LARGEST_SPREAD = 3.0
"""Largest standard deviation of simulated log-odds."""
LEAST_DEVIATION = 1e-6
"""Features with a smaller standard deviation are treated as constant."""
LEAST_MEAN = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class SupposedColumn:
    """A simulated distribution of a column: equally likely values, or shares of levels."""

    values: Array
    shares: Array

    @classmethod
    def of(cls, column: Column, shapes: Shapes, draw: Generator) -> "SupposedColumn":
        """Draw the distribution of a column, or use the declared shares of its levels."""
        nothing = np.empty(0)
        if column.possible:
            count = len(column.features) if column.coded else len(column.possible)
            declared = column.shares
            known = shapes.levels(count, draw) if declared is None else np.array(declared)
            return cls(nothing, known)
        return cls(shapes.number(reach_of(column), column.typical_ends, draw), nothing)

    def moments(self, column: Column) -> tuple[Array, Array]:
        """Return the mean and covariance of a column's features, scaled as in a fit."""
        if column.coded:
            return self.shares, np.diag(self.shares) - np.outer(self.shares, self.shares)
        scaled, chances = self.scaled(column)
        mean = float(chances @ scaled)
        return np.array([mean]), np.full((1, 1), chances @ (scaled - mean) ** 2)

    def nodes(self, column: Column) -> Nodes:
        """Return the possible values of a column with their probabilities.

        Numbers are scaled to [−1, 1]. Levels are represented by their indices, and all
        other values by −1.
        """
        if not column.coded:
            return Nodes(*self.scaled(column))
        rest = max(0.0, 1 - float(self.shares.sum()))
        cells = np.append(np.arange(len(self.shares)), -1)
        return Nodes(cells, np.append(self.shares, rest))

    def scaled(self, column: Column) -> tuple[Array, Array]:
        """Return the values, scaled to [−1, 1] as in a fit, and their probabilities."""
        lower, upper = column.ends
        values, chances = self.values, np.full(len(self.values), 1.0)
        if not len(values):
            values, chances = np.array([lower, upper]), self.shares
        scaled = np.clip((2 * values - lower - upper) / (upper - lower), -1.0, 1.0)
        return scaled, chances / chances.sum()


@dataclass(frozen=True, slots=True, eq=False)
class SupposedTarget:
    """Simulated target for one coding of the classes.

    ``levels`` and ``spreads`` are the mean and standard deviation of every score, which is
    a linear predictor. ``values`` are the labels or, for a numeric target, equally likely
    values. The latter are moved towards their mean, to remove the variance that the scores
    explain.
    """

    family: Family
    levels: Array
    spreads: Array
    values: Array

    @property
    def labelled(self) -> bool:
        """Whether the values are labels."""
        return self.family.trial_bound is None


@dataclass(frozen=True, slots=True, eq=False)
class Supposition:
    """Assumed moments of the features, and assumed true coefficients.

    ``mean`` and ``covariance`` describe a row after the scaling done in a fit, with the
    constant column last. ``coefficients`` has one column for every score.
    """

    mean: Array
    covariance: Array
    coefficients: Array

    @property
    def second(self) -> Array:
        """Matrix of the mean products of all pairs of features."""
        return self.covariance + np.outer(self.mean, self.mean)


@dataclass(frozen=True, slots=True, eq=False)
class SupposedTable:
    """A simulated table, whose ranges have been estimated as in a fit.

    ``targets``, ``moments`` and ``names`` have one entry per coding of the target, such as
    one per class in one-vs-rest models. ``names`` are the names of the lines in the model
    summary, and the matrix ``lines`` maps coefficients to the values in these lines.
    ``ranges`` are the estimated ranges.
    """

    spec: FitSpec
    calibration: Calibration
    columns: Mapping[str, SupposedColumn]
    targets: tuple[SupposedTarget, ...]
    moments: tuple[Supposition, ...]
    names: tuple[tuple[str, ...], ...]
    lines: Array
    ranges: Mapping[str, tuple[float, float]]

    @property
    def schema(self) -> Schema:
        """The schema, with the estimated ranges."""
        assert self.spec.schema is not None  # noqa: S101
        return self.spec.schema


def reach_of(part: Any) -> tuple[float, float]:
    """Return the limits of simulated values; 0 and 1 if the schema declares no range."""
    ends: tuple[float, float] = part.ends
    known = getattr(part, "has_limits", True) or part.typical is not None
    return ends if known else (0.0, 1.0)


def supposed_range(
    query: RangeQuery, values: Array, rows: int, noise: CountNoise, entropy: Entropy
) -> tuple[float, float]:
    """Estimate a range from noisy counts of simulated values."""
    counts = query.grid.count(values) * (rows / len(values))
    ends, _ = read_range(query, np.round(counts), noise, entropy)
    return ends


def family_of(model: Any) -> Family:
    """Return the distribution that plans assume for the targets of an estimator.

    Parameters
    ----------
    model : estimator
        Estimator of confide.

    Returns
    -------
    Family
        The distribution of targets given the linear predictor.

    Examples
    --------
    >>> from confide import Pure, PoissonRegression
    >>> from confide.planning import family_of
    >>> type(family_of(PoissonRegression(Pure(1)))).__name__
    'Counts'
    """
    found: Family = MODELS.find(ESTIMATORS[type(model).__name__].model).family
    return found


def suppose_table(
    model: Any, fit: CalibratedFit, rows: int, shapes: Shapes, number: int
) -> SupposedTable:
    """Simulate one table with a given number of rows; ``number`` is the seed."""
    draw, entropy = generator(number), Entropy.seeded(number)
    spec, calibration, family = fit.spec, fit.calibration, family_of(model)
    assert spec.schema is not None  # noqa: S101
    schema = spec.schema
    columns = {one.name: SupposedColumn.of(one, shapes, draw) for one in schema.predictors}
    labels = schema.target.labels is not None
    counts = not labels and not family.identity_link
    count = len(schema.effects)
    shape = shapes.target(count, labels=labels, counts=counts, draw=draw)
    values = _target_values(schema.target, shape, shapes, draw, counts=counts)
    ranges: dict[str, tuple[float, float]] = {}
    shown = spec
    if isinstance(calibration, RangesCalibration):
        known = {name: one.values for name, one in columns.items()}
        known[schema.target.name] = values
        for query in calibration.queries:
            noise = calibration.count_noise
            found = supposed_range(query, known[query.name], rows, noise, entropy)
            ranges[query.name] = found
        parts: Any = schema.parts
        stated = {
            name: ends
            for name, ends in ranges.items()
            if parts[name].has_limits or parts[name].typical is not None
        }
        spec, shown = spec.with_ranges(ranges), spec.with_ranges(stated)
        calibration = calibration.main
    height = spec.bounding.height
    targets = tuple(
        _target(spec, fit, shape, values=values, family=family, coding=coding, draw=draw)
        for coding in range(len(fit.task.codings))
    )
    moments = tuple(
        _moments(spec.schema or schema, columns, height, one, draw) for one in targets
    )
    display = model.display_by(shown.schema, height)
    # The points at which a curve is shown depend on its range. The names are those
    # for the declared range.
    display = replace(display, names=model.display_by(schema, height).names)
    names, lines = _lines(fit, display)
    return SupposedTable(spec, calibration, columns, targets, moments, names, lines, ranges)


def _lines(
    fit: CalibratedFit, display: Display
) -> tuple[tuple[tuple[str, ...], ...], Array]:
    """Return the names of the summary lines, and the map from coefficients to lines.

    There is one tuple of names for every coding of the target.
    """
    classes = fit.task.classes
    if is_multinomial(fit.task.loss):
        assert classes is not None  # noqa: S101
        basis = sum_zero_basis(len(classes))
        names = tuple(f"{label}: {name}" for label in classes for name in display.names)
        lines = np.vstack([np.kron(display.matrix, one) for one in basis])
        return (names,), lines
    if classes is None or len(fit.task.codings) == 1:
        return (display.names,), display.matrix
    named = tuple(tuple(f"{label}: {name}" for name in display.names) for label in classes)
    return named, display.matrix


# ------------------------------------------------------------------------------- targets


def _target_values(
    target: Any, shape: TargetShape, shapes: Shapes, draw: Generator, *, counts: bool
) -> Array:
    """Return equally likely values of a numeric target, or an empty array for labels."""
    if target.labels is not None:
        return np.empty(0)
    lower, upper = reach_of(target)
    reach = (max(lower, 0.0) if counts else lower, upper)
    if target.typical is not None:
        return shapes.number(reach, target.typical, draw)
    return reach[0] + (reach[1] - reach[0]) * np.array(shape.points)


def _target(
    spec: FitSpec,
    fit: CalibratedFit,
    shape: TargetShape,
    *,
    values: Array,
    family: Family,
    coding: int,
    draw: Generator,
) -> SupposedTarget:
    """Return the simulated target of one coding, in the units of the objective."""
    classes = fit.task.classes
    if classes is not None:
        shares = _label_shares(spec.schema, shape, len(classes), draw)
        spread = min(shape.spread, LARGEST_SPREAD)
        if is_multinomial(fit.task.loss):
            levels = np.log(np.maximum(shares, LEAST_MEAN)) @ sum_zero_basis(len(classes))
            spreads = np.full(len(levels), spread / 2)
            return SupposedTarget(family, levels, spreads, np.arange(float(len(classes))))
        own = float(shares[1 if len(classes) == 2 else coding])
        level = np.array([level_of_log_odds(own, spread)])
        return SupposedTarget(family, level, np.array([spread]), np.array([-1.0, 1.0]))
    numbers = spec.kept_numbers(values)
    mean, deviation = float(np.mean(numbers)), float(np.std(numbers))
    left = mean + (numbers - mean) * math.sqrt(1 - shape.explained)
    spread = math.sqrt(shape.explained) * deviation
    if family.identity_link:
        return SupposedTarget(family, np.array([mean]), np.array([spread]), left)
    mean = max(mean, LEAST_MEAN)
    level, spread = np.array([math.log(mean)]), min(spread / mean, 1.0)
    return SupposedTarget(family, level, np.array([spread]), np.maximum(left, 0.0))


def _label_shares(
    schema: Schema | None, shape: TargetShape, count: int, draw: Generator
) -> Array:
    """Return the declared shares of labels, or those of a real table in random order."""
    declared = None if schema is None else schema.target.share
    if declared is not None:
        return np.array(declared) / max(sum(declared), LEAST_MEAN)
    if count == len(shape.shares):
        return np.asarray(draw.permutation(np.array(shape.shares)))
    common = max(shape.shares)
    others = np.full(count - 1, (1 - common) / (count - 1))
    return np.asarray(draw.permutation(np.append(others, common)))


def level_of_log_odds(share: float, spread: float) -> float:
    """Return the mean of normal log-odds for which a given share is positive.

    ``spread`` is the standard deviation of the log-odds.
    """
    weights = np.exp(-(NORMAL_NODES**2) / 2)
    weights /= weights.sum()
    share = min(max(share, LEAST_MEAN), 1 - LEAST_MEAN)

    def excess(level: float) -> float:
        return float(weights @ expit(level + spread * NORMAL_NODES)) - share

    reach = 20 + 6 * spread
    return float(brentq(excess, -reach, reach))


# --------------------------------------------------------------------------- all columns


def _moments(
    schema: Schema,
    columns: Mapping[str, SupposedColumn],
    height: float,
    target: SupposedTarget,
    draw: Generator,
) -> Supposition:
    """Return the joint moments of all features, and the true coefficients.

    The coefficients give every score its assumed mean and standard deviation.
    """
    weights, sizes = schema.weights, [len(one.features) for one in schema.effects]
    mean, blocks = _features(schema, columns)
    mean, blocks = weights * mean, weights[:, None] * blocks * weights
    links, effects = _links_and_effects(blocks, sizes, len(target.spreads), draw)
    if has_terms(schema.effects):
        covariance = _linked(blocks, links)
    else:
        own = block_diag(*(np.outer(one, one) for one in _split(links, sizes)))
        covariance = blocks - own + np.outer(links, links)
    reached = np.sqrt(np.sum(effects * (covariance @ effects), axis=0))
    slopes = effects * (target.spreads / np.maximum(reached, LEAST_DEVIATION))
    if not height:
        return Supposition(mean, covariance, slopes)
    last = (target.levels - mean @ slopes) / height
    whole = np.pad(covariance, (0, 1))
    return Supposition(np.append(mean, height), whole, np.vstack([slopes, last]))


def _features(schema: Schema, columns: Mapping[str, SupposedColumn]) -> tuple[Array, Array]:
    """Return the mean and covariance of the features, without the common factor."""
    if not has_terms(schema.effects):
        parts = [columns[column.name].moments(column) for column in schema.predictors]
        mean = np.concatenate([one for one, _ in parts])
        return mean, block_diag(*(one for _, one in parts))
    nodes = {one.name: columns[one.name].nodes(one) for one in schema.predictors}
    mean, second = moments_of(schema.effects, nodes)
    return mean, second - np.outer(mean, mean)


def _linked(covariance: Array, links: Array) -> Array:
    """Add the common factor to a covariance, and restore the original variances.

    Unlike the features of separate columns, those of terms may be correlated even without
    the common factor.
    """
    variance = np.maximum(np.diag(covariance), 0.0)
    whole = np.maximum(variance + links**2, LEAST_DEVIATION**2)
    shrunk = np.sqrt(variance / whole)
    return np.asarray(shrunk[:, None] * (covariance + np.outer(links, links)) * shrunk)


def _split(whole: Array, sizes: Sequence[int]) -> list[Array]:
    return np.split(whole, np.cumsum(sizes)[:-1])


def _links_and_effects(
    blocks: Array, sizes: Sequence[int], scores: int, draw: Generator
) -> tuple[Array, Array]:
    """Draw the covariances of features with the common factor, and the coefficients.

    The coefficients are scaled so that each column or term alone contributes a variance of
    1 to every score.
    """
    links, effects = [], []
    stop = 0
    for size in sizes:
        start, stop = stop, stop + size
        block = blocks[start:stop, start:stop]
        directions = draw.standard_normal((size, scores + 1))
        square = np.einsum("jk,jl,lk->k", directions, block, directions)
        strength = np.sqrt(np.maximum(square, 0.0))
        link = draw.uniform(0, STRONGEST_LINK)
        if strength.min() < LEAST_DEVIATION:
            directions = np.zeros_like(directions)
        else:
            directions /= strength
        links.append(link * (block @ directions[:, 0]))
        effects.append(directions[:, 1:])
    return np.concatenate(links), np.concatenate(effects)
