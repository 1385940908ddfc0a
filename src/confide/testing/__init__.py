"""Contract suites: run them on a loss, noise, mechanism or column kind of your own.

Each raises an AssertionError that says which promise was broken and where. They draw
their points from a fixed seed, so an answer never changes from run to run.
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
