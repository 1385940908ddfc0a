"""What can be said about a release; and what one will be worth, before it is made."""

from confide.inference.by_column import (
    MOSTLY_NOISE,
    ColumnPlan,
    budget_to_be_useful,
    noise_ratio,
    plan_columns,
    rows_to_be_useful,
)
from confide.inference.intervals import Intervals, IntervalTable
from confide.inference.plan import Plan, compare_mechanisms, make_plan
from confide.inference.plan_plot import PlanCurve, plan_curve, plot_plan, plot_steps
from confide.inference.planned_width import left_for_coefficients
from confide.inference.summary import Coefficient, Summary

__all__ = [
    "MOSTLY_NOISE",
    "Coefficient",
    "ColumnPlan",
    "IntervalTable",
    "Intervals",
    "Plan",
    "PlanCurve",
    "Summary",
    "budget_to_be_useful",
    "compare_mechanisms",
    "left_for_coefficients",
    "make_plan",
    "noise_ratio",
    "plan_columns",
    "plan_curve",
    "plot_plan",
    "plot_steps",
    "rows_to_be_useful",
]
