"""The tables of the interval studies, prepared as the paper says.

Categories become indicators, every attribute is divided by its largest value, records
are drawn and columns taken after a random permutation; each record is shortened to norm
1, gets a constant 1, and is shortened again. The paper does not name its columns, and its
two census extracts cannot be had: people of the American Community Survey stand in.
"""

from functools import lru_cache

import numpy as np
import pandas as pd

from confide._types import Array
from confide.data.datasets.catalogue import load
from confide.noise import Generator
from confide.studies.intervals.bootstrap import Population

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
