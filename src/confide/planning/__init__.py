"""What a budget will buy, from public facts alone."""

from confide.planning.columns import (
    MOSTLY_NOISE,
    ColumnPlan,
    budget_to_be_useful,
    noise_ratio,
    plan_columns,
    rows_to_be_useful,
)
from confide.planning.interval_width import left_for_coefficients
from confide.planning.plan import Plan, compare_mechanisms, make_plan
from confide.planning.plots import PlanCurve, plan_curve, plot_plan, plot_steps
from confide.planning.steps import StepsPlan

__all__ = [
    "MOSTLY_NOISE",
    "ColumnPlan",
    "Plan",
    "PlanCurve",
    "StepsPlan",
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
