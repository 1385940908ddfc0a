"""No fit fails after it was paid for, and none takes long, for what its rows say."""

import fcntl
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from confide import __version__
from support.any_fit import TABLES, any_fit, several_classes

pytestmark = pytest.mark.filterwarnings("ignore::confide.errors.NoiseChanged")

RECORD = Path(__file__).parents[2] / "docs" / "campaigns" / "any-fit.json"
AT_MOST = 10
FEWEST = 10
"""A balanced table of a few rows takes fewer sweeps than are worth counting."""


def most_passes(fit, kinds, monkeypatch):
    """Release from several tables; return the most sweeps over those of a balanced one."""
    usual = max(FEWEST, fit.passes("balanced", monkeypatch))
    return max(fit.passes(kind, monkeypatch) for kind in kinds) / usual


def some_kinds(seed):
    """Return three kinds of tables, so that four settings in a row try all of them."""
    others = TABLES[1:]
    return [others[(3 * seed + step) % len(others)] for step in range(3)]


def check(seed, monkeypatch, draw=any_fit):
    kinds = some_kinds(seed)
    assert most_passes(draw(seed), kinds, monkeypatch) <= AT_MOST, (seed, kinds)


def test_four_settings_in_a_row_try_all_tables():
    for seed in range(9):
        tried = {kind for step in range(4) for kind in some_kinds(seed + step)}
        assert tried == {*TABLES[1:]}


@pytest.mark.parametrize("seed", range(12))
def test_no_fit_fails_after_it_was_paid_for(seed, monkeypatch):
    monkeypatch.setattr("support.any_fit.MOST_ROWS", 20_000)
    check(seed, monkeypatch)


@pytest.mark.parametrize("seed", range(8))
def test_no_fit_of_several_classes_fails_after_it_was_paid_for(seed, monkeypatch):
    monkeypatch.setattr("support.any_fit.USUAL_ROWS", 2000)
    check(seed, monkeypatch, several_classes)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_no_fit_of_several_classes_fails_at_length(seed, monkeypatch):
    check(seed, monkeypatch, several_classes)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_no_fit_fails_after_it_was_paid_for_at_length(seed, monkeypatch):
    check(seed, monkeypatch)


@pytest.mark.campaign
def test_none_of_2000_fits_fails_after_it_was_paid_for(monkeypatch):
    """Settings that fail are counted, and named by their seeds."""
    count = int(os.environ.get("CONFIDE_FITS", "2000"))
    slowest, failed, settings, rows = 0.0, {}, Counter(), 0
    for seed in range(1000, 1000 + count):
        fit = any_fit(seed)
        plan = fit.calibration
        settings.update([type(plan.objective.loss).__name__, str(plan.neighbours)])
        settings.update([type(plan.budget).__name__, plan.mechanism.name])
        rows = max(rows, fit.count)
        try:
            found = most_passes(fit, some_kinds(seed), monkeypatch)
        except Exception as error:  # noqa: BLE001
            failed[seed] = type(error).__name__
            continue
        slowest = max(slowest, found)
        if found > AT_MOST:
            failed[seed] = f"{found:.1f} times the sweeps"
    summary = {
        "version": __version__,
        "fits": count,
        "tables": 4 * count,
        "failures": failed,
        "most rows": rows,
        "settings": dict(sorted(settings.items())),
        "most sweeps over those of a balanced table": round(slowest, 1),
    }
    RECORD.parent.mkdir(exist_ok=True)
    with RECORD.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(summary, indent=1, sort_keys=True) + "\n")
    assert not failed
