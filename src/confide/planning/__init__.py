"""Predictions of the accuracy of a fit, from public information only."""

from confide.planning.array_plan import compare_mechanisms, make_plan
from confide.planning.fit_plan import MOSTLY_NOISE, SUPPOSED, FitPlan, plan_fit
from confide.planning.line_plan import LinePlan
from confide.planning.plan import Plan
from confide.planning.plots import (
    PlanCurve,
    plan_curve,
    plot_fit_plan,
    plot_plan,
    plot_steps,
)
from confide.planning.range_plan import RangeLine, RangePlan, plan_ranges
from confide.planning.shapes import Shapes, real_shapes
from confide.planning.steps import StepsPlan
from confide.planning.supposition import family_of

__all__ = [
    "MOSTLY_NOISE",
    "SUPPOSED",
    "FitPlan",
    "LinePlan",
    "Plan",
    "PlanCurve",
    "RangeLine",
    "RangePlan",
    "Shapes",
    "StepsPlan",
    "compare_mechanisms",
    "family_of",
    "make_plan",
    "plan_curve",
    "plan_fit",
    "plan_ranges",
    "plot_fit_plan",
    "plot_plan",
    "plot_steps",
    "real_shapes",
]
