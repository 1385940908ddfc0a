"""Tables of benchmarks: rules that make them, and schemas that fit them."""

import numpy as np
import pandas as pd
import pytest

from confide.data import Schema, load, load_acs, load_kddcup99, load_warfarin
from confide.data.datasets.loaders import persons_who_work, with_groups

PERSON = {"AGEP": 40, "PINCP": 50_001.0, "WKHP": 40.0, "PWGTP": 7, "OCCP": 10, "POBP": 1}


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, True),
        ({"AGEP": 17, "PINCP": 101.0, "WKHP": 1.0, "PWGTP": 1}, True),
        ({"AGEP": 16}, False),
        ({"PINCP": 100.0}, False),
        ({"PINCP": np.nan}, False),
        ({"WKHP": np.nan}, False),
        ({"PWGTP": 0}, False),
    ],
)
def test_persons_who_work(change, kept):
    assert len(persons_who_work(pd.DataFrame([PERSON | change]))) == kept


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, ("MGR", "states", "yes")),
        ({"PINCP": 50_000.0}, ("MGR", "states", "no")),
        ({"OCCP": 440, "POBP": 59}, ("MGR", "states", "yes")),
        ({"OCCP": 500, "POBP": 60}, ("BUS", "territories", "yes")),
        ({"OCCP": 9830, "POBP": 554}, ("MIL", "Oceania", "yes")),
    ],
)
def test_codes_are_put_into_groups(change, found):
    frame = persons_who_work(pd.DataFrame([PERSON | change]))
    columns = ["occupation", "birthplace", "over_50000"]
    assert tuple(frame.loc[0, columns]) == found


def test_attacks_are_put_into_groups():
    frame = with_groups(pd.DataFrame({"label": ["normal", "smurf", "perl", "nmap", "spy"]}))
    assert list(frame["group"]) == ["normal", "dos", "u2r", "probe", "r2l"]
    assert list(frame["outcome"]) == ["normal"] + 4 * ["attack"]


TABLES = {
    "acs_income": (load_acs, 90_636),
    "acs_over_50000": (load_acs, 90_636),
    "bank": (lambda: load("bank"), 45_211),
    "california_housing": (lambda: load("california_housing"), 20_640),
    "randhie": (lambda: load("randhie"), 20_190),
    "warfarin": (load_warfarin, 4_017),
}


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("name", TABLES)
def test_schemas_fit_the_published_tables(name):
    read, rows = TABLES[name]
    _check(Schema.bundled(name), read(), rows)


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("name", ["kddcup99", "kddcup99_groups"])
def test_schemas_fit_connections(name):
    frame = load_kddcup99()
    _check(Schema.bundled(name), frame, 494_021)
    assert dict(frame["group"].value_counts()) == {
        "dos": 391_458,
        "normal": 97_278,
        "probe": 4_107,
        "r2l": 1_126,
        "u2r": 52,
    }


def _check(schema, frame, rows):
    """Every level is declared, every number is read, every target is there."""
    assert len(frame) == rows
    X = schema.encode(frame)
    assert X.shape == (rows, len(schema.features))
    for column in schema.columns:
        if column.coded:
            own = [schema.features.index(name) for name in column.features]
            np.testing.assert_array_equal(X[:, own].sum(axis=1), 1)
    target = frame[schema.target.column]
    if schema.target.labels is not None:
        assert set(target) == set(schema.target.labels)
    else:
        assert target.notna().all()
