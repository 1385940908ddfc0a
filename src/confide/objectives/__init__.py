"""Losses, penalties, constraints and the objective they make up; all of it public."""

from confide._registry import Registry
from confide.objectives.clipped_loss import USUAL_CLIP, Clipped, is_squared
from confide.objectives.constraints import (
    CONSTRAINTS,
    Box,
    Constraint,
    L1Ball,
    L2Ball,
    Nonnegative,
)
from confide.objectives.joint_prox import has_exact_prox, prox
from confide.objectives.losses import (
    LOSSES,
    Hinge,
    HuberizedHinge,
    Logistic,
    Loss,
    Poisson,
    SmoothedHinge,
    Squared,
    curvature_bound,
    curvature_given,
)
from confide.objectives.objective import Objective, check_guess
from confide.objectives.penalties import (
    L1,
    PENALTIES,
    ElasticNet,
    GroupL2,
    Mcp,
    Nuclear,
    Penalty,
    Ridge,
    Scad,
    weighs_alike,
)
from confide.objectives.public_bounds import PublicBounds
from confide.objectives.typical_size import guess_coef_norm_of_columns

__all__ = [
    "CONSTRAINTS",
    "L1",
    "LOSSES",
    "PENALTIES",
    "USUAL_CLIP",
    "Box",
    "Clipped",
    "Constraint",
    "ElasticNet",
    "GroupL2",
    "Hinge",
    "HuberizedHinge",
    "L1Ball",
    "L2Ball",
    "Logistic",
    "Loss",
    "Mcp",
    "Nonnegative",
    "Nuclear",
    "Objective",
    "Penalty",
    "Poisson",
    "PublicBounds",
    "Registry",
    "Ridge",
    "Scad",
    "SmoothedHinge",
    "Squared",
    "check_guess",
    "curvature_bound",
    "curvature_given",
    "guess_coef_norm_of_columns",
    "has_exact_prox",
    "is_squared",
    "prox",
    "weighs_alike",
]
