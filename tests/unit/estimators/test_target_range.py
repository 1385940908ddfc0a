"""A target in a range of its own."""

import numpy as np
import pytest

from confide import (
    LinearRegression,
    PoissonRegression,
    Pure,
    Schema,
)
from confide import Target as Aim
from confide.errors import InvalidParameter
from confide.mechanisms import OutputPerturbation
from support.clinic import DOSES, SCHEMA, doses

MECHANISM = OutputPerturbation()


@pytest.mark.parametrize("intercept", [True, False])
def test_a_range_is_a_bound_around_its_middle(intercept):
    settings = {"random_state": 4, "fit_intercept": intercept, "ranges": "public"}
    around = Schema(SCHEMA.columns, Aim("dose", bound=100), "doses")
    table = doses()
    ranged = LinearRegression(Pure(20), schema=DOSES, **settings).fit(table)
    moved = table.assign(dose=table["dose"] - 100)
    bound = LinearRegression(Pure(20), schema=around, **settings).fit(moved)
    np.testing.assert_array_equal(ranged.release_.value, bound.release_.value)
    np.testing.assert_allclose(ranged.predict(table), bound.predict(table) + 100)
    np.testing.assert_allclose(ranged.coef_, bound.coef_)
    assert ranged.intercept_ == pytest.approx(bound.intercept_ + 100)
    shown, before = ranged.summary().rows[-1], bound.summary().rows[-1]
    assert shown.estimate == pytest.approx(before.estimate + 100)


def test_predictions_keep_to_the_range():
    model = LinearRegression(Pure(500), schema=DOSES).fit(doses())
    assert np.abs(model.predict(doses()) - doses()["dose"]).mean() < 10
    settings = {"mechanism": MECHANISM, "l2": 1e-3, "random_state": 1}
    wild = LinearRegression(Pure(0.01), schema=DOSES, **settings).fit(doses())
    assert wild.predict(doses()).min() >= 0
    assert wild.predict(doses()).max() <= 200


def test_target_bound_goes_before_the_schema():
    model = LinearRegression(Pure(1), schema=DOSES, target_bound=7).fit(doses())
    assert np.abs(model.predict(doses())).max() <= 7


def test_counts_begin_at_0():
    table = doses().assign(dose=2)
    counts = Schema(SCHEMA.columns, Aim("dose", lower=0, upper=3), "visits")
    model = PoissonRegression(Pure(9), schema=counts, slope_bound=3).fit(table)
    assert model.predict(table).max() <= 3
    later = Schema(SCHEMA.columns, Aim("dose", lower=1, upper=3), "visits")
    with pytest.raises(InvalidParameter, match="lower of the target must be 0"):
        PoissonRegression(Pure(9), schema=later, slope_bound=3).fit(table)
