"""What summaries say about the ranges of a fit."""

import numpy as np
import pandas as pd

from confide import (
    Approx,
    LogisticRegression,
    Number,
    Pure,
    Schema,
    Target,
    buy_ranges,
)

BUDGET = Approx(1, "1e-6")
TARGET = Target("y", labels=("a", "b"))
rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": rng.normal(45, 12, 5000),
        "dose": rng.normal(3, 1, 5000),
        "y": ["a", "b"] * 2500,
    }
)


def told(schema, budget=BUDGET, table=TABLE):
    model = LogisticRegression(budget, schema=schema, random_state=0).fit(table)
    return dict(model.summary().facts)["Ranges"]


def test_a_summary_names_ranges_that_were_bought_before():
    bought = buy_ranges(TABLE, Schema((Number("age"),), TARGET), BUDGET, random_state=0)
    (ends,) = bought.lines
    after = (
        "Estimated earlier; effects hold inside these ranges, and values outside are "
        "clamped"
    )
    assert told(bought.schema) == f"age {ends[1]} to {ends[2]}. {after}"


def test_a_summary_tells_ranges_that_the_fit_bought_from_earlier_ones():
    first = buy_ranges(TABLE, Schema((Number("dose"),), TARGET), BUDGET, random_state=0)
    columns = (*first.schema.columns, Number("age"))
    found = told(Schema(columns, TARGET, bought=first.schema.bought))
    assert found.index("age") < found.index("Estimated with 10%") < found.index("dose")
    assert found.count("Estimated earlier") == found.count("effects hold inside") == 1


def test_a_summary_names_every_range_of_a_usual_table():
    names = [f"x{k}" for k in range(40)]
    table = pd.DataFrame(dict.fromkeys(names, np.linspace(0, 9, 50)))
    schema = Schema(tuple(map(Number, names)), TARGET)
    found = told(schema, Pure(1), table.assign(y=["a", "b"] * 25))
    assert all(f"{name} " in found for name in names)
