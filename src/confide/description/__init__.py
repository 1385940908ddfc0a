"""Private descriptive statistics: noisy counts, and the estimates derived from them."""

from confide.description import text
from confide.description.release import describe
from confide.description.value import Description

__all__ = ["Description", "describe", "text"]
