"""Results that are committed: read back as they were, compared with fresh ones, alarms."""

import multiprocessing
from dataclasses import replace

import pandas as pd
import pytest
from typer.testing import CliRunner

from confide import cli
from confide.errors import DataNotFound, InvalidParameter
from confide.studies import (
    FALSE_ALARMS,
    check,
    commit,
    committed_rows,
    committed_seconds,
    estimates,
    register,
    reproduce,
    reproduce_book,
)
from confide.studies.engine import process_pool as pool
from confide.studies.engine.cells import cell_tasks
from confide.studies.engine.check import compare
from confide.studies.engine.committed import committed_cells, finished_cells
from confide.studies.engine.time_left import TimeLeft
from support import small_studies
from support.small_studies import PARTS, SMALL


@pytest.fixture(autouse=True)
def workers_that_start_fast(monkeypatch):
    """Workers as in earnest, but forked from a server that has imported everything."""
    monkeypatch.setattr(pool, "START", "forkserver")
    multiprocessing.set_forkserver_preload(["confide.studies", "support.small_studies"])


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """Return a folder with the committed results of a study, and that of its cells."""
    place = tmp_path_factory.mktemp("book")
    start, pool.START = pool.START, "forkserver"
    try:
        done = reproduce(PARTS, jobs=2, folder=place / "cells")
    finally:
        pool.START = start
    assert not done.failures
    files = commit(PARTS, place / "cells", place)
    assert [str(one.relative_to(place)) for one in files] == ["results/parts.csv"]
    return place, done


def run(*words):
    return CliRunner().invoke(cli.app, ["reproduce", *map(str, words)])


def test_committed_rows_are_those_of_the_run_to_six_digits(book):
    place, done = book
    rows = committed_rows(PARTS, place)
    assert list(rows) == list(done.rows)
    parameters = list(PARTS.cells(False)[0])
    pd.testing.assert_frame_equal(rows[parameters], done.rows[parameters])
    pd.testing.assert_frame_equal(rows, done.rows, rtol=1e-5)
    text = (place / "results" / "parts.csv").read_text()
    assert text.splitlines()[0].startswith("confide,version,seed,seconds,mean,part")


def test_what_is_not_committed_is_missed_by_name(book, tmp_path):
    place, _ = book
    newer = replace(PARTS, version=2)
    with pytest.raises(DataNotFound, match="60 are missing"):
        committed_rows(newer, place)
    with pytest.raises(DataNotFound, match="confide reproduce parts"):
        committed_rows(PARTS, tmp_path)


@pytest.mark.slow
def test_a_commit_keeps_what_was_there_and_drops_what_no_study_has(tmp_path):
    few = replace(
        PARTS, name="few", grid="other", cells=lambda quick: [{"mean": 1, "part": 0}]
    )
    more = replace(
        few, cells=lambda quick: [{"mean": 2, "part": 0}, {"mean": 1, "part": 0}]
    )
    reproduce(few, jobs=1, folder=tmp_path / "one")
    commit(few, tmp_path / "one", tmp_path)
    before = committed_rows(few, tmp_path)
    reproduce(more, quick=True, jobs=1, folder=tmp_path / "two")
    first = cell_tasks(more, quick=False)[0]
    cells = {first.seed}
    commit(
        replace(more, cells=lambda quick: [dict(first.cell)]), tmp_path / "two", tmp_path
    )
    assert set(committed_cells(more, tmp_path)) == cells, "the cell of `few` is gone"
    reproduce(more, jobs=1, folder=tmp_path / "two")
    commit(more, tmp_path / "two", tmp_path)
    both = committed_rows(more, tmp_path)
    pd.testing.assert_frame_equal(both[2:].reset_index(drop=True), before)


@pytest.mark.slow
def test_figures_are_drawn_from_committed_rows_and_are_the_same_again(tmp_path):
    reproduce(SMALL, jobs=1, folder=tmp_path / "cells")
    _, drawing = commit(SMALL, tmp_path / "cells", tmp_path)
    assert drawing == tmp_path / "figures" / "small.svg"
    first = drawing.read_bytes()
    commit(SMALL, tmp_path / "cells", tmp_path)
    assert drawing.read_bytes() == first


def test_studies_of_one_grid_must_compute_it_alike():
    with pytest.raises(InvalidParameter, match="run, version and repetition are those of"):
        register(replace(PARTS, name="parts-again", grid="parts", version=7))


# ------------------------------------------------------------------------- a check


@pytest.mark.slow
def test_a_fresh_run_agrees_exactly(book):
    report = check(PARTS, book=book[0], jobs=2)
    assert not report.disagreements
    assert (report.cells, report.numbers, report.exact) == (3, 12, 12)


def fresh_by(study, place):
    """Return what another seed gives for the quick cells of a study."""
    tasks = cell_tasks(PARTS, quick=True)
    return {
        task.seed: pd.DataFrame(
            [{**task.cell, **row} for row in study(task.cell, place + k)]
        )
        for k, task in enumerate(tasks)
    }


@pytest.mark.slow
def test_noise_alone_raises_no_alarm(book):
    """A hundred fresh runs: two false alarms or more have a chance of 0.005."""
    committed = committed_cells(PARTS, book[0])
    assert FALSE_ALARMS == 1e-3
    alarms = [
        bool(
            compare(PARTS, committed, fresh_by(small_studies.parted, 10 * k)).disagreements
        )
        for k in range(100)
    ]
    assert sum(alarms) < 2


def shifted(cell, seed):
    rows = small_studies.parted(cell, seed)
    return [{**row, "value": row["value"] + 1.0} for row in rows]


def test_a_shift_of_all_cells_is_found_though_none_alone_would_tell(book):
    """Three deviations of a part each, in three cells: below the limit of one number."""
    committed = committed_cells(PARTS, book[0])
    found = [
        compare(PARTS, committed, fresh_by(shifted, 10 * k)).disagreements
        for k in range(20)
    ]
    alone = [[one for one in report if "together" not in str(one)] for report in found]
    assert sum(bool(report) for report in found) >= 15
    assert sum(bool(report) for report in alone) <= 5


def test_a_wrong_number_is_named_with_its_cell(book):
    place, _ = book
    committed = committed_cells(PARTS, place)
    fresh = finished_cells(PARTS, place / "cells")
    task = cell_tasks(PARTS, quick=True)[1]
    fresh[task.seed] = fresh[task.seed].copy()
    fresh[task.seed].loc[0, "value"] += 50.0
    (one,) = compare(PARTS, committed, fresh).disagreements
    assert "mean=10, part=0" in str(one)
    assert "first, value is" in str(one)
    fresh[task.seed].loc[0, "kind"] = "another"
    (one,) = compare(PARTS, committed, fresh).disagreements
    assert "kind of row 1 is another instead of first" in str(one)


@pytest.mark.slow
def test_the_command_makes_a_book_and_checks_it(tmp_path):
    made = run("all", "parts", "--jobs", 2, "--out", tmp_path / "cells", "--book", tmp_path)
    assert made.exit_code == 0, made.output
    assert "not known yet" in made.stdout
    assert "parts: 60 cells computed" in made.stdout
    again = run(
        "all", "parts", "--jobs", 2, "--out", tmp_path / "cells", "--book", tmp_path
    )
    assert "parts: 0 cells computed" in again.stdout
    checked = run("check", "parts", "--jobs", 1, "--book", tmp_path)
    assert checked.exit_code == 0, checked.output
    assert "12 of 12 numbers equal to the committed ones" in checked.stdout
    assert "at most 0.001 for each study" in checked.stdout

    path = tmp_path / "results" / "parts.csv"
    frame = pd.read_csv(path)
    frame.loc[frame["seed"] == cell_tasks(PARTS, quick=True)[0].seed, "value"] += 40
    frame.to_csv(path, index=False)
    wrong = run("check", "parts", "--jobs", 1, "--book", tmp_path)
    assert wrong.exit_code == 1
    assert "mean=0, part=0: first, value is" in wrong.stderr
    assert "Different from the committed results: parts" in wrong.stderr


def test_a_misplaced_option_of_the_book_is_refused():
    assert "left out when check is given" in str(run("check", "--quick").exception)
    assert "the beginning of a study's name" in str(run("all", "nothing-like-it").exception)
    assert "left out after the name of a study" in str(run("parts", "parts").exception)


@pytest.mark.slow
def test_a_whole_run_of_one_study_is_committed_where_a_book_is_named(tmp_path):
    words = ("parts", "--jobs", 2, "--out", tmp_path / "cells", "--book", tmp_path)
    assert run(*words, "--quick").exit_code == 0
    assert not (tmp_path / "results").exists()
    assert run(*words).exit_code == 0
    assert len(committed_rows(PARTS, tmp_path)) == 120


# -------------------------------------------------------------------- what it takes


def test_estimates_count_shared_cells_once_and_come_from_committed_times(book):
    place, _ = book
    twin = replace(PARTS, name="twin", grid="parts")
    first, second = estimates([PARTS, twin], folder=place / "none", book=place)
    assert (first.cells, first.open_cells) == (60, 60)
    assert first.seconds == pytest.approx(sum(committed_seconds(PARTS, place).values()))
    assert (second.cells, second.open_cells, second.seconds) == (0, 0, 0)
    (done,) = estimates([PARTS], folder=place / "cells", book=place)
    assert done.open_cells == 0
    (unknown,) = estimates([replace(PARTS, version=3)], folder=place / "none", book=place)
    assert unknown.seconds is None
    more = replace(PARTS, cells=lambda quick: [*PARTS.cells(False), {"mean": 7, "part": 0}])
    (mostly,) = estimates([more], folder=place / "none", book=place)
    assert mostly.seconds == pytest.approx(first.seconds * 61 / 60), "as its other cells"


@pytest.mark.slow
def test_progress_of_a_book_is_that_of_all_its_studies(book, tmp_path):
    place, _ = book
    twin = replace(PARTS, name="twin", grid="parts")
    seen = []
    results = [
        result
        for result, _ in reproduce_book(
            [PARTS, twin], jobs=2, folder=tmp_path, book=place, progress=seen.append
        )
    ]
    assert [one.computed for one in results] == [60, 0]
    assert {one.total for one in seen} == {60}
    done = [one.done for one in seen]
    assert done == sorted(done)
    assert seen[-1].done == 60


def test_the_pace_follows_what_cells_took_before():
    expected = {"a": 1.0, "b": 2.0, "c": 3.0}
    pace = TimeLeft(expected, {"a", "b", "c", "d"}, jobs=2)
    assert pace.seconds() is None, "nobody knows what d takes"
    pace.note("a", 2.0)
    assert pace.seconds() == pytest.approx((2 * 5 + 2) / 2)
    pace.note("d", 4.0)
    assert pace.seconds() == pytest.approx(2 * 5 / 2)
    for key in "bc":
        pace.note(key, 1.0)
    assert pace.seconds() == 0
    assert TimeLeft({"a": 3.0}, {"a"}, jobs=2).seconds() == 3.0
