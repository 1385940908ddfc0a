"""The datasets of the Rényi ADMM paper, and their public bounds.

a9a        the binarised Adult data, training and test files together: 48,842 people
acs        38,000 people of the American Community Survey, in place of the paper's
           IPUMS-BR extract, which is not available; with 53 columns as in the paper, and
           labels for incomes above 35,000
simulated  100 normal columns with correlations 0.5^|i−j|; the first 20 are relevant

Every table has a column of ones. All methods use the same rows and minimise the mean loss
plus λ‖θ‖₁. As in the paper, the intercept is penalised, too. For a9a and acs, the largest
possible norm of a row follows from the coding of the columns, and gradients are clipped at
norm 2, about half of it: a logistic gradient at θ = 0 has half the norm of its row. In the
simulation, rows are scaled down to norm 12 if they exceed it, and gradients are clipped at
norm 1, a value found by tuning.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit

from confide._types import AnyArray, Array
from confide.data import load_a9a
from confide.noise import Generator, generator
from confide.studies.intervals.population import acs_workers

COLUMNS = 100
MATTER = 20
SIMULATED_ROWS = 40_000
ACS_ROWS = 38_000
ACS_INCOME = 35_000
ACS_RANGES = {"AGEP": 99, "SCHL": 24, "WKHP": 99, "JWMNP": 200, "WKW": 6}
ACS_CATEGORIES = (
    *("SEX", "MAR", "DIS", "CIT", "ENG"),
    *("MIG", "COW", "ESR", "RAC1P", "HICOV"),
)
LONGEST = {
    "a9a": float(np.sqrt(15)),
    "acs": float(np.sqrt(1 + len(ACS_RANGES) + len(ACS_CATEGORIES))),
    "simulated": 12.0,
}
CLIPS = {"a9a": 2.0, "acs": 2.0, "simulated": 1.0}
FOLDS = 10


@dataclass(frozen=True, slots=True)
class AdmmTable:
    """Features (the last column is ones), labels ±1, bound on row norms, gradient clip."""

    features: Any
    labels: Array
    longest: float
    clip: float

    def split(self, fold: int) -> tuple["AdmmTable", "AdmmTable"]:
        """Return training and test rows; the test rows are part number ``fold`` of ten."""
        part = _parts(len(self.labels)) == fold
        return self._at(~part), self._at(part)

    def _at(self, places: AnyArray) -> "AdmmTable":
        return replace(self, features=self.features[places], labels=self.labels[places])


def population(dataset: str, fold: int, seed: int) -> tuple[AdmmTable, AdmmTable]:
    """Return a training and a test table; ``seed`` matters for simulated data only."""
    if dataset != "simulated":
        return _people(dataset).split(fold)
    rng = generator(seed)
    learnt = simulate(SIMULATED_ROWS * (FOLDS - 1) // FOLDS, rng)
    return learnt, simulate(SIMULATED_ROWS // FOLDS, rng)


def truth() -> Array:
    """Return the true coefficients of the simulation, with the intercept last."""
    rise = np.arange(1, MATTER // 2 + 1) / 2
    return np.concatenate([rise, -rise, np.zeros(COLUMNS - MATTER + 1)])


def simulate(rows: int, rng: Generator) -> AdmmTable:
    """Simulate labels, and features whose adjacent columns have correlation ½."""
    x = rng.standard_normal((rows, COLUMNS + 1))
    x[:, 1:COLUMNS] *= np.sqrt(0.75)
    for j in range(1, COLUMNS):
        x[:, j] += 0.5 * x[:, j - 1]
    x[:, -1] = 1.0
    margin = x @ truth() - rng.standard_normal(rows)
    labels = np.where(rng.random(rows) < expit(margin), 1.0, -1.0)
    longest = LONGEST["simulated"]
    x *= np.minimum(1, longest / np.linalg.norm(x, axis=1))[:, None]
    return AdmmTable(x, labels, longest, CLIPS["simulated"])


def coverage(theta: Array, count: int) -> float:
    """Return ξ, the proportion of the relevant columns that are found.

    A column is found if its coefficient is among the ``count`` largest in absolute value.
    If several coefficients tie, ξ is the mean over all ways to break the tie.
    """
    sizes = np.abs(theta[:COLUMNS])
    least = np.sort(sizes)[-count]
    above, level = sizes > least, sizes == least
    places = (count - above.sum()) / level.sum()
    return float((above[:MATTER].sum() + places * level[:MATTER].sum()) / MATTER)


@lru_cache(maxsize=4)
def _parts(rows: int) -> AnyArray:
    """Assign each row to one of ten parts, numbered 0 to 9.

    The assignment depends only on the number of rows.
    """
    return generator(rows).permutation(rows) % FOLDS


@lru_cache(maxsize=2)
def _people(dataset: str) -> AdmmTable:
    features, labels = _a9a() if dataset == "a9a" else _acs()
    return AdmmTable(features, labels, LONGEST[dataset], CLIPS[dataset])


def _a9a() -> tuple[Any, Array]:
    parts = [load_a9a(split) for split in ("train", "test")]
    features = sparse.vstack([rows for rows, _ in parts])
    ones = np.ones((features.shape[0], 1))
    whole = sparse.csr_matrix(sparse.hstack([features, ones]))
    return whole, np.concatenate([labels for _, labels in parts])


def _acs() -> tuple[Array, Array]:
    frame = acs_workers()
    frame = frame.iloc[generator(0).permutation(len(frame))[:ACS_ROWS]]
    numbers = [frame[name].fillna(0) / most for name, most in ACS_RANGES.items()]
    codes = frame[list(ACS_CATEGORIES)].fillna(0).astype(int).astype(str)
    columns = [np.column_stack(numbers), *_indicators(codes), np.ones((len(frame), 1))]
    rich = (frame["PINCP"] > ACS_INCOME).to_numpy()
    return np.hstack(columns).astype(np.float64), np.where(rich, 1.0, -1.0)


def _indicators(codes: pd.DataFrame) -> Iterator[Array]:
    for name in codes:
        levels = sorted(codes[name].unique())
        yield np.column_stack([codes[name].eq(level) for level in levels]).astype(float)
