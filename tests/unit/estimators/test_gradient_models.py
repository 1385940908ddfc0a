"""Estimators with mechanisms that are driven by gradients, penalties and ledgers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from confide import (
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
from confide.errors import (
    BudgetExceeded,
    ConfideError,
    InvalidParameter,
    UnmetNeeds,
)
from confide.mechanisms import (
    SsAdmm,
)
from confide.mechanisms.published import PublishedMpAdmm
from confide.noise import Entropy
from confide.objectives import (
    L1,
    ElasticNet,
    GroupL2,
    Mcp,
    Nuclear,
    Ridge,
    Scad,
)
from confide.privacy import Approx
from support.quick_gradients import BUDGET, BUDGETS, NAMES, QUICK

X = np.abs(Entropy.seeded(4).normal(900).reshape(300, 3)) / 3


SIGNS = np.where(X[:, 0] > X[:, 1], 1, 0)


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
        model = kind(
            BUDGETS[name],
            mechanism=QUICK[name],
            l1=2.0,
            random_state=5,
            row_norm=1.0,
            **bounds,
        )
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
    wide = LogisticRegression(
        BUDGETS[name], mechanism=name, neighbours=neighbours, row_norm=1.0
    )
    if name in ("ssadmm", "sgd"):
        wide.set_params(mechanism=QUICK[name])
    assert wide.fit(X, SIGNS).release_.guarantee.private


@pytest.mark.parametrize("name", NAMES)
def test_one_against_the_rest(name):
    target = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.3)
    settings = {"mechanism": QUICK[name], "random_state": 1, "row_norm": 1.0}
    model = LogisticRegression(BUDGETS[name], classes=[0, 1, 2], **settings)
    model.fit(X, target)
    assert model.coef_.shape == (3, 3)
    single = LogisticRegression(BUDGETS[name], **settings).fit(X, SIGNS)
    assert model.release_.noise_scale > 1.05 * single.release_.noise_scale


def test_the_count_is_reported_where_it_is_bought():
    for neighbours, counted in (("add-remove", True), ("replace-one", False)):
        model = LogisticRegression(
            BUDGET, mechanism=QUICK["mpadmm"], neighbours=neighbours, row_norm=1.0
        )
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


@pytest.mark.slow
def test_too_small_a_batch_is_refused_before_anything_is_spent():
    model = LogisticRegression(
        BUDGET,
        mechanism=SsAdmm(Fraction(1, 40), Fraction(1, 400)),
        neighbours="replace-one",
        row_norm=1.0,
    )
    with pytest.raises(InvalidParameter, match="one row of the table"):
        model.fit(X, SIGNS)


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
        model = kind(
            BUDGET, mechanism=QUICK["mpadmm"], penalty=penalty, row_norm=1.0, **bounds
        )
        model.fit(X, target).save(tmp_path / "model.json")
        assert load_model(tmp_path / "model.json").penalty == penalty
        assert ("Selected" in str(model.summary())) is (name != "ridge")


def test_a_penalty_decides_the_fit():
    strong = LogisticRegression(
        BUDGET, mechanism="mpadmm", penalty=L1((1e4,) * 3 + (0.0,)), row_norm=1.0
    )
    strong.fit(X, SIGNS)
    assert strong.selected_ == ()
    assert strong.intercept_[0] != 0


WRONG_PENALTIES = {
    "no penalty": ({"penalty": 2.0}, "None or one of"),
    "two of them": ({"penalty": Scad(1.0), "l1": 1.0}, "0 if penalty is set"),
    "too many weights": ({"penalty": L1((1.0,) * 9)}, "for 4 coefficients"),
    "too far": ({"penalty": GroupL2(1.0, ((0, 7),))}, "for 4 coefficients"),
    "too large": ({"penalty": Nuclear(1.0, (3, 3))}, "for 4 coefficients"),
}


@pytest.mark.parametrize("name", WRONG_PENALTIES)
def test_penalties_that_do_not_fit_are_refused(name):
    settings, complaint = WRONG_PENALTIES[name]
    with pytest.raises(InvalidParameter, match=complaint):
        LogisticRegression(BUDGET, mechanism=QUICK["mpadmm"], row_norm=1.0, **settings).fit(
            X, SIGNS
        )


def test_a_penalty_that_is_not_convex_needs_gradients():
    with pytest.raises(UnmetNeeds, match="convex"):
        LogisticRegression(BUDGET, penalty=Scad(1.0), row_norm=1.0).fit(X, SIGNS)


@pytest.mark.parametrize("name", ["ssadmm", "mpadmm", "momentum"])
def test_a_ledger_pays_for_steps(name, tmp_path):
    """Steps and count are charged together, and a second fit is refused."""
    book = Ledger.open(tmp_path / "book.db").for_dataset("people")
    book.set_limit("people", BUDGET)
    model = LogisticRegression(
        BUDGET, mechanism=QUICK[name], ledger=book, classes=[0, 1], row_norm=1.0
    )
    model.fit(X, SIGNS)
    assert book.account("people").charges == 1
    with pytest.raises(BudgetExceeded):
        model.fit(X, SIGNS)


def test_the_refuted_variant_promises_nothing_and_no_ledger_pays_for_it(tmp_path):
    refuted = PublishedMpAdmm(5, step=4.0, sensitivity="published", accept_unproved=True)
    model = LogisticRegression(BUDGET, mechanism=refuted, classes=[0, 1], row_norm=1.0).fit(
        X, SIGNS
    )
    assert model.release_.guarantee.budget is None
    assert "REFUTED" in str(model.summary())
    book = Ledger.open(tmp_path / "book.db").for_dataset("people")
    book.set_limit("people", BUDGET)
    with pytest.raises(ConfideError, match="REFUTED"):
        model.set_params(ledger=book).fit(X, SIGNS)
    assert book.account("people").charges == 0
