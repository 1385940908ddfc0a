"""Budgets, neighbour relations, guarantees and the Gaussian profile."""

from confide.privacy.budgets import (
    Approx,
    Budget,
    Pure,
    Zcdp,
    approx_to_zcdp,
    check_budget,
    group_delta,
    pure_to_approx,
    pure_to_zcdp,
    row_budget,
    zcdp_to_approx,
)
from confide.privacy.gaussian_profile import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
)
from confide.privacy.guarantee import (
    COMPOSED,
    DOWNGRADED,
    Guarantee,
    Neighbours,
    Status,
    assumptions_of,
    effective_status,
    shortfall,
    warn_if_claimed,
    weakest,
)
from confide.privacy.rounding import FUNCTION_ERROR, round_down, round_up

__all__ = [
    "COMPOSED",
    "DOWNGRADED",
    "FUNCTION_ERROR",
    "Approx",
    "Budget",
    "Guarantee",
    "Neighbours",
    "Pure",
    "Status",
    "Zcdp",
    "approx_to_zcdp",
    "assumptions_of",
    "check_budget",
    "effective_status",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "group_delta",
    "pure_to_approx",
    "pure_to_zcdp",
    "round_down",
    "round_up",
    "row_budget",
    "shortfall",
    "warn_if_claimed",
    "weakest",
    "zcdp_to_approx",
]
