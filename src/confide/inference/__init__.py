"""Inference after a fit: intervals, tests, contrasts and effects."""

from confide._lazy import moved
from confide.inference.law import ChiSquare, CoefficientLaw
from confide.inference.response import (
    MarginalStep,
    MeanTable,
    marginal_effects,
    mean_intervals,
    prediction_intervals,
    unclipped_variance,
)
from confide.inference.terms import Contrast, TableLines, TermLines
from confide.inference.toolkit import Amount, Inference
from confide.mechanisms import Intervals
from confide.reporting import Coefficient, EffectScale, Summary, WaldTest
from confide.reporting import CoefficientTable as IntervalTable

__all__ = [
    "Amount",
    "ChiSquare",
    "Coefficient",
    "CoefficientLaw",
    "Contrast",
    "EffectScale",
    "Inference",
    "IntervalTable",
    "Intervals",
    "MarginalStep",
    "MeanTable",
    "Summary",
    "TableLines",
    "TermLines",
    "WaldTest",
    "marginal_effects",
    "mean_intervals",
    "prediction_intervals",
    "unclipped_variance",
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
