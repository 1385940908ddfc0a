"""Budgets, neighbour relations, guarantees and the Gaussian profile."""

from confide.privacy.budgets import Approx, Budget, Pure, Zcdp, check_budget
from confide.privacy.conversions import (
    approx_to_zcdp,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    pure_to_approx,
    pure_to_zcdp,
    zcdp_to_approx,
)
from confide.privacy.group_privacy import group_delta, row_budget
from confide.privacy.guarantee import (
    COMPOSED,
    DOWNGRADED,
    Guarantee,
    Neighbours,
    Status,
    effective_status,
    shortfall,
    warn_if_claimed,
    weakest,
)

__all__ = [
    "COMPOSED",
    "DOWNGRADED",
    "Approx",
    "Budget",
    "Guarantee",
    "Neighbours",
    "Pure",
    "Status",
    "Zcdp",
    "approx_to_zcdp",
    "check_budget",
    "effective_status",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "group_delta",
    "pure_to_approx",
    "pure_to_zcdp",
    "row_budget",
    "shortfall",
    "warn_if_claimed",
    "weakest",
    "zcdp_to_approx",
]
