"""Privacy budgets, neighbour relations, guarantees and the Gaussian privacy profile."""

from confide.privacy.budgets import Approx, Budget, Pure, Zcdp, check_budget, fraction_of
from confide.privacy.caution import budget_cautions, warn_of_budget
from confide.privacy.conversions import (
    approx_to_zcdp,
    pure_to_approx,
    pure_to_zcdp,
    zcdp_to_approx,
)
from confide.privacy.groups import group_delta, row_budget
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
from confide.privacy.rounding import (
    FUNCTION_ERROR,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    round_down,
    round_up,
)

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
    "budget_cautions",
    "check_budget",
    "effective_status",
    "fraction_of",
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
    "warn_of_budget",
    "weakest",
    "zcdp_to_approx",
]
