"""Three interactions and two splines on Adult: the same columns, built by hand."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

from confide import Approx, LogisticRegression, Schema
from confide.data import bound_rows, load
from confide.noise import Entropy

pytest.importorskip("formulaic")

FORMULA = (
    "income ~ bs(age, 6) + bs(`hours-per-week`, 5) + race + sex + `education-num` + "
    "`marital-status` + race:sex + sex:`education-num` + sex:bs(age, 6)"
)


@pytest.fixture(scope="module")
def adult(data_folder):
    return load("adult", "train")


def by_hand(schema, frame):
    """Return the design with nothing but NumPy and SciPy."""
    columns = {column.name: column for column in schema.columns}

    def number(name):
        lower, upper = columns[name].lower, columns[name].upper
        middle, half = (lower + upper) / 2, (upper - lower) / 2
        return np.clip((frame[name].to_numpy(float) - middle) / half, -1, 1)[:, None]

    def levels(name):
        known = np.array(columns[name].levels, dtype=object)
        return (frame[name].to_numpy()[:, None] == known).astype(float)

    def spline(name, df):
        knots = np.concatenate([[-1] * 4, np.linspace(-1, 1, df - 1)[1:-1], [1] * 4])
        places = number(name)[:, 0]
        each = (BSpline(knots, one, 3)(places) for one in np.eye(df + 1))
        return np.column_stack(list(each))

    def product(first, second):
        return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)

    parts = [
        spline("age", 6),
        spline("hours-per-week", 5),
        levels("race"),
        levels("sex"),
        number("education-num"),
        levels("marital-status"),
        product(levels("race"), levels("sex")),
        product(levels("sex"), number("education-num")),
        product(levels("sex"), spline("age", 6)),
    ]
    return np.hstack(parts) / np.sqrt(len(parts)) / (1 + 1e-14)


@pytest.mark.parametrize(
    "intervals", [None, pytest.param(True, marks=pytest.mark.slow)], ids=str
)
def test_a_formula_releases_what_columns_built_by_hand_do(adult, intervals):
    schema = Schema.bundled("adult").with_formula(FORMULA)
    assert len(schema.features) == 54
    settings = {"ranges": "public", "intervals": intervals, "random_state": 7}
    model = LogisticRegression(Approx(1, "1e-6"), schema=schema, **settings).fit(adult)
    design = by_hand(schema, adult)
    assert np.abs(design - schema.design(adult)).max() < 1e-12
    fit = model.calibrated(len(adult))
    signs = np.where(adult["income"] == ">50K", 1.0, -1.0)
    rows = bound_rows(design, signs, 1.0, 0.3).weighed(fit.spec.bounding.most)
    released = fit.calibration.release([rows], Entropy.of(7))
    assert np.array_equal(released.value, model.release_.value)
    if intervals:
        laws = [one.intervals.laws[0] for one in (released, model.release_)]
        assert laws[0].sampling == pytest.approx(laws[1].sampling, rel=1e-6)
