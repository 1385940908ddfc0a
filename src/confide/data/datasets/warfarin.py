"""The warfarin dosing data as regression papers use them: eight traits and a weekly dose.

What is missing is settled record by record, by rules that were public before the data:

- Enzyme inducers (carbamazepine, phenytoin, rifampicin) and amiodarone count as taken
  only where the table says so: the consortium's own convention.
- A missing VKORC1 genotype at -1639 is read off a linked site, in this order: 2255,
  1173, 1542. The first and the last are linked closely enough only for patients who are
  neither black nor of unknown race. Again the consortium's rule.
- A record that still lacks dose, age, height, weight, race or one of the genotypes is
  left out, and so are the rare CYP2C9 alleles other than *1, *2 and *3.

Of 5,700 records 4,017 remain: 5,489 have dose and age, 4,386 of them height and weight,
4,318 a VKORC1 genotype (3,564 before linked sites are used), 4,259 one of the six CYP2C9
genotypes, 4,017 a race.
"""

from typing import Any, Final

import numpy as np
import pandas as pd

from confide._types import Array
from confide.data.datasets.catalogue import load
from confide.data.schema.schema import Schema

DOSE = "dose"
_INDUCERS: Final = [
    "Carbamazepine (Tegretol)",
    "Phenytoin (Dilantin)",
    "Rifampin or Rifampicin",
]
_TAKEN_APART: Final = ["Black or African American", "Unknown"]
_LINKED: Final = (
    ("VKORC1 2255 consensus", {"C/C": "G/G", "C/T": "A/G", "T/T": "A/A"}, False),
    ("VKORC1 1173 consensus", {"C/C": "G/G", "C/T": "A/G", "T/T": "A/A"}, True),
    ("VKORC1 1542 consensus", {"G/G": "G/G", "C/G": "A/G", "C/C": "A/A"}, False),
)
_REFERENCE: Final = {"race": "white", "vkorc1": "G/G", "cyp2c9": "*1/*1"}


def load_warfarin() -> pd.DataFrame:
    """Read the 4,017 records that are complete by the rules above.

    Columns: age (in decades), height (cm), weight (kg), race, enzyme_inducer, amiodarone,
    vkorc1, cyp2c9 and dose (mg per week), as ``Schema.bundled("warfarin")`` declares them.
    """
    return complete_records(load("warfarin"))


def complete_records(raw: pd.DataFrame) -> pd.DataFrame:
    """Apply the rules above to the table as it was published."""
    race = raw["Race"]
    genotype = raw["CYP2C9 consensus"]
    known = ["*1/*1", "*1/*2", "*1/*3", "*2/*2", "*2/*3", "*3/*3"]
    names = {"White": "white", "Black or African American": "black", "Asian": "asian"}
    frame = pd.DataFrame(
        {
            "age": raw["Age"].str[0].astype(float),
            "height": raw["Height (cm)"],
            "weight": raw["Weight (kg)"],
            "race": race.map(names),
            "enzyme_inducer": (raw[_INDUCERS] == 1).any(axis=1).astype(int),
            "amiodarone": (raw["Amiodarone (Cordarone)"] == 1).astype(int),
            "vkorc1": _vkorc1(raw, race),
            "cyp2c9": genotype.where(genotype.isin(known)),
            DOSE: raw["Therapeutic Dose of Warfarin"],
        }
    )
    return frame.dropna().reset_index(drop=True)


def paper_features(frame: pd.DataFrame, schema: Schema) -> Array:
    """Return 14 columns in the unit ball, without an intercept.

    Numbers go to [0, 1], yes is 1, every level but the commonest has an indicator; then
    all is divided by the longest length possible.
    """
    parts: list[Any] = []
    for column in schema.columns:
        values, (low, high) = frame[column.name], column.ends
        if column.coded:
            wanted = [one for one in column.levels if one != _REFERENCE[column.name]]
            parts += [values == level for level in wanted]
        else:
            parts.append((column.read(values).clip(low, high) - low) / (high - low))
    longest = np.sqrt(len(schema.columns))
    return np.column_stack(parts).astype(np.float64) / longest


def _vkorc1(raw: pd.DataFrame, race: Any) -> Any:
    found = raw["VKORC1 -1639 consensus"]
    for site, meaning, for_all in _LINKED:
        linked = raw[site].map(meaning)
        found = found.fillna(linked if for_all else linked.where(~race.isin(_TAKEN_APART)))
    return found
