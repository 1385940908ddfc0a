"""The interval studies compute what the library would, only for many replicates at once."""

import numpy as np
import pandas as pd
import pytest

from confide.data import bound_rows
from confide.mechanisms.intervals.laws import published_uncertainty, uncertainty
from confide.mechanisms.intervals.moments import Moments, add_noise, sums
from confide.noise import Entropy
from confide.objectives import HuberizedHinge, Logistic, Objective
from confide.solvers import minimise
from confide.studies import STUDIES
from confide.studies.engine.cells import cell_tasks, rows_as_text, rows_from_text
from confide.studies.intervals import replicates as many
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


@pytest.mark.slow
def test_laws_of_many_replicates_are_those_of_each():
    """Errors and lengths as the library has them, for every scheme of the tables."""
    population = Population.of(*people(3000))
    cell = {"e1": 0.5, "e2": 0.25, "e3": 0.25}
    rng = np.random.default_rng(2)
    counts, thetas = population.resample(3, rng), rng.normal(size=(4, 3))
    for scheme in ci_trial.SCHEMES:
        one = ci_trial._calibrate(scheme, cell, population)
        objective = one.plan.main.objective
        sums = moment_sums(objective, population, counts, thetas)
        moments = many.noisy_moments(one.plan.moments, thetas, sums, Entropy.seeded(1))
        added_to = "linear term" if one.on_term is not None else "coefficients"
        noise = one.plan.main.records(added_to)[0]
        published = scheme.variant == "published"
        errors_of = many.published_errors if published else many.tight_errors
        errors = errors_of(objective, thetas, noise, moments, one.rows)
        half = many.half_lengths(errors, noise.kind, 0.95)
        for k in range(3):
            seen = Moments(moments[0][k], moments[1][k], moments[2][k], moments[2][k])
            law_of = published_uncertainty if published else uncertainty
            law = law_of(objective, thetas[:, k], noise, seen, one.rows)
            np.testing.assert_allclose(errors[0][k], law.sampling, rtol=1e-8, atol=1e-15)
            np.testing.assert_allclose(errors[1][k], law.privacy, rtol=1e-8)
            np.testing.assert_allclose(
                half[k], law.half_lengths(np.eye(4), 0.95), rtol=1e-6
            )


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["published", "tight"])
def test_noise_on_many_moments_is_as_large_as_on_one(variant):
    """Variances of 4,000 draws by both ways; a ratio beyond 1.15 has a chance of 1e-5."""
    population = Population.of(*people(3000))
    scheme = ci_trial.Scheme("DP", "obj", "LR", variant)
    cell = {"e1": 0.5, "e2": 0.25, "e3": 0.25}
    plan = ci_trial._calibrate(scheme, cell, population).plan.moments
    count, size = 4000, population.size
    theta, nothing = np.full(size, 0.3), np.zeros((size, size))
    none = np.zeros((count, size, size))
    together = many.noisy_moments(
        plan, np.repeat(theta[:, None], count, axis=1), (none, none), Entropy.seeded(3)
    )
    entropy = Entropy.seeded(4)
    alone = [add_noise(plan, theta, nothing, nothing, entropy) for _ in range(count // 4)]
    for number, name in enumerate(("curvature", "scatter")):
        one = np.stack([getattr(moments, name) for moments in alone])
        ratio = np.square(together[number]).mean() / np.square(one).mean()
        assert 1 / 1.15 < ratio < 1.15
    np.testing.assert_allclose(together[2], alone[0].curvature_deviation, rtol=1e-12)


@pytest.mark.slow
def test_drawn_ends_are_near_the_quantiles():
    """Means of 2,000 pairs of ends; one of 10,000 draws is off by 1.4 % as a rule."""
    law = (
        np.repeat(np.diag([0.2, 1.0])[None], 2000, 0),
        np.repeat(np.eye(2)[None], 2000, 0),
    )
    low, high = many.drawn_offsets(law, "spherical-laplace", 0.95, np.random.default_rng(0))
    half = many.half_lengths(law, "spherical-laplace", 0.95)
    np.testing.assert_allclose(high.mean(axis=0), half[0], rtol=0.01)
    np.testing.assert_allclose(-low.mean(axis=0), half[0], rtol=0.01)
    assert 0.003 < (high[:, 0] / half[:, 0]).std() < 0.04


def test_every_replicate_has_as_many_rows_as_the_population():
    population = Population.of(*people())
    counts = population.resample(7, np.random.default_rng(3))
    np.testing.assert_array_equal(counts.sum(axis=0), 400)


@pytest.mark.slow
def test_a_trial_reports_every_scheme(monkeypatch):
    population = Population.of(*people(3000))
    monkeypatch.setattr(ci_trial, "draw_population", lambda *_: population)
    cell = {"dataset": "none", "rows": 3000, "columns": 3, "e1": 0.5, "e2": 0.25}
    cell |= {"e3": 0.25, "draw": 0, "replicates": 30, "variability": 60}
    cell["variants"] = "published+tight+chosen+add-remove"
    lines = pd.DataFrame(ci_trial.trial(cell, 5))
    assert len(lines) == 32
    assert lines["coverage"].between(0.8, 1).all()
    assert (lines["length"] > lines["plain_length"]).all()
    again = pd.DataFrame(ci_trial.trial(cell, 5))
    pd.testing.assert_frame_equal(lines, again)
    shared = lines[lines["variant"].isin(["published", "tight"])]
    means = shared.groupby("variant")["length"].mean()
    assert means["tight"] < means["published"]


@pytest.mark.slow
def test_rows_of_every_kind_of_cell_can_be_stored(monkeypatch):
    population = Population.of(*people(3000))
    monkeypatch.setattr(ci_trial, "draw_population", lambda *_: population)
    for name in ("ci-figure1", "ci-summary"):
        for cell in STUDIES[name].cells(True)[:2]:
            few = {"replicates": min(4, cell["replicates"])}
            few["variability"] = min(8, cell["variability"])
            small = {**cell, **few}
            text = rows_as_text(small, ci_trial.trial(small, 1))
            seen = set(rows_from_text(small, text)[0])
            assert ("coverage" in seen) == bool(few["replicates"])
            assert ("variability_length" in seen) == bool(few["variability"])


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
    counts = {(cell["replicates"], cell["variability"]) for cell in cells}
    alone = {(0, 2500)} if "figure" in name else set()
    assert counts == {(250, 0)} | alone
    assert len({tuple(sorted(cell.items())) for cell in cells}) == len(cells)


def test_figures_compute_nothing_again_that_a_table_has():
    def seeds(name):
        return {task.seed for task in cell_tasks(STUDIES[name], quick=False)}

    tables = set().union(*(seeds(f"ci-table{n}") for n in range(2, 7)))
    figures = [seeds(f"ci-figure{n}") for n in range(1, 5)]
    assert all(one == figures[0] for one in figures)
    intervals = [c for c in STUDIES["ci-figure1"].cells(False) if c["replicates"]]
    assert tables < figures[0]
    assert len(intervals) == 4 * (47 + 8), "one panel has no table"


def rows_of(study):
    """Return made-up rows for the quick grid, so that tables and figures can be drawn."""
    rng = np.random.default_rng(0)
    lines = []
    for cell in study.cells(True):
        variants = cell["variants"].split("+")
        for one in ci_trial.SCHEMES:
            if one.variant in variants:
                seen = ("coverage", "length", "deviation", "plain_length")
                seen += ("first_length", "first_deviation", "share")
                if not cell["replicates"]:
                    seen = ("share",)
                if cell["variability"]:
                    seen += ("variability_length", "first_variability")
                numbers = {key: float(rng.uniform(0.1, 1)) for key in seen}
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
