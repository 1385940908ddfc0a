"""Solvers: they know nothing of privacy and certify how close they came."""

from confide.solvers.dispatch import can_certify, minimise
from confide.solvers.precision import (
    LONGEST_LINEAR,
    TableShape,
    finest_share,
    finest_tolerance,
)
from confide.solvers.problem import Solution

__all__ = [
    "LONGEST_LINEAR",
    "Solution",
    "TableShape",
    "can_certify",
    "finest_share",
    "finest_tolerance",
    "minimise",
]
