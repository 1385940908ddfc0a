"""The interval studies compute what the library would, only for many replicates at once."""

import numpy as np
import pandas as pd
import pytest

from confide.data import bound_rows
from confide.mechanisms.intervals.moments import sums
from confide.objectives import HuberizedHinge, Logistic, Objective
from confide.solvers import minimise
from confide.studies import STUDIES
from confide.studies.intervals import trial as ci_trial
from confide.studies.intervals.population import Population, minimisers, moment_sums
from confide.studies.intervals.printed_values import PRINTED

LOSSES = [Logistic(), HuberizedHinge(1.0)]


def people(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.integers(0, 3, size=(rows, 3)) / 4, np.ones(rows)])
    features /= np.linalg.norm(features, axis=1)[:, None]
    target = np.where(features[:, 0] + rng.normal(size=rows) > 0.3, 1.0, -1.0)
    return features, target


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_replicates_are_fits_of_copied_rows(loss):
    features, target = people()
    population = Population.of(features, target)
    assert len(population.counts) < population.rows == 400
    rng = np.random.default_rng(1)
    counts, linear = population.resample(5, rng), rng.normal(size=(4, 5))
    objective = Objective(loss, 4, 1.0, 2.0)
    together = minimisers(objective, population, counts, linear, np.zeros(4))
    bends, scatters = moment_sums(objective, population, counts, together)
    for k in range(5):
        times = counts[:, k].astype(int)
        rows = bound_rows(
            np.repeat(population.features, times, axis=0),
            np.repeat(population.target, times),
            1.0 + 1e-12,
            0.0,
        )
        alone = minimise(objective, rows, linear[:, k], 1e-9).theta
        np.testing.assert_allclose(together[:, k], alone, atol=1e-7)
        bend, scatter = sums(objective, rows, together[:, k])
        np.testing.assert_allclose(bends[k], bend, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(scatters[k], scatter, rtol=1e-9, atol=1e-9)


def test_every_replicate_has_as_many_rows_as_the_population():
    population = Population.of(*people())
    counts = population.resample(7, np.random.default_rng(3))
    np.testing.assert_array_equal(counts.sum(axis=0), 400)


@pytest.mark.slow
def test_a_trial_reports_every_scheme(monkeypatch):
    population = Population.of(*people(3000))
    monkeypatch.setattr(ci_trial, "draw_population", lambda *_: population)
    cell = {"dataset": "none", "rows": 3000, "columns": 3, "e1": 0.5, "e2": 0.25}
    cell |= {"e3": 0.25, "replicates": 30, "variability": 60}
    cell["schemes"] = "DP+zCDP obj+output published+tight+chosen+add-remove"
    lines = pd.DataFrame(ci_trial.trial(cell, 5))
    assert len(lines) == 32
    assert lines["coverage"].between(0.8, 1).all()
    assert (lines["length"] > lines["plain_length"]).all()
    again = pd.DataFrame(ci_trial.trial(cell, 5))
    pd.testing.assert_frame_equal(lines, again)
    shared = lines[lines["variant"].isin(["published", "tight"])]
    means = shared.groupby("variant")["length"].mean()
    assert means["tight"] < means["published"]


def test_printed_tables_are_whole():
    for printed in PRINTED:
        assert len(printed.coverage) == 8
        for line in printed.coverage.values():
            assert len(line) == len(printed.settings)
            assert min(line) > 0.94


@pytest.mark.parametrize(
    "name",
    [*(f"ci-table{n}" for n in range(2, 7)), *(f"ci-figure{n}" for n in range(1, 5))],
)
def test_grids_are_as_the_paper_has_them(name):
    study = STUDIES[name]
    cells, few = study.cells(False), study.cells(True)
    assert len(few) <= 14
    assert {cell["replicates"] for cell in cells} == {1000}
    if "figure" in name:
        assert {cell["variability"] for cell in cells} == {10_000}
    assert len({tuple(sorted(cell.items())) for cell in cells}) == len(cells)


def rows_of(study):
    """Return made-up rows for the quick grid, so that tables and figures can be drawn."""
    rng = np.random.default_rng(0)
    lines = []
    for cell in study.cells(True):
        privacies, methods, variants = (w.split("+") for w in cell["schemes"].split())
        for one in ci_trial.SCHEMES:
            if (
                one.privacy in privacies
                and one.method in methods
                and one.variant in variants
            ):
                numbers = dict.fromkeys(
                    (
                        *("coverage", "length", "deviation", "variability_length"),
                        *("plain_length", "first_length", "first_deviation"),
                        *("first_variability", "share"),
                    ),
                    0.0,
                )
                numbers = {key: float(rng.uniform(0.1, 1)) for key in numbers}
                words = {key: getattr(one, key) for key in one.__slots__}
                lines.append({**cell, **words, **numbers})
    return pd.DataFrame(lines)


@pytest.mark.parametrize(
    "name", ["ci-table2", "ci-table4", "ci-summary", "ci-figure1", "ci-figure4"]
)
def test_tables_and_figures_are_made_from_rows(name):
    study = STUDIES[name]
    rows = rows_of(study)
    assert not study.table(rows).empty
    if study.figure is not None:
        pytest.importorskip("matplotlib")
        assert len(study.figure(rows).axes) == 9
