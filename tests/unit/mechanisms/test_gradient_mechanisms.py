"""Mechanisms driven by gradients: where they lead, what they refuse, what they report."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from confide import (
    Category,
    Number,
    Schema,
    Target,
)
from confide.data import bound_rows
from confide.errors import (
    InvalidParameter,
    UnmetNeeds,
)
from confide.mechanisms import (
    AdmmObjectivePerturbation,
    DpAdmm,
    MomentumDescent,
    MpAdmm,
    ObjectivePerturbation,
    OutputPerturbation,
    ProximalSgd,
    SsAdmm,
)
from confide.mechanisms.gradient.batch_sums import Batches, ExactSum
from confide.mechanisms.gradient.calibration import GradientCalibration
from confide.mechanisms.published import PublishedMpAdmm
from confide.noise import Entropy, Gaussian
from confide.objectives import (
    L1,
    Box,
    Clipped,
    ElasticNet,
    GroupL2,
    Hinge,
    HuberizedHinge,
    L2Ball,
    Logistic,
    Mcp,
    Nonnegative,
    Nuclear,
    Objective,
    Poisson,
    Ridge,
    Scad,
    Squared,
)
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from confide.solvers import minimise
from support.quick_gradients import BUDGET, BUDGETS, QUICK

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


RICH = Zcdp(10**12)


FULL = Fraction(1)


MECHANISMS = {
    "ssadmm": SsAdmm(200, FULL, 0.02, rule="constant"),
    "mpadmm": MpAdmm(200, 0.02),
    "sgd": ProximalSgd(200, FULL, rule="constant"),
    "sgd with momentum": ProximalSgd(150, FULL, rule="constant", momentum=0.7),
    "dp-admm": DpAdmm(2, 300, 0.02),
    "momentum": MomentumDescent(300),
    "admm-objective": AdmmObjectivePerturbation(60, 10.0),
}


ROWS, WIDTH = 200, 4


def problem(name):
    """Return a loss, the bound of its target, and rows."""
    entropy = Entropy.seeded(17)
    features = entropy.normal(ROWS * WIDTH).reshape(ROWS, WIDTH) / 4
    features /= np.maximum(1, np.linalg.norm(features, axis=1))[:, None]
    margin = features @ np.array([3.0, -2.0, 0.4, 0.0])
    noise = entropy.normal(ROWS) / 4
    loss, bound, target = {
        "logistic": (Logistic(), None, np.sign(margin + noise)),
        "svm": (HuberizedHinge(), None, np.sign(margin + noise)),
        "squared": (Clipped(Squared(), 1.0), 1.0, np.clip(margin / 3 + noise, -1, 1)),
        "poisson": (
            Clipped(Poisson(), 5.0),
            5.0,
            np.clip(np.round(np.exp(margin / 2 + noise)), 0, 5),
        ),
    }[name]
    return loss, bound, bound_rows(features, target, 1.0, 0.0)


SHAPES = {
    "ridge": {},
    "uneven ridge": {"penalty": Ridge((1.0, 2.0, 8.0, 0.0))},
    "l1": {"penalty": L1((5.0, 5.0, 5.0, 5.0))},
    "elastic net": {"penalty": ElasticNet(8.0, 0.5)},
    "group": {"penalty": GroupL2(5.0, ((0, 1), (2, 3)))},
    "nuclear": {"penalty": Nuclear(5.0, (2, 2))},
    "box": {"constraint": Box(-0.3, 0.3)},
    "l1 in a ball": {"penalty": L1(3.0), "constraint": L2Ball(0.5)},
}


CASES = [("logistic", shape) for shape in SHAPES] + [
    (loss, "l1") for loss in ("svm", "squared", "poisson")
]


REST = [
    pytest.param(loss, shape, marks=pytest.mark.slow)
    for loss in ("svm", "squared", "poisson")
    for shape in SHAPES
    if (loss, shape) not in CASES
]


@pytest.mark.parametrize(("name", "shape"), [*CASES, *REST])
def test_without_noise_they_find_the_minimiser(name, shape):
    """Within 10⁻³, and with the zeros that it has."""
    loss, bound, rows = problem(name)
    target = Objective(loss, WIDTH, 1.0, 20.0, target_bound=bound, **SHAPES[shape])
    exact = minimise(target, rows, np.zeros(WIDTH), 1e-8).theta
    for title, usual in MECHANISMS.items():
        mechanism = usual
        if name == "poisson" and title not in ("admm-objective", "momentum"):
            mechanism = replace(usual, step=0.5)
        calibration = mechanism.calibrate(target, RICH, ADD)
        found = calibration.release([rows], Entropy.seeded(1)).value
        assert np.abs(found - exact).max() < 1e-3, title
        if target.nonsmooth_part is not None:
            assert ((found == 0) == (exact == 0)).all(), title


@pytest.mark.parametrize("kind", [SsAdmm, ProximalSgd])
@pytest.mark.parametrize("rule", ["total", "epoch", "sqrt", "constant"])
@pytest.mark.parametrize("averaged", [0, 0.5, 1])
def test_batches_lead_near_the_minimiser(kind, rule, averaged):
    """Batches of 10 rows and next to no noise: what remains is the batches' own."""
    loss, _, rows = problem("logistic")
    target = Objective(loss, WIDTH, 1.0, 20.0, L1(2.0))
    exact = minimise(target, rows, np.zeros(WIDTH), 1e-8).theta
    mechanism = kind(epochs=40, rate=Fraction(1, 20), rule=rule, averaged=averaged)
    calibration = mechanism.calibrate(target, BUDGET, REPLACE)
    calibration = replace(calibration, noise=Gaussian(1e-9))
    found = calibration.release([rows], Entropy.seeded(2)).value
    assert np.linalg.norm(found - exact) < 0.35 * np.linalg.norm(exact)


@pytest.mark.parametrize("penalty", [Scad(6.0), Mcp(6.0)], ids=["scad", "mcp"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_penalties_that_are_not_convex_run_and_give_zeros(penalty, name):
    """Large coefficients are not shrunk as by l1, small ones are 0."""
    loss, bound, rows = problem("squared")
    target = Objective(loss, WIDTH, 1.0, 4.0, penalty, target_bound=bound)
    mechanism = MECHANISMS[name]
    calibration = mechanism.calibrate(target, RICH, ADD)
    found = calibration.release([rows], Entropy.seeded(1)).value
    assert np.isfinite(found).all()
    assert found[3] == 0


def test_three_noises_need_a_convex_penalty():
    target = Objective(Logistic(), 3, 1.0, 1.0, Scad(1.0))
    with pytest.raises(UnmetNeeds, match="convex"):
        PublishedMpAdmm().calibrate(target, RICH, ADD)


def test_three_noises_lead_to_the_minimiser_too():
    loss, _, rows = problem("logistic")
    target = Objective(loss, WIDTH, 1.0, 4.0, L1(5.0))
    exact = minimise(target, rows, np.zeros(WIDTH), 1e-8).theta
    for mechanism in (
        PublishedMpAdmm(900, 0.02),
        PublishedMpAdmm(900, 0.02, 1.0, sensitivity="published"),
    ):
        calibration = mechanism.calibrate(target, RICH, REPLACE)
        found = calibration.release([rows], Entropy.seeded(1)).value
        assert np.abs(found - exact).max() < 1e-3


def test_x_has_no_zeros_and_z_has():
    loss, _, rows = problem("logistic")
    target = Objective(loss, WIDTH, 1.0, 4.0, L1(30.0))
    values = []
    for wish in (True, False):
        mechanism = MpAdmm(20, return_z=wish)
        calibration = mechanism.calibrate(target, Approx(1, 1e-6), ADD)
        values.append(calibration.release([rows], Entropy.seeded(3)).value)
    assert (values[0] == 0).any()
    assert (values[1] != 0).all()


def test_a_clip_takes_the_place_of_a_bound():
    target = Objective(Squared(), WIDTH, 1.0, 4.0)
    with pytest.raises(UnmetNeeds, match=r"clip gradients \(clip\)"):
        MpAdmm(step=0.5).calibrate(target, RICH, ADD)
    with pytest.raises(InvalidParameter, match="step must be given"):
        MpAdmm(clip=1.0).calibrate(target, RICH, ADD)
    with pytest.raises(UnmetNeeds, match=r"clip gradients \(clip\)"):
        MomentumDescent().calibrate(target, RICH, ADD)
    with pytest.raises(UnmetNeeds, match="target_bound"):
        MomentumDescent(clip=1.0).calibrate(target, RICH, ADD)
    target = replace(target, target_bound=1.0)
    _, _, rows = problem("squared")
    exact = minimise(
        Objective(Clipped(Squared(), 9.0), WIDTH, 1.0, 4.0, target_bound=1.0),
        rows,
        np.zeros(WIDTH),
        1e-8,
    ).theta
    mechanism = MpAdmm(600, 0.02, 0.9, clip=5.0)
    calibration = mechanism.calibrate(target, RICH, ADD)
    found = calibration.release([rows], Entropy.seeded(1)).value
    assert np.abs(found - exact).max() < 1e-3


@pytest.mark.parametrize(
    "mechanism",
    [MpAdmm(400, 0.02, 5.0, rule="sqrt", averaged=True), MomentumDescent(400)],
    ids=["mpadmm", "momentum"],
)
def test_the_plain_hinge_runs(mechanism):
    _, _, rows = problem("svm")
    target = Objective(Hinge(), WIDTH, 1.0, 4.0)
    calibration = mechanism.calibrate(target, RICH, ADD)
    found = calibration.release([rows], Entropy.seeded(1)).value
    narrow = replace(target, loss=HuberizedHinge(1e-3))
    exact = minimise(narrow, rows, np.zeros(WIDTH), 1e-2).theta

    def value(theta):
        (total,) = rows.sum(lambda b: (target.loss.value(b.margin(theta), b.target).sum(),))
        return total + 2 * theta @ theta

    assert value(found) < 1.02 * value(exact)


def test_tiny_noisy_counts_do_no_harm():
    """The count may come out negative; penalties that bend need a scale all the same."""
    rows = bound_rows(np.ones((2, 1)) / 2, np.ones(2), 1.0, 0.0)
    for mechanism in (
        MpAdmm(5, 0.01),
        ProximalSgd(5, FULL, 4.0),
        DpAdmm(2, 5, 0.01),
        MomentumDescent(5),
    ):
        target = Objective(Logistic(), 1, 1.0, 1.0, Scad(0.5, 2.1))
        calibration = mechanism.calibrate(target, Approx("0.01", 1e-6), ADD)
        for seed in range(5):
            found = calibration.release([rows], Entropy.seeded(seed)).value
            assert np.isfinite(found).all()


def dense_and_others():
    entropy = Entropy.seeded(8)
    features = np.round(entropy.normal(120).reshape(30, 4), 1) * (
        entropy.uniform(120).reshape(30, 4) < 0.4
    )
    target = entropy.signs(30)
    wide = np.hstack([features, np.zeros((30, 1100))])
    yield bound_rows(features, target, 1.0, 0.3), 4
    yield bound_rows(sparse.csr_array(features), target, 1.0, 0.3), 4
    yield bound_rows(sparse.csr_array(wide), target, 1.0, 0.3), 1104
    yield bound_rows(wide, target, 1.0, 0.3), 1104


def test_batches_are_the_rows_cut_to_their_unit():
    places = np.array([5, 29, 0, 5])
    exact = ExactSum.of(Objective(Logistic(), 5, math.hypot(1, 0.3)), 1.0)
    for rows, width in dense_and_others():
        if not Batches.afford(rows):
            assert width > 1000
            continue
        batches = Batches.of(rows, exact, 2)
        block = batches.pick(places)
        off = rows.toarray()[places] - block.features.array
        assert np.abs(off).max() < exact.row_unit
        assert block.target.tolist() == rows.target[places].tolist()
        assert repr(batches) == "<private rows>"


@pytest.mark.parametrize("levels", [4, 1200])
@pytest.mark.parametrize("name", ["ssadmm", "sgd", "mpadmm", "dp-admm", "momentum"])
def test_coded_categories_lead_to_the_same_release(name, levels):
    """Few levels are gathered from a dense copy, many from the codes."""
    town = Category("town", levels=tuple(f"t{i}" for i in range(levels)))
    columns = (town, Number("age", 0, 100))
    schema = Schema(columns=columns, target=Target("y", labels=("no", "yes")))
    entropy = Entropy.seeded(6)
    places = entropy.below(levels, 50)
    frame = pd.DataFrame(
        {"town": [f"t{i}" for i in places], "age": 100 * entropy.uniform(50), "y": "no"}
    )
    target = entropy.signs(50)
    objective = Objective(Logistic(), levels + 2, math.hypot(1, 0.3), 1.0)
    found = []
    for features in (schema.compact_design(frame), schema.design(frame)):
        rows = bound_rows(features, target, 1.0, 0.3)
        calibration = QUICK[name].calibrate(objective, BUDGET, ADD)
        found.append(calibration.release([rows], Entropy.seeded(1)).value)
    assert found[0] == pytest.approx(found[1])


def test_who_takes_the_number_of_rows_for_public():
    target = Objective(Logistic(), 3, l2=30.0)
    for mechanism in (*QUICK.values(), ObjectivePerturbation(), OutputPerturbation()):
        for relation in Neighbours:
            found = mechanism.calibrate(target, BUDGET, relation)
            gradients = isinstance(found, GradientCalibration)
            expected = gradients and relation is REPLACE
            assert found.takes_count_as_public is expected


def test_pure_budgets_and_sampled_zcdp_are_refused():
    target = Objective(Logistic(), 3)
    for name in ("ssadmm", "mpadmm", "sgd", "dp-admm", "momentum"):
        with pytest.raises(InvalidParameter, match="Gaussian"):
            QUICK[name].calibrate(target, Pure(1), ADD)
    with pytest.raises(InvalidParameter, match="set rate to 1"):
        QUICK["sgd"].calibrate(target, Zcdp(1), ADD)


WRONG = {
    "rate 0": lambda: SsAdmm(rate=Fraction(0)),
    "rate 2": lambda: ProximalSgd(rate=Fraction(2)),
    "no steps": lambda: MpAdmm(steps=0),
    "half a step": lambda: DpAdmm(steps=2.5),
    "endless": lambda: SsAdmm(epochs=math.inf),
    "no clip": lambda: MpAdmm(clip=0.0),
    "no ridge": lambda: DpAdmm(ridge=0.0),
    "whole share": lambda: SsAdmm(count_share=Fraction(1)),
    "rho": lambda: DpAdmm(rho=0.0),
    "step": lambda: MpAdmm(step=-1.0),
    "rule": lambda: SsAdmm(rule="fast"),
    "a step beside a total": lambda: MpAdmm(step=1.0, rule="total"),
    "averaged": lambda: MomentumDescent(averaged=1.5),
    "averaged parties": lambda: DpAdmm(averaged=-0.1),
    "no ridge for momentum": lambda: MomentumDescent(ridge=0.0),
    "a third of a step": lambda: MomentumDescent(steps=1 / 3),
    "momentum": lambda: ProximalSgd(momentum=1.0),
    "parties": lambda: DpAdmm(parties=0),
    "turns": lambda: AdmmObjectivePerturbation(turns=0),
    "sensitivity": lambda: PublishedMpAdmm(sensitivity="guessed"),
    "published, without a step": lambda: PublishedMpAdmm(sensitivity="published"),
    "admm rho": lambda: AdmmObjectivePerturbation(rho=-1.0),
}


@pytest.mark.parametrize("name", WRONG)
def test_settings_that_make_no_sense_are_refused(name):
    with pytest.raises(InvalidParameter):
        WRONG[name]()


def test_constraints_are_kept():
    loss, _, rows = problem("logistic")
    target = Objective(loss, WIDTH, 1.0, 4.0, constraint=Nonnegative())
    for name, mechanism in QUICK.items():
        calibration = mechanism.calibrate(target, BUDGETS[name], ADD)
        found = calibration.release([rows], Entropy.seeded(1)).value
        assert (found >= 0).all(), name
