"""NAPP-ERM as published: weights, limit, augmented rows, statuses, retrieval, bounds."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from confide import LogisticRegression
from confide.data.rows.in_memory import bound_rows
from confide.errors import InvalidParameter, PrivacyLeak, Unproved
from confide.ledger import Ledger
from confide.mechanisms import MECHANISMS, ObjectivePerturbation
from confide.mechanisms.published import Napp, NappStopping, NappTarget
from confide.mechanisms.published.napp.iterations import ExactStep, follow, settled
from confide.mechanisms.published.napp.rows import (
    AugmentedStep,
    Shares,
    estimator_for,
    recycle,
    retrievable,
)
from confide.mechanisms.published.napp.weights import PowerPenalty, Weighting
from confide.noise import Entropy, generator
from confide.objectives import (
    L1,
    Box,
    Clipped,
    L2Ball,
    Logistic,
    Objective,
    Poisson,
    Ridge,
    Scad,
    SmoothedHinge,
    Squared,
)
from confide.privacy import Approx, Neighbours, Pure, Status, Zcdp
from confide.solvers import minimise
from confide.studies.napp.bounds import excess_risk, noise_length, sample_complexity
from confide.testing import check_mechanism

ADD = Neighbours.ADD_REMOVE
TARGETS = {
    "ridge": NappTarget("ridge", 0.4),
    "lasso": NappTarget("lasso", 0.4),
    "bridge": NappTarget("bridge", 0.4, gamma=0.5),
    "elastic-net": NappTarget("elastic-net", 0.4, kappa=0.3),
    "scad": NappTarget("scad", 0.4),
    "l0": NappTarget("l0", 0.4),
}
LOSSES = {
    "squared": (Squared(), 1.0),
    "poisson": (Poisson(), 5.0),
    "logistic": (Logistic(), None),
    "smoothed-hinge": (SmoothedHinge(), None),
}


def problem(name, count=300, size=3, seed=0):
    loss, bound = LOSSES[name]
    draw = generator(seed)
    x = draw.uniform(-0.5, 0.5, (count, size))
    margin = x @ np.linspace(2, -1, size)
    if name == "squared":
        y = np.clip(margin + 0.1 * draw.normal(size=count), -1, 1)
    elif name == "poisson":
        y = np.minimum(draw.poisson(np.exp(margin)), 5).astype(float)
    else:
        y = np.where(draw.random(count) < 1 / (1 + np.exp(-margin)), 1.0, -1.0)
    ball = None if bound is None else L2Ball(4.0)
    objective = Objective(loss, size, 1.0, 0.5, constraint=ball, target_bound=bound)
    return objective, bound_rows(x, y, 1.0, 0.0)


def accepted(**choices):
    return Napp(**choices, accept_unproved=True)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("moor", [True, False])
def test_weights_start_and_go_on_as_table_2_says(name, moor):
    theta, floor, target = np.array([0.05, -0.3, 3.0]), 0.25, TARGETS[name]
    weighting = Weighting(target, floor, moor)
    size, strength = np.abs(theta), target.strength
    raw = {
        "ridge": np.full(3, strength),
        "lasso": strength / size,
        "bridge": strength / np.sqrt(size),
        "elastic-net": strength / size + strength * 0.3,
        "scad": [Scad(strength).value(np.array([s])) / s**2 for s in size],
        "l0": strength / size**2,
    }[name]
    start = {"ridge": strength, "elastic-net": strength * 0.3}.get(name, 0.0)
    if moor or name == "ridge":
        expected, first = np.maximum(raw, floor), max(start, floor)
    else:
        expected, first = np.asarray(raw) + floor, start + floor
    assert weighting.after(theta) == pytest.approx(expected)
    assert weighting.first(3) == pytest.approx(np.full(3, first))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_limit_solves_every_reweighted_problem(loss):
    objective, rows = problem(loss)
    linear, weights = np.array([1.0, -2.0, 0.5]), np.array([0.3, 5.0, 1e3])
    theta = ExactStep(objective, rows).solve(weights, linear, np.zeros(3))
    same = replace(objective, l2=0.0, penalty=Ridge(tuple(2 * weights)))
    assert theta == pytest.approx(minimise(same, rows, linear, 1e-9).theta, abs=1e-7)


@pytest.mark.parametrize("constraint", [L2Ball(0.5), Box(-0.4, 0.4)], ids=repr)
def test_a_binding_constraint_is_kept(constraint):
    objective, rows = problem("squared")
    tight, weights = replace(objective, constraint=constraint), np.full(3, 0.1)
    theta = ExactStep(tight, rows).solve(weights, np.zeros(3), np.zeros(3))
    same = replace(tight, l2=0.2)
    assert theta == pytest.approx(minimise(same, rows, np.zeros(3), 1e-9).theta, abs=1e-6)


@pytest.mark.parametrize("name", ["ridge", "lasso", "bridge", "elastic-net"])
def test_without_moor_the_iterations_end_at_the_convex_fixed_point(name):
    objective, rows = problem("logistic")
    linear, floor, target = np.array([1.0, -2.0, 0.5]), 0.25, TARGETS[name]
    step = ExactStep(objective, rows)
    path = follow(step, Weighting(target, floor, moor=False), linear, NappStopping(3000))
    whole = replace(objective, l2=target.fixed_ridge(floor), penalty=target.fixed_point())
    assert path.theta == pytest.approx(minimise(whole, rows, linear, 1e-9).theta, abs=1e-6)


@pytest.mark.parametrize("step", [1e-3, 0.7, 40.0])
def test_the_power_penalty_has_an_exact_proximal_map(step):
    penalty = PowerPenalty(0.8, 1.5)
    theta = np.array([0.0, 1e-9, -0.02, 0.5, -3.0, 1e4])
    u = penalty.prox(theta, step)
    residual = u + step * 0.8 * 1.5 * np.sign(u) * np.abs(u) ** 0.5 - theta
    assert np.all(np.abs(residual) <= 1e-12 * (1 + np.abs(theta)))


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_augmented_rows_approach_the_limit_at_rate_one_half(loss):
    objective, rows = problem(loss)
    objective = replace(objective, constraint=None)
    linear, weights = np.array([1.0, -2.0, 0.5]), np.array([3.0, 6.0, 12.0])
    limit = ExactStep(objective, rows).solve(weights, linear, np.zeros(3))
    counts, errors = [400, 1600, 6400, 25_600], []
    for count in counts:
        found = []
        for seed in range(12):
            step = AugmentedStep(objective, rows, count, None, Entropy.seeded(seed))
            found.append(step.solve(weights, linear, np.zeros(3)) - limit)
        errors.append(np.sqrt(np.mean(np.square(found))))
    rate = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert -0.72 < rate < -0.35, (loss, rate, errors)
    assert errors[-1] < 0.02


def test_a_squared_hinge_solver_sees_the_same_weights():
    objective, rows = problem("smoothed-hinge")
    svm = LinearSVC(C=1e3, loss="squared_hinge", fit_intercept=False, dual=False, tol=1e-8)
    step = AugmentedStep(objective, rows, 8000, svm, Entropy.seeded(1))
    linear, weights = np.array([1.0, -2.0, 0.5]), np.full(3, 300.0)
    theta = step.solve(weights, linear, np.zeros(3))
    limit = ExactStep(objective, rows).solve(weights, linear, np.zeros(3))
    assert theta == pytest.approx(limit, abs=0.02)


def test_what_cannot_be_augmented_is_refused():
    napp = accepted(augmented=1002)
    with pytest.raises(InvalidParameter, match="multiple of 4"):
        napp.calibrate(Objective(Logistic(), 3), Pure(1), ADD)
    clipped = Objective(Clipped(Squared(), 1.0), 3, target_bound=1.0)
    with pytest.raises(InvalidParameter, match="None unless the loss is squared"):
        accepted(augmented=1000).calibrate(clipped, Pure(1), ADD)
    assert estimator_for(SmoothedHinge()) is None


def test_augmented_release_is_near_the_limit():
    objective, rows = problem("logistic", count=400)
    values = []
    for count in (None, 40_000):
        napp = accepted(augmented=count, stopping=NappStopping(4))
        calibration = napp.calibrate(objective, Pure(1), ADD)
        values.append(calibration.release([rows], Entropy.seeded(3)).value)
    assert values[1] == pytest.approx(values[0], abs=0.1)


VARIANTS = {
    "moor": ({}, Status.REFUTED),
    "selection": ({"selection": True, "moor": False}, Status.REFUTED),
    "selection plus": ({"selection": True, "truncation": 0.0}, Status.REFUTED),
    "return": ({"retrieval": "return", "moor": False}, Status.REFUTED),
    "recycle": ({"retrieval": "recycle"}, Status.REFUTED),
    "steps": ({"moor": False}, Status.CLAIMED),
    "augmented": ({"moor": False, "augmented": 1000}, Status.CLAIMED),
    "not convex": ({"moor": False, "target": NappTarget("scad")}, Status.CLAIMED),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_unproved_variants_run_only_when_accepted(name):
    choices, status = VARIANTS[name]
    with pytest.raises(Unproved, match="AdaptiveObjectivePerturbation") as caught:
        Napp(**choices)
    assert str(status) in str(caught.value)
    napp = accepted(**choices)
    assert napp.status is status
    assert napp.verdict.why.count(". ") + 1 == 3
    objective, rows = problem("logistic")
    calibration = napp.calibrate(replace(objective, l2=None), Pure(1), ADD)
    release = calibration.release([rows], Entropy.system())
    assert release.value.shape == (3,)
    assert release.guarantee.status is status
    assert (release.guarantee.budget is None) == (status is Status.REFUTED)
    assert (not release.events) == (status is Status.REFUTED)
    assert release.guarantee.theorem.startswith("napp.md#")


@pytest.mark.parametrize("name", ["ridge", "lasso", "bridge", "elastic-net"])
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-6)], ids=repr)
def test_one_convex_problem_is_proved(name, budget):
    napp = Napp(TARGETS[name], moor=False, solver="convex")
    assert napp.status is Status.PROVED
    objective, rows = problem("logistic")
    calibration = napp.calibrate(replace(objective, l2=None), budget, ADD)
    assert calibration.theorem in napp.theorems
    assert calibration.guarantee.budget == budget
    floor = 0.25 / (0.99 * float(budget.epsilon))
    assert calibration.objective.strong_convexity >= 2 * floor
    release = calibration.release([rows], Entropy.seeded(1))
    same = ObjectivePerturbation("kst").release(calibration, [rows], Entropy.seeded(1))
    assert np.array_equal(release.value, same.value)
    if name == "lasso":
        assert calibration.objective.penalty == L1(0.8)


def test_one_convex_problem_keeps_the_contract_of_mechanisms():
    check_mechanism(Napp(NappTarget("ridge"), solver="convex"))


def test_what_is_not_one_convex_problem_cannot_be_solved_as_one():
    for choices in (
        {"moor": True},
        {"moor": False, "target": NappTarget("bridge", gamma=1.5)},
        {"moor": False, "selection": True},
        {"moor": False, "share": "0.4"},
    ):
        with pytest.raises(InvalidParameter, match="one convex problem"):
            Napp(**choices, solver="convex")


def test_a_refuted_release_is_not_paid_for(tmp_path):
    assert "napp" not in MECHANISMS
    ledger = Ledger.open(tmp_path / "book.db").for_dataset("people")
    ledger.set_limit("people", Pure(10))
    entries = len(ledger.entries("people"))
    _, rows = problem("logistic")
    model = LogisticRegression(
        budget=Pure(1), row_norm=1.0, mechanism=accepted(), ledger=ledger, random_state=1
    )
    with pytest.raises(PrivacyLeak, match="REFUTED"):
        model.fit(rows.features.toarray(), rows.target)
    assert len(ledger.entries("people")) == entries
    free = LogisticRegression(
        budget=Pure(1), row_norm=1.0, mechanism=accepted(), random_state=1
    ).fit(rows.features.toarray(), rows.target)
    assert free.release_.guarantee.budget is None


@pytest.mark.parametrize(
    ("budget", "neighbours"), [(Zcdp(0.1), ADD), (Pure(1), Neighbours.REPLACE_ONE)]
)
def test_what_the_paper_does_not_cover_is_refused(budget, neighbours):
    with pytest.raises(InvalidParameter):
        accepted().calibrate(Objective(Logistic(), 3), budget, neighbours)


def test_the_published_noise_and_floor():
    objective = Objective(Logistic(), 3)
    calibration = accepted().calibrate(objective, Approx(1, 1e-3), ADD)
    assert calibration.objective.l2 == pytest.approx(0.5)
    assert calibration.noise.scale**2 == pytest.approx(8 * (0.5 + math.log(1e3)))
    with pytest.raises(InvalidParameter, match="twice"):
        accepted().calibrate(objective.with_l2(0.4), Pure(1), ADD)
    three = accepted().calibrate(objective, Pure(1), ADD, copies=3)
    assert three.noise.scale == pytest.approx(6.0)
    assert three.objective.l2 == pytest.approx(1.5)


def test_a_trace_is_for_seeded_runs_and_shows_convergence():
    objective, rows = problem("logistic")
    napp = accepted(stopping=NappStopping(200, change=1e-6))
    calibration = napp.calibrate(objective, Pure(1), ADD)
    path = napp.trace(calibration, rows, Entropy.seeded(4))
    assert len(path.losses) == len(path.thetas) == path.iterations < 200
    assert abs(path.losses[-1] - path.losses[-2]) <= 1e-6 * abs(path.losses[-2])
    release = calibration.release([rows], Entropy.seeded(4))
    assert np.array_equal(settled(path, 1e-8), release.value)
    with pytest.raises(PrivacyLeak):
        napp.trace(calibration, rows, Entropy.system())


def test_retrieval_follows_the_repaired_formula():
    assert retrievable(0.5, 0.25, np.array([0.25, 9.0])) == 0
    assert retrievable(0.5, 0.25, np.array([0.5, 9.0])) == pytest.approx(0.25)
    objective, rows = problem("logistic")
    step, weighting = ExactStep(objective, rows), Weighting(NappTarget("lasso", 5.0), 0.25)
    linear, shares = np.array([8.0, -9.0, 5.0]), Shares(0.5, 0.5)
    plain, back = recycle(step, weighting, linear, NappStopping(), shares, rounds=0)
    assert 0 < back < 0.5
    totals = [
        recycle(step, weighting, linear, NappStopping(), shares, rounds=rounds)[1]
        for rounds in (1, 2, 3)
    ]
    assert totals[0] == pytest.approx(back)
    assert totals[0] <= totals[1] <= totals[2] <= 0.5
    path, _ = recycle(step, weighting, linear, NappStopping(), shares, rounds=1)
    assert path.weights.min() >= plain.weights.min() * (1 - 1e-9)


def test_a_fit_of_the_published_size_takes_few_solves(monkeypatch):
    """What a fit costs is counted in solutions of a problem, not in seconds."""
    draw = generator(0)
    x = draw.uniform(-0.25, 0.25, (1000, 16))
    chance = 1 / (1 + np.exp(-x @ np.r_[np.linspace(4, 3.5, 8), np.zeros(8)]))
    rows = bound_rows(x, np.where(draw.random(1000) < chance, 1.0, -1.0), 1.0, 0.0)
    napp = accepted(target=NappTarget("lasso", 1.0))
    calibration = napp.calibrate(Objective(Logistic(), 16), Pure(1), ADD)
    solved = []
    plain = ExactStep.solve

    def counted(self, *given):
        solved.append(1)
        return plain(self, *given)

    monkeypatch.setattr(ExactStep, "solve", counted)
    calibration.release([rows], Entropy.seeded(0))
    assert 1 <= len(solved) <= 100


@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-3)], ids=repr)
def test_theorem_8_holds_in_a_simulation_and_is_loose(budget):
    objective, rows = problem("logistic", count=500)
    napp = accepted(target=NappTarget("ridge", 2.0), stopping=NappStopping(1))
    calibration = napp.calibrate(replace(objective, l2=None), budget, ADD)
    step = ExactStep(calibration.objective, rows)
    weights = np.full(3, 2.0)

    def risk(theta):
        return (step.loss(theta) + float(weights @ theta**2)) / 500

    best = risk(step.solve(weights, np.zeros(3), np.zeros(3)))
    bound = excess_risk(calibration.objective, budget, 500, least_weight=2.0, failure=0.1)
    length = noise_length(calibration.objective, budget, 0.1)
    found, longer = [], 0
    entropy = Entropy.seeded(2)
    for _ in range(300):
        noise = calibration.noise.draw(3, entropy)
        longer += np.linalg.norm(noise) > length
        found.append(risk(step.solve(weights, noise, np.zeros(3))) - best)
    assert longer / 300 <= 0.1
    assert np.mean(np.array(found) <= bound) >= 0.9
    assert np.quantile(found, 0.9) > bound / 1000


def test_theorem_10_asks_for_more_rows_than_a_simulation_needs():
    objective, budget, weight = Objective(Logistic(), 3), Pure(1), 200.0
    truth = np.linspace(2, -1, 3)
    rows = sample_complexity(
        objective,
        budget,
        0.05,
        least_weight=weight,
        penalty=weight * float(truth @ truth),
        constant=1.0,
    )
    assert 1000 < rows < 1e6
    _, sample = problem("logistic", count=math.ceil(rows), seed=1)
    _, fresh = problem("logistic", count=100_000, seed=2)
    step, judge = ExactStep(objective, sample), ExactStep(objective, fresh)
    noise = Entropy.seeded(3)
    napp = accepted(target=NappTarget("ridge", weight), stopping=NappStopping(1))
    calibration = napp.calibrate(objective, budget, ADD)
    excess = []
    for _ in range(20):
        linear = calibration.noise.draw(3, noise)
        theta = step.solve(np.full(3, weight), linear, np.zeros(3))
        excess.append((judge.loss(theta) - judge.loss(truth)) / 100_000)
    assert np.mean(np.array(excess) <= 0.05) >= 0.95
    tiny = sample_complexity(
        objective, budget, 1e-4, least_weight=1.0, penalty=1.0, constant=1.0
    )
    assert tiny == math.inf
