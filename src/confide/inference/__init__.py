"""What can be said about a release; and what one will be worth, before it is made."""

from confide.inference.plan import Plan, compare_mechanisms, make_plan
from confide.inference.plan_plot import PlanCurve, plan_curve, plot_plan
from confide.inference.summary import Coefficient, Summary

__all__ = [
    "Coefficient",
    "Plan",
    "PlanCurve",
    "Summary",
    "compare_mechanisms",
    "make_plan",
    "plan_curve",
    "plot_plan",
]
