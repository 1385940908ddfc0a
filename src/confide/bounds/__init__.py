"""Bounds on accuracy that papers state, as functions to hold against simulations."""

from confide.bounds.kst_risk import (
    balanced_ridge,
    curved_radius,
    least_ridge,
    linear_regression,
    noise_square,
    perturbed_risk,
    quadratic_risk,
    rows_for_risk,
)
from confide.bounds.kst_support import (
    fit_on_support,
    largest_loss,
    lasso_rows,
    log_supports,
    sparse_regression,
    support_excess,
    support_rows,
    vote_blocks,
    vote_failure,
    vote_failure_exact,
    vote_rows,
)
from confide.bounds.napp import excess_risk, noise_length, sample_complexity
from confide.bounds.regression import (
    best_penalty,
    convex_excess,
    noise_tail,
    stability,
    strongly_convex_excess,
)

__all__ = [
    "balanced_ridge",
    "best_penalty",
    "convex_excess",
    "curved_radius",
    "excess_risk",
    "fit_on_support",
    "largest_loss",
    "lasso_rows",
    "least_ridge",
    "linear_regression",
    "log_supports",
    "noise_length",
    "noise_square",
    "noise_tail",
    "perturbed_risk",
    "quadratic_risk",
    "rows_for_risk",
    "sample_complexity",
    "sparse_regression",
    "stability",
    "strongly_convex_excess",
    "support_excess",
    "support_rows",
    "vote_blocks",
    "vote_failure",
    "vote_failure_exact",
    "vote_rows",
]
