"""Solvers that certify the distance of their solution to the exact minimiser."""

from confide.solvers.certificate import (
    LONGEST_LINEAR,
    TableShape,
    can_certify,
    finest_share,
    finest_tolerance,
    longest_certified,
    minimise,
)
from confide.solvers.problem import Solution

__all__ = [
    "LONGEST_LINEAR",
    "Solution",
    "TableShape",
    "can_certify",
    "finest_share",
    "finest_tolerance",
    "longest_certified",
    "minimise",
]
