"""No fit fails after it was paid for, and none takes long, for what its rows say."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from confide import __version__
from support.any_fit import TABLES, any_fit

RECORD = Path(__file__).parents[2] / "docs" / "campaigns" / "any-fit.json"
AT_MOST = 10
FEWEST = 10
"""A balanced table of a few rows takes fewer sweeps than are worth counting."""


def most_passes(seed, kinds, monkeypatch):
    """Release from several tables; return the most sweeps over those of a balanced one."""
    fit = any_fit(seed)
    usual = max(FEWEST, fit.passes("balanced", monkeypatch))
    most = max(fit.passes(kind, monkeypatch) for kind in kinds)
    assert most <= AT_MOST * usual, (seed, kinds, most, usual)
    return most / usual


def some_kinds(seed):
    """Return three kinds of tables, so that nine settings in a row try all of them."""
    others = TABLES[1:]
    return [others[(3 * seed + step) % len(others)] for step in range(3)]


@pytest.mark.parametrize("seed", range(12))
def test_no_fit_fails_after_it_was_paid_for(seed, monkeypatch):
    monkeypatch.setattr("support.any_fit.MOST_ROWS", 20_000)
    most_passes(seed, some_kinds(seed), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_no_fit_fails_after_it_was_paid_for_at_length(seed, monkeypatch):
    most_passes(seed, some_kinds(seed), monkeypatch)


@pytest.mark.campaign
def test_none_of_2000_fits_fails_after_it_was_paid_for(monkeypatch):
    count = int(os.environ.get("CONFIDE_FITS", "2000"))
    found = [
        most_passes(seed, some_kinds(seed), monkeypatch)
        for seed in range(1000, 1000 + count)
    ]
    RECORD.parent.mkdir(exist_ok=True)
    with RECORD.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        summary = {
            "version": __version__,
            "fits": len(found),
            "failures": 0,
            "most sweeps over those of a balanced table": round(max(found), 1),
        }
        file.write(json.dumps(summary, indent=1, sort_keys=True) + "\n")
