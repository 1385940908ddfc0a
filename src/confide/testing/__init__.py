"""Contract suites: run them on a loss, penalty, constraint or mechanism of your own.

Each raises an AssertionError that says which promise was broken and where. They draw
their points from a fixed seed, so an answer never changes from run to run.
"""

from confide.testing.losses import check_loss
from confide.testing.mechanisms import check_mechanism
from confide.testing.penalties import check_constraint, check_penalty

__all__ = ["check_constraint", "check_loss", "check_mechanism", "check_penalty"]
