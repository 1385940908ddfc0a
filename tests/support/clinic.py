"""A made-up clinic: schemas and tables."""

from datetime import date

import numpy as np
import pandas as pd

from confide import (
    Category,
    Number,
    Schema,
)
from confide import Target as Aim
from confide.data import Boolean, Date

SCHEMA = Schema(
    columns=(
        Number("age", 18, 98),
        Category("town", ("north", "south", "west")),
        Number("income", -1000.0, 1000.0),
        Category("rooms", (1, 2)),
    ),
    target=Aim("ill", labels=("no", "yes")),
    name="clinic",
)


def clinic(rows=200):
    rng = np.random.default_rng(3)
    age = rng.uniform(18, 98, rows)
    town = rng.choice(["north", "south", "west"], rows)
    chance = 1 / (1 + np.exp(-(age - 58) / 10 - (town == "west")))
    return pd.DataFrame(
        {
            "ill": np.where(rng.random(rows) < chance, "yes", "no"),
            "town": town,
            "age": age,
            "income": rng.uniform(-1000, 1000, rows),
            "rooms": rng.integers(1, 3, rows),
        }
    )


# --- a target in a range of its own
DOSES = Schema(SCHEMA.columns, Aim("dose", lower=0, upper=200, unit="mg/week"), "doses")


def doses():
    table = clinic(400)
    return table.assign(dose=table["age"] + 20 * (table["town"] == "west"))


# --- every kind of column
FULL = Schema(
    (
        Number("weight", 0.5, 200, unit="kg", missing="refuse"),
        Category("town", ("north", 3, True, 2.5), other=True, missing="refuse"),
        Boolean("smoker"),
        Date("joined", date(2010, 1, 1), date(2020, 1, 1)),
        Number('odd "name"\x7f.é', -(10**20), 1e300),
    ),
    Aim("ill", labels=(False, True)),
    "a clinic",
    4,
)
