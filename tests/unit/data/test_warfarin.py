"""The warfarin data: rules for what is missing, the paper's columns, the schema."""

import numpy as np
import pandas as pd
import pytest

from confide.data import Schema, load_warfarin
from confide.data.datasets.loaders import complete_records, paper_features

COMPLETE = {
    "Race": "White",
    "Age": "60 - 69",
    "Height (cm)": 170.0,
    "Weight (kg)": 80.0,
    "Carbamazepine (Tegretol)": np.nan,
    "Phenytoin (Dilantin)": np.nan,
    "Rifampin or Rifampicin": np.nan,
    "Amiodarone (Cordarone)": np.nan,
    "VKORC1 -1639 consensus": "A/G",
    "VKORC1 2255 consensus": np.nan,
    "VKORC1 1173 consensus": np.nan,
    "VKORC1 1542 consensus": np.nan,
    "CYP2C9 consensus": "*1/*2",
    "Therapeutic Dose of Warfarin": 35.0,
}
SITES = ("2255 consensus", "1173 consensus", "1542 consensus")
NO_SITE = {"VKORC1 -1639 consensus": np.nan}


def records(**changes):
    """Return what becomes of a record, next to one that is complete."""
    linked = {name: "C/C" for name in COMPLETE if name.endswith(SITES)}
    other = {**COMPLETE, **linked}
    both = complete_records(pd.DataFrame([other, {**COMPLETE, **changes}]))
    return both.iloc[1:].reset_index(drop=True)


def test_a_complete_record_is_kept_and_drugs_unsaid_are_not_taken():
    (found,) = records().to_dict("records")
    assert found == {
        "age": 6.0,
        "height": 170.0,
        "weight": 80.0,
        "race": "white",
        "enzyme_inducer": 0,
        "amiodarone": 0,
        "vkorc1": "A/G",
        "cyp2c9": "*1/*2",
        "dose": 35.0,
    }
    taken = records(**{"Phenytoin (Dilantin)": 1.0, "Amiodarone (Cordarone)": 1.0})
    assert (taken["enzyme_inducer"][0], taken["amiodarone"][0]) == (1, 1)


@pytest.mark.parametrize(
    ("changes", "genotype"),
    [
        ({"VKORC1 2255 consensus": "C/C"}, "G/G"),
        ({"VKORC1 1173 consensus": "T/T"}, "A/A"),
        ({"VKORC1 1542 consensus": "C/G"}, "A/G"),
        ({"VKORC1 2255 consensus": "T/T", "VKORC1 1173 consensus": "C/C"}, "A/A"),
        ({"Race": "Black or African American", "VKORC1 1173 consensus": "C/C"}, "G/G"),
    ],
)
def test_a_missing_genotype_is_read_off_a_linked_site(changes, genotype):
    assert records(**{**NO_SITE, **changes})["vkorc1"][0] == genotype


@pytest.mark.parametrize(
    "changes",
    [
        NO_SITE,
        {**NO_SITE, "Race": "Black or African American", "VKORC1 2255 consensus": "C/C"},
        {**NO_SITE, "Race": "Black or African American", "VKORC1 1542 consensus": "C/C"},
        {"Race": "Unknown"},
        {"CYP2C9 consensus": "*1/*5"},
        {"Age": np.nan},
        {"Height (cm)": np.nan},
        {"Therapeutic Dose of Warfarin": np.nan},
    ],
    ids=str,
)
def test_what_cannot_be_completed_is_left_out(changes):
    assert records(**changes).empty


def test_the_papers_columns_are_fourteen_in_the_unit_ball():
    schema = Schema.bundled("warfarin")
    found = paper_features(records(), schema)
    assert found.shape == (1, 14)
    assert np.count_nonzero(found) == 5
    extreme = records(
        **{
            "Age": "90+",
            "Height (cm)": 230.0,
            "Weight (kg)": 300.0,
            "Race": "Asian",
            "Phenytoin (Dilantin)": 1.0,
            "Amiodarone (Cordarone)": 1.0,
        }
    )
    assert np.linalg.norm(paper_features(extreme, schema)) == pytest.approx(1)


def test_the_real_table(data_folder):
    frame = load_warfarin()
    assert len(frame) == 4017
    assert not frame.isna().any().any()
    schema = Schema.bundled("warfarin")
    assert schema.design(frame).shape == (4017, 17)
    clamped = frame["dose"] > 100
    assert clamped.sum() == 15
    assert paper_features(frame, schema).shape == (4017, 14)
