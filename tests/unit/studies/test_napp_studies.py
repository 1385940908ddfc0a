"""The NAPP studies compute what `mechanisms.Napp` would, for many fits at once."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from confide.data import bound_rows
from confide.mechanisms import AdaptiveObjectivePerturbation, ObjectivePerturbation
from confide.mechanisms.published import Napp, NappTarget
from confide.mechanisms.published.napp.iterations import settled
from confide.mechanisms.published.napp.rows import Shares
from confide.noise import Entropy, generator
from confide.objectives import L1
from confide.privacy import Approx, Neighbours, Pure
from confide.studies import STUDIES
from confide.studies.napp import figure1 as napp_realised
from confide.studies.napp import figure3 as napp_moor
from confide.studies.napp.baselines import (
    lasso,
    sound,
    sound_retrieved,
    two_looks_retrieved,
)
from confide.studies.napp.batch import BatchTable, Fits, retrieved
from confide.studies.napp.panels import STYLES, area
from confide.studies.napp.population import EPSILONS, SETTINGS, selection_rates
from confide.studies.napp.trial import (
    VARIANTS,
    calibrated,
    draw_above,
    published,
    trial,
)

STRENGTHS = (0.3, 3.0, 12.0)
ADD = Neighbours.ADD_REMOVE
SMALL = Approx("0.4", "0.001")
FIGURES = ("3", "4", "5", "6", "7", "8", "s1", "s2", "s3", "s4")


def batch_of(setting, budget, variant, seed, data):
    """Return fits whose noise is the one that a seeded release draws."""
    mechanism = variant.mechanism
    plan = mechanism.calibrate(setting.objective, budget, ADD)
    size, entropy = setting.objective.dimension, Entropy.seeded(seed)
    if variant.truncated:
        linear = draw_above(plan.noise, size, entropy)
    else:
        linear = plan.noise.draw(size, entropy)
    floor = plan.objective.strong_convexity / 2
    scaled = setting.objective.lipschitz * np.array(STRENGTHS)
    fits = Fits.of(scaled, floor, linear, moor=variant.moor, folded=variant.selection)
    return plan, fits, BatchTable(setting.loss, *data)


def one_by_one(setting, plan, variant, fits, seed, rows, retrieval):
    for strength in fits.strength:
        alone = Napp(
            NappTarget("lasso", float(strength)),
            moor=variant.moor,
            selection=variant.selection,
            truncation=0.0 if variant.truncated else -math.inf,
            retrieval=retrieval,
            accept_unproved=True,
        )
        yield replace(plan, mechanism=alone).release([rows], Entropy.seeded(seed))


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("regression", SETTINGS)
def test_fits_together_are_fits_one_by_one(regression, name):
    setting, variant, seed = SETTINGS[regression], VARIANTS[name], 7
    budget = Pure(1) if regression == "logistic" else Approx("0.6", "0.001")
    data = setting.simulate(200, generator(3))
    rows = bound_rows(*data, setting.objective.row_norm, 0.0)
    plan, fits, table = batch_of(setting, budget, variant, seed, data)
    path = table.follow(fits)
    values = settled(path, 1e-8)
    half = float(budget.epsilon) / 2
    shares = retrieved(fits, Shares(half, half), path)
    again, gained = table.recycle(fits, Shares(half, half), path)
    recycled = settled(again, 1e-8)
    returns = one_by_one(setting, plan, variant, fits, seed, rows, "return")
    for k, release in enumerate(returns):
        np.testing.assert_allclose(values[k], release.value, atol=1e-6)
        assert shares[k] == pytest.approx(release.retrieved[0], abs=1e-6)
    rounds = one_by_one(setting, plan, variant, fits, seed, rows, "recycle")
    for k, release in enumerate(rounds):
        np.testing.assert_allclose(recycled[k], release.value, atol=1e-6)
        assert gained[k] == pytest.approx(release.retrieved[0], abs=1e-6)


@pytest.mark.parametrize("regression", SETTINGS)
def test_simulated_tables_keep_their_public_bounds(regression):
    setting = SETTINGS[regression]
    x, y = setting.simulate(20_000, generator(1))
    assert np.linalg.norm(x, axis=1).max() <= setting.objective.row_norm
    if setting.target_bound is not None:
        assert np.abs(y).max() <= setting.target_bound
    truth, wrong = np.vstack([setting.truth, -setting.truth])
    if regression == "logistic":
        truth, wrong = wrong, truth
    at_truth, against, nothing = setting.errors(
        np.stack([truth, wrong, np.zeros(16)]), x, y
    )
    assert at_truth < nothing < against
    slope = np.abs(setting.loss.slope(x @ truth, y))
    assert slope.max() <= setting.objective.slope_bound


def test_the_linear_noise_is_a_normal_cut_off_at_two_deviations():
    setting = SETTINGS["linear"]
    x, y = setting.simulate(50_000, generator(2))
    noise = y - x @ setting.truth
    assert 0.49 < np.abs(noise).max() <= 0.5
    # The variance of a normal cut off at ±2 is 0.7737; four standard errors of it.
    assert noise.var() / 0.25**2 == pytest.approx(0.7737, abs=0.02)


def test_rates_count_the_two_halves():
    thetas = np.zeros((2, 16))
    thetas[0, :6], thetas[1, 8:12] = 1.0, -1.0
    hit, wrong = selection_rates(thetas)
    np.testing.assert_allclose(hit, [0.75, 0])
    np.testing.assert_allclose(wrong, [0, 0.5])


def test_the_area_of_a_perfect_and_of_a_blind_method():
    line = pd.DataFrame({"strength": [1.0, 2, 3], "tpr": [1.0, 1, 0], "fpr": [1.0, 0, 0]})
    assert area(line) == 1
    assert area(line.assign(tpr=[0.9, 0.4, 0], fpr=[0.9, 0.4, 0])) == pytest.approx(0.5)


@pytest.mark.parametrize("regression", SETTINGS)
def test_the_lasso_meets_its_conditions(regression):
    setting = SETTINGS[regression]
    x, y = setting.simulate(300, generator(4))
    rows = bound_rows(x, y, setting.objective.row_norm, 0.0)
    strength = 2 * setting.objective.lipschitz
    theta = lasso(setting.objective, rows, strength)
    pull = x.T @ setting.loss.slope(x @ theta, y)
    assert 0 < np.count_nonzero(theta) < 16
    kept = theta != 0
    np.testing.assert_allclose(
        pull[kept], -2 * strength * np.sign(theta[kept]), atol=2e-3 * strength
    )
    assert np.abs(pull[~kept]).max() <= 2 * strength * (1 + 1e-3)


@pytest.mark.slow
def test_one_calibration_serves_every_strength():
    objective = SETTINGS["linear"].objective
    for mechanism in (ObjectivePerturbation(), AdaptiveObjectivePerturbation()):
        plans = [
            mechanism.calibrate(replace(objective, penalty=L1(weight)), SMALL, ADD)
            for weight in (1.0, 30.0)
        ]
        assert plans[0].noise == plans[1].noise
        assert plans[0].objective.l2 == plans[1].objective.l2


@pytest.mark.parametrize("budget", [SMALL, Pure("0.4")], ids=["approx", "pure"])
def test_the_sound_version_penalises_twice_the_strength(budget):
    setting = SETTINGS["linear"]
    x, y = setting.simulate(200, generator(5))
    rows = bound_rows(x, y, 1.0, 0.0)
    found = sound(setting.objective, budget, rows, 3.0, Entropy.seeded(6))
    whole = ObjectivePerturbation()
    plan = whole.calibrate(replace(setting.objective, penalty=L1(6.0)), budget, ADD)
    release = plan.release([rows], Entropy.seeded(6))
    np.testing.assert_array_equal(found, release.value)
    assert 0 <= sound_retrieved(setting.objective, budget) <= 1
    assert 0 <= two_looks_retrieved(setting.objective, budget) <= 1


def test_the_determinant_is_free_for_the_sound_logistic_lasso():
    assert sound_retrieved(SETTINGS["logistic"].objective, Approx(1, "0.001")) > 0.99


def cell_of(regression, rows, epsilon, methods, repeats=2):
    return {
        "regression": regression,
        "rows": rows,
        "epsilon": epsilon,
        "delta": 0.001,
        "methods": methods,
        "part": 0,
        "repeats": repeats,
    }


@pytest.mark.slow
def test_a_trial_is_a_function_of_cell_and_seed():
    cell = cell_of("linear", 200, 1.0, "all", 1)
    rows, again = (pd.DataFrame(trial(cell, 3)) for _ in range(2))
    pd.testing.assert_frame_equal(rows, again)
    assert list(dict.fromkeys(rows["method"])) == list(STYLES)
    assert all(rows[name].between(0, 1).all() for name in ("tpr", "fpr", "nothing"))
    recycled = pd.DataFrame(trial(cell_of("linear", 200, 1.0, "recycled", 1), 3))
    assert recycled["method"].str.endswith("recycled").any()


@pytest.mark.parametrize("regression", ["linear", "logistic"])
def test_finding_moor_ends_nearer_to_the_lasso(regression):
    """For every Λ₀ and Λ of figure 3, up to what 80 iterations and the solver leave."""
    rows = SETTINGS[regression].sizes[0]
    cell = {"regression": regression, "rows": rows, "part": 0, "repeats": 2}
    found = pd.DataFrame(napp_moor.trial(cell, 1))
    wide = found.pivot_table(
        index=["floor", "strength"], columns="method", values="distance"
    )
    assert len(wide) == len(EPSILONS) * 10
    assert (wide["MOOR"] <= wide["no MOOR"] + 0.01).all()
    middle = wide[wide["no MOOR"] > 0.05]
    assert (middle["MOOR"] < middle["no MOOR"]).all()
    assert middle["MOOR"].mean() < 0.9 * middle["no MOOR"].mean()


@pytest.mark.slow
def test_finding_vs_plus_alone_selects_nothing_false_at_a_moderate_strength():
    """Figure 4 at small n and ε, but with Λ large enough every variant gets there."""
    found = pd.DataFrame(trial(cell_of("linear", 200, 0.4, "published", 4), 2))
    wide = found.pivot_table(index="strength", columns="method", values="fpr")
    truncated = ["VS+ MOOR", "VS+"]
    moderate = wide[wide.index < 3]
    assert (moderate[truncated] <= 0.02).all().all()
    assert (moderate.drop(columns=truncated) > 0.15).all().all()
    assert (wide.loc[wide.index.max()] == 0).all()


def test_finding_the_retrieved_share_grows_to_a_plateau():
    found = pd.DataFrame(trial(cell_of("linear", 500, 1.0, "all", 2), 2))
    wide = found.pivot_table(index="strength", columns="method", values="retrieved")
    names = list(VARIANTS)
    assert (wide[names].diff().dropna() >= -0.01).all().all()
    assert (wide[names].iloc[-2:] > 0.99).all().all()
    for with_moor, without in (("VS+ MOOR", "VS+"), ("VS MOOR", "VS")):
        assert (wide[without] >= wide[with_moor] - 1e-9).all()
    assert (wide["sound"] == wide["sound"].iloc[0]).all()


def test_published_noise_is_shared_over_strengths():
    """What shrinks along the grid is Λ alone: without the penalty all fits agree."""
    setting, budget = SETTINGS["linear"], Approx(1, "0.001")
    data = setting.simulate(200, generator(1))
    tiny = np.array([1e-9, 2e-9])
    found = published(setting, budget, data, tiny, Entropy.seeded(1), recycled=False)
    for thetas, _ in found.values():
        np.testing.assert_allclose(thetas[0], thetas[1], atol=1e-6)
    assert calibrated(setting.objective, budget).objective.l2 == pytest.approx(2.0)


@pytest.mark.parametrize("name", FIGURES)
def test_grids_are_as_the_paper_has_them(name):
    study = STUDIES[f"napp-figure{name}"]
    cells, few = study.cells(False), study.cells(True)
    assert len(few) <= 3
    assert all(cell in cells for cell in few)
    assert len({tuple(sorted(cell.items())) for cell in cells}) == len(cells)
    panels = {}
    for cell in cells:
        key = tuple((k, v) for k, v in cell.items() if k not in ("part", "repeats"))
        panels[key] = panels.get(key, 0) + cell["repeats"]
    wanted = {"3": 6, "6": 30, "8": 8, "s4": 8}.get(name, 24)
    assert len(panels) == wanted
    assert set(panels.values()) == {5 if name == "6" else 500}
    if name not in ("3", "6"):
        assert {cell["delta"] for cell in cells} == {0 if name[0] == "s" else 0.001}


def made_up(name):
    """Return rows with made-up results, so that tables and figures can be drawn."""
    rng = generator(0)
    lines = []
    for cell in STUDIES[f"napp-figure{name}"].cells(True):
        if name == "3":
            keys = [
                {"method": m, "epsilon": e, "floor": 1 / e}
                for m in napp_moor.METHODS
                for e in EPSILONS
            ]
        else:
            recycled = [one + ", recycled" for one in VARIANTS] if name == "8" else []
            keys = [{"method": m} for m in (*STYLES, *recycled)]
        values = ("tpr", "fpr", "error", "retrieved", "distance", "wrong", "wrong_last")
        strengths = [None] if name == "6" else SETTINGS[cell["regression"]].strengths
        for key in keys:
            for strength in strengths:
                line = {**cell, **key, **{v: float(rng.random()) for v in values}}
                lines.append(line if strength is None else line | {"strength": strength})
    return pd.DataFrame(lines)


@pytest.mark.parametrize("name", ["3", "4", "5", "6", "7", "8"])
def test_tables_and_figures_are_made_from_rows(name):
    pytest.importorskip("matplotlib")
    study, rows = STUDIES[f"napp-figure{name}"], made_up(name)
    table = study.table(rows.copy())
    wanted = {"3": 24, "4": 33, "5": 3, "6": 4, "7": 27, "8": 6}[name]
    assert len(table) == wanted
    assert len(study.figure(rows).axes) == {"6": 2, "8": 2}.get(name, 3)


def test_the_cells_about_row_lengths_are_all_there():
    study = STUDIES["napp-lengths"]
    cells, few = study.cells(False), study.cells(True)
    assert all(cell in cells for cell in few)
    assert len({tuple(sorted(cell.items())) for cell in cells}) == len(cells)
    rng = generator(0)
    rows = pd.DataFrame(
        [
            {**cell, "method": name, "wrong": rng.random(), "wrong_last": rng.random()}
            for cell in cells
            for name in VARIANTS
        ]
    )
    table = study.table(rows)
    settings = {tuple(v for k, v in c.items() if k != "part") for c in cells}
    assert len(table) == 2 * len(settings)
    assert set(VARIANTS) <= set(table.columns)


def test_at_rest_the_lasso_has_no_curvature_below_the_floor():
    """One iteration has the modulus 2Λ/|θ|; what it comes to rest at has none."""
    rows = pd.DataFrame(napp_realised.trial({"target": "lasso"}, 0))
    low = rows[rows["theta"] < 0.99]
    assert (low["modulus, one iteration"] >= 2).all()
    np.testing.assert_allclose(low["modulus, fixed point"], 0, atol=1e-6)
    np.testing.assert_allclose(low["penalty, fixed point"], 2 * low["theta"], atol=1e-3)
    bridge = pd.DataFrame(napp_realised.trial({"target": "l₀.₅"}, 0))
    assert (bridge[bridge["theta"] < 0.99]["modulus, fixed point"] < 0).all()
    pytest.importorskip("matplotlib")
    study = STUDIES["napp-figure1"]
    assert len(study.figure(rows.assign(target="lasso")).axes) == 2
    assert len(study.table(rows.assign(target="lasso"))) == 5
