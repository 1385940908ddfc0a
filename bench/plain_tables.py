"""Populations, columns and generous ranges for the coverage of plain coefficients.

These were fixed before any coverage was measured. A population is a whole table or a
simulation, and a sample is drawn from it with replacement. Ranges are wide enough for an
outsider to be sure of them, such as 168 hours in a week, and do not depend on the rows. The
columns are numbers and columns with two levels; warfarin and randhie have the columns of
their bundled schemas.
"""

from dataclasses import dataclass
from functools import cache

SIMULATED_SLOPES = (0.8, -0.5, 0.3, 0.0, 0.6, -0.2)
"""Log-odds per unit of each column, in the simulated tables with few positives."""
INTERCEPTS = {17: -1.65, 8: -2.53, 3: -3.58}
"""Intercepts of the simulated tables, by the approximate percentage of positives."""
SIMULATED_ROWS = 400_000
SIMULATION_SEED = 20191


@dataclass(frozen=True)
class Sampled:
    """Task of a population, and the number of rows of a sample."""

    task: str
    rows: int


SAMPLED = {
    "Adult": Sampled("classes", 20_000),
    "Bank": Sampled("classes", 20_000),
    "ACS": Sampled("classes", 20_000),
    "California": Sampled("number", 20_000),
    "warfarin": Sampled("number", 4_000),
    "randhie": Sampled("count", 20_000),
    **{f"{share} % of 5,000": Sampled("classes", 5_000) for share in INTERCEPTS},
    **{f"{share} % of 20,000": Sampled("classes", 20_000) for share in INTERCEPTS},
}


@cache
def population(name):
    """Return a schema with generous ranges, and all rows of the population."""
    if "%" in name:
        return _simulated(INTERCEPTS[int(name.split()[0])])
    makers = {
        "Adult": _adult,
        "Bank": _bank,
        "ACS": _acs,
        "California": _california,
        "warfarin": _warfarin,
        "randhie": _randhie,
    }
    schema, frame = makers[name]()
    columns = [column.name for column in schema.columns]
    return schema, frame[[*columns, schema.target.column]].dropna().reset_index(drop=True)


def _adult():
    import pandas as pd

    from confide import Boolean, Category, Number, Schema, Target, data

    frame = pd.concat([data.load("adult", "train"), data.load("adult", "test")])
    frame["married"] = frame["marital-status"].isin(
        ["Married-civ-spouse", "Married-AF-spouse"]
    )
    columns = (
        Number("age", 0, 120),
        Number("education-num", 1, 16),
        Number("hours-per-week", 0, 168),
        Number("capital-gain", 0, 1e6),
        Number("capital-loss", 0, 1e5),
        Number("fnlwgt", 0, 1e7),
        Category("sex", ("Female", "Male")),
        Boolean("married"),
    )
    return Schema(columns, Target("income", labels=("<=50K", ">50K")), "adult"), frame


def _bank():
    from confide import Boolean, Number, Schema, Target, data

    columns = (
        Number("age", 0, 120),
        Number("balance", -1e6, 1e6),
        Number("day", 1, 31),
        Number("campaign", 0, 1000),
        Number("previous", 0, 1000),
        Boolean("default"),
        Boolean("housing"),
        Boolean("loan"),
    )
    return Schema(columns, Target("y", labels=("no", "yes")), "bank"), data.load("bank")


def _acs():
    from confide import Category, Number, Schema, Target, data

    columns = (
        Number("AGEP", 0, 120),
        Number("SCHL", 1, 24),
        Number("WKHP", 0, 168),
        Number("JWMNP", 0, 1440),
        Number("PWGTP", 0, 1e5),
        Category("SEX", (1, 2)),
        Category("DIS", (1, 2)),
        Category("HICOV", (1, 2)),
    )
    frame = data.load_acs()
    labels = Schema.bundled("acs_over_50000").target.labels
    return Schema(columns, Target("over_50000", labels=labels), "acs"), frame


def _california():
    from confide import Number, Schema, Target, data

    columns = (
        Number("MedInc", 0, 100),
        Number("HouseAge", 0, 200),
        Number("AveRooms", 0, 200),
        Number("AveBedrms", 0, 100),
        Number("Population", 0, 1e5),
        Number("AveOccup", 0, 1000),
        Number("Latitude", 30, 45),
        Number("Longitude", -130, -110),
    )
    target = Target("MedHouseVal", lower=0, upper=50)
    return Schema(columns, target, "california"), data.load("california_housing")


def _warfarin():
    from confide import data

    ranges = {"age": (0, 12), "height": (50, 250), "weight": (0, 300)}
    return _with_limits("warfarin", ranges, (0, 500)), data.load_warfarin()


def _randhie():
    from confide import data

    ranges = {"lncoins": (0, 10), "lpi": (0, 15), "fmde": (0, 15), "disea": (0, 100)}
    return _with_limits("randhie", ranges, None), data.load("randhie")


def _with_limits(name, ranges, of_target):
    from dataclasses import replace

    from confide import Schema

    schema = Schema.bundled(name)
    columns = tuple(
        replace(c, lower=ranges[c.name][0], upper=ranges[c.name][1])
        if c.name in ranges
        else c
        for c in schema.columns
    )
    target = schema.target
    if of_target is None:
        target = replace(target, bound=1000.0)
    else:
        target = replace(target, lower=of_target[0], upper=of_target[1])
    return replace(schema, columns=columns, target=target)


def _simulated(intercept):
    """Return the schema and rows of a simulation.

    Each of the six columns is the sum of two uniform numbers, and is declared twice as wide
    as it is.
    """
    import numpy as np
    import pandas as pd

    from confide import Number, Schema, Target
    from confide.noise import generator

    rng = generator(SIMULATION_SEED)
    size = (SIMULATED_ROWS, len(SIMULATED_SLOPES))
    features = rng.uniform(-0.5, 0.5, size) + rng.uniform(-0.5, 0.5, size)
    eta = intercept + features @ np.array(SIMULATED_SLOPES)
    positive = rng.uniform(size=SIMULATED_ROWS) < 1 / (1 + np.exp(-eta))
    names = [f"x{j}" for j in range(len(SIMULATED_SLOPES))]
    frame = pd.DataFrame(features, columns=names)
    frame["y"] = np.where(positive, "yes", "no")
    columns = tuple(Number(name, -2, 2) for name in names)
    return Schema(columns, Target("y", labels=("no", "yes")), "simulated"), frame
