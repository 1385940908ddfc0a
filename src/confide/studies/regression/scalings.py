"""Possible scalings of the table and samplers of noise in the paper on private regression.

The text says that data are scaled into the unit ball, but not how, and gives the density of
the noise, but not how it was drawn. This module has eight scalings of rows and eight of
doses, some of which use private data, and three samplers, two of which have too short a
radius (`radius_noise`). Errors are averaged over the noise by a formula.
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
    """Noise of scale 1: a draw, and the mean squared length in d dimensions."""

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
"""The printed density, independent coordinates, and the radius for d = 1."""
PRINTED_SAMPLER, SHORT_SAMPLER = "Gamma radius", "Exponential radius"


def _by_longest(features: Array) -> Scaler:
    longest = float(np.linalg.norm(features, axis=1).max())
    return lambda rows: rows / longest


def _to_length(rows: Array, least: float = 0.0) -> Array:
    """Scale every row to length 1; with ``least`` = 1, only rows longer than 1."""
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
    """Append the mean length of rows as a constant, and divide by the longest row."""
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
use the data of all patients. The last one does not keep ‖x‖ ≤ 1."""


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
"""Names of the scalings of doses; the last one does not keep |y| ≤ 1."""


def dose_scale(name: str, dose: Array) -> DoseScale:
    """Return a scaling of doses by name; some are computed from ``dose``."""
    return _dose_scales(dose)[name]


@dataclass(frozen=True, slots=True)
class TableSums:
    """Sums of a table, from which the error of any coefficients can be computed."""

    count: int
    gram: Array
    moment: Array
    square: float

    @classmethod
    def of(cls, features: Array, target: Array) -> Self:
        """Compute the sums of a table."""
        moment = np.asarray(features.T @ target)
        return cls(len(target), features.T @ features, moment, float(target @ target))

    def error(self, theta: Array) -> float:
        """Return the mean squared error of coefficients."""
        total = theta @ self.gram @ theta - 2 * theta @ self.moment + self.square
        return float(total) / self.count

    def spread(self, sampler: Sampler) -> float:
        """Return the mean squared error that noise of scale 1 adds."""
        width = len(self.moment)
        return sampler.square(width) / width * float(np.trace(self.gram)) / self.count


@dataclass(frozen=True, slots=True)
class Fitted:
    """Coefficients before noise, and the scale of their noise."""

    theta: Array
    scale: float

    def error(self, table: TableSums, sampler: Sampler) -> float:
        """Return the mean squared error on a table, averaged over the noise."""
        return table.error(self.theta) + self.scale**2 * table.spread(sampler)


def fitted(
    features: Array, target: Array, radius: float, penalty: float, epsilon: float
) -> Fitted:
    """Return the coefficients of rls-out before noise, and the scale of its noise."""
    return Fitted(
        minimiser(features, target, radius, penalty),
        noise_scale(len(target), radius, penalty, epsilon),
    )


def data_independent(features: Array, target: Array, epsilon: float) -> Fitted:
    """Return the fit for R = 1 and λ = √(d/(nε))."""
    count, width = features.shape
    return fitted(features, target, 1.0, float(np.sqrt(width / (count * epsilon))), epsilon)


def all_pairs(features: Array, target: Array, epsilon: float) -> list[Fitted]:
    """Return a fit for every radius and penalty that the oracle tries."""
    pairs = product(HINDSIGHT_RADII, HINDSIGHT_PENALTIES)
    return [fitted(features, target, *pair, epsilon) for pair in pairs]


def oracle(fits: list[Fitted], table: TableSums, sampler: Sampler) -> Fitted:
    """Return the fit with the smallest expected error on the training rows."""
    return min(fits, key=lambda fit: fit.error(table, sampler))
