"""Solvers: they know nothing of privacy and certify how close they came."""

from confide.solvers.dispatch import can_certify, finest_tolerance, minimise
from confide.solvers.problem import Solution

__all__ = ["Solution", "can_certify", "finest_tolerance", "minimise"]
