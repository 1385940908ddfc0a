"""Contract checks for your own losses, noise distributions, mechanisms and columns.

Each check raises an AssertionError that states which property of the contract fails, and
where. Test points are drawn from a fixed seed, so the results are reproducible.
"""

from confide.testing.columns import check_column
from confide.testing.losses import check_loss
from confide.testing.mechanisms import check_mechanism
from confide.testing.noises import check_noise
from confide.testing.penalties import check_constraint, check_penalty
from confide.testing.selectors import check_selector

__all__ = [
    "check_column",
    "check_constraint",
    "check_loss",
    "check_mechanism",
    "check_noise",
    "check_penalty",
    "check_selector",
]
