"""Model files that version 0.1 wrote: they load, predict the same, and promise no more."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from confide import load_model
from confide.estimators import release_hash
from confide.mechanisms import MpAdmm
from confide.mechanisms.published import PublishedMpAdmm
from confide.privacy import Status

FOLDER = Path(__file__).with_name("models_0_1")
EXPECTED = json.loads((FOLDER / "expected.json").read_text("utf-8"))
NAMES = sorted(EXPECTED["models"])
PROVED = {"adaptive", "poisson", "sparse", "svm-loss"}
"""The others rest on theorems about real numbers that doubles fall short of."""


def loaded(name):
    return load_model(FOLDER / f"{name}.json")


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_0_1_predicts_what_it_predicted(name):
    model, expected = loaded(name), EXPECTED["models"][name]
    table = np.array(EXPECTED["rows"])
    if model.schema is not None:
        table = pd.DataFrame(EXPECTED["table"])
    assert np.asarray(model.coef_).tolist() == expected["coef"]
    found, before = np.asarray(model.predict(table)), np.asarray(expected["predict"])
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, before, rtol=1e-12)  # the order of a sum
    else:
        assert found.tolist() == before.tolist()
    assert str(model.summary())


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_0_1_promises_what_its_theorem_is_worth_now(name):
    status = loaded(name).release_.guarantee.status
    assert status is (Status.PROVED if name in PROVED else Status.CLAIMED)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_0_1_is_saved_as_it_was_released(name, tmp_path):
    model = loaded(name)
    model.save(tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text("utf-8"))["release"]
    before = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["release"]
    for part in ("value", "noise", "l2", "events", "extras"):
        assert again[part] == before[part]
    assert release_hash(load_model(tmp_path / "again.json").release_) == release_hash(
        model.release_
    )


def test_intervals_of_0_1_have_their_level_and_their_laws():
    kept = loaded("three-classes").release_.intervals
    assert kept.level == 0.95
    assert len(kept.laws) == 3
    assert len(loaded("logistic-intervals").intervals_) == 5


def test_mpadmm_of_0_1_is_one_of_two_mechanisms_now():
    assert loaded("mpadmm").mechanism == MpAdmm(20)
    assert loaded("mpadmm-all").mechanism == PublishedMpAdmm(20)
