"""Splines, interactions, weights and offsets against statsmodels, at a huge budget.

Both minimise the same sum: confide weighs records by the lengths of their rows, and
statsmodels is handed those weights. A ridge of 1e-6 leaves linear predictors alike to
1e-5 and better; 1e-3 is what is asked for.
"""

import numpy as np
import pandas as pd
import pytest

from confide import (
    Approx,
    Boolean,
    Category,
    LinearRegression,
    LogisticRegression,
    Number,
    PoissonRegression,
    Schema,
    Target,
)
from confide.data import CaseWeights

statsmodels = pytest.importorskip("statsmodels.api")
formulas = pytest.importorskip("statsmodels.formula.api")
pytestmark = pytest.mark.filterwarnings("ignore")

BUDGET = Approx("1e6", "1e-6")
RIDGE = 1e-6
FEW = {"slope_bound": 1000.0}
COLUMNS = (
    Number("age", 20, 80),
    Number("w", 30, 120),
    Category("r", ("a", "b", "c")),
    Category("s", ("x", "y")),
    Boolean("b"),
)
ILL, VISITS = Target("ill", labels=("no", "yes")), Target("visits", bound=60)
NUMBER = Target("y", lower=-6, upper=13)
DAYS = Number("days", 1, 365, transform="log")
SPLINE = "bs(w, knots=(60, 90), degree=3, include_intercept=False, "
SPLINE += "lower_bound=30, upper_bound=120)"


@pytest.fixture(scope="module")
def frame():
    rng, rows = np.random.default_rng(0), 4000
    table = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, rows),
            "w": rng.uniform(30, 120, rows),
            "r": rng.choice(list("abc"), rows),
            "s": rng.choice(["x", "y"], rows),
            "b": rng.random(rows) < 0.5,
            "times": rng.choice([0.5, 1, 2, 4, 9], rows),
            "days": rng.uniform(1, 365, rows),
        }
    )
    line = 0.03 * (table["age"] - 50) + np.sin(table["w"] / 10)
    line += (table["r"] == "a") * (table["s"] == "x")
    chance = 1 / (1 + np.exp(-line))
    table["ill"] = np.where(rng.random(rows) < chance, "yes", "no")
    table["sick"] = (table["ill"] == "yes").astype(float)
    table["visits"] = rng.poisson(table["days"] / 365 * np.exp(0.5 + 0.5 * line))
    table["y"] = np.clip(3 + line + 0.5 * rng.normal(size=rows), -6, 13)
    table["ones"] = 1.0
    table["capped"] = table["times"].clip(upper=4)
    table["by_label"] = np.where(table["sick"] == 1, 3.0, 1.0)
    return table


CASES = {
    "splines and interactions": (
        LogisticRegression,
        {},
        Schema(COLUMNS, ILL, terms=("age", "bs(w, df=5)", "r", "s", "r:s", "age:r", "b")),
        f"sick ~ age + {SPLINE} + r*s + age:r + b",
        {},
    ),
    "a spline in an interaction": (
        LinearRegression,
        FEW,
        Schema(COLUMNS, NUMBER, terms=("s", "bs(w, df=5)", "s:bs(w, df=5)")),
        f"y ~ s*{SPLINE}",
        {},
    ),
    "polynomials": (
        LinearRegression,
        FEW,
        Schema(COLUMNS, NUMBER, terms=("poly(age, 3)", "r:s", "poly(w, 2)")),
        "y ~ age + I(age**2) + I(age**3) + r*s + w + I(w**2)",
        {},
    ),
    "weights": (
        LogisticRegression,
        {},
        Schema(COLUMNS, ILL, terms=("age", "r"), case_weights=CaseWeights("times", 10)),
        "sick ~ age + r",
        {"weights": "times"},
    ),
    "weights beyond the cap": (
        LogisticRegression,
        {},
        Schema(COLUMNS, ILL, terms=("age", "r"), case_weights=CaseWeights("times", 4)),
        "sick ~ age + r",
        {"weights": "capped"},
    ),
    "weights of labels": (
        LogisticRegression,
        {},
        Schema(
            COLUMNS, ILL, terms=("age", "r"), case_weights=CaseWeights(classes={"yes": 3})
        ),
        "sick ~ age + r",
        {"weights": "by_label"},
    ),
    "weights of numbers": (
        LinearRegression,
        FEW,
        Schema(COLUMNS, NUMBER, terms=("age", "r"), case_weights=CaseWeights("times", 9)),
        "y ~ age + r",
        {"weights": "times"},
    ),
    "exposure": (
        PoissonRegression,
        FEW,
        Schema(COLUMNS, VISITS, terms=("age", "r", "s"), offset=DAYS),
        "visits ~ age + r + s",
        {"offset": lambda table: np.log(table["days"])},
    ),
    "exposure and weights": (
        PoissonRegression,
        FEW,
        Schema(
            COLUMNS,
            VISITS,
            terms=("age", "r", "bs(w, df=5)"),
            offset=DAYS,
            case_weights=CaseWeights("times", 9),
        ),
        f"visits ~ age + r + {SPLINE}",
        {"weights": "times", "offset": lambda table: np.log(table["days"])},
    ),
    "offset of log-odds": (
        LogisticRegression,
        {},
        Schema(COLUMNS, ILL, terms=("age", "r"), offset=DAYS),
        "sick ~ age + r",
        {"offset": lambda table: np.log(table["days"])},
    ),
}
FAMILIES = {
    LogisticRegression: statsmodels.families.Binomial,
    LinearRegression: statsmodels.families.Gaussian,
    PoissonRegression: statsmodels.families.Poisson,
}


def lengths(schema, table):
    """Return how often confide counts records of every length."""
    rows = np.hypot(np.linalg.norm(schema.design(table), axis=1), 0.3)
    return np.minimum(4.0, schema.record_norm(0.3) / rows)


@pytest.mark.parametrize("name", CASES)
def test_linear_predictors_agree(name, frame):
    kind, settings, schema, formula, more = CASES[name]
    model = kind(
        BUDGET, schema=schema, ranges="public", l2=RIDGE, random_state=1, **settings
    ).fit(frame)
    offset = more.get("offset", lambda table: np.zeros(len(table)))(frame)
    other = formulas.glm(
        formula,
        frame,
        family=FAMILIES[kind](),
        offset=offset,
        freq_weights=lengths(schema, frame) * frame[more.get("weights", "ones")],
    ).fit(tol=1e-12)
    expected = np.asarray(other.predict(frame, which="linear", offset=offset))
    found = model._margins(frame)[:, 0]
    assert np.abs(found - expected).max() < 1e-3 * np.abs(expected).max()
    names = model.display_by(schema, 0.3).names
    lines = dict(zip(names, model._display().show(model.release_.value), strict=True))
    if "age" in other.params and "age:" not in formula and "I(" not in formula:
        assert lines["age"] == pytest.approx(other.params["age"], rel=1e-3)
    if name == "polynomials":
        for power, theirs in (("age", "age"), ("age^2", "I(age ** 2)"), ("w", "w")):
            assert lines[power] == pytest.approx(other.params[theirs], rel=1e-3)
    if name == "splines and interactions":
        apart = [[lines[f"r={r}:s={s}"] for s in "xy"] for r in "abc"]
        theirs = other.params["r[T.b]:s[T.y]"]
        contrast = apart[1][1] - apart[0][1] - apart[1][0] + apart[0][0]
        assert contrast == pytest.approx(theirs, rel=1e-3)
