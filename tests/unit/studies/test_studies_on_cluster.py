import os
import re
import sys
import time
from dataclasses import replace
from types import ModuleType

import pandas as pd
import pytest
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from confide import cli
from confide.errors import ConfideError, DataNotFound, InvalidParameter
from confide.parallel.dask_cluster import connected
from confide.studies import reproduce
from confide.studies.engine.cells import cell_tasks, rows_from_text
from confide.studies.engine.process_pool import compute
from support import small_studies
from support.cluster_access import keys_of
from support.small_studies import HURRIED, SMALL

Future = pytest.importorskip("distributed").Future


@pytest.fixture(scope="module")
def client():
    with connected(workers=2) as client:
        yield client


@pytest.fixture
def no_data(client, tmp_path):
    """Workers that find no dataset; the process that starts the study is as it was."""
    places = ("CONFIDE_DATA", "XDG_CACHE_HOME")

    def go(folder):
        before = {name: os.environ.get(name) for name in places}
        os.environ.update(dict.fromkeys(places, folder))
        return before

    def come_back(before):
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value

    before = client.run(go, str(tmp_path))
    yield
    client.run(come_back, next(iter(before.values())))


def wait_until(condition, what):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def tasks_there(dask_scheduler):
    return len(dask_scheduler.tasks)


def run(*words):
    return CliRunner().invoke(cli.app, ["reproduce", *map(str, words)])


@pytest.mark.slow
def test_the_numbers_are_those_of_one_process(client, tmp_path):
    seen = []
    result = reproduce(SMALL, cluster=client, folder=tmp_path, progress=seen.append)
    with threadpool_limits(1):
        done = [compute(SMALL.run, task) for task in cell_tasks(SMALL, quick=False)]
    alone = [row for one in done for row in rows_from_text(one.task.cell, one.rows)]
    pd.testing.assert_frame_equal(result.rows, pd.DataFrame(alone), check_exact=True)
    assert [p.done for p in seen if not p.running] == [0, 6]
    assert max(len(p.running) for p in seen) == 2, "as many cells as workers"
    assert seen[-1].left == 0
    assert reproduce(SMALL, cluster=client, folder=tmp_path).stored == 6


@pytest.mark.slow
def test_cells_use_one_thread_each(client, tmp_path):
    study = replace(SMALL, run=small_studies.threads, table=small_studies.same, figure=None)
    result = reproduce(study, quick=True, cluster=client, folder=tmp_path)
    assert set(result.rows["threads"]) == {1}


@pytest.mark.slow
def test_the_command_names_failures_as_with_processes(client, tmp_path):
    place = client.scheduler.address
    with keys_of(client):
        shown = run("trouble", "--out", tmp_path, "--cluster", place)
    assert shown.exit_code == 1
    assert "failed: act=raise: OSError: no [luck] today" in shown.stderr
    assert "in trouble" in shown.stderr, "the traceback"
    assert "act=exit: SystemExit: 0" in shown.stderr
    assert "| well | 1 |" in (tmp_path / "trouble.md").read_text()
    both = run("trouble", "--out", tmp_path, "--cluster", place, "--jobs", 2)
    assert "--jobs must be left out when --cluster is given" in str(both.exception)


@pytest.mark.slow
def test_a_cell_whose_worker_dies_is_tried_again_and_costs_no_other(client, tmp_path):
    marker = str(tmp_path / "marker")
    cells = [
        {"dies": number == 1, "always": False, "number": number, "marker": marker}
        for number in range(4)
    ]
    seen = []
    study = small_studies.dying(cells)
    result = reproduce(study, cluster=client, folder=tmp_path, progress=seen.append)
    assert list(result.rows["number"]) == [0, 1, 2, 3]
    assert not result.failures
    (note,) = result.notes
    assert note.startswith("A worker process died")
    assert "number=1" in note
    assert [p.note for p in seen if p.note] == [note]
    assert seen[-1].done == 4
    assert not seen[-1].running


@pytest.mark.slow
def test_a_cell_that_always_kills_its_worker_fails_alone(client, tmp_path):
    marker = str(tmp_path / "never there")
    cells = [{"dies": dies, "always": True, "marker": marker} for dies in (True, False)]
    result = reproduce(small_studies.dying(cells), cluster=client, folder=tmp_path)
    assert list(result.rows["dies"]) == [False]
    (failure,) = result.failures
    assert "died, and so did those that tried it again" in failure.error


@pytest.mark.slow
def test_when_interrupted_finished_cells_are_kept_and_the_others_given_up(
    client, tmp_path, monkeypatch
):
    seen, given_up, cancel = [], [], client.cancel

    def stop(progress):
        seen.append(progress)
        if progress.done >= 5 and progress.running:
            raise KeyboardInterrupt

    def watched(futures, *, force):
        given_up.extend(futures)
        cancel(futures, force=force)

    monkeypatch.setattr(client, "cancel", watched)
    with pytest.raises(KeyboardInterrupt):
        reproduce(HURRIED, cluster=client, folder=tmp_path, progress=stop)
    assert len(given_up) == len(seen[-1].running) >= 1
    given_up.clear()
    wait_until(lambda: not client.run_on_scheduler(tasks_there), "cells are given up")
    rest = reproduce(HURRIED, cluster=client, folder=tmp_path)
    assert (rest.computed, rest.stored) == (30 - seen[-1].done, seen[-1].done)


@pytest.mark.slow
def test_a_cluster_that_drops_cells_is_named(client, tmp_path):
    def drop(progress):
        if progress.running:
            client.cancel([Future(key, client) for key in client.futures], force=True)

    with pytest.raises(ConfideError, match="Finished cells are stored"):
        reproduce(small_studies.SLOW, cluster=client, folder=tmp_path, progress=drop)


@pytest.mark.slow
def test_data_that_workers_lack_are_named_before_anything_starts(client, tmp_path, no_data):
    study = replace(SMALL, datasets=("warfarin",))
    where = "|".join(map(re.escape, client.nthreads()))
    wanted = (
        rf"on the worker ({where}), the study small needs the dataset warfarin"
        r".*Set CONFIDE_DATA"
    )
    with pytest.raises(DataNotFound, match=wanted):
        reproduce(study, cluster=client, folder=tmp_path)
    with pytest.raises(InvalidParameter, match="datasets of small must be among"):
        reproduce(replace(SMALL, datasets=("x",)), cluster=client, folder=tmp_path)


@pytest.mark.slow
def test_workers_must_have_the_study_and_the_same_confide(client, tmp_path, monkeypatch):
    absent = ModuleType("absent_from_workers")
    exec("def run(cell, seed): return []", vars(absent))  # noqa: S102
    monkeypatch.setitem(sys.modules, absent.__name__, absent)
    with pytest.raises(InvalidParameter, match=r"workers can import.*absent_from_workers"):
        reproduce(replace(SMALL, run=absent.run), cluster=client, folder=tmp_path)
    monkeypatch.setattr("confide.studies.engine.runner.__version__", "99.0")
    with pytest.raises(
        InvalidParameter, match=r"workers have confide 99\.0.* Install confide 99\.0 on"
    ):
        reproduce(SMALL, cluster=client, folder=tmp_path)


def test_own_processes_and_a_cluster_exclude_each_other(client, tmp_path):
    with pytest.raises(InvalidParameter, match="jobs must be left out"):
        reproduce(SMALL, jobs=2, cluster=client, folder=tmp_path)
