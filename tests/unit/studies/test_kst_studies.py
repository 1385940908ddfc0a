"""The KST studies compute what the mechanism would, and stay below what is proved."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import lsq_linear

from confide.data import bound_rows
from confide.mechanisms import ObjectivePerturbation
from confide.noise import Entropy, generator
from confide.noise.lattice import approximate
from confide.privacy import Approx, Neighbours, Pure
from confide.studies import STUDIES
from confide.studies.kst import table1 as kst_table1
from confide.studies.kst import table2 as kst_table2
from confide.studies.kst import theorem8 as kst_theorem8
from confide.studies.kst.risk_bounds import balanced_ridge, linear_regression
from confide.studies.kst.support_bounds import vote_failure_exact
from confide.studies.kst.table1 import SPREADS, Sums, simulated
from confide.studies.kst.table2 import (
    all_supports,
    ballot,
    chance_of_best,
    draw_votes,
    least_losses,
    votes,
    winners,
)

NAMES = ("kst-table1", "kst-table2", "kst-theorem8")
ADD = Neighbours.ADD_REMOVE


def table_of(rows, size, seed):
    rng = generator(seed)
    features = np.where(rng.integers(2, size=(rows, size)) > 0, 1.0, -1.0)
    target = features @ np.full(size, 0.6) + 0.5 * rng.normal(size=rows)
    return features, np.clip(target, -size, size)


@pytest.mark.parametrize("budget", [Pure(1), Approx(1, "1e-6")], ids=["gamma", "gaussian"])
@pytest.mark.parametrize("count", [60, 3000])
def test_fits_by_sums_are_the_fits_of_the_mechanism(budget, count):
    """With 60 rows some fits end on the ball, with 3,000 none does."""
    features, target = table_of(count, 3, seed=1)
    objective, radius = linear_regression(3), math.sqrt(3)
    ridge = balanced_ridge(objective, budget.share("0.99"), radius)
    mechanism = ObjectivePerturbation("kst")
    plan = mechanism.calibrate(objective.with_l2(ridge), budget, ADD)
    rows = bound_rows(features, target, objective.row_norm, 0.0)
    sums = Sums.of(features.T @ features, features.T @ target)
    ends = []
    for seed in range(15):
        linear = approximate(plan.noise.sample(3, Entropy.seeded(seed)), 1e-9).value
        ours = sums.basis @ sums.fits((linear @ sums.basis)[None], ridge, radius)[0]
        theirs = plan.release([rows], Entropy.seeded(seed)).value
        assert ours == pytest.approx(theirs, abs=1e-5)
        ends.append(float(np.linalg.norm(ours)))
    on_the_ball = sum(end > radius * (1 - 1e-9) for end in ends)
    assert max(ends) <= radius * (1 + 1e-9)
    assert (on_the_ball > 0) == (count == 60)


def test_excess_is_a_difference_of_losses():
    features, target = table_of(50, 4, seed=2)
    sums = Sums.of(features.T @ features, features.T @ target)
    one, other = generator(3).normal(size=(2, 4))
    losses = [((features @ theta - target) ** 2).sum() / 2 for theta in (one, other)]
    found = sums.excess(one @ sums.basis, other @ sums.basis)
    assert float(found) == pytest.approx(losses[0] - losses[1])


@pytest.mark.parametrize("design", SPREADS)
def test_simulated_sums_keep_the_public_bounds(design):
    rows, size = 40_000, 8
    gram, pull = simulated(rows, size, design, generator(4))
    assert np.trace(gram) == pytest.approx(rows * size)  # every row has length √p
    diagonal = np.diag(gram)
    assert diagonal.max() / diagonal.min() == pytest.approx(10 ** SPREADS[design])
    theta = np.linalg.solve(gram, pull)
    assert np.abs(np.abs(theta) - 1).max() < (0.05 if design == "even" else 1.5)


def test_simulated_risks_stay_below_the_bounds_and_near_the_formula():
    cell = {"design": "even", "rows": 20_000, "columns": 8, "tables": 2, "draws": 200}
    for line in kst_table1.trial(cell, 5):
        assert line["risk"] < line["theorem5"] <= line["theorem4"]
        assert line["risk"] == pytest.approx(line["without_ball"], rel=0.3)
    assert kst_table1.trial(cell, 5) == kst_table1.trial(cell, 5)


def test_least_losses_are_those_of_a_solver():
    features, target, _ = draw_votes(40, 6, 2, generator(6))
    target = 2 * target  # so that the box binds
    supports = all_supports(6, 2)
    assert len(supports) == 15
    losses = least_losses(features, target, supports)
    for support, loss in zip(supports, losses, strict=True):
        best = lsq_linear(features[:, support], target, bounds=(-1, 1), tol=1e-12)
        assert loss == pytest.approx(best.cost, rel=1e-8)


def test_the_chance_of_a_support_is_its_share_of_the_weights():
    losses = np.array([1000.0, 1001.0, 1003.0])
    chance = chance_of_best(losses, 1, 2.0)
    weights = np.exp([0, -0.5, -1.5])
    assert chance == pytest.approx(weights[1] / weights.sum())


def test_ballots_name_at_most_s_columns_and_find_them():
    features, target, support = draw_votes(200, 30, 3, generator(7))
    assert np.array_equal(ballot(features, target, 3), support)
    assert len(ballot(features, np.zeros(200), 3)) == 0
    shares, ballots = votes(features, target, 3, 4)
    assert len(ballots) == 4
    assert shares.sum() == pytest.approx(sum(map(len, ballots)) / 4)
    assert np.abs(target).max() <= 3


def test_noisy_winners_fail_as_often_as_computed():
    """4,000 draws: 4 standard errors, exceeded once in 15,000 times."""
    shares = np.zeros(20)
    shares[[3, 8]] = 1.0
    exact = vote_failure_exact(20, 2, 1.0, 25)
    chosen = winners(shares, 2, 2 * 2 / (25 * 1.0), 4000, generator(8))
    wrong = float(np.mean((chosen != [3, 8]).any(axis=1)))
    assert abs(wrong - exact) <= 4 * math.sqrt(exact * (1 - exact) / 4000)


def test_a_trial_of_theorem_8_stays_below_the_bound_where_blocks_agree():
    cell = {"blocks_have": "ample", "size": 2, "blocks": 40, "tables": 2, "runs": 2000}
    for line in kst_theorem8.trial(cell, 9):
        assert line["agreed"] == 1
        assert line["failed_agreed"] <= line["bound"]
        assert line["failed_agreed"] == pytest.approx(line["exact"], abs=0.05)


def test_rows_that_are_needed_lie_near_the_sharper_law():
    cell = {"algorithm": "exponential", "size": 2, "columns": 10, "tables": 3}
    (line,) = kst_table2.trial(cell, 10)
    assert line["needed"] == pytest.approx(line["sharp"], rel=0.15)
    assert line["sharp"] < line["bound"]


def made_up(name):
    rng, lines = generator(0), []
    for cell in STUDIES[name].cells(True):
        if name == "kst-table1":
            keys = [{"method": one} for one in kst_table1.METHODS]
            values = ("risk", "error", "without_ball", "theorem4", "theorem5", "ridge")
        elif name == "kst-table2":
            keys, values = [{}], ("needed", "sharp", "bound")
        else:
            keys = [{"epsilon": one} for one in kst_theorem8.EPSILONS]
            values = ("right_blocks", "agreed", "failed", "failed_agreed", "exact", "bound")
        for key in keys:
            drawn_values = {value: float(rng.uniform(0.1, 1)) for value in values}
            lines.append({**cell, **key, **drawn_values})
    return pd.DataFrame(lines)


@pytest.mark.parametrize("name", NAMES)
def test_tables_and_figures_are_made_from_rows(name):
    pytest.importorskip("matplotlib")
    study, rows = STUDIES[name], made_up(name)
    table = study.table(rows.copy())
    assert len(table) == {"kst-table1": 12, "kst-table2": 10, "kst-theorem8": 36}[name]
    wanted = {"kst-table1": 6, "kst-table2": 2, "kst-theorem8": 4}[name]
    assert len(study.figure(rows).axes) == wanted


def test_slopes_in_the_table_are_those_of_powers():
    study = STUDIES["kst-table1"]
    rows = made_up("kst-table1")
    power = {"gamma": 1.0, "gaussian": 0.25, "gaussian, least ridge": 0.0}
    rows["risk"] = rows["columns"] ** rows["method"].map(power)
    table = study.table(rows)
    assert set(table["slope of ratio"].dropna()) == {0.75}
    assert kst_table1.slope(table[:3], "ratio") == pytest.approx(0.75)


@pytest.mark.parametrize("name", NAMES)
def test_whole_grids_hold_every_quick_place(name):
    study = STUDIES[name]
    whole, quick = study.cells(False), study.cells(True)
    effort = ("tables", "draws", "runs")
    places = [
        {tuple((k, v) for k, v in cell.items() if k not in effort) for cell in cells}
        for cells in (whole, quick)
    ]
    assert places[1] < places[0]
    assert len(places[0]) == len(whole)


def test_every_size_of_table_2_can_be_enumerated():
    sizes = [
        math.comb(columns, size)
        for size, widths in kst_table2.GRID["exponential"].items()
        for columns in widths
    ]
    assert max(sizes) <= 10_000
    assert len(list(combinations(range(5), 2))) == len(all_supports(5, 2))
