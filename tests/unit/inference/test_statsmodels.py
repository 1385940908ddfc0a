"""At a budget of a million and a tiny ridge the toolkit agrees with statsmodels.

Schemas weigh records by the length of their rows; statsmodels gets the same weights.
Standard errors are the sandwich's without a correction for few rows (HC0).
"""

import numpy as np
import pandas as pd
import pytest

from confide import (
    Approx,
    Boolean,
    Category,
    Intervals,
    LinearRegression,
    LogisticRegression,
    Number,
    PoissonRegression,
    Schema,
    Target,
)
from confide.data import CaseWeights

sm = pytest.importorskip("statsmodels.api")

ROWS = 20_000
WITHIN = 1e-3
REGIONS = ("north", "south", "east")
COLUMNS = (
    Number("age", 18, 90, unit="year"),
    Number("income", 0, 100),
    Category("region", REGIONS, missing="refuse", reference="north"),
)
NAMES = ["age (per year)", "income", "region=south", "region=east", "(intercept)"]
MODELS = {
    "logistic": (LogisticRegression, Target("ill", labels=("no", "yes"))),
    "linear": (LinearRegression, Target("dose", lower=-40, upper=40)),
    "poisson": (PoissonRegression, Target("visits", lower=0, upper=25)),
}
FAMILIES = {
    "logistic": sm.families.Binomial,
    "linear": sm.families.Gaussian,
    "poisson": sm.families.Poisson,
}


def table():
    rng = np.random.default_rng(7)
    age, income = rng.uniform(18, 90, ROWS), rng.uniform(0, 100, ROWS)
    region = rng.choice(REGIONS, ROWS, p=[0.6, 0.3, 0.1])
    eta = 0.02 * (age - 50) - 0.01 * (income - 50) + 0.5 * (region == "south")
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "region": region,
            "ill": np.where(rng.logistic(size=ROWS) < eta, "yes", "no"),
            "dose": 10 * eta + rng.normal(size=ROWS) * (1 + age / 30),
            "visits": rng.poisson(np.exp(eta)),
        }
    )


@pytest.fixture(scope="module", params=MODELS)
def pair(request):
    """Return a fitted model, statsmodels' fit of the same, and its design."""
    kind, target = MODELS[request.param]
    schema, frame = Schema(COLUMNS, target), table()
    model = kind(
        Approx(10**6, 1e-6),
        schema=schema,
        intervals=Intervals(split=("0.2", "0.3", "0.5")),
        ranges="public",
        l2=1e-4,
        random_state=1,
    ).fit(frame)
    design = frame[["age", "income"]].assign(
        south=frame["region"] == "south", east=frame["region"] == "east", one=1.0
    )
    release = model.release_
    lengths = np.hypot(np.linalg.norm(schema.design(frame), axis=1), 0.3)
    weights = np.minimum(release.record_norm / lengths, 4.0)
    outcome = frame[target.column]
    if request.param == "logistic":
        outcome = outcome == "yes"
    other = sm.GLM(
        outcome.astype(float),
        design.astype(float),
        family=FAMILIES[request.param](),
        var_weights=weights,
    ).fit(cov_type="HC0", tol=1e-12, maxiter=200)
    return model, other, design, frame


def close(found, expected):
    np.testing.assert_allclose(
        np.asarray(found, dtype=float), np.asarray(expected, dtype=float), rtol=WITHIN
    )


def test_estimates_and_standard_errors(pair):
    model, other, _, _ = pair
    found = model.confidence_intervals()
    close([found[name].estimate for name in NAMES], other.params)
    close([found[name].std_error for name in NAMES], other.bse)
    close(model.standard_errors()[NAMES], other.bse)
    close([found[name].z for name in NAMES], other.tvalues)
    ends = other.conf_int().to_numpy()
    close([(found[name].lower, found[name].upper) for name in NAMES], ends)


def test_p_values(pair):
    model, other, _, _ = pair
    found = [model.confidence_intervals()[name].p_value for name in NAMES]
    np.testing.assert_allclose(found, other.pvalues, rtol=0.05, atol=1e-12)


def test_covariance(pair):
    model, other, _, _ = pair
    found = model.covariance().loc[NAMES, NAMES].to_numpy()
    size = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    np.testing.assert_allclose(found / size, other.cov_params() / size, atol=2 * WITHIN)


def test_contrasts(pair):
    model, other, _, _ = pair
    found = model.contrast(["region=south - region=east", "10*age - 2*income"])
    weights = np.array([[0, 0, 1, -1, 0], [10, -2, 0, 0, 0]], dtype=float)
    expected = other.t_test(weights)
    close([row.estimate for row in found], expected.effect)
    close([row.std_error for row in found], expected.sd)


def test_wald_tests(pair):
    model, other, _, _ = pair
    factor = model.wald_test("region")
    expected = other.wald_test(np.eye(5)[2:4], use_f=False, scalar=True)
    assert factor.degrees == 2
    close([factor.statistic], [expected.statistic])
    both = model.compare(without=["age", "region"])
    expected = other.wald_test(np.eye(5)[[0, 2, 3]], use_f=False, scalar=True)
    close([both.statistic], [expected.statistic])
    again = model.wald_test(["region=south - region=north", "region=east"])
    close([again.statistic], [factor.statistic])


def test_ratios(pair):
    model, other, _, _ = pair
    if isinstance(model, LinearRegression):
        pytest.skip("no ratios")
    ask = model.odds_ratios if isinstance(model, LogisticRegression) else model.rate_ratios
    found = ask()
    close([found[name].estimate for name in NAMES[:4]], np.exp(other.params[:4]))
    ends = np.exp(other.conf_int().to_numpy()[:4])
    close([(found[name].lower, found[name].upper) for name in NAMES[:4]], ends)


def test_intervals_of_means(pair):
    model, other, design, frame = pair
    found = model.mean_intervals(frame.head(20))
    expected = other.get_prediction(design.head(20).astype(float)).summary_frame()
    close(found.estimate, expected["mean"])
    if not isinstance(model, LinearRegression):
        close(found.lower, expected["mean_ci_lower"])
        close(found.upper, expected["mean_ci_upper"])


def test_marginal_effects(pair):
    """Of numbers on average over rows; statsmodels has them for logit and Poisson."""
    model, other, design, frame = pair
    found = model.marginal_effects(frame)
    eta = design.to_numpy(float) @ other.params.to_numpy()
    slope = {"Binomial": lambda e: np.exp(-e) / (1 + np.exp(-e)) ** 2, "Poisson": np.exp}
    kind = type(other.family).__name__
    mean = slope[kind](eta).mean() if kind in slope else 1.0
    close([found[name].estimate for name in NAMES[:2]], mean * other.params[:2])


def test_arrays_without_weights():
    rng = np.random.default_rng(3)
    features = rng.uniform(-0.5, 0.5, (ROWS, 2))
    target = (features @ [2.0, -1.0] + rng.logistic(size=ROWS) > 0).astype(int)
    model = LogisticRegression(
        Approx(10**6, 1e-6),
        intervals=True,
        l2=1e-4,
        classes=[0, 1],
        random_state=2,
        row_norm=1.0,
    ).fit(features, target)
    design = np.column_stack([features, np.ones(ROWS)])
    other = sm.Logit(target, design).fit(disp=0, cov_type="HC0")
    found = model.confidence_intervals()
    close([row.estimate for row in found], other.params)
    close([row.std_error for row in found], other.bse)
    average = other.get_margeff()
    close([row.estimate for row in model.marginal_effects(features)], average.margeff)
    # Logit's delta method takes the same covariance.
    close([row.std_error for row in model.marginal_effects(features)], average.margeff_se)


TERMS = ("age", "bs(income, df=5)", "region", "smoker", "region:smoker")
FORMULA = (
    "outcome ~ age + region * smoker + bs(income, knots=(100/3, 200/3), degree=3, "
    "include_intercept=False, lower_bound=0, upper_bound=100)"
)


@pytest.mark.parametrize("name", MODELS)
def test_errors_and_tests_with_a_spline_an_interaction_weights_and_an_offset(name):
    formulas = pytest.importorskip("statsmodels.formula.api")
    kind, target = MODELS[name]
    rng, frame = np.random.default_rng(8), table()
    frame["smoker"], frame["times"] = rng.random(ROWS) < 0.4, rng.choice([1, 2, 3], ROWS)
    frame["days"] = rng.uniform(180, 365, ROWS)
    exposed = name != "linear"
    schema = Schema(
        (*COLUMNS, Boolean("smoker", missing="refuse")),
        target,
        terms=TERMS,
        case_weights=CaseWeights("times", 3),
        offset=Number("days", 180, 365, transform="log") if exposed else None,
    )
    model = kind(
        Approx(10**6, 1e-6),
        schema=schema,
        intervals=Intervals(split=("0.2", "0.3", "0.5")),
        ranges="public",
        l2=1e-4,
        random_state=1,
    ).fit(frame)
    lengths = np.hypot(np.linalg.norm(schema.design(frame), axis=1), 0.3)
    weights = np.minimum(model.release_.record_norm / lengths, 4.0)
    outcome = frame[target.column]
    frame["outcome"] = outcome.eq("yes").astype(float) if name == "logistic" else outcome
    other = formulas.glm(
        FORMULA,
        frame,
        family=FAMILIES[name](),
        var_weights=weights * frame["times"],
        offset=np.log(frame["days"]) if exposed else None,
    ).fit(cov_type="HC0", tol=1e-12, maxiter=200)
    age = model.confidence_intervals()["age (per year)"]
    close([age.estimate, age.std_error], [other.params["age"], other.bse["age"]])
    close([age.lower, age.upper], other.conf_int().loc["age"])
    for term, part in (("bs(income, df=5)", "bs("), ("region:smoker", ":")):
        lines = [part in line for line in other.params.index]
        matrix = np.eye(len(lines))[lines]
        expected = other.wald_test(matrix, use_f=False, scalar=True).statistic
        found = model.wald_test(term)
        assert found.degrees == found.rank == len(matrix)
        # Noise of the scatter still shows: counts have the largest slopes.
        assert found.statistic == pytest.approx(expected, rel=2 * WITHIN)
    if name != "linear":
        ratios = model.odds_ratios if name == "logistic" else model.rate_ratios
        close([ratios()["age (per year)"].estimate], np.exp(other.params[["age"]]))
