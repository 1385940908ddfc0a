"""What can be said about a release; and what one will be worth, before it is made."""

from confide._lazy import moved
from confide.mechanisms import Intervals
from confide.reporting import Coefficient, Summary
from confide.reporting import CoefficientTable as IntervalTable

__all__ = [
    "Coefficient",
    "IntervalTable",
    "Intervals",
    "Summary",
]

_MOVED = (
    "ColumnPlan",
    "MOSTLY_NOISE",
    "Plan",
    "PlanCurve",
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
)
__getattr__ = moved(__name__, dict.fromkeys(_MOVED, "confide.planning"))
