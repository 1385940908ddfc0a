"""Model inversion: the guess is the likeliest level, and its figures are honest."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from typer.testing import CliRunner

from confide import (
    Boolean,
    Category,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Number,
    PoissonRegression,
    Pure,
    Schema,
    Target,
)
from confide.attacks import ModelInversion, evaluate_inversion
from confide.cli import app
from confide.errors import InvalidData, InvalidParameter
from confide.studies.regression.population import dose_bands

COLUMNS = (Number("x", -1, 1), Category("gene", ("a", "b", "c")), Boolean("ill"))


class Known(RegressorMixin, BaseEstimator):
    """A regressor that is what it is said to be."""

    def __init__(self, schema=None, effects=None):
        self.schema = schema
        self.effects = effects

    def predict(self, frame):
        return frame["x"].to_numpy() + frame["gene"].map(self.effects).to_numpy()


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    count = 900
    frame = pd.DataFrame(
        {
            "x": rng.uniform(-1, 1, count),
            "gene": rng.choice(["a", "b", "c"], count, p=[0.5, 0.3, 0.2]),
            "ill": rng.choice([True, False], count),
        }
    )
    base = frame["x"] + frame["gene"].map({"a": -1.5, "b": 0.0, "c": 1.5})
    frame["dose"] = base + 0.3 * rng.normal(size=count)
    frame["label"] = np.where(frame["dose"] > 0, "high", "low")
    frame["visits"] = rng.poisson(np.exp(base.clip(-2, 2)))
    return frame


def schema_for(target):
    return Schema(COLUMNS, target)


DOSE = schema_for(Target("dose", bound=3))


def test_the_posterior_is_prior_times_residual_likelihood():
    model = Known(DOSE, {"a": 0.0, "b": 1.0, "c": 5.0})
    attacker = ModelInversion(model, "gene", (0.5, 0.25, 0.25), scale=2.0)
    known = pd.DataFrame({"x": [0.5, 0.0], "gene": ["c", "c"], "ill": [True, True]})
    weights = np.array(
        [
            [share * math.exp(-((y - x - effect) ** 2) / 8) for share, effect in pairs]
            for y, x, pairs in (
                (1.0, 0.5, ((0.5, 0.0), (0.25, 1.0), (0.25, 5.0))),
                (6.0, 0.0, ((0.5, 0.0), (0.25, 1.0), (0.25, 5.0))),
            )
        ]
    )
    expected = weights / weights.sum(axis=1, keepdims=True)
    assert attacker.posterior(known, [1.0, 6.0]) == pytest.approx(expected)
    assert list(attacker.guess(known, [1.0, 6.0])) == [0, 2]


def test_the_hidden_column_is_not_looked_at(people):
    model = Known(DOSE, {"a": -1.5, "b": 0.0, "c": 1.5})
    attacker = ModelInversion(model, "gene", (1, 1, 1), scale=0.3)
    hidden = people.assign(gene="a")
    first = attacker.posterior(people, people["dose"])
    assert np.array_equal(first, attacker.posterior(hidden, people["dose"]))
    assert np.array_equal(
        first, attacker.posterior(people.drop(columns="gene"), people["dose"])
    )


def test_a_good_model_betrays_and_a_blind_one_does_not(people):
    good = evaluate_inversion(Known(DOSE, {"a": -1.5, "b": 0.0, "c": 1.5}), people, "gene")
    assert good.attack > 0.95
    assert good.advantage > 0.1
    assert good.scale == pytest.approx(0.3, rel=0.1)
    blind = evaluate_inversion(Known(DOSE, dict.fromkeys("abc", 0.0)), people, "gene")
    assert blind.attack == blind.constant == (people["gene"] == "a").mean()
    assert blind.advantage < 0
    assert good.without_model == blind.without_model
    assert 0.5 < good.without_model < good.attack
    assert good.rows == 900
    assert good.standard_error == pytest.approx(
        math.sqrt(good.attack * (1 - good.attack)) / 30
    )


def test_the_guess_by_outcome_alone_does_not_know_the_row_itself():
    frame = pd.DataFrame({"x": 0.0, "ill": True, "gene": list("abc") * 40})
    frame["dose"] = np.repeat(np.arange(40), 3) / 20
    found = evaluate_inversion(Known(DOSE, dict.fromkeys("abc", 0.0)), frame, "gene")
    assert found.constant == pytest.approx(1 / 3)
    assert found.without_model < 0.05  # every band has four of each: minus itself, fewest


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(Pure(500), schema=DOSE, random_state=0),
        LogisticRegression(
            Pure(500), schema=schema_for(Target("label", ("low", "high"))), random_state=0
        ),
        LinearSVC(
            Pure(500), schema=schema_for(Target("label", ("low", "high"))), random_state=0
        ),
        PoissonRegression(
            Pure(500),
            schema=schema_for(Target("visits", lower=0, upper=10)),
            slope_bound=10.0,
            random_state=0,
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_fitted_model_can_be_attacked(people, model):
    model.fit(people)
    found = evaluate_inversion(model, people, "gene")
    assert found.attack > found.constant + 0.04
    yes_or_no = evaluate_inversion(model, people, "ill")
    assert abs(yes_or_no.attack - yes_or_no.constant) < 0.06


def test_rows_without_the_attribute_are_left_out(people):
    model = Known(DOSE, {"a": -1.5, "b": 0.0, "c": 1.5})
    spoilt = people.copy()
    spoilt.loc[:99, "gene"] = None
    spoilt.loc[100:199, "gene"] = "undeclared"
    assert evaluate_inversion(model, spoilt, "gene").rows == 700
    with pytest.raises(InvalidData, match="gene"):
        evaluate_inversion(model, spoilt[:200], "gene")


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"prior": (0.5, 0.5)}, "3 shares"),
        ({"prior": (0.5, -0.5, 1.0)}, "3 shares"),
        ({"prior": (0, 0, 0)}, "3 shares"),
        ({"scale": None}, "scale"),
        ({"scale": 0.0}, "scale"),
        ({"attribute": "genes"}, "Did you mean 'gene'"),
        ({"attribute": "x"}, "attribute"),
        ({"model": LinearRegression()}, "schema"),
    ],
)
def test_wrong_attacks_are_refused(settings, match):
    usual = {
        "model": Known(DOSE, {}),
        "attribute": "gene",
        "prior": (1, 1, 1),
        "scale": 1.0,
    }
    with pytest.raises(InvalidParameter, match=match):
        ModelInversion(**{**usual, **settings})


def test_the_command_says_that_its_figures_are_not_private(people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LinearRegression(Pure(500), schema=DOSE, random_state=0).fit(people).save("model.json")
    people.to_csv("people.csv", index=False)
    words = ["audit", "inversion", "model.json", "people.csv", "--attribute", "gene"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "NOT PRIVATE" in shown.output
    assert "outcome alone" in shown.output
    content = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert content["private"] is False
    assert content["attack"] > content["without_model"]
    wide = json.loads(CliRunner().invoke(app, [*words, "--scale", "99", "--json"]).output)
    assert wide["attack"] == pytest.approx(wide["constant"], abs=0.02)
    assert wide["scale"] == 99


def test_dose_bands():
    right = np.array([10.0, 10, 10, 10, 10])
    bands = dose_bands(np.array([8.0, 12.0, 7.99, 12.01, 30]), right)
    assert bands.within == pytest.approx(0.4)
    assert bands.below == pytest.approx(0.2)
    assert bands.above == pytest.approx(0.4)
    assert bands.outside == pytest.approx(0.6)
    assert dose_bands(right, right, band=0.01).within == 1
    for said, true, band in (
        ([1.0], [0.0], 0.2),
        ([1.0], [1.0, 2.0], 0.2),
        ([1], [1], 1.0),
    ):
        with pytest.raises(InvalidParameter):
            dose_bands(np.array(said), np.array(true), band)
