"""Persons who work, from the American Community Survey, and whether they earn over 50,000.

The rules of the usual benchmark: older than 16, an income above 100 dollars, at least an
hour of work a week, a weight of at least 1. Codes of occupations and birthplaces are put
into the groups of the survey's data dictionary; everything else is as coded.
"""

from typing import Any, Final

import numpy as np
import pandas as pd

from confide.data.datasets.catalogue import load

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
    """Read the 90,636 persons who work.

    Next to the columns of the survey there are occupation, birthplace and over_50000, as
    ``Schema.bundled("acs_over_50000")`` declares them; ``Schema.bundled("acs_income")``
    predicts the income itself.
    """
    return persons_who_work(load("acs"))


def persons_who_work(raw: pd.DataFrame) -> pd.DataFrame:
    """Apply the rules above to the table as it was published."""
    income = raw["PINCP"]
    works = (raw["AGEP"] > 16) & (income > 100) & (raw["WKHP"] > 0) & (raw["PWGTP"] >= 1)
    frame = raw.assign(
        occupation=_groups(raw["OCCP"], _OCCUPATIONS),
        birthplace=_groups(raw["POBP"], _BIRTHPLACES),
        over_50000=np.where(income > 50_000, "yes", "no"),
    )
    return frame[works].reset_index(drop=True)


def _groups(codes: Any, first: dict[str, int]) -> Any:
    """Return the names of groups of codes, each given by its first code."""
    edges = [*first.values(), np.inf]
    return pd.cut(codes, edges, right=False, labels=list(first)).astype("object")
