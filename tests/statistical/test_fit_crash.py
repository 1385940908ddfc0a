"""Whole fits, ended by signals, by ``kill -9`` and by a full disk at many instants."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

STORY = Path(__file__).parents[1] / "support" / "fit_crashes.py"


def told(folder, kind, count):
    command = [sys.executable, "-W", "ignore", STORY, folder, kind, str(count), "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def check(seen, count):
    assert sum(seen[stage] for stage in ("done", "before", "between", "after")) == count
    assert seen["before"] > 0
    assert seen["before"] < count, "no end came after a charge"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("SIGINT", 20), ("SIGTERM", 20), ("disk", 20)])
def test_the_message_is_true_whenever_a_fit_ends(tmp_path, kind, count):
    check(told(tmp_path, kind, count), count)


@pytest.mark.slow
def test_fifty_kills_leave_no_release_unpaid_no_torn_file_and_no_row(tmp_path):
    check(told(tmp_path, "SIGKILL", 50), 50)


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("kind", "count"),
    [("SIGINT", 200), ("SIGTERM", 200), ("SIGHUP", 200), ("disk", 200), ("SIGKILL", 1000)],
)
def test_the_campaign_of_crashes(tmp_path, kind, count):
    seen = told(tmp_path, kind, count)
    check(seen, count)
    results = Path(__file__).parents[2] / "docs" / "campaigns" / f"crashes-{kind}.json"
    results.write_text(json.dumps({"ends": count, **seen}) + "\n")
