"""Weights and offsets of records in a fit: what they do, and what is refused before."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from confide import (
    Approx,
    Category,
    Ledger,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Number,
    PoissonRegression,
    Schema,
    Target,
)
from confide.data import CaseWeights
from confide.errors import InvalidData, InvalidParameter, MissingPublicBound, UnmetNeeds
from confide.estimators import load_model
from confide.mechanisms import MECHANISMS

BUDGET = Approx(1, "1e-6")
LARGE = Approx("1e6", "1e-6")
COLUMNS = (Number("age", 20, 80, range="public"), Category("race", ("a", "b", "c")))
ILL = Target("ill", labels=("no", "yes"))
PLAIN = Schema(COLUMNS, ILL, name="people")
WEIGHTED = replace(PLAIN, case_weights=CaseWeights("times", 4))
EXPOSED = Schema(
    COLUMNS,
    Target("visits", lower=0, upper=40, range="public"),
    offset=Number("days", 1, 365, transform="log"),
)


def people(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, rows),
            "race": rng.choice(["a", "b", "c"], rows),
            "times": rng.choice([0.0, 1.0, 2.0, 4.0], rows),
            "days": rng.uniform(1, 365, rows),
        }
    )
    line = (frame["age"] - 50) / 20 + (frame["race"] == "a")
    frame["ill"] = np.where(rng.random(rows) < 1 / (1 + np.exp(-line)), "yes", "no")
    rate = frame["days"] / 100 * np.exp(0.3 * line)
    frame["visits"] = np.minimum(rng.poisson(rate), 40)
    return frame


def logistic(schema, budget=BUDGET, **more):
    settings = {"ranges": "public", "random_state": 5, **more}
    return LogisticRegression(budget, schema=schema, **settings)


def repeated(frame):
    return frame.loc[np.repeat(frame.index, frame["times"].astype(int))]


def test_a_weight_is_so_many_copies_as_far_as_noise_allows():
    """A ridge of l2 next to shares of the cap is one of cap·l2 next to copies."""
    frame = people()
    weighted = logistic(WEIGHTED, LARGE, l2=0.25).fit(frame)
    copies = logistic(PLAIN, LARGE, l2=1.0).fit(repeated(frame))
    assert weighted.coef_ == pytest.approx(copies.coef_, rel=1e-3)
    assert weighted.intercept_ == pytest.approx(copies.intercept_, rel=1e-3)


def test_weights_beyond_the_cap_are_clamped_and_nothing_is_said():
    frame = people()
    larger = frame.assign(times=np.where(frame["times"] == 4, 1e9, frame["times"]))
    negative = larger.assign(times=np.where(larger["times"] == 0, -3.0, larger["times"]))
    releases = [logistic(WEIGHTED).fit(one).release_ for one in (frame, larger, negative)]
    assert np.array_equal(releases[0].value, releases[1].value)
    assert np.array_equal(releases[0].value, releases[2].value)


def test_a_record_without_weight_counts_for_nothing():
    frame = people()
    dropped = logistic(WEIGHTED).fit(frame[frame["times"] > 0])
    assert np.array_equal(
        dropped.release_.value, logistic(WEIGHTED).fit(frame).release_.value
    )
    missing = frame.assign(times=frame["times"].replace(0.0, np.nan))
    with pytest.raises(InvalidData, match="'times' must have no missing"):
        logistic(WEIGHTED).fit(missing)
    lenient = replace(WEIGHTED, case_weights=CaseWeights("times", 4, missing="drop"))
    again = logistic(lenient).fit(missing)
    assert np.array_equal(again.release_.value, dropped.release_.value)


def test_noise_does_not_depend_on_the_weights_but_on_the_cap():
    """Shares of a cap of 8 are half of those of a cap of 4, under the same noise."""
    scales = []
    for cap in (4, 8):
        schema = replace(PLAIN, case_weights=CaseWeights("times", cap))
        scales.append(logistic(schema).fit(people()).release_.noise[0].scale)
    assert scales[0] == scales[1] == logistic(PLAIN).fit(people()).release_.noise[0].scale


def test_weights_of_labels():
    frame = people()
    by_label = replace(PLAIN, case_weights=CaseWeights(classes={"yes": 4, "no": 1}))
    column = frame.assign(times=np.where(frame["ill"] == "yes", 4.0, 1.0))
    a, b = logistic(by_label).fit(frame), logistic(WEIGHTED).fit(column)
    assert np.array_equal(a.release_.value, b.release_.value)


def test_intervals_and_model_files_know_weights_and_offsets(tmp_path):
    both = replace(
        PLAIN,
        case_weights=CaseWeights("times", 4, classes={"yes": 2}),
        offset=Number("days", 1, 365, transform="log"),
    )
    model = logistic(both, intervals=True).fit(people())
    model.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.schema == both
    assert np.array_equal(again.release_.value, model.release_.value)
    frame = people(seed=1)
    said = again.predict_proba(frame.drop(columns=["ill", "times"]))
    assert np.array_equal(said, model.predict_proba(frame))
    with pytest.raises(InvalidData, match="days"):
        again.predict(frame.drop(columns="days"))


def test_an_offset_is_added_to_the_predictor_as_it_is():
    frame = people()
    model = PoissonRegression(
        Approx(100, "1e-6"),
        schema=EXPOSED,
        ranges="public",
        l2=1e-5,
        slope_bound=100.0,
        random_state=1,
    ).fit(frame)
    twice = frame.assign(days=frame["days"] * 2).query("days <= 365")
    before = model.predict(frame.loc[twice.index])
    assert model.predict(twice) == pytest.approx(2 * before, rel=1e-9)
    beyond = frame.assign(days=1e6)
    at_end = frame.assign(days=365.0)
    assert np.array_equal(model.predict(beyond), model.predict(at_end))


def test_sample_weight_is_a_share_of_its_cap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) / 3
    y = (X[:, 0] + 0.3 * rng.normal(size=500) > 0).astype(int)
    times = rng.choice([0.0, 1.0, 3.0], 500)
    model = LogisticRegression(
        LARGE, weight_cap=3.0, l2=1 / 3, random_state=2, row_norm=1.0
    )
    copies = np.repeat(np.arange(500), times.astype(int))
    weighted = clone(model).fit(X, y, sample_weight=times)
    whole = LogisticRegression(LARGE, l2=1.0, random_state=2, row_norm=1.0).fit(
        X[copies], y[copies]
    )
    assert weighted.coef_ == pytest.approx(whole.coef_, rel=1e-3)
    capped = clone(model).fit(X, y, sample_weight=np.where(times == 3, 70.0, times))
    assert np.array_equal(capped.release_.value, weighted.release_.value)


def test_sample_weight_is_refused_in_words():
    X, y = np.eye(4)[:, :2], np.array([0, 1, 0, 1])
    with pytest.raises(MissingPublicBound, match="set weight_cap"):
        LogisticRegression(BUDGET, row_norm=1.0).fit(X, y, sample_weight=np.ones(4))
    capped = LogisticRegression(BUDGET, weight_cap=2, row_norm=1.0)
    with pytest.raises(InvalidData, match="one number for every row"):
        capped.fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(InvalidData, match="must not contain missing values"):
        capped.fit(X, y, sample_weight=[1, 1, np.nan, 1])
    with pytest.raises(InvalidParameter, match="a positive number"):
        clone(capped).set_params(weight_cap=-1).fit(X, y, sample_weight=np.ones(4))
    with pytest.raises(InvalidParameter, match="names the column of weights"):
        logistic(PLAIN).fit(people(), sample_weight=np.ones(600))


TAKES = {"objective", "output"}


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - TAKES))
def test_mechanisms_without_a_theorem_for_them_refuse_weights_and_offsets(name):
    settings = {"mechanism": name, "l1": 0.1} if name == "adaptive" else {"mechanism": name}
    linear = Target("visits", lower=0, upper=40, range="public")
    weights = replace(PLAIN, target=linear, case_weights=CaseWeights("times", 4))
    model = LinearRegression(BUDGET, schema=weights, ranges="public", **settings)
    with pytest.raises((UnmetNeeds, InvalidParameter)) as caught:
        model.fit(people())
    if isinstance(caught.value, UnmetNeeds):
        assert "without case weights" in str(caught.value)


@pytest.mark.parametrize("name", sorted(TAKES))
def test_mechanisms_that_take_them_do(name):
    both = replace(WEIGHTED, offset=Number("days", 1, 365, transform="log"))
    model = logistic(both, mechanism=name).fit(people())
    assert str(model.release_.guarantee.status) == "PROVED"


def test_several_classes_are_weighed_together():
    """Records at the cap count as those without a weight, and two at half of it as one."""
    three = replace(PLAIN, target=Target("race2", labels=("a", "b", "c")))
    frame = people().assign(race2=lambda f: f["race"], full=4.0, half=2.0)
    plain = logistic(three).fit(frame)
    full = logistic(replace(three, case_weights=CaseWeights("full", 4))).fit(frame)
    half = logistic(replace(three, case_weights=CaseWeights("half", 4)))
    half.fit(pd.concat([frame, frame], ignore_index=True))
    assert "multinomial" in full.release_.guarantee.theorem
    np.testing.assert_allclose(full.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(half.coef_, plain.coef_, rtol=1e-9)


def test_what_is_refused_is_refused_before_anything_is_paid(tmp_path):
    ledger = Ledger.open(tmp_path / "book.db")
    ledger.set_limit("people", Approx(5, "1e-5"))
    three = replace(PLAIN, target=Target("race2", labels=("a", "b", "c")), name="people")
    frame = people().assign(race2=lambda f: f["race"])
    offset = Number("days", 1, 365, transform="log")
    several = logistic(replace(three, offset=offset), ledger=ledger)
    with pytest.raises(InvalidParameter, match="two labels"):
        several.fit(frame)
    hinge = LinearSVC(BUDGET, schema=replace(PLAIN, offset=offset), ledger=ledger)
    with pytest.raises(InvalidParameter, match="logistic regression"):
        hinge.fit(frame)
    number = replace(
        PLAIN, target=Target("visits", lower=0, upper=40), offset=offset, name="people"
    )
    with pytest.raises(InvalidParameter, match="subtract the offset from it"):
        LinearRegression(BUDGET, schema=number, ledger=ledger).fit(frame)
    model_based = {"variant": "model-based", "of": "penalised"}
    with pytest.raises(InvalidParameter, match="model-based"):
        logistic(WEIGHTED, ledger=ledger, intervals=model_based).fit(frame)
    with pytest.raises(InvalidParameter, match="left out: the table holds the weights"):
        logistic(WEIGHTED, ledger=ledger).fit(frame.drop(columns="ill"), frame["ill"])
    assert all(entry.kind != "charge" for entry in ledger.entries("people"))
