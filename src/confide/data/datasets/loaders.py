"""Tables prepared as in published benchmarks: warfarin doses, ACS and KDD Cup 1999."""

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
    """Read the 4,017 complete records of the warfarin dosing study.

    Missing values are treated record by record, by rules that were public before the data
    were:

    - Enzyme inducers (carbamazepine, phenytoin, rifampicin) and amiodarone are regarded as
      taken only if the table records them. This is the convention of the consortium that
      published the data.
    - A missing VKORC1 genotype at -1639 is inferred from the first known genotype at the
      linked sites 2255, 1173 and 1542. The sites 2255 and 1542 are used only for patients
      who are neither black nor of unknown race, because the linkage is weaker for others.
      This is also the rule of the consortium.
    - Records are dropped if dose, age, height, weight, race or a genotype is still missing,
      or if they contain rare CYP2C9 alleles other than *1, *2 and *3.

    Of 5,700 records, 4,017 remain after successive restrictions: 5,489 have dose and age;
    of these, 4,386 have height and weight; 4,318 have a VKORC1 genotype (3,564 if linked
    sites are not used); 4,259 have one of the six CYP2C9 genotypes; and 4,017 have a race.

    Columns: age (in decades), height (cm), weight (kg), race, enzyme_inducer, amiodarone,
    vkorc1, cyp2c9 and dose (mg per week), as ``Schema.bundled("warfarin")`` declares them.

    Returns
    -------
    DataFrame
        One row per patient.

    Examples
    --------
    >>> from confide import Schema
    >>> from confide.data import load_warfarin
    >>> patients = load_warfarin()  # doctest: +SKIP
    >>> Schema.bundled("warfarin").target.column
    'dose'
    """
    return complete_records(load("warfarin"))


def complete_records(raw: pd.DataFrame) -> pd.DataFrame:
    """Apply the rules of `load_warfarin` to the published table."""
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
    """Return a matrix of 14 features, without an intercept, with rows in the unit ball.

    Numeric columns are scaled to [0, 1], Booleans are coded as 0 and 1, and every
    level except the most common one has an indicator. All features are then divided by the
    largest possible norm of a row.
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


# fmt: off
_OCCUPATIONS: Final = {
    "MGR": 10, "BUS": 500, "FIN": 800, "CMM": 1005, "ENG": 1305, "SCI": 1600, "CMS": 2001,
    "LGL": 2100, "EDU": 2205, "ENT": 2600, "MED": 3000, "HLS": 3601, "PRT": 3700,
    "EAT": 4000, "CLN": 4200, "PRS": 4330, "SAL": 4700, "OFF": 5000, "FFF": 6005,
    "CON": 6200, "EXT": 6800, "RPR": 7000, "PRD": 7700, "TRN": 9005, "MIL": 9800,
    "UNE": 9920,
}
_BIRTHPLACES: Final = {
    "states": 1, "territories": 60, "Europe": 100, "Asia": 200, "Americas": 300,
    "Africa": 400, "Oceania": 500,
}
# fmt: on


def load_acs() -> pd.DataFrame:
    """Read the 90,636 records of working persons in the 2018 ACS sample.

    The records of the American Community Survey are selected as in the usual income
    benchmark: age above 16, an income above 100 dollars, at least one hour of work per
    week, and a survey weight of at least 1. Codes of occupations and birthplaces are
    combined into the groups of the survey's data dictionary; all other columns are
    unchanged. Three columns are added: occupation, birthplace, and over_50000, which is
    "yes" if the income exceeds 50,000 dollars, and "no" otherwise. The new columns are
    declared in ``Schema.bundled("acs_over_50000")``. The target of
    ``Schema.bundled("acs_income")`` is the income itself.

    Returns
    -------
    DataFrame
        One row per person.

    Examples
    --------
    >>> from confide import Schema
    >>> from confide.data import load_acs
    >>> people = load_acs()  # doctest: +SKIP
    >>> Schema.bundled("acs_over_50000").target.column
    'over_50000'
    """
    return persons_who_work(load("acs"))


def persons_who_work(raw: pd.DataFrame) -> pd.DataFrame:
    """Apply the rules of `load_acs` to the published table."""
    income = raw["PINCP"]
    works = (raw["AGEP"] > 16) & (income > 100) & (raw["WKHP"] > 0) & (raw["PWGTP"] >= 1)
    frame = raw.assign(
        occupation=_group_names(raw["OCCP"], _OCCUPATIONS),
        birthplace=_group_names(raw["POBP"], _BIRTHPLACES),
        over_50000=np.where(income > 50_000, "yes", "no"),
    )
    return frame[works].reset_index(drop=True)


def _group_names(codes: Any, first: dict[str, int]) -> Any:
    """Return the name of the group of each code, given the first code of every group."""
    edges = [*first.values(), np.inf]
    return pd.cut(codes, edges, right=False, labels=list(first)).astype("object")


NORMAL = "normal"
# fmt: off
_GROUPS: Final = {
    "dos": ["back", "land", "neptune", "pod", "smurf", "teardrop"],
    "probe": ["ipsweep", "nmap", "portsweep", "satan"],
    "r2l": [
        "ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient",
        "warezmaster",
    ],
    "u2r": ["buffer_overflow", "loadmodule", "perl", "rootkit"],
}
# fmt: on


def load_kddcup99() -> pd.DataFrame:
    """Read the 494,021 network connections of KDD Cup 1999, with outcome and group added.

    The outcome is "normal" or "attack", and the group is "normal" or one of four types of
    attack. These two columns are the targets of ``Schema.bundled("kddcup99")`` and
    ``Schema.bundled("kddcup99_groups")``.

    Returns
    -------
    DataFrame
        One row per connection.

    Examples
    --------
    >>> from confide import Schema
    >>> from confide.data import load_kddcup99
    >>> connections = load_kddcup99()  # doctest: +SKIP
    >>> Schema.bundled("kddcup99").target.column
    'outcome'
    """
    return with_groups(load("kddcup99"))


def with_groups(raw: pd.DataFrame) -> pd.DataFrame:
    """Add the columns outcome and group to the published table."""
    groups = {name: group for group, names in _GROUPS.items() for name in names}
    label = raw["label"]
    return raw.assign(
        outcome=np.where(label == NORMAL, NORMAL, "attack"),
        group=label.map({NORMAL: NORMAL, **groups}),
    )
