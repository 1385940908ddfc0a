"""Model files: the same model again, without data; anything else is refused in words."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confide import (
    Approx,
    Category,
    ConfideError,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Number,
    PoissonRegression,
    Pure,
    Schema,
    Target,
    Zcdp,
)
from confide.data import Boolean, Date
from confide.errors import InvalidParameter
from confide.estimators import load_model, release_hash
from confide.mechanisms import ObjectivePerturbation
from confide.objectives import HuberizedHinge
from support.examples import some

COLUMNS = (
    Number("age", 0, 100, unit="year"),
    Category("town", ("north", "south"), other=True),
    Boolean("smoker"),
    Date("joined", "2010-01-01", "2020-01-01"),
)
SCHEMA = Schema(COLUMNS, Target("ill", labels=("no", "yes")), "clinic", 3)
COST = Schema(COLUMNS, Target("cost", bound=50.0), "clinic")
DOSE = Schema(COLUMNS, Target("cost", lower=10, upper=50.0, unit="mg"), "clinic")
BUDGET = Approx(1, "1e-6")
MODELS = {
    "logistic": LogisticRegression(BUDGET, schema=SCHEMA),
    "arrays": LogisticRegression(Pure("0.1"), row_norm=2.5, l1=0.5),
    "svc": LinearSVC(Zcdp("1/7"), loss="smoothed", neighbours="replace-one", row_norm=1.0),
    "several": LogisticRegression(
        BUDGET, classes=[2, 0, 1], fit_intercept=False, row_norm=1.0
    ),
    "linear": LinearRegression(BUDGET, schema=COST, mechanism="output"),
    "ranged": LinearRegression(BUDGET, schema=DOSE, ranges="public"),
    "poisson": PoissonRegression(
        BUDGET, target_bound=9, slope_bound=3, random_state=2, row_norm=1.0
    ),
    "instances": LinearSVC(
        BUDGET,
        loss=HuberizedHinge(0.3),
        mechanism=ObjectivePerturbation("separate", precision_share="1/50"),
        row_norm=1.0,
    ),
}


def data(rows=137):
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "age": rng.uniform(0, 100, rows),
            "town": rng.choice(["north", "south", "west"], rows),
            "smoker": rng.choice(["yes", "no"], rows),
            "joined": pd.date_range("2011-03-04", periods=rows, freq="7D"),
            "ill": rng.choice(["no", "yes"], rows),
            "cost": rng.uniform(0, 50, rows),
        }
    )


def fitted(name):
    model, frame = MODELS[name], data()
    if model.schema is not None:
        return model.fit(frame), frame
    X = frame[["age", "cost"]] / 50
    labels = np.arange(len(X)) % (3 if name == "several" else 2)
    return model.fit(X, labels), X


@pytest.fixture(params=MODELS)
def pair(request, tmp_path):
    model, X = fitted(request.param)
    model.save(tmp_path / "model.json")
    return model, load_model(str(tmp_path / "model.json")), X


def test_a_loaded_model_is_the_same(pair):
    model, loaded, X = pair
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict(X).dtype == model.predict(X).dtype
    assert str(loaded.summary()) == str(model.summary())
    assert loaded.summary().records() == model.summary().records()
    assert loaded.release_.guarantee == model.release_.guarantee
    assert loaded.release_.events == model.release_.events
    assert loaded.release_.noise == model.release_.noise
    assert release_hash(loaded.release_) == release_hash(model.release_)
    for name in ("coef_", "intercept_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.budget == model.budget
    assert loaded.schema == model.schema


def test_settings_survive(tmp_path):
    model, _ = fitted("instances")
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.mechanism == model.mechanism
    assert loaded.mechanism.precision_share == Fraction(1, 50)
    model, _ = fitted("poisson")
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.random_state is None
    assert not loaded.release_.guarantee.private
    assert (loaded.target_bound, loaded.slope_bound) == (9, 3)


def test_the_date_of_the_fit_survives_and_old_files_have_none(tmp_path):
    path = tmp_path / "model.json"
    model, _ = fitted("ranged")
    model.save(path)
    today = datetime.now(UTC).date().isoformat()
    assert dict(load_model(path).summary().about) == {
        "Target": "cost, from 10 to 50 mg",
        "Columns": "4, as 6 features",
        "Categories": "each level compared with the average of the levels of its column",
        "Fitted": today,
    }
    record = json.loads(path.read_text("utf-8"))
    del record["fitted_on"]
    path.write_text(json.dumps(record), "utf-8")
    assert "Fitted" not in dict(load_model(path).summary().about)
    record["fitted_on"] = "yesterday"
    path.write_text(json.dumps(record), "utf-8")
    with pytest.raises(InvalidParameter, match="damaged"):
        load_model(path)


def test_a_classifier_names_its_labels():
    model, _ = fitted("logistic")
    assert dict(model.summary().about)["Target"] == "ill: no, yes; positive: yes"


def test_the_file_holds_exact_budgets_and_no_data(tmp_path):
    model, frame = fitted("logistic")
    model.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text("utf-8")
    record = json.loads(text)
    budget = {"kind": "approx", "epsilon": "1", "delta": "1/1000000"}
    assert record["budget"] == record["release"]["guarantee"]["budget"] == budget
    assert record["format_version"] == 2
    assert record["schema"] == SCHEMA.to_mapping()
    assert "137" not in re.findall(r"\d+", text)
    assert not any(repr(float(age)) in text for age in frame["age"])
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_the_hash_knows_every_part_of_a_release():
    release = fitted("logistic")[0].release_
    other = [
        replace(release, value=release.value + np.spacing(release.value)),
        replace(release, l2=release.l2 + 1),
        replace(release, events=release.events[1:]),
        replace(release, guarantee=release.guarantee.seeded()),
        replace(release, ridges=(1.0, 1.0)),
    ]
    hashes = {release_hash(one) for one in (release, *other)}
    assert len(hashes) == 6
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one in hashes)


def spoil(record, path, value):
    *above, last = path
    for key in above:
        record = record[key]
    record[last] = value


DAMAGE = [
    (("format",), "other", "written by model.save"),
    (("format_version",), 1, "version of confide that wrote it"),
    (("format_version",), "2", "version of confide that wrote it"),
    (("estimator",), "Forest", "damaged"),
    (("budget",), {"kind": "approx", "epsilon": "1/0", "delta": "1"}, "damaged"),
    (("budget", "kind"), "renyi", "damaged"),
    (("schema", "columns"), {}, "columns must be"),
    (("release", "value"), [1.0], "shape"),
    (("release", "value"), ["nan"] * 7, "damaged"),
    (("release", "value"), {"a": 1}, "damaged"),
    (("release", "guarantee", "status"), "SURE", "damaged"),
    (("release", "guarantee", "neighbours"), "friends", "neighbours must be"),
    (("release", "events"), [{"kind": "pure"}], "damaged"),
    (("release", "noise"), None, "damaged"),
    (("classes", "dtype"), "m8[s]", "damaged"),
    (("classes", "values"), [["a"]], "damaged"),
    (("features",), 3, "shape"),
    (("settings",), [], "damaged"),
    (("mechanism",), "objective", "damaged"),
]


@pytest.mark.parametrize(("path", "value", "says"), DAMAGE, ids=str)
def test_damaged_files_are_refused(tmp_path, path, value, says):
    fitted("logistic")[0].save(tmp_path / "model.json")
    record = json.loads((tmp_path / "model.json").read_text("utf-8"))
    spoil(record, path, value)
    (tmp_path / "model.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InvalidParameter, match=says):
        load_model(tmp_path / "model.json")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, "\xff"])
def test_what_is_no_model_file_is_refused(tmp_path, text):
    (tmp_path / "model.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidParameter, match="model file must be"):
        load_model(tmp_path / "model.json")


def test_paths_that_do_not_work_are_explained(tmp_path):
    with pytest.raises(InvalidParameter, match="No such file"):
        load_model(tmp_path / "absent.json")
    model, _ = fitted("arrays")
    with pytest.raises(InvalidParameter, match="in a folder that can be written to"):
        model.save(tmp_path / "absent" / "model.json")
    with pytest.raises(AttributeError, match="not fitted"):
        LogisticRegression(BUDGET, row_norm=1.0).save(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
)


@pytest.mark.slow
@settings(
    max_examples=some(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data(), value=JSON)
def test_any_damage_ends_in_a_model_or_an_error(tmp_path, data, value):
    path = tmp_path / "model.json"
    if not path.exists():
        fitted("logistic")[0].save(path)
    record = json.loads(path.read_text("utf-8"))
    place = record
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        deeper = isinstance(place[key], dict | list) and place[key]
        if not deeper or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = value
    (tmp_path / "odd.json").write_text(json.dumps(record), encoding="utf-8")
    try:
        load_model(tmp_path / "odd.json")
    except ConfideError:
        return
