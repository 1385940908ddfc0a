"""Plans of terms and weights follow the fits that they are about."""

from dataclasses import replace

import numpy as np
import pytest

from confide import Approx, LogisticRegression, Number, Schema, Target
from confide.data import Boolean, CaseWeights, Category
from confide.planning import plan_fit

SCHEMA = Schema(
    (
        Number("age", 20, 80, range="public"),
        Number("weight", 30, 150, range="private"),
        Category("race", ("a", "b", "c"), share=(0.5, 0.3, 0.2)),
        Boolean("smoker"),
    ),
    Target("ill", labels=("no", "yes")),
    terms=("bs(age, df=4)", "poly(weight, 2)", "race", "smoker", "race:smoker"),
)


def planned(schema, **more):
    settings = {"intervals": True, **more}
    model = LogisticRegression(Approx(2, "1e-6"), schema=schema, **settings)
    return plan_fit(model, 50_000, draws=5)


def test_a_plan_has_a_line_for_every_line_of_a_fit():
    plan = planned(SCHEMA)
    assert [one.name for one in plan.columns] == list(SCHEMA.terms)
    model = LogisticRegression(Approx(2, "1e-6"), schema=SCHEMA)
    names = model.display_by(SCHEMA, 0.3).names
    assert tuple(one.name for one in plan.lines) == names
    widths = np.array([one.width for one in plan.lines])
    assert np.isfinite(widths).mean() > 0.5
    assert np.nanmin(widths) > 0


@pytest.mark.slow
def test_other_mechanisms_are_tried_on_made_up_rows():
    plan = planned(SCHEMA, intervals=None, mechanism="sgd")
    assert len(plan.lines) == len(SCHEMA.display_map().names)
    assert all(one.error > 0 for one in plan.lines)


@pytest.mark.parametrize(("typical", "least"), [(None, 1.05), (1.0, 1.5)])
def test_weights_far_below_their_cap_widen_intervals(typical, least):
    weights = CaseWeights("times", 10, typical=typical)
    narrow = planned(replace(SCHEMA, terms=("age", "smoker")))
    wide = planned(replace(SCHEMA, terms=("age", "smoker"), case_weights=weights))
    widths = [one.columns[0].width for one in (narrow, wide)]
    assert widths[1] > least * widths[0]
