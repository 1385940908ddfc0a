"""Errors, tests, contrasts, ratios and effects of a released model."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from confide import (
    Approx,
    Boolean,
    Category,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Number,
    PoissonRegression,
    Schema,
    Target,
)
from confide.errors import InvalidParameter
from confide.estimators import load_model
from confide.inference import unclipped_variance
from support.commands import run

ROWS = 6000
BUDGET = Approx(3, 1e-6)
REGIONS = ("north", "south", "east", "west")
COLUMNS = (
    Number("age", 18, 90, unit="year"),
    Number("income", 0, 100),
    Category("region", REGIONS, missing="refuse", reference="north"),
    Boolean("smoker"),
)
TARGETS = {
    LogisticRegression: Target("ill", labels=("no", "yes")),
    LinearRegression: Target("dose", lower=-30, upper=30, unit="mg"),
    PoissonRegression: Target("visits", lower=0, upper=15),
    LinearSVC: Target("ill", labels=("no", "yes")),
}


def table(rows=ROWS):
    rng = np.random.default_rng(5)
    age, income = rng.uniform(18, 90, rows), rng.uniform(0, 100, rows)
    region = rng.choice(REGIONS, rows, p=[0.5, 0.3, 0.19, 0.01])
    smoker = rng.uniform(size=rows) < 0.3
    eta = 0.03 * (age - 50) + 0.8 * (region == "south") + 0.5 * smoker
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "region": region,
            "smoker": smoker,
            "ill": np.where(rng.logistic(size=rows) < eta, "yes", "no"),
            "dose": 4 * eta + 3 * rng.normal(size=rows),
            "visits": np.minimum(rng.poisson(np.exp(0.3 + eta / 2)), 15),
        }
    )


def fitted(kind=LogisticRegression, columns=COLUMNS, budget=BUDGET, **more):
    schema = Schema(columns, TARGETS[kind], "people")
    more = {"intervals": True, "ranges": "public", "random_state": 1, **more}
    return kind(budget, schema=schema, **more).fit(table())


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def counts():
    return fitted(PoissonRegression)


def test_p_values_and_intervals_agree(model):
    """p < 0.05 just where the interval of 95 % excludes zero, at any level."""
    for level in (0.8, 0.95, 0.999):
        for row in model.confidence_intervals(level):
            if row.identified:
                assert (row.p_value < 1 - level) == row.reliable


def test_a_test_of_one_number_is_its_z_value(model):
    row = model.confidence_intervals()["age"]
    found = model.wald_test("age")
    assert found.degrees == 1
    assert found.statistic == pytest.approx(row.z**2, rel=0.02)
    assert found.p_value == pytest.approx(row.p_value, rel=0.2, abs=1e-12)


def test_standard_errors_are_the_roots_of_the_covariance(model):
    covariance = model.covariance()
    errors = model.standard_errors()
    known = errors.notna()
    np.testing.assert_allclose(
        np.sqrt(np.diag(covariance))[known], errors[known], rtol=1e-12
    )
    inner = covariance.loc[known.to_numpy(), known.to_numpy()]
    assert np.linalg.eigvalsh(inner).min() > -1e-12
    for row in model.confidence_intervals():
        if row.identified:
            assert row.std_error == pytest.approx(errors[row.name], rel=1e-9)


def test_contrasts_as_text_and_as_weights(model):
    text = model.contrast("10*age - 0.5*income")
    weights = model.contrast({"age": 10, "income": -0.5})
    assert text.rows[0].estimate == weights.rows[0].estimate
    assert text.rows[0].lower == weights.rows[0].lower
    names = [row.name for row in (*text, *weights)]
    assert names == ["10*age - 0.5*income"] * 2
    against = model.contrast("region=south - region=north").rows[0]
    assert against.estimate == model.confidence_intervals()["region=south"].estimate


def test_a_contrast_has_the_variance_of_the_covariance(model):
    covariance = model.covariance()
    row = model.contrast("age - income").rows[0]
    pair = covariance.loc[["age (per year)", "income"], ["age (per year)", "income"]]
    square = np.array([1, -1]) @ pair.to_numpy() @ np.array([1, -1])
    assert row.std_error == pytest.approx(math.sqrt(square), rel=0.02)


def test_references_can_be_chosen_after_the_fit(model):
    other = model.with_reference(region="south")
    names = [row.name for row in other.confidence_intervals()]
    assert "region=north" in names
    assert "region=south" not in names
    ahead = model.confidence_intervals()["region=south"]
    behind = other.confidence_intervals()["region=north"]
    assert ahead.estimate == pytest.approx(-behind.estimate)
    assert ahead.std_error == pytest.approx(behind.std_error)
    first, second = model.wald_test("region"), other.wald_test("region")
    assert first.statistic == pytest.approx(second.statistic, rel=0.05)
    averaged = model.with_reference(region=None)
    assert len(averaged.confidence_intervals()) == len(names) + 1
    frame = table().head()
    np.testing.assert_allclose(other.predict_proba(frame), model.predict_proba(frame))
    with pytest.raises(InvalidParameter, match="reference of column 'region'"):
        model.with_reference(region="nort")
    with pytest.raises(InvalidParameter, match="reference must be for one of"):
        model.with_reference(age=1)


def test_rare_levels_do_not_widen_common_ones():
    """Against an average of all alike the west, 1 % of the rows, widens all levels."""
    alike = replace(COLUMNS[2], reference=None)
    weighed = replace(alike, share={"north": 0.5, "south": 0.3, "east": 0.19, "west": 0.01})
    budget = Approx(20, 1e-6)

    def width(column):
        columns = (*COLUMNS[:2], column, COLUMNS[3])
        row = fitted(columns=columns, budget=budget).intervals_["region=south"]
        return row.upper - row.lower

    assert width(alike) > 1.5 * width(weighed)
    assert width(weighed) < 1.1 * width(COLUMNS[2])


def test_what_levels_are_compared_with_is_said(model):
    assert dict(model.summary().about)["Categories"] == "each level compared with north"
    shares = replace(COLUMNS[2], reference=None, share=[0.4, 0.3, 0.2, 0.1])
    assert shares.against == "the average of its levels weighted by public shares"
    np.testing.assert_allclose(shares.baseline, [0.4, 0.3, 0.2, 0.1])
    with pytest.raises(InvalidParameter, match="Did you mean"):
        replace(COLUMNS[2], reference="nrth")


def test_a_schema_file_keeps_the_reference(tmp_path):
    schema = Schema(COLUMNS, TARGETS[LogisticRegression], "people")
    path = tmp_path / "people.toml"
    path.write_text(schema.to_toml(), "utf-8")
    assert 'reference = "north"' in schema.to_toml()
    assert Schema.from_toml(path) == schema


def test_ratios_are_powers_of_effects(model, counts):
    for name, one, ratios in (
        ("odds ratio", model, model.odds_ratios("range")),
        ("rate ratio", counts, counts.rate_ratios("range")),
    ):
        assert ratios.heading == name
        for effect, ratio in zip(one.effects("range"), ratios, strict=True):
            assert ratio.estimate == pytest.approx(math.exp(effect.estimate))
            if effect.identified:
                assert ratio.lower == pytest.approx(math.exp(effect.lower))
                assert ratio.reliable == effect.reliable
    with pytest.raises(InvalidParameter, match="rate_ratios"):
        counts.odds_ratios()
    with pytest.raises(InvalidParameter, match="effects"):
        fitted(LinearSVC).odds_ratios()


def test_effects_of_amounts(model):
    unit, span = model.effects("unit"), model.effects("range")
    assert span["age"].estimate == pytest.approx(72 * unit["age"].estimate)
    assert span["age"].name == "age (per 72 years)"
    decade = model.effects({"age": 10})
    assert model.effects({"age": 12_345})["age"].name == "age (per 12,345 years)"
    assert decade["age"].estimate == pytest.approx(10 * unit["age"].estimate)
    assert decade["income"].estimate == unit["income"].estimate
    assert span["region=south"].estimate == unit["region=south"].estimate
    deviation = model.effects("deviation")
    assert deviation["age"].estimate == pytest.approx(span["age"].estimate / math.sqrt(12))
    back = model.effects({"age": -1})["age"]
    assert back.lower < back.estimate < back.upper
    for bad in ("width", {"region": 2}, {"age": 0}, {"agee": 1}):
        with pytest.raises(InvalidParameter):
            model.effects(bad)


def test_simultaneous_intervals_are_wider_and_bounded_by_bonferroni(model):
    one, all_ = model.confidence_intervals(), model.confidence_intervals(simultaneous=True)
    known = [row for row in all_ if row.identified]
    assert "(intercept)" not in [row.name for row in all_]
    most = norm.ppf(1 - 0.025 / len(known)) / norm.ppf(0.975)
    for row in known:
        ratio = (row.upper - row.lower) / (one[row.name].upper - one[row.name].lower)
        assert 1 < ratio < 1.05 * most


def test_contrasts_hold_together(model):
    pairs = ["region=south - region=west", "region=south", "age", "smoker"]
    alone = model.contrast(pairs)
    together = model.contrast(pairs, simultaneous=True)
    widths = [[row.upper - row.lower for row in table.rows] for table in (alone, together)]
    longer = np.divide(*reversed(widths))
    # Bonferroni's quantile for four intervals is 1.27 times the usual one.
    assert (longer > 1.15).all()
    assert (longer < 1.28).all()
    single = model.contrast("age", simultaneous=True)["age"]
    assert single.upper == pytest.approx(alone["age"].upper, rel=0.02)


def test_marginal_effects_follow_terms_and_not_columns():
    """Terms in another order, and without a column, are the same columns."""
    rows = {}
    for names in (("age", "region", "smoker"), ("smoker", "region", "age")):
        schema = Schema(COLUMNS, TARGETS[LogisticRegression], terms=names)
        huge = LogisticRegression(
            Approx(1e4, 1e-6),
            schema=schema,
            intervals=True,
            ranges="public",
            random_state=1,
        ).fit(table())
        for where, asked in (("middle", None), ("rows", table(50))):
            found = huge.marginal_effects(asked)
            rows[names, where] = {row.name: row.estimate for row in found}
    for where in ("middle", "rows"):
        first, second = (found for (_, place), found in rows.items() if place == where)
        assert first == pytest.approx(second, rel=1e-3)
        assert list(first) != list(second)
        assert "income" not in first
    middle = rows[("age", "region", "smoker"), "middle"]
    assert middle["region=south"] == pytest.approx(0.8 / 4, rel=0.2)


def test_means_and_marginal_effects(model, counts):
    frame = table().head(30)
    means = model.mean_intervals(frame)
    assert ((means.lower < means.estimate) & (means.estimate < means.upper)).all()
    assert ((means.lower > 0) & (means.upper < 1)).all()
    assert list(means.to_frame().columns) == ["estimate", "lower", "upper"]
    average = model.marginal_effects(frame)
    step = 1e-4
    moved = frame.assign(age=frame["age"] + step)
    change = model.mean_intervals(moved).estimate - means.estimate
    assert average["age"].estimate == pytest.approx(change.mean() / step, rel=1e-3)
    yes, no = (
        model.mean_intervals(frame.assign(smoker=value)).estimate.mean()
        for value in (True, False)
    )
    assert average["smoker"].estimate == pytest.approx(yes - no, rel=1e-6)
    south, north = (
        counts.mean_intervals(frame.assign(region=value)).estimate.mean()
        for value in ("south", "north")
    )
    found = counts.marginal_effects(frame)["region=south"].estimate
    assert found == pytest.approx(south - north, rel=1e-6)
    middle = model.marginal_effects()
    assert {row.name for row in middle} == {row.name for row in average}


@pytest.mark.slow
def test_prediction_intervals(counts):
    line = fitted(LinearRegression, budget=Approx(20, 1e-6))
    frame = table(3000)
    for one, column, least in ((line, "dose", 0.92), (counts, "visits", 0.93)):
        found = one.prediction_intervals(frame)
        target = frame[column]
        known = ~np.isnan(found.lower)
        held = ((found.lower <= target) & (target <= found.upper))[known].mean()
        assert least < held <= 1.0
        assert known.mean() > 0.9
    with pytest.raises(InvalidParameter, match="have no prediction interval"):
        fitted().prediction_intervals(frame)


@pytest.mark.parametrize("deviation", [0.1, 0.5, 1.0, 2.0])
def test_the_variance_of_residuals_that_are_cut(deviation):
    """Exact moments of a normal variable cut at 1."""
    reach = 1 / deviation
    within = 2 * norm.cdf(reach) - 1
    square = within - 2 * reach * norm.pdf(reach) + reach**2 * (1 - within)
    found = unclipped_variance(deviation**2 * square / within, 1.0)
    assert found == pytest.approx(deviation**2, rel=1e-6)


def test_models_are_compared_by_what_is_left_out(model):
    left = model.compare(without=["region", "smoker"])
    assert left.statistic == model.wald_test(["region", "smoker"]).statistic
    smaller = Schema(COLUMNS[:2], TARGETS[LogisticRegression], "people")
    assert model.compare(smaller).statistic == left.statistic
    unfitted = LogisticRegression(BUDGET, schema=smaller)
    assert model.compare(unfitted) == left
    other = Schema((*COLUMNS[:2], Number("height", 0, 1)), TARGETS[LogisticRegression])
    elsewhere = Schema(COLUMNS[:2], Target("wage", bound=1.0))
    for bad, says in (
        (other, "columns of the smaller model must be some of"),
        (Schema(COLUMNS, TARGETS[LogisticRegression]), "but not all"),
        (elsewhere, "target of the smaller model must be the same .* got 'wage'"),
        ("region", "smaller must be a Schema, or a model that was fitted with one"),
    ):
        with pytest.raises(InvalidParameter, match=says):
            model.compare(bad)


def test_columns_that_are_not_there(model):
    with pytest.raises(InvalidParameter, match="Did you mean"):
        model.wald_test("regin")
    with pytest.raises(InvalidParameter, match="one of"):
        model.contrast("age - hight")
    with pytest.raises(InvalidParameter, match="region is a factor"):
        model.contrast("region - age")
    with pytest.raises(InvalidParameter):
        model.contrast({"age": math.inf})
    with pytest.raises(InvalidParameter):
        model.contrast({})
    with pytest.raises(InvalidParameter, match="label must be"):
        model.wald_test("age", label="perhaps")
    with pytest.raises(InvalidParameter, match="name of a coefficient"):
        model.intervals_["hight"]


def test_a_factor_with_one_level():
    alone = Category("region", ("north",), missing="refuse", other=False)
    frame = table()
    frame["region"] = "north"
    schema = Schema((COLUMNS[0], alone), TARGETS[LogisticRegression])
    found = LogisticRegression(
        BUDGET, schema=schema, intervals=True, ranges="public", random_state=1
    ).fit(frame)
    with pytest.raises(InvalidParameter, match="two or more levels"):
        found.wald_test("region")
    assert found.wald_test("age").identified
    schema = Schema((COLUMNS[0], replace(alone, missing="category")), schema.target)
    hidden = LogisticRegression(
        BUDGET, schema=schema, intervals=True, ranges="public", random_state=1
    ).fit(frame)
    test = hidden.wald_test("region")
    assert not test.identified
    assert "noise is too large" in str(test)


def test_without_intervals_the_toolkit_says_what_is_missing():
    with pytest.raises(InvalidParameter, match="fitted with intervals"):
        fitted(intervals=None).wald_test("age")


def test_penalised_coefficients_have_a_toolkit_of_their_own():
    from confide import Intervals

    found = fitted(intervals=Intervals(of="penalised"))
    assert found.wald_test("region").of == "penalised"
    assert found.confidence_intervals()["age"].pull is None
    with pytest.raises(InvalidParameter, match="requested for a numeric target or a count"):
        found.prediction_intervals(table().head())
    line = fitted(LinearRegression, intervals=Intervals(of="penalised"))
    with pytest.raises(InvalidParameter, match="dispersion"):
        line.prediction_intervals(table().head())


def test_a_model_file_answers_alike(model, tmp_path):
    path = tmp_path / "model.json"
    model.save(path)
    again = load_model(path)
    assert again.wald_test("region") == model.wald_test("region")
    pd.testing.assert_frame_equal(again.covariance(), model.covariance())
    assert again.odds_ratios().rows == model.odds_ratios().rows
    assert again.marginal_effects().rows == model.marginal_effects().rows
    shown = run(
        *("infer", str(path), "--test", "region", "--test", "age,smoker"),
        *("--contrast", "region=south - region=east", "--odds-ratios", "--marginal"),
        *("--covariance", "--without", "region", "--json"),
    )
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.output)
    assert [one["names"] for one in found["tests"]] == [
        *(["region"], ["age", "smoker"], ["region"])
    ]
    assert found["tests"][0]["statistic"] == model.wald_test("region").statistic
    assert found["odds_ratios"][0]["estimate"] == model.odds_ratios().rows[0].estimate
    plain = run("infer", str(path), "--reference", "region=south", "--simultaneous")
    assert "region=north" in plain.output
    assert "chi-square" in plain.output
    assert "log-odds of ill = yes" in plain.output


def test_files_without_the_smoothed_scatter_say_what_they_lack(tmp_path):
    line, path = fitted(LinearRegression), tmp_path / "model.json"
    line.save(path)
    record = json.loads(path.read_text("utf-8"))
    for law in record["release"]["extras"]["intervals"]["plain"]:
        del law["alone"], law["dispersion"]
    path.write_text(json.dumps(record), "utf-8")
    earlier = load_model(path)
    assert earlier.wald_test("age") == line.wald_test("age")
    assert earlier.wald_test("region") != line.wald_test("region"), "it was smoothed"
    with pytest.raises(InvalidParameter, match="earlier version"):
        earlier.prediction_intervals(table().head())


def test_several_classes_have_a_toolkit_each():
    frame = table()
    chance = np.random.default_rng(1).uniform(size=ROWS)
    frame["ill"] = np.where(chance < frame["age"] / 200, "much", frame["ill"])
    schema = Schema(COLUMNS, Target("ill", labels=("no", "yes", "much")))
    found = LogisticRegression(
        Approx(20, 1e-6), schema=schema, intervals=True, ranges="public", random_state=1
    ).fit(frame)
    assert found.wald_test("age", label="much").degrees == 1
    with pytest.raises(InvalidParameter, match="own coefficients"):
        found.wald_test("age")
    assert "relative to the average" in found.inference("yes").scale.meaning


def test_terms_have_a_toolkit():
    schema = Schema(COLUMNS, TARGETS[LogisticRegression], "people")
    terms = ("poly(age, 2)", "bs(income, df=4)", "region", "smoker", "region:smoker")
    found = LogisticRegression(
        Approx(20, 1e-6),
        schema=replace(schema, terms=terms),
        intervals=True,
        ranges="public",
        random_state=1,
    ).fit(table())
    assert [term.name for term in found.inference().terms.terms] == list(terms)
    curve = found.wald_test("bs(income, df=4)")
    assert (curve.degrees, curve.rank) == (4, 4)
    assert found.wald_test("region:smoker").degrees == 3
    assert found.compare(without=["region:smoker"]).p_value > 0.01
    assert found.wald_test("bs(income, 4)") == curve
    assert found.compare(without="smoker:region") == found.wald_test("region:smoker")
    powers = found.contrast(["age", "age^2"])
    assert powers["age"].estimate == found.confidence_intervals()["age (per year)"].estimate
    with pytest.raises(InvalidParameter, match="curves have no amount"):
        found.effects({"bs(income, df=4)": 2})
    assert found.effects("range")["age^2"].name == "age^2 (per 5184)"
    frame = table().head(5)
    means = found.mean_intervals(frame).estimate
    np.testing.assert_allclose(means, found.predict_proba(frame)[:, 1], atol=0.02)
    with pytest.raises(InvalidParameter, match="without interactions"):
        found.marginal_effects()


def test_an_offset_is_part_of_the_mean():
    columns = (COLUMNS[0], COLUMNS[2])
    frame = table().assign(exposure=np.linspace(0.5, 2, ROWS))
    content = Schema(columns, TARGETS[PoissonRegression], "people").to_mapping()
    content["offset"] = {"column": "exposure", "lower": 0.5, "upper": 2}
    content["offset"]["transform"] = "log"
    found = PoissonRegression(
        Approx(20, 1e-6),
        schema=Schema.from_mapping(content),
        intervals=True,
        ranges="public",
        random_state=1,
    ).fit(frame)
    rows = frame.iloc[[0, 0]].assign(exposure=[1.0, 2.0])
    one, two = found.mean_intervals(rows).estimate
    assert two == pytest.approx(2 * one, rel=1e-6)


@pytest.mark.parametrize("text", ["age income", "2*", "age - - income", "", "age +"])
def test_what_is_no_contrast_is_refused(model, text):
    with pytest.raises(InvalidParameter):
        model.contrast(text)
