import itertools
import json
import multiprocessing
import os
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from confide import cli
from confide.errors import ConfideError, DataNotFound, InvalidParameter
from confide.studies import Study, TableLayout, reproduce
from confide.studies.engine import process_pool as pool
from confide.studies.engine.cells import cell_tasks, rows_as_text, rows_from_text
from support import small_studies
from support.small_studies import HURRIED, SMALL, TROUBLE

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def workers_that_start_fast(monkeypatch):
    """Workers as in earnest, but forked from a server that has imported everything."""
    monkeypatch.setattr(pool, "START", "forkserver")
    multiprocessing.set_forkserver_preload(["confide.studies", "support.small_studies"])


def run(*words):
    return CliRunner().invoke(cli.app, ["reproduce", *map(str, words)])


def python(*words, **options):
    """Start Python where workers find this source and the small studies."""
    places = [ROOT / "src", ROOT / "tests"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    return subprocess.Popen(  # noqa: S603
        [sys.executable, *map(str, words)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def texts(result):
    return [p.read_text() for p in result.files if p.suffix in {".md", ".csv"}]


# --------------------------------------------------------------- the same numbers


@pytest.mark.slow
def test_the_number_of_jobs_changes_nothing(tmp_path):
    one = reproduce(SMALL, jobs=1, folder=tmp_path / "one")
    two = reproduce(SMALL, jobs=2, folder=tmp_path / "two")
    pd.testing.assert_frame_equal(one.rows, two.rows, check_exact=True)
    assert texts(one) == texts(two)
    assert [p.name for p in one.files] == ["small.md", "small.csv", "small.png"]
    assert list(one.rows["rows"][::4]) == [2, 3, 50], "rows are in the order of the grid"


@pytest.mark.slow
def test_stored_cells_are_found_again_exactly_and_by_their_own_edition_only(tmp_path):
    first = reproduce(SMALL, jobs=2, folder=tmp_path)
    again = reproduce(SMALL, jobs=2, folder=tmp_path)
    assert (first.computed, first.stored) == (6, 0)
    assert (again.computed, again.stored) == (0, 6)
    pd.testing.assert_frame_equal(first.rows, again.rows, check_exact=True)

    quick = reproduce(SMALL, quick=True, jobs=2, folder=tmp_path)
    assert (quick.computed, quick.stored) == (0, 4), "its cells are some of the whole"
    assert {p.stem for p in quick.files} == {"small-quick"}
    assert "Quick run" in quick.files[0].read_text()
    shared = first.rows[first.rows["rows"] < 50].reset_index(drop=True)
    pd.testing.assert_frame_equal(shared, quick.rows, check_exact=True)

    bumped = reproduce(replace(SMALL, version=2), jobs=2, folder=tmp_path)
    assert bumped.computed == 6
    assert not np.any(bumped.rows["value"] == first.rows["value"])
    assert reproduce(SMALL, folder=tmp_path).computed == 0, "the old edition is still there"


@pytest.mark.slow
def test_results_of_another_version_of_the_library_are_not_mixed_in(tmp_path, monkeypatch):
    first = reproduce(SMALL, jobs=1, folder=tmp_path)
    monkeypatch.setattr("confide.studies.engine.runner.__version__", "99.0")
    assert reproduce(SMALL, jobs=1, folder=tmp_path).computed == first.computed


def test_rows_survive_as_text():
    cell = {"n": 1}
    rows = [{"x": 0.1 + 0.2, "y": np.float64(1e-310), "z": np.int64(2**60), "b": True}]
    rows += [{"x": float("inf"), "y": None, "z": -0.0, "b": "ünï\n|"}]
    assert rows_from_text(cell, rows_as_text(cell, rows)) == [
        {"n": 1, "x": 0.30000000000000004, "y": 1e-310, "z": 2**60, "b": True},
        {"n": 1, "x": float("inf"), "y": None, "z": -0.0, "b": "ünï\n|"},
    ]
    back = rows_from_text(cell, rows_as_text(cell, [{"x": np.float32(0.1)}]))
    assert back[0]["x"] == float(np.float32(0.1))


def test_seeds_differ_by_everything_that_matters_and_nothing_else():
    def seeds(study, quick=True):
        return {task.key: task.seed for task in cell_tasks(study, quick)}

    plain = seeds(SMALL)
    turned = replace(SMALL, cells=lambda quick: [{"kind": "a", "rows": 2}], title="other")
    assert set(seeds(turned).items()) <= set(plain.items())
    others = [seeds(replace(SMALL, name="other")), seeds(replace(SMALL, version=2))]
    assert set(plain.items()) < set(seeds(SMALL, quick=False).items())
    assert seeds(replace(SMALL, name="other", grid="small")) == plain
    everything = [*plain.values(), *itertools.chain(*(s.values() for s in others))]
    assert len(set(everything)) == len(everything)


def test_a_worker_has_one_thread_and_the_parent_keeps_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    study = replace(SMALL, run=small_studies.threads, table=small_studies.same, figure=None)
    result = reproduce(study, quick=True, jobs=2, folder=tmp_path)
    assert set(result.rows["threads"]) == {1}
    assert set(result.rows["asked"]) == {"1"}
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in os.environ


# ---------------------------------------------------------------- what goes wrong


def test_a_cell_that_fails_leaves_a_gap_and_is_tried_again(tmp_path):
    shown = run("trouble", "--out", tmp_path, "--jobs", 2)
    assert shown.exit_code == 1
    assert "failed: act=raise: OSError: no [luck] today" in shown.stderr
    assert "in trouble" in shown.stderr, "the traceback"
    assert "act=exit: SystemExit: 0" in shown.stderr
    assert "act=wrong: InvalidParameter" in shown.stderr
    page = (tmp_path / "trouble.md").read_text()
    assert "act=raise: OSError" in page
    assert "| well | 1 |" in page
    again = reproduce(TROUBLE, jobs=1, folder=tmp_path)
    assert (again.computed, again.stored, len(again.failures)) == (0, 2, 3)


def test_json_is_json_whatever_a_cell_prints(tmp_path):
    shown = run("trouble", "--out", tmp_path, "--jobs", 1, "--json")
    assert shown.exit_code == 1
    content = json.loads(shown.stdout)
    assert content["table"] == [{"act": a, "value": 1.0} for a in ("well", "print")]
    assert content["failures"][0]["where"] == "act=raise"
    assert content["files"] == [str(tmp_path / f"trouble.{e}") for e in ("md", "csv")]


def test_a_worker_that_dies_is_survived_and_its_cell_tried_once_more(tmp_path):
    marker = str(tmp_path / "marker")
    once = [{"dies": dies, "always": False, "marker": marker} for dies in (True, False)]
    seen = []
    study = small_studies.dying(once)
    result = reproduce(study, jobs=1, folder=tmp_path / "once", progress=seen.append)
    assert list(result.rows["dies"]) == [True, False]
    assert not result.failures
    assert [p.note for p in seen if p.note] == list(result.notes)
    assert "A worker process died" in result.notes[0]


def test_a_cell_that_always_kills_its_worker_costs_no_other_cell(tmp_path):
    marker = str(tmp_path / "never there")
    cells = [
        {"dies": number == 1, "always": True, "number": number, "marker": marker}
        for number in range(4)
    ]
    seen = []
    study = small_studies.dying(cells)
    result = reproduce(study, jobs=2, folder=tmp_path, progress=seen.append)
    assert list(result.rows["number"]) == [0, 2, 3]
    (failure,) = result.failures
    assert "number=1" in failure.where
    assert "died twice" in failure.error
    assert seen[-1].done == seen[-1].total == 4


def test_when_every_cell_fails_nothing_is_written(tmp_path):
    study = replace(TROUBLE, cells=lambda quick: [{"act": "raise"}])
    result = reproduce(study, jobs=1, folder=tmp_path)
    assert result.files == ()
    assert len(result.failures) == 1


def test_a_table_or_figure_that_fails_loses_nothing(tmp_path):
    study = replace(SMALL, table=lambda rows: rows["absent"], figure=lambda rows: 1 / 0)
    result = reproduce(study, quick=True, jobs=1, folder=tmp_path)
    assert [one.where.split(" (")[0] for one in result.failures] == [
        "the table",
        "the figure",
    ]
    assert len(pd.read_csv(result.files[1])) == len(result.rows)


def test_a_missing_dataset_is_named_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setenv("CONFIDE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    seen = []
    study = replace(SMALL, datasets=("warfarin",))
    with pytest.raises(DataNotFound, match=r"study small needs the dataset warfarin.*Set"):
        reproduce(study, folder=tmp_path, progress=seen.append)
    assert seen[-1].done == 0
    with pytest.raises(InvalidParameter, match="datasets of small must be among"):
        reproduce(replace(SMALL, datasets=("warfrin",)), folder=tmp_path)


def test_without_matplotlib_tables_are_written_and_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = reproduce(SMALL, quick=True, jobs=1, folder=tmp_path)
    assert [p.suffix for p in result.files] == [".md", ".csv"]
    assert "pip install 'confide[plots]'" in result.notes[0]
    assert not result.failures


def test_a_file_that_is_no_database_is_not_touched(tmp_path):
    (tmp_path / "results.db").write_text("a diary, and a long one at that " * 99)
    with pytest.raises(ConfideError, match="must hold results of studies"):
        reproduce(SMALL, folder=tmp_path)
    assert (tmp_path / "results.db").read_text().startswith("a diary")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"run": lambda cell, seed: []}, "run must be a function at the top"),
        ({"cells": lambda quick: []}, "at least one cell"),
        ({"cells": lambda quick: [{"n": 1}, {"n": 1}]}, "different from each other"),
        ({"cells": lambda quick: [{"n": float("nan")}]}, "a finite number"),
        ({"cells": lambda quick: [{"n": [1]}]}, "a parameter of a cell must be"),
        ({"cells": lambda quick: [{"n": int(quick)}]}, "a subset of all cells"),
    ],
)
def test_a_study_that_is_wrong_is_refused(tmp_path, change, what):
    with pytest.raises(InvalidParameter, match=what):
        reproduce(replace(SMALL, **change), quick=True, folder=tmp_path)


@pytest.mark.parametrize("name", ["", "Table 3", "../up", "x-quick", "all", "check"])
def test_names_are_fit_for_files(name):
    with pytest.raises(InvalidParameter, match="hyphens"):
        Study(name, "", "", list, small_studies.draw, small_studies.same)


# ------------------------------------------------------------------ what is shown


def test_the_command_lists_studies_and_suggests_the_nearest_name(tmp_path):
    assert "trouble Trouble" in run().stdout
    listed = CliRunner().invoke(cli.app, ["list", "studies", "--json"])
    assert ["trouble", "Trouble"] in json.loads(listed.stdout)["studies"]
    misspelt = run("truoble", "--out", tmp_path)
    assert "Did you mean 'trouble'?" in str(misspelt.exception)


def test_a_wide_table_is_folded_for_no_pipe(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("broad", "--out", tmp_path, "--jobs", 1).stdout.splitlines()
    assert lines[0].split() == ["Broad"] * 30
    heads = next(line for line in lines if "a column named 0" in line)
    assert all(f"a column named {k}" in heads for k in range(16))
    values = lines[lines.index(heads) + 1].split()
    assert len(values) == 17


def test_a_table_is_laid_out_for_page_and_terminal(tmp_path):
    result = reproduce(SMALL, quick=True, jobs=1, folder=tmp_path)
    layout = TableLayout.of(result.table)
    assert layout.heads == ("rows", "a first", "a trace", "b first", "b trace")
    assert all(layout.numeric)
    assert "---:" in layout.markdown()
    odd = TableLayout.of(
        pd.DataFrame({"x": ["a|b", None, ""], "y": [np.nan, 1 / 3, 12345.6]})
    )
    assert odd.lines == (("a|b", "–"), ("–", "0.3333"), ("", "12346"))
    assert "a\\|b" in odd.markdown()


def test_progress_says_what_runs_and_how_long_it_may_take(tmp_path):
    seen = []
    reproduce(SMALL, quick=True, jobs=1, folder=tmp_path, progress=seen.append)
    assert [p.done for p in seen] == [0, 0, 1, 1, 2, 2, 3, 3, 4]
    assert seen[1].running == ("rows=2, kind=a",)
    assert seen[1].left is None
    assert seen[2].left > 0
    assert seen[-1].left == 0


@pytest.mark.slow
def test_the_example_of_the_documentation_runs_as_a_script(tmp_path):
    text = (ROOT / "docs" / "studies.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "coin.py").write_text(example)
    script = python("coin.py", cwd=tmp_path)
    said, complained = script.communicate()
    assert script.returncode == 0, complained
    assert "spread" in said
    assert (tmp_path / "confide-studies" / "coin-quick.png").stat().st_size > 1000


# ------------------------------------------------------------- killed at any time

STORY = """
import os, random, select, signal, sqlite3, sys, time
from pathlib import Path
from confide import cli
from support import small_studies

folder, rounds, chance = Path(sys.argv[1]), int(sys.argv[2]), random.Random(5)
log = folder / "computed"
os.environ["COMPUTED"] = str(log)
log.touch()


def stored():
    if not (folder / "results.db").exists():
        return set()
    connection = sqlite3.connect(folder / "results.db", timeout=60)
    try:
        return {row[0] for row in connection.execute("SELECT cell FROM confide_grids")}
    except sqlite3.OperationalError:
        return set()  # killed before there was a table
    finally:
        connection.close()


def computed():
    return ['{"number": %s}' % line for line in log.read_text().split()]


def start(jobs):
    inlet, outlet = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
        os.setsid()
        os.dup2(outlet, 1)
        os.dup2(outlet, 2)
        sys.argv = ["confide", "reproduce", "slow", "--jobs", jobs, "--out", str(folder)]
        try:
            cli.main()
        except SystemExit as stop:
            os._exit(stop.code or 0)
    os.close(outlet)
    return child, inlet


def end(child, inlet):
    '''Return the exit code and what was said, once parent and workers are all gone.'''
    said = b""
    while True:
        assert select.select([inlet], [], [], 60)[0], "workers outlive their parent"
        piece = os.read(inlet, 65536)
        if not piece:
            os.close(inlet)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.decode()
        said += piece


def wait_for_cells(count):
    deadline = time.monotonic() + 60
    while len(stored()) < count:
        assert time.monotonic() < deadline, "no cell was finished"
        time.sleep(0.02)


for turn in range(rounds + 1):
    before, logged = stored(), len(computed())
    child, inlet = start(str(1 + turn % 2))
    wait_for_cells(len(before) + 1)
    time.sleep(chance.uniform(0, 0.1))
    if turn < rounds:
        os.kill(child, signal.SIGKILL)
        assert end(child, inlet)[0] == -signal.SIGKILL
    else:
        os.killpg(child, signal.SIGINT)  # as Ctrl-C does: to all of them
        code, said = end(child, inlet)
        assert code == 130, said
        assert "Continue with: confide reproduce slow --out" in said, said
        assert "Traceback" not in said, said
    assert before <= stored(), "a finished cell was lost"
    assert not before & set(computed()[logged:]), "a finished cell was computed again"

before, logged = stored(), len(computed())
assert rounds < len(before) < 30, len(before)
code, said = end(*start("1"))
assert code == 0, said
assert not before & set(computed()[logged:]), "a finished cell was computed again"
assert len(stored()) == 30
"""


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, 7])
def test_killed_or_interrupted_a_run_goes_on_where_it_stopped(tmp_path, kills):
    story = python("-c", STORY, tmp_path, kills)
    complained = story.communicate()[1]
    assert story.returncode == 0, complained
    whole = reproduce(HURRIED, jobs=1, folder=tmp_path / "whole")
    for file in whole.files:
        assert file.read_text() == (tmp_path / file.name).read_text()


@pytest.mark.slow
def test_two_runners_may_share_a_folder(tmp_path):
    script = "import sys, support.small_studies as s, confide.studies as c\n"
    script += "c.reproduce(s.HURRIED, jobs=1, folder=sys.argv[1])"
    other = python("-c", script, tmp_path)
    mine = reproduce(HURRIED, jobs=1, folder=tmp_path)
    complained = other.communicate()[1]
    assert other.returncode == 0, complained
    assert len(mine.rows) == 30
    with sqlite3.connect(tmp_path / "results.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM confide_grids").fetchone() == (30,)
    connection.close()
