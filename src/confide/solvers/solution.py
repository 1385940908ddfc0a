"""What a solver returns: a point, and a proof of how far it is from the minimiser."""

from dataclasses import dataclass

from confide._types import Array


@dataclass(frozen=True, slots=True)
class Solution:
    """``‖theta − exact minimiser‖ <= distance``, rounding included."""

    theta: Array
    distance: float
