"""Linear regression by every mechanism: what they fit, say and keep."""

import numpy as np
import pandas as pd
import pytest

from confide import Approx, LinearRegression, LogisticRegression, Pure, Status, Zcdp
from confide.data import Category, Number, Schema, Target
from confide.errors import BudgetExceeded, InvalidParameter, UnmetNeeds
from confide.estimators import load_model
from confide.ledger import Ledger
from confide.mechanisms import AdaSsp, FunctionalMechanism
from confide.mechanisms.published import RlsObjective, RlsOut
from confide.noise import generator

PLENTY = 10**8
RIDGE = 5.0
EXACT = {
    "ssp, pure": ("ssp", Pure(PLENTY)),
    "ssp, gaussian": ("ssp", Zcdp(PLENTY)),
    "functional": ("functional", Pure(PLENTY)),
    "functional, published": (FunctionalMechanism("published"), Pure(PLENTY)),
    "rls-out": (RlsOut(800, radius=50.0), Pure(PLENTY)),
    "rls-objective": (RlsObjective(800, radius=50.0), Pure(PLENTY)),
}


@pytest.fixture(scope="module")
def table():
    draw = generator(8)
    features = draw.uniform(-0.5, 0.5, (800, 3))
    target = features @ [3.0, -2.0, 1.0] + 0.5 + draw.normal(0, 0.3, 800)
    return features, np.clip(target, -4, 4)


def ridge_fit(features, target, ridge):
    rows = np.column_stack([features, np.full(len(features), 0.3)])
    return np.linalg.solve(rows.T @ rows + ridge * np.eye(4), rows.T @ target / 4) * 4


@pytest.mark.parametrize("name", EXACT)
def test_with_plenty_of_budget_all_of_them_are_ridge_regression(name, table):
    mechanism, budget = EXACT[name]
    model = LinearRegression(
        budget,
        mechanism=mechanism,
        target_bound=4.0,
        l2=RIDGE,
        random_state=0,
        row_norm=1.0,
    ).fit(*table)
    expected = ridge_fit(*table, RIDGE)
    np.testing.assert_allclose(model.coef_, expected[:3], atol=1e-4)
    assert model.intercept_ == pytest.approx(0.3 * expected[3], abs=1e-4)


def test_adassp_adds_only_the_ridge_that_is_missing(table):
    """The smallest eigenvalue is about 60: a ceiling below it leaves no ridge at all."""
    for ceiling, ridge in ((20.0, 0.0), (500.0, None)):
        model = LinearRegression(
            Zcdp(PLENTY),
            mechanism="adassp",
            target_bound=4.0,
            l2=ceiling,
            random_state=0,
            row_norm=1.0,
        ).fit(*table)
        (added,) = model.release_.ridges
        rows = np.column_stack([table[0], np.full(800, 0.3)])
        smallest = np.linalg.eigvalsh(rows.T @ rows)[0]
        expected = ceiling - smallest if ridge is None else ridge
        assert added == pytest.approx(expected, abs=0.01)
        fitted = ridge_fit(*table, expected)
        np.testing.assert_allclose(model.coef_, fitted[:3], atol=1e-3)


@pytest.mark.parametrize("mechanism", ["functional", FunctionalMechanism("published")])
def test_the_functional_mechanism_fits_a_logistic_parabola(mechanism, table):
    features, target = table
    labels = np.where(target > 0.5, 1, -1)
    model = LogisticRegression(
        Pure(PLENTY),
        mechanism=mechanism,
        l2=1.0,
        classes=[-1, 1],
        random_state=0,
        row_norm=1.0,
    ).fit(features, labels)
    rows = np.column_stack([features, np.full(800, 0.3)])
    expected = np.linalg.solve(rows.T @ rows / 4 + np.eye(4), rows.T @ labels / 2)
    np.testing.assert_allclose(model.coef_[0], expected[:3], atol=1e-4)


NAMED = [
    ("ssp", Pure(1)),
    ("ssp", Approx(1, 1e-6)),
    ("adassp", Approx(1, 1e-6)),
    (AdaSsp("published"), Approx(1, 1e-6)),
    ("functional", Pure(1)),
    (RlsOut(800), Pure(1)),
]


@pytest.mark.parametrize(("mechanism", "budget"), NAMED, ids=str)
def test_releases_are_booked_summed_up_and_kept(mechanism, budget, tmp_path):
    draw = generator(9)
    schema = Schema(
        (Number("a", 0, 10), Category("b", ("x", "y"))),
        Target("t", lower=0, upper=20),
        "linear",
    )
    frame = pd.DataFrame(
        {
            "a": draw.uniform(0, 10, 300),
            "b": draw.choice(["x", "y"], 300),
            "t": draw.uniform(0, 20, 300),
        }
    )
    ledger = Ledger.open(tmp_path / "book.db")
    ledger.set_limit("linear", budget)
    model = LinearRegression(budget, schema=schema, mechanism=mechanism, ledger=ledger)
    model.fit(frame)
    assert "Status       PROVED" in str(model.summary())
    assert ledger.entries()[-2].status is Status.PROVED
    assert model.release_.guarantee.private
    with pytest.raises(BudgetExceeded):
        model.fit(frame)
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_sums_need_squares_and_no_l1():
    x, y = np.eye(3), np.ones(3)
    with pytest.raises(UnmetNeeds, match="squared loss"):
        LogisticRegression(Pure(1), mechanism="ssp", classes=[0, 1], row_norm=1.0).fit(x, y)
    with pytest.raises(UnmetNeeds, match="penalty"):
        LinearRegression(
            Pure(1), mechanism="ssp", l1=1.0, target_bound=1.0, row_norm=1.0
        ).fit(x, y)
    with pytest.raises(InvalidParameter, match="ssp"):
        LinearRegression(Pure(1), mechanism="adassp", target_bound=1.0, row_norm=1.0).fit(
            x, y
        )
    with pytest.raises(InvalidParameter, match="ssp"):
        LinearRegression(
            Zcdp(1), mechanism="functional", target_bound=1.0, row_norm=1.0
        ).fit(x, y)


def test_coefficients_of_sums_stay_in_their_ball(table):
    for mechanism in ("ssp", "functional"):
        model = LinearRegression(
            Pure(1),
            mechanism=mechanism,
            target_bound=4.0,
            coef_norm=1.0,
            random_state=0,
            row_norm=1.0,
        ).fit(*table)
        whole = np.append(model.coef_, model.intercept_ / 0.3)
        assert np.linalg.norm(whole) <= 1 + 1e-9
