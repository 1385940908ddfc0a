"""The datasets of the interval studies, prepared as described in the paper.

Categorical attributes are coded as indicators, and every column is divided by its largest
absolute value. Records and columns are drawn at random. Each record is scaled down to norm
1 if its norm is larger, gets a constant entry of 1, and is then scaled to norm 1 exactly.
The paper does not name its columns, and its two census extracts are not available; the
American Community Survey replaces them.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd

from confide._types import AnyArray, Array
from confide.data.datasets.catalogue import load
from confide.errors import NotSolved
from confide.noise import Generator, generator
from confide.objectives import Objective

TOLERANCE = 1e-7
"""Largest norm of the gradient at convergence, relative to the ridge."""
SECANT_STEPS = 12
NEWTON_STEPS = 50
BLOCK_VALUES = 2**16
"""Number of rows times replicates in a block of rows, chosen to fit in a cache."""
RARE = 0.125
"""Share of distinct rows below which replicates are drawn as multinomial counts."""


@dataclass(frozen=True)
class Population:
    """The distinct rows of a table and their frequencies."""

    features: Array
    target: Array
    counts: Array

    @classmethod
    def of(cls, features: Array, target: Array) -> "Population":
        """Collect the distinct rows of a table and count them."""
        table = np.column_stack([features, target])
        rows, counts = np.unique(table, axis=0, return_counts=True)
        return cls(
            np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), counts.astype(float)
        )

    @property
    def rows(self) -> int:
        """The number of rows of the table."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """The number of columns of the table."""
        return self.features.shape[1]

    @cached_property
    def products(self) -> Array:
        """Products xⱼxₖ (j <= k) of each row, so that sums of xxᵀ are matrix products."""
        first, second = np.triu_indices(self.size)
        return self.features[:, first] * self.features[:, second]

    def resample(self, count: int, rng: Generator) -> Array:
        """Draw ``count`` bootstrap replicates, and return them as a matrix of frequencies.

        Entry (i, k) is the number of times that the distinct row i occurs in replicate k.
        """
        distinct = len(self.counts)
        if distinct < RARE * self.rows:
            drawn = rng.multinomial(self.rows, self.counts / self.rows, size=count)
            return np.ascontiguousarray(drawn.T, dtype=np.float64)
        places = np.repeat(np.arange(distinct), self.counts.astype(int))
        found = np.empty((distinct, count))
        for k in range(count):
            picked = places[rng.integers(self.rows, size=self.rows)]
            found[:, k] = np.bincount(picked, minlength=distinct)
        return found

    def blocks(self, replicates: int) -> list[slice]:
        """Divide the distinct rows into blocks that fit in a cache for all replicates."""
        step = max(16, BLOCK_VALUES // max(1, replicates))
        ends = range(0, len(self.counts), step)
        return [slice(start, start + step) for start in ends]

    def grams(self, weights: Array) -> Array:
        """Return the matrix Σ wᵢxᵢxᵢᵀ for each column w of ``weights``."""
        return as_matrices(self.products.T @ weights, self.size)


def minimisers(
    objective: Objective, population: Population, counts: Array, linear: Array, start: Array
) -> Array:
    """Return a matrix whose column k is the minimiser for replicate k.

    Column k of ``counts`` holds the frequencies of the rows in replicate k, and column k of
    ``linear`` the coefficients of a linear term that is added to the objective. BFGS, with
    one gradient evaluation per step, starts from ``start`` and the Hessian of the whole
    population; ``start`` should be close to all minimisers. Replicates for which BFGS does
    not converge are solved by Newton's method.
    """
    theta, left = _secant_steps(objective, population, counts, linear, start)
    if len(left):
        theta[:, left] = _newton_steps(
            objective, population, counts[:, left], linear[:, left], start
        )
    return theta


def _secant_steps(
    objective: Objective, population: Population, counts: Array, linear: Array, start: Array
) -> tuple[Array, AnyArray]:
    """Run BFGS; return the coefficients, and the indices of unconverged replicates."""
    loss, ridge = objective.loss, objective.ridge[:, None]
    margin = population.features @ start
    slope = loss.slope(margin, population.target)
    curvature = loss.curvature_from_slope(slope, margin, population.target)
    (hessian,) = population.grams((population.counts * curvature)[:, None])
    whole = np.linalg.inv(hessian + np.diag(objective.ridge))
    inverse = np.repeat(whole[None], counts.shape[1], axis=0)
    before = (population.features * slope[:, None]).T @ counts
    before += ridge * start[:, None] + linear
    step = -(whole @ before)
    theta = start[:, None] + step
    left = np.arange(counts.shape[1])
    for _ in range(SECANT_STEPS):
        gradient = _gradients(objective, population, counts, theta, left)
        gradient += ridge * theta[:, left] + linear[:, left]
        far = np.linalg.norm(gradient, axis=0) > TOLERANCE * objective.strong_convexity
        if not far.any():
            return theta, left[:0]
        left, gradient = left[far], gradient[:, far]
        inverse = _updated(inverse[far], step[:, far].T, (gradient - before[:, far]).T)
        step = -np.einsum("kij,jk->ik", inverse, gradient)
        theta[:, left] += step
        before = gradient
    return theta, left


def _gradients(
    objective: Objective, population: Population, counts: Array, theta: Array, at: AnyArray
) -> Array:
    """Return the gradients of the loss for the replicates with indices ``at``.

    Sums over the rows are computed block by block.
    """
    loss, here = objective.loss, theta[:, at]
    total = np.zeros_like(here)
    every = len(at) == counts.shape[1]
    for part in population.blocks(len(at)):
        features, target = population.features[part], population.target[part, None]
        slope = loss.slope(features @ here, target)
        slope *= counts[part] if every else counts[part][:, at]
        total += features.T @ slope
    return total


def _updated(inverse: Array, step: Array, change: Array) -> Array:
    """Return the inverse Hessians after a BFGS update."""
    along = np.einsum("ki,ki->k", step, change)
    fit = along > 0
    weight = np.where(fit, 1 / np.where(fit, along, 1.0), 0.0)
    seen = np.einsum("kij,kj->ki", inverse, change)
    size = weight + weight**2 * np.einsum("ki,ki->k", change, seen)
    cross = weight[:, None, None] * step[:, :, None] * seen[:, None, :]
    square = step[:, :, None] * step[:, None, :]
    return np.asarray(
        inverse - cross - cross.transpose(0, 2, 1) + size[:, None, None] * square
    )


def _newton_steps(
    objective: Objective, population: Population, counts: Array, linear: Array, start: Array
) -> Array:
    loss, ridge = objective.loss, objective.ridge[:, None]
    target = population.target[:, None]
    theta = np.repeat(start[:, None], counts.shape[1], axis=1)
    left = np.arange(counts.shape[1])
    for _ in range(NEWTON_STEPS):
        here = theta[:, left]
        margin = population.features @ here
        slope = loss.slope(margin, target)
        gradient = population.features.T @ (counts[:, left] * slope)
        gradient += ridge * here + linear[:, left]
        far = np.linalg.norm(gradient, axis=0) > TOLERANCE * objective.strong_convexity
        if not far.any():
            return theta
        left = left[far]
        curvature = loss.curvature_from_slope(slope[:, far], margin[:, far], target)
        hessian = population.grams(counts[:, left] * curvature) + np.diag(objective.ridge)
        step = np.linalg.solve(hessian, gradient[:, far].T[:, :, None])[:, :, 0]
        theta[:, left] -= step.T
    raise NotSolved("a replicate of the study could not be solved")


def moment_sums(
    objective: Objective, population: Population, counts: Array, theta: Array
) -> tuple[Array, Array]:
    """Return Σ φ″xxᵀ and Σ φ′²xxᵀ for each replicate, at its own coefficients.

    φ′ and φ″ are the derivatives of the loss with respect to the linear predictor.
    """
    loss, size = objective.loss, population.size
    sums = np.zeros((2, size * (size + 1) // 2, counts.shape[1]))
    for part in population.blocks(counts.shape[1]):
        target, products = population.target[part, None], population.products[part]
        margin = population.features[part] @ theta
        slope = loss.slope(margin, target)
        curvature = loss.curvature_from_slope(slope, margin, target)
        curvature = curvature * counts[part]
        slope **= 2
        slope *= counts[part]
        sums[0] += products.T @ curvature
        sums[1] += products.T @ slope
    return as_matrices(sums[0], size), as_matrices(sums[1], size)


def as_matrices(sums: Array, size: int) -> Array:
    """Make a symmetric matrix from each column of upper triangular entries."""
    first, second = np.triu_indices(size)
    stack = np.empty((sums.shape[1], size, size))
    stack[:, first, second] = sums.T
    stack[:, second, first] = sums.T
    return stack


NUMBERS_OF_ACS = ("AGEP", "SCHL", "WKHP", "JWMNP", "WKW")
CATEGORIES_OF_ACS = (
    *("ST", "SEX", "MAR", "RELP", "DIS", "CIT", "ENG"),
    *("MIL", "MIG", "COW", "ESR", "RAC1P", "HICOV"),
)


@lru_cache(maxsize=2)
def draw_population(dataset: str, rows: int, columns: int, draw: int) -> Population:
    """Draw records and columns of a dataset, and scale every record to norm 1.

    ``draw`` is the seed. With the same seed, a smaller table is a subset of a larger one.
    """
    rng = generator(draw)
    frame, target = _table(dataset)
    names = _attributes(dataset)
    chosen = [names[i] for i in rng.permutation(len(names))[:columns]]
    picked = rng.permutation(len(target))[:rows]
    drawn = np.column_stack([_values(frame, *attribute) for attribute in chosen])[picked]
    drawn /= np.maximum(np.linalg.norm(drawn, axis=1), 1)[:, None]
    drawn = np.column_stack([drawn, np.ones(len(drawn))])
    drawn /= np.linalg.norm(drawn, axis=1)[:, None]
    return Population.of(drawn, target[picked])


@lru_cache(maxsize=1)
def _table(dataset: str) -> tuple[pd.DataFrame, Array]:
    """Return the attributes of a dataset, and a target of ±1."""
    match dataset:
        case "adult":
            frame = load("adult", "train").replace("?", np.nan).dropna()
            return _split(frame, "income", frame["income"].str.contains(">"))
        case "bank":
            frame = load("bank")
            return _split(frame, "y", frame["y"] == "yes")
        case "kddcup99":
            frame = load("kddcup99")
            return _split(frame, "label", ~frame["label"].str.startswith("normal"))
        case _:
            frame = acs_workers()
            rich = frame["PINCP"] > 50_000
            numbers = frame[list(NUMBERS_OF_ACS)].fillna(0).astype(float)
            names = list(CATEGORIES_OF_ACS)
            categories = frame[names].fillna(0).astype(int).astype(str)
            return pd.concat([numbers, categories], axis=1), np.where(rich, 1.0, -1.0)


def acs_workers() -> pd.DataFrame:
    """Return the people of the American Community Survey who work and have an income."""
    return load("acs").query("AGEP > 16 & PINCP > 100 & WKHP > 0 & PWGTP >= 1")


def _split(
    frame: pd.DataFrame, column: str, positive: "pd.Series[bool]"
) -> tuple[pd.DataFrame, Array]:
    return frame.drop(columns=column), np.where(positive.to_numpy(), 1.0, -1.0)


@lru_cache(maxsize=1)
def _attributes(dataset: str) -> tuple[tuple[str, str | None], ...]:
    """Return the attribute and the level (None if numeric) of each column after coding."""
    frame, _ = _table(dataset)
    found: list[tuple[str, str | None]] = []
    for name in frame:
        if pd.api.types.is_numeric_dtype(frame[name]):
            found.append((str(name), None))
        else:
            found += [(str(name), str(level)) for level in sorted(frame[name].unique())]
    return tuple(found)


def _values(frame: pd.DataFrame, name: str, level: str | None) -> Array:
    values = frame[name] if level is None else frame[name].eq(level)
    column = values.to_numpy(dtype=np.float64)
    return column / (float(np.abs(column).max()) or 1.0)
