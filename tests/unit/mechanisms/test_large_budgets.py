"""Budgets so large that e^ε is no double: noise is still calibrated, and tiny."""

import math
import warnings

import pytest

from confide import (
    Approx,
    Category,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Number,
    PoissonRegression,
    Schema,
    Target,
)
from confide.accounting import grown_delta
from confide.errors import InvalidParameter

COLUMNS = (Number("u", -1, 1), Category("g", tuple("abc"), missing="refuse"))
MODELS = {
    "logistic": (LogisticRegression, Target("y", labels=("no", "yes"))),
    "multinomial": (LogisticRegression, Target("y", labels=("a", "b", "c"))),
    "linear": (LinearRegression, Target("y", lower=-5, upper=5)),
    "poisson": (PoissonRegression, Target("y", lower=0, upper=20)),
    "svm": (LinearSVC, Target("y", labels=("no", "yes"))),
}


@pytest.mark.parametrize("l2", ["auto"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [1e3, 1e5])
@pytest.mark.parametrize("name", MODELS)
def test_large_budgets_are_calibrated(name, epsilon, neighbours, l2):
    kind, target = MODELS[name]
    model = kind(
        Approx(epsilon, 1e-6),
        schema=Schema(COLUMNS, target),
        intervals=True,
        ranges="public",
        neighbours=neighbours,
        l2=l2,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = model.calibrated(5000).calibration
    assert 0 < found.noise.scale < 0.1


def test_a_bound_that_overflows_is_one():
    assert grown_delta(1e-300, 690.0) == pytest.approx(math.exp(690.0) * 1e-300)
    assert grown_delta(1e-300, 1e6) == 1.0


def test_a_ridge_that_is_too_small_is_not_said_to_be_greater_than_itself():
    model = LinearRegression(
        Approx(0.1, 1e-6), schema=Schema(COLUMNS, MODELS["linear"][1]), l2=1e-9
    )
    with pytest.raises(InvalidParameter, match="l2 must be") as caught:
        model.calibrated(5000)
    words = str(caught.value)
    assert "greater than 1e-09" not in words
