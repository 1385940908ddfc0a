"""The tables of the interval studies, prepared as the paper says.

Categories become indicators, every attribute is divided by its largest value, records
are drawn and columns taken after a random permutation; each record is shortened to norm
1, gets a constant 1, and is shortened again. The paper does not name its columns, and its
two census extracts cannot be had: people of the American Community Survey stand in.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd

from confide._types import Array
from confide.data.datasets.catalogue import load
from confide.errors import NotSolved
from confide.noise import Generator
from confide.objectives import Objective

TOLERANCE = 1e-9
"""Largest gradient, relative to the ridge."""
ITERATIONS = 50


@dataclass(frozen=True)
class Population:
    """The distinct rows of a table and how often each occurs."""

    features: Array
    target: Array
    counts: Array

    @classmethod
    def of(cls, features: Array, target: Array) -> "Population":
        """Collect the distinct rows."""
        table = np.column_stack([features, target])
        rows, counts = np.unique(table, axis=0, return_counts=True)
        return cls(
            np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), counts.astype(float)
        )

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """How many columns it has."""
        return self.features.shape[1]

    @cached_property
    def products(self) -> Array:
        """xⱼxₖ for j <= k: symmetric sums become one matrix product."""
        first, second = np.triu_indices(self.size)
        return self.features[:, first] * self.features[:, second]

    def resample(self, count: int, rng: Generator) -> Array:
        """Draw so many replicates; a column of counts for each."""
        chances = self.counts / self.rows
        return rng.multinomial(self.rows, chances, size=count).T.astype(float)

    def grams(self, weights: Array) -> Array:
        """Return Σ wᵢxᵢxᵢᵀ for every column of weights."""
        sums = (self.products.T @ weights).T
        first, second = np.triu_indices(self.size)
        stack = np.empty((len(sums), self.size, self.size))
        stack[:, first, second] = sums
        stack[:, second, first] = sums
        return stack


def minimisers(
    objective: Objective, population: Population, counts: Array, linear: Array, start: Array
) -> Array:
    """Return the minimiser for every column of counts and of linear terms, as columns."""
    loss, ridge = objective.loss, objective.ridge[:, None]
    target = population.target[:, None]
    theta = np.repeat(start[:, None], counts.shape[1], axis=1)
    open_ones = np.arange(counts.shape[1])
    for _ in range(ITERATIONS):
        here = theta[:, open_ones]
        margin = population.features @ here
        slope = loss.slope(margin, target)
        gradient = population.features.T @ (counts[:, open_ones] * slope)
        gradient += ridge * here + linear[:, open_ones]
        far = np.linalg.norm(gradient, axis=0) > TOLERANCE * objective.strong_convexity
        if not far.any():
            return theta
        open_ones = open_ones[far]
        curvature = loss.curvature_from_slope(slope[:, far], margin[:, far], target)
        hessian = population.grams(counts[:, open_ones] * curvature) + np.diag(
            objective.ridge
        )
        step = np.linalg.solve(hessian, gradient[:, far].T[:, :, None])[:, :, 0]
        theta[:, open_ones] -= step.T
    raise NotSolved("a replicate of the study was not solved")


def moment_sums(
    objective: Objective, population: Population, counts: Array, theta: Array
) -> tuple[Array, Array]:
    """Return curvature and scatter of every replicate at its own coefficients."""
    loss, target = objective.loss, population.target[:, None]
    margin = population.features @ theta
    slope = loss.slope(margin, target)
    curvature = loss.curvature_from_slope(slope, margin, target)
    return population.grams(counts * curvature), population.grams(counts * slope**2)


NUMBERS_OF_ACS = ("AGEP", "SCHL", "WKHP", "JWMNP", "WKW")
CATEGORIES_OF_ACS = (
    *("ST", "SEX", "MAR", "RELP", "DIS", "CIT", "ENG"),
    *("MIL", "MIG", "COW", "ESR", "RAC1P", "HICOV"),
)


def draw_population(dataset: str, rows: int, columns: int, rng: Generator) -> Population:
    """Draw records and columns of a dataset, and bound every record by 1."""
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
    """Return attributes and a target of ±1."""
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
    """Read the people of the American Community Survey who work and earn."""
    return load("acs").query("AGEP > 16 & PINCP > 100 & WKHP > 0 & PWGTP >= 1")


def _split(
    frame: pd.DataFrame, column: str, positive: "pd.Series[bool]"
) -> tuple[pd.DataFrame, Array]:
    return frame.drop(columns=column), np.where(positive.to_numpy(), 1.0, -1.0)


@lru_cache(maxsize=1)
def _attributes(dataset: str) -> tuple[tuple[str, str | None], ...]:
    """Return every attribute after coding: a number, or a category and a level."""
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
