"""Committed results of studies against a fresh quick run.

A study whose results differ by noise alone raises an alarm with a chance of 1 in 1,000.
"""

from pathlib import Path

import pytest

from confide.errors import DataNotFound
from confide.studies import STUDIES, check
from confide.studies.engine.cells import cell_tasks
from confide.studies.engine.committed import committed_cells

BOOK = Path(__file__).parents[2] / "docs" / "reproduction"
SLOW = ("kst-table1", "kst-theorem8", "ci-table6")
"""Studies whose quick look takes seconds; the last one reads a dataset."""


def committed():
    """Return the studies of which all cells are committed."""
    found = []
    for name, study in STUDIES.items():
        cells = committed_cells(study, BOOK)
        if cells and all(task.seed in cells for task in cell_tasks(study, quick=False)):
            found.append(name)
    return found


def check_whole(name):
    try:
        report = check(STUDIES[name], book=BOOK, jobs=1)
    except DataNotFound as absent:
        pytest.skip(str(absent))
    assert report.numbers > 0
    assert not report.disagreements, "\n".join(map(str, report.disagreements))


@pytest.mark.slow
def test_the_studies_that_are_checked_are_committed():
    assert set(SLOW) <= set(committed())


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_quick_run_agrees_with_what_is_committed(name):
    check_whole(name)


@pytest.mark.campaign
@pytest.mark.parametrize("name", committed())
def test_every_study_agrees_with_what_is_committed(name):
    check_whole(name)
