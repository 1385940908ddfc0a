"""What is computed on rows can travel to where they are, and takes no rows along."""

import numpy as np
import pytest
from sklearn.base import clone

from confide import Approx, LinearRegression, LinearSVC, LogisticRegression
from confide.data.rows.in_memory import InMemoryRows, bound_rows
from confide.errors import PrivacyLeak
from confide.objectives import Logistic, Objective
from confide.objectives.twofold import Twofold
from confide.solvers.problem import Problem
from confide.solvers.split_gradient import split_gradient
from confide.solvers.twofold_gradient import twofold_gradient
from support.parted_tables import CASES, fitted_in_memory, numbers

cloudpickle = pytest.importorskip("cloudpickle")
BUDGET = Approx(1, 1e-6)
SIGNS = {"classes": [-1, 1], "row_norm": 1.0}
LARGER = {
    "linear": LinearRegression(BUDGET, target_bound=1.0, row_norm=1.0),
    "logistic": LogisticRegression(BUDGET, **SIGNS),
    "l1": LogisticRegression(BUDGET, l1=1.0, **SIGNS),
    "ball": LogisticRegression(BUDGET, coef_norm=1.0, **SIGNS),
    "hinge": LinearSVC(BUDGET, **SIGNS),
    "intervals": LogisticRegression(BUDGET, intervals=0.2, **SIGNS),
}
"""Fits whose distances doubles cannot certify, at 20,000 rows."""


@pytest.fixture
def sent(monkeypatch):
    """The functions that rows were asked to sum, after each was packed."""
    honest, seen = InMemoryRows.sum, []

    def watched(rows, function, dtype=np.float64):
        cloudpickle.dumps(function)
        seen.append(function)
        return honest(rows, function, dtype)

    monkeypatch.setattr(InMemoryRows, "sum", watched)
    return seen


def some_rows():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20_000, 5)) / 3
    return features, np.where(features[:, 0] + rng.normal(size=20_000) > 0, 1.0, -1.0)


@pytest.mark.parametrize("name", CASES)
def test_fits_of_tables_in_parts_send_work_without_rows(name, sent):
    case = CASES[name]
    fitted_in_memory(case, numbers())
    assert sent or case.picks


@pytest.mark.parametrize("name", LARGER)
def test_fits_beyond_doubles_send_work_without_rows(name, sent):
    clone(LARGER[name]).set_params(random_state=1).fit(*some_rows())
    assert len(sent) > 1


@pytest.mark.parametrize("gradient", [split_gradient, twofold_gradient])
def test_gradients_beyond_doubles_send_work_without_rows(gradient, sent):
    objective = Objective(Logistic(), 5, l2=1.0)
    rows = bound_rows(*some_rows(), 1.0, 0.0)
    problem = Problem(objective, rows, np.zeros(5), objective.ridge)
    gradient(problem, Twofold.of(np.ones(5)))
    assert len(sent) == 1


def test_work_that_takes_rows_along_would_be_noticed(sent):
    rows = bound_rows(*some_rows(), 1.0, 0.0)
    with pytest.raises(PrivacyLeak):
        rows.sum(lambda block: (np.array([rows.count]),))
