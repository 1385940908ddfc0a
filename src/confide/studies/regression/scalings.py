"""Possible scalings of the table and samplers of noise in the paper on private regression.

The text says that data are scaled into the unit ball, but not how, and gives the density of
the noise, but not how it was drawn. This module defines eight scalings of rows and eight of
doses, some of which use private data, and three samplers, two of which draw noise of too
small a norm (`radius_noise`). Errors are averaged over the noise by a formula.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Final, Self

import numpy as np

from confide._types import Array
from confide.noise import Generator
from confide.studies.regression.methods import (
    HINDSIGHT_PENALTIES,
    HINDSIGHT_RADII,
    minimiser,
    noise_scale,
)
from confide.studies.regression.population import MOST, UNIT

Scaler = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Sampler:
    """Noise of scale 1: a function to draw it, and its mean squared norm by dimension."""

    draw: Callable[[int, Generator], Array]
    square: Callable[[int], float]


def _spherical(shape: Callable[[int], int]) -> Sampler:
    def draw(width: int, rng: Generator) -> Array:
        direction = rng.standard_normal(width)
        radius = rng.gamma(shape(width))
        return np.asarray(radius * direction / np.linalg.norm(direction))

    return Sampler(draw, lambda width: float(shape(width) * (shape(width) + 1)))


SAMPLERS: Final = {
    "Gamma radius": _spherical(lambda width: width),
    "Laplace coordinates": Sampler(
        lambda width, rng: np.asarray(rng.laplace(size=width)), lambda width: 2.0 * width
    ),
    "Exponential radius": _spherical(lambda _: 1),
}
"""Noise with the printed density, with independent coordinates, and with the radius that
would be right for d = 1."""
PRINTED_SAMPLER, SHORT_SAMPLER = "Gamma radius", "Exponential radius"


def _by_longest(features: Array) -> Scaler:
    longest = float(np.linalg.norm(features, axis=1).max())
    return lambda rows: rows / longest


def _to_length(rows: Array, least: float = 0.0) -> Array:
    """Scale every row to norm 1; with ``least`` = 1, only rows whose norm exceeds 1."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, max(least, 1e-12)))


def _standard(features: Array) -> Scaler:
    mean, spread = features.mean(axis=0), features.std(axis=0)
    return lambda rows: (rows - mean) / np.where(spread > 0, spread, 1.0)


def _standard_by_longest(features: Array) -> Scaler:
    standard = _standard(features)
    shorter = _by_longest(standard(features))
    return lambda rows: shorter(standard(rows))


def _standard_each(features: Array) -> Scaler:
    standard = _standard(features)
    return lambda rows: _to_length(standard(rows))


def _standard_cut(features: Array) -> Scaler:
    standard, root = _standard(features), float(np.sqrt(features.shape[1]))
    return lambda rows: _to_length(standard(rows) / root, 1.0)


def _with_constant(features: Array) -> Scaler:
    """Append a constant, the mean norm of rows, and divide by the largest norm."""
    height = float(np.linalg.norm(features, axis=1).mean())

    def wider(rows: Array) -> Array:
        return np.column_stack([rows, np.full(len(rows), height)])

    shorter = _by_longest(wider(features))
    return lambda rows: shorter(wider(rows))


def _not_shortened(features: Array) -> Scaler:
    del features
    return lambda rows: rows * ATTRIBUTES**0.5


ATTRIBUTES: Final = 8
ROWS: Final[dict[str, Callable[[Array], Scaler]]] = {
    "public ranges": lambda _: lambda rows: rows,
    "longest row": _by_longest,
    "each row": lambda _: _to_length,
    "longest row, constant": _with_constant,
    "standardised": _standard_by_longest,
    "standardised, each row": _standard_each,
    "standardised, cut": _standard_cut,
    "entries in [0, 1], noise for 1": _not_shortened,
}
"""Scalings of rows that are already scaled by public ranges and divided by √8. Most of them
use the data of all patients. Rows scaled by the last one may have ‖x‖ > 1."""


@dataclass(frozen=True, slots=True)
class DoseScale:
    """The scaling of doses to (dose − origin)/unit, clipped to ``ends``."""

    origin: float
    unit: float
    ends: tuple[float, float] = (-np.inf, np.inf)

    def __call__(self, dose: Array) -> Array:
        """Return scaled doses."""
        return np.asarray(((dose - self.origin) / self.unit).clip(*self.ends))


def _dose_scales(dose: Array) -> dict[str, DoseScale]:
    low, high, mean = float(dose.min()), float(dose.max()), float(dose.mean())
    reach, spread = max(mean - low, high - mean), float(dose.std())
    return {
        "per 100 mg": DoseScale(0.0, MOST, (0.0, 1.0)),
        "0 to 100 mg onto [−1, 1]": DoseScale(MOST / 2, MOST / 2, (-1.0, 1.0)),
        "range onto [0, 1]": DoseScale(low, high - low),
        "range onto [−1, 1]": DoseScale((low + high) / 2, (high - low) / 2),
        "centred": DoseScale(mean, reach),
        "centred, cut at two deviations": DoseScale(mean, 2 * spread, (-1.0, 1.0)),
        "centred, cut at one deviation": DoseScale(mean, spread, (-1.0, 1.0)),
        "per 10 mg, noise for 1": DoseScale(0.0, UNIT),
    }


DOSES: Final = tuple(_dose_scales(np.array([1.0, 2.0])))
"""Names of the scalings of doses; doses scaled by the last one may have |y| > 1."""
LABELS: Final = {
    "standardised, cut": "standardised, clipped",
    "entries in [0, 1], noise for 1": "entries in [0, 1], noise calibrated for ‖x‖ ≤ 1",
    "0 to 100 mg onto [−1, 1]": "0 to 100 mg mapped onto [−1, 1]",
    "range onto [0, 1]": "range mapped onto [0, 1]",
    "range onto [−1, 1]": "range mapped onto [−1, 1]",
    "centred, cut at two deviations": "centred, clipped at two standard deviations",
    "centred, cut at one deviation": "centred, clipped at one standard deviation",
    "per 10 mg, noise for 1": "per 10 mg, noise calibrated for |y| ≤ 1",
}
"""Labels of scalings in tables and figures; the names determine the seeds of cells."""


def dose_scale(name: str, dose: Array) -> DoseScale:
    """Return the scaling of doses with this name; some are computed from ``dose``."""
    return _dose_scales(dose)[name]


@dataclass(frozen=True, slots=True)
class TableSums:
    """Sums over the rows of a table that determine the error of any coefficients."""

    count: int
    gram: Array
    moment: Array
    square: float

    @classmethod
    def of(cls, features: Array, target: Array) -> Self:
        """Compute the sums over the rows of a table."""
        moment = np.asarray(features.T @ target)
        return cls(len(target), features.T @ features, moment, float(target @ target))

    def error(self, theta: Array) -> float:
        """Return the mean squared error of coefficients."""
        total = theta @ self.gram @ theta - 2 * theta @ self.moment + self.square
        return float(total) / self.count

    def spread(self, sampler: Sampler) -> float:
        """Return the increase of the mean squared error due to noise of scale 1."""
        width = len(self.moment)
        return sampler.square(width) / width * float(np.trace(self.gram)) / self.count


@dataclass(frozen=True, slots=True)
class Fitted:
    """Coefficients before noise is added, and the scale of the noise."""

    theta: Array
    scale: float

    def error(self, table: TableSums, sampler: Sampler) -> float:
        """Return the mean squared error on a table, averaged over the noise."""
        return table.error(self.theta) + self.scale**2 * table.spread(sampler)


def fitted(
    features: Array, target: Array, radius: float, penalty: float, epsilon: float
) -> Fitted:
    """Fit rls-out, the paper's output perturbation, without drawing its noise."""
    return Fitted(
        minimiser(features, target, radius, penalty),
        noise_scale(len(target), radius, penalty, epsilon),
    )


def data_independent(features: Array, target: Array, epsilon: float) -> Fitted:
    """Return the fit with the data-independent choice R = 1 and λ = √(d/(nε))."""
    count, width = features.shape
    return fitted(features, target, 1.0, float(np.sqrt(width / (count * epsilon))), epsilon)


def all_pairs(features: Array, target: Array, epsilon: float) -> list[Fitted]:
    """Return a fit for every radius and penalty that the oracle tries."""
    pairs = product(HINDSIGHT_RADII, HINDSIGHT_PENALTIES)
    return [fitted(features, target, *pair, epsilon) for pair in pairs]


def oracle(fits: list[Fitted], table: TableSums, sampler: Sampler) -> Fitted:
    """Return the fit with the smallest expected error on the training rows."""
    return min(fits, key=lambda fit: fit.error(table, sampler))
