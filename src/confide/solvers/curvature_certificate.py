"""How far a minimiser can be, from the curvature that the rows themselves have.

The ridge bounds the curvature from below for all tables; a table of many rows has far
more. Where φ″ cannot fall faster than e^(−|t|) along a margin, as for the logistic loss, a
Hessian at one point says how much there is around it, and a gradient need not be nearly as
short to certify a distance (docs/proofs/finite-precision.md, bend).
"""

import math
from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.data.matrix.coded_design import MOST_ADDED
from confide.objectives import Logistic
from confide.solvers.problem import Problem

SINGLE = 2.0**-24
ROUNDINGS = 1.1 * (MOST_ADDED + 8) * SINGLE
"""What single precision can hide of a Hessian, as a share of its trace."""
SLOPES = 16 * 2.0**-53
"""What the rounding of a slope can hide, for one row of length 1."""


@dataclass(frozen=True, slots=True)
class CurvatureCertificate:
    """At ``centre`` the curvature is ``least`` or more; no row is longer than ``reach``."""

    centre: Array
    least: float
    reach: float

    @classmethod
    def of(
        cls, problem: Problem, centre: Array, hessian: Array
    ) -> "CurvatureCertificate | None":
        """Return what a Hessian in single precision proves, or None if it is nothing."""
        objective = problem.objective
        if not isinstance(objective.loss, Logistic):
            return None
        lowest = float(np.linalg.eigvalsh(hessian)[0])
        least = lowest - ROUNDINGS * float(np.trace(hessian))
        least -= SLOPES * problem.rows.count * objective.row_norm**2
        if not least > objective.strong_convexity:
            return None
        return cls(centre, least, objective.row_norm)

    def distance(self, point: Array, length: float) -> float:
        """Bound the distance from the minimiser where the gradient has this length."""
        moved = self.reach * float(np.linalg.norm(point - self.centre))
        share = self.reach * length / (self.least * math.exp(-moved)) if moved < 50 else 1.0
        if not share < 0.5:
            return math.inf
        return -math.log1p(-share) / self.reach * (1 + 1e-9)
