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
    Ledger,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Number,
    PoissonRegression,
    Schema,
    Target,
    load_model,
)
from confide.data import bound_rows
from confide.errors import (
    BudgetExceeded,
    ConfideError,
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
from confide.mechanisms.gradient.calibration import GradientCalibration
from confide.mechanisms.gradient.noisy_gradient import Batches
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
        found = mechanism.release(calibration, [rows], Entropy.seeded(1)).value
        assert np.abs(found - exact).max() < 1e-3, title
        if target.kink is not None:
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
    found = mechanism.release(calibration, [rows], Entropy.seeded(2)).value
    assert np.linalg.norm(found - exact) < 0.35 * np.linalg.norm(exact)


@pytest.mark.parametrize("penalty", [Scad(6.0), Mcp(6.0)], ids=["scad", "mcp"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_penalties_that_are_not_convex_run_and_give_zeros(penalty, name):
    """Large coefficients are not shrunk as by l1, small ones are 0."""
    loss, bound, rows = problem("squared")
    target = Objective(loss, WIDTH, 1.0, 4.0, penalty, target_bound=bound)
    mechanism = MECHANISMS[name]
    calibration = mechanism.calibrate(target, RICH, ADD)
    found = mechanism.release(calibration, [rows], Entropy.seeded(1)).value
    assert np.isfinite(found).all()
    assert found[3] == 0


def test_three_noises_need_a_convex_penalty():
    target = Objective(Logistic(), 3, 1.0, 1.0, Scad(1.0))
    with pytest.raises(UnmetNeeds, match="convex"):
        MpAdmm(noise="all").calibrate(target, RICH, ADD)


def test_three_noises_lead_to_the_minimiser_too():
    loss, _, rows = problem("logistic")
    target = Objective(loss, WIDTH, 1.0, 4.0, L1(5.0))
    exact = minimise(target, rows, np.zeros(WIDTH), 1e-8).theta
    for mechanism in (
        MpAdmm(900, 0.02, noise="all"),
        MpAdmm(900, 0.02, 1.0, noise="all", sensitivity="published"),
    ):
        calibration = mechanism.calibrate(target, RICH, REPLACE)
        found = mechanism.release(calibration, [rows], Entropy.seeded(1)).value
        assert np.abs(found - exact).max() < 1e-3


def test_x_has_no_zeros_and_z_has():
    loss, _, rows = problem("logistic")
    target = Objective(loss, WIDTH, 1.0, 4.0, L1(30.0))
    values = []
    for wish in (True, False):
        mechanism = MpAdmm(20, return_z=wish)
        calibration = mechanism.calibrate(target, Approx(1, 1e-6), ADD)
        values.append(mechanism.release(calibration, [rows], Entropy.seeded(3)).value)
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
    found = mechanism.release(calibration, [rows], Entropy.seeded(1)).value
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
    found = mechanism.release(calibration, [rows], Entropy.seeded(1)).value
    exact = minimise(target, rows, np.zeros(WIDTH), 1e-2).theta

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
            found = mechanism.release(calibration, [rows], Entropy.seeded(seed)).value
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


def test_batches_are_the_same_rows_however_they_are_kept():
    places = np.array([5, 29, 0, 5])
    weights = np.array([1.0, -2.0, 0.5, 3.0])
    for rows, width in dense_and_others():
        theta = np.zeros(width + 1)
        theta[:4], theta[-1] = [1.0, -1.0, 0.5, 2.0], 0.7
        block = Batches.of(rows, 2).pick(places)
        (margins,) = rows.sum(lambda b, t=theta: (np.diag(b.margin(t)),))
        assert block.margin(theta) == pytest.approx(np.diag(margins)[places])
        pulled = block.weighted_sum(weights)
        plain = rows.take(places)
        (expected,) = plain.sum(lambda b: (b.weighted_sum(weights),))
        assert pulled == pytest.approx(expected)
        assert block.target.tolist() == rows.target[places].tolist()
        assert repr(Batches.of(rows, 2)) == "<private rows>"


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
        found.append(QUICK[name].release(calibration, [rows], Entropy.seeded(1)).value)
    assert found[0] == pytest.approx(found[1])


X = np.abs(Entropy.seeded(4).normal(900).reshape(300, 3)) / 3
SIGNS = np.where(X[:, 0] > X[:, 1], 1, 0)
NAMES = ["ssadmm", "mpadmm", "momentum", "sgd", "dp-admm", "admm-objective"]
QUICK = {
    "momentum": MomentumDescent(10),
    "ssadmm": SsAdmm(2, Fraction(1, 10)),
    "sgd": ProximalSgd(2, Fraction(1, 10)),
    "mpadmm": MpAdmm(10),
    "dp-admm": DpAdmm(2, 10),
    "admm-objective": AdmmObjectivePerturbation(2),
}
BUDGET = Approx(2, 1e-5)
BUDGETS = dict.fromkeys(NAMES, BUDGET) | {"admm-objective": Pure(2)}
MODELS = {
    "logistic": (LogisticRegression, SIGNS, {}),
    "svm": (LinearSVC, SIGNS, {}),
    "linear": (LinearRegression, X[:, 0] - X[:, 2], {"target_bound": 1.0}),
    "poisson": (
        PoissonRegression,
        np.round(3 * X[:, 0]),
        {"target_bound": 4.0, "slope_bound": 4.0},
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator_takes_them(name, tmp_path):
    """A seed repeats a fit; a saved model has the same coefficients and events."""
    for title, (kind, target, bounds) in MODELS.items():
        model = kind(BUDGETS[name], mechanism=QUICK[name], l1=2.0, random_state=5, **bounds)
        first = model.fit(X, target).release_
        again = model.fit(X, target).release_
        assert np.array_equal(first.value, again.value), title
        model.save(tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        assert loaded.release_.events == first.events
        assert loaded.mechanism == QUICK[name]
        assert np.array_equal(loaded.coef_, model.coef_)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_enough(name):
    neighbours = "replace-one" if name == "dp-admm" else None
    wide = LogisticRegression(BUDGETS[name], mechanism=name, neighbours=neighbours)
    if name in ("ssadmm", "sgd"):
        wide.set_params(mechanism=QUICK[name])
    assert wide.fit(X, SIGNS).release_.guarantee.private


@pytest.mark.parametrize("name", NAMES)
def test_one_against_the_rest(name):
    target = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.3)
    settings = {"mechanism": QUICK[name], "random_state": 1}
    model = LogisticRegression(BUDGETS[name], classes=[0, 1, 2], **settings)
    model.fit(X, target)
    assert model.coef_.shape == (3, 3)
    single = LogisticRegression(BUDGETS[name], **settings).fit(X, SIGNS)
    assert model.release_.noise_scale > 1.05 * single.release_.noise_scale


def test_the_count_is_reported_where_it_is_bought():
    for neighbours, counted in (("add-remove", True), ("replace-one", False)):
        model = LogisticRegression(BUDGET, mechanism=QUICK["mpadmm"], neighbours=neighbours)
        release = model.fit(X, SIGNS).release_
        assert [r.added_to == "number of rows" for r in release.noise[1:]] == [
            True
        ] * counted
        assert len(release.events) == 1 + counted


@pytest.mark.parametrize("name", ["ssadmm", "mpadmm", "momentum", "sgd", "dp-admm"])
def test_a_private_number_of_targets_is_not_taken_for_public(name, tmp_path):
    """The rule of the schema decides, whether or not a target is in fact missing."""
    target = Target("y", labels=("no", "yes"), missing="drop")
    schema = Schema((Number("age", 0, 100),), target)
    whole = pd.DataFrame({"age": np.arange(80.0), "y": ["no", "yes"] * 40})
    holes = whole.assign(y=[None, *whole["y"][1:]])
    book = Ledger.open(tmp_path / "book.db").for_dataset("people")
    book.set_limit("people", Approx(20, 1e-3), neighbours="replace-one")
    settings = {"mechanism": QUICK[name], "schema": schema, "ledger": book}
    for frame in (whole, holes):
        with pytest.raises(InvalidParameter, match="drop such rows before the fit"):
            LogisticRegression(BUDGET, neighbours="replace-one", **settings).fit(frame)
        assert book.account("people").charges == 0
    LogisticRegression(BUDGET, neighbours="add-remove", **settings).fit(holes)
    refusing = replace(schema, target=replace(target, missing="refuse"))
    settings["schema"] = refusing
    LogisticRegression(BUDGET, neighbours="replace-one", **settings).fit(whole)
    assert book.account("people").charges == 2


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


def test_too_small_a_batch_is_refused_before_anything_is_spent():
    model = LogisticRegression(
        BUDGET,
        mechanism=SsAdmm(Fraction(1, 40), Fraction(1, 400)),
        neighbours="replace-one",
    )
    with pytest.raises(InvalidParameter, match="one row of the table"):
        model.fit(X, SIGNS)


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
    "noise": lambda: MpAdmm(noise="y"),
    "sensitivity": lambda: MpAdmm(sensitivity="guessed"),
    "published, for x": lambda: MpAdmm(sensitivity="published"),
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
        found = mechanism.release(calibration, [rows], Entropy.seeded(1)).value
        assert (found >= 0).all(), name


PENALTIES = {
    "l1": L1((2.0, 2.0, 2.0, 0.0)),
    "elastic net": ElasticNet(3.0, 0.5),
    "group": GroupL2(2.0, ((0, 2), (1,))),
    "scad": Scad(2.0),
    "mcp": Mcp(2.0),
    "nuclear": Nuclear(2.0, (2, 2)),
    "ridge": Ridge(3.0),
}


@pytest.mark.parametrize("name", PENALTIES)
def test_estimators_take_every_penalty(name, tmp_path):
    """The intercept is the last coordinate; a saved model knows its penalty."""
    penalty = PENALTIES[name]
    for kind, target, bounds in MODELS.values():
        model = kind(BUDGET, mechanism=QUICK["mpadmm"], penalty=penalty, **bounds)
        model.fit(X, target).save(tmp_path / "model.json")
        assert load_model(tmp_path / "model.json").penalty == penalty
        assert ("Selected" in str(model.summary())) is (name != "ridge")


def test_a_penalty_decides_the_fit():
    strong = LogisticRegression(BUDGET, mechanism="mpadmm", penalty=L1((1e4,) * 3 + (0.0,)))
    strong.fit(X, SIGNS)
    assert strong.selected_ == ()
    assert strong.intercept_[0] != 0


WRONG_PENALTIES = {
    "no penalty": ({"penalty": 2.0}, "None or one of"),
    "two of them": ({"penalty": Scad(1.0), "l1": 1.0}, "next to a penalty"),
    "too many weights": ({"penalty": L1((1.0,) * 9)}, "about 4 coordinates"),
    "too far": ({"penalty": GroupL2(1.0, ((0, 7),))}, "about 4 coordinates"),
    "too large": ({"penalty": Nuclear(1.0, (3, 3))}, "about 4 coordinates"),
}


@pytest.mark.parametrize("name", WRONG_PENALTIES)
def test_penalties_that_do_not_fit_are_refused(name):
    settings, complaint = WRONG_PENALTIES[name]
    with pytest.raises(InvalidParameter, match=complaint):
        LogisticRegression(BUDGET, mechanism=QUICK["mpadmm"], **settings).fit(X, SIGNS)


def test_a_penalty_that_is_not_convex_needs_gradients():
    with pytest.raises(UnmetNeeds, match="convex"):
        LogisticRegression(BUDGET, penalty=Scad(1.0)).fit(X, SIGNS)


@pytest.mark.parametrize("name", ["ssadmm", "mpadmm", "momentum"])
def test_a_ledger_pays_for_steps(name, tmp_path):
    """Steps and count are charged together, and a second fit is refused."""
    book = Ledger.open(tmp_path / "book.db").for_dataset("people")
    book.set_limit("people", BUDGET)
    model = LogisticRegression(BUDGET, mechanism=QUICK[name], ledger=book, classes=[0, 1])
    model.fit(X, SIGNS)
    assert book.account("people").charges == 1
    with pytest.raises(BudgetExceeded):
        model.fit(X, SIGNS)


def test_the_refuted_variant_promises_nothing_and_no_ledger_pays_for_it(tmp_path):
    refuted = MpAdmm(
        5, step=4.0, noise="all", sensitivity="published", accept_unproved=True
    )
    model = LogisticRegression(BUDGET, mechanism=refuted, classes=[0, 1]).fit(X, SIGNS)
    assert model.release_.guarantee.budget is None
    assert "REFUTED" in str(model.summary())
    book = Ledger.open(tmp_path / "book.db").for_dataset("people")
    book.set_limit("people", BUDGET)
    with pytest.raises(ConfideError, match="REFUTED"):
        model.set_params(ledger=book).fit(X, SIGNS)
    assert book.account("people").charges == 0
