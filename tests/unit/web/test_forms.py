"""Numbers as people write them, and predictions for a row that they type in."""

from types import SimpleNamespace

import pytest

from confide import Schema
from confide.errors import InvalidParameter
from confide.web.forms import read_number
from confide.web.predictions import predicted, row_fields
from confide.web.results import prediction_file

SCHEMA = Schema.from_mapping(
    {
        "target": {"column": "y", "lower": 0, "upper": 1},
        "columns": {
            "age": {"kind": "number", "lower": 18, "upper": 60, "unit": "year"},
            "seen": {"kind": "date", "lower": "2020-01-01", "upper": "2021-01-01"},
            "old": {"kind": "boolean"},
            "place": {"kind": "category", "levels": ["a", "b"]},
        },
    }
)


class Model:
    """Predicts how many columns a row has."""

    def predict(self, frame):
        return [frame.shape[1]]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("20,000", 20_000),
        ("1,234,567.5", 1234567.5),
        ("−3", -3),
        ("0.5", 0.5),
        ("1,5", "1,5"),
        ("2,00", "2,00"),
        ("", ""),
    ],
)
def test_numbers_may_have_commas_between_thousands(text, number):
    assert read_number(text) == number


def test_a_row_is_typed_in_by_the_kinds_of_its_columns():
    age, seen, old, place = row_fields(SCHEMA)
    assert age.hint == "From 18 to 60 (year)."
    assert seen.type == "date"
    assert [key for key, _ in old.options] == ["no", "yes"]
    assert [key for key, _ in place.options] == ["a", "b"]


def test_values_outside_their_ranges_are_told():
    row = {"value-0": "85", "value-1": "2019-05-01", "value-2": "no", "value-3": "a"}
    assert predicted(Model(), SCHEMA, row) == [
        "y: 4.000",
        "age: 85 is outside 18 to 60; 60 is used instead.",
        "seen: 2019-05-01 is outside 2020-01-01 to 2021-01-01; 2020-01-01 is used instead.",
    ]
    inside = {**row, "value-0": "20", "value-1": "2020-05-01"}
    assert predicted(Model(), SCHEMA, inside) == ["y: 4.000"]


def test_files_of_predictions_alone_are_given(tmp_path):
    order = SimpleNamespace(folder=tmp_path)
    for name in ("model.json", "predictions-0a.csv", "predictions-../x.csv"):
        (tmp_path / name.replace("/", "")).write_text("x")
    assert prediction_file(order, "predictions-0a.csv").read_text() == "x"
    for name in (
        "model.json",
        "../model.json",
        "predictions-../x.csv",
        "predictions-1.csv",
    ):
        with pytest.raises(InvalidParameter, match="one that was written for this fit"):
            prediction_file(order, name)
