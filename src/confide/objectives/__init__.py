"""Losses, penalties, constraints and the objective that combines them, without data."""

from confide._registry import Registry
from confide.objectives.constraints import (
    CONSTRAINTS,
    Box,
    Constraint,
    L1Ball,
    L2Ball,
    Nonnegative,
)
from confide.objectives.families import NORMAL_NODES, Family
from confide.objectives.hinge_losses import (
    Hinge,
    HuberizedHinge,
    SmoothedHinge,
    is_hinge,
    wider,
)
from confide.objectives.loss import Loss, LossTraits, PublicBounds
from confide.objectives.losses import (
    LOSSES,
    MODELS,
    USUAL_CLIP,
    Clipped,
    Logistic,
    Poisson,
    Squared,
    curvature_bound,
    is_clipped,
    is_logistic,
    is_squared,
)
from confide.objectives.multinomial import (
    Multinomial,
    class_coefficients,
    is_multinomial,
    sum_zero_basis,
)
from confide.objectives.objective import (
    Objective,
    check_guess,
    guess_coef_norm_of_columns,
)
from confide.objectives.penalties import (
    L1,
    PENALTIES,
    ElasticNet,
    GroupL2,
    Mcp,
    Nuclear,
    Ridge,
    Scad,
    is_uniform,
)
from confide.objectives.penalty import Penalty
from confide.objectives.proximal import has_exact_prox, prox

__all__ = [
    "CONSTRAINTS",
    "L1",
    "LOSSES",
    "MODELS",
    "NORMAL_NODES",
    "PENALTIES",
    "USUAL_CLIP",
    "Box",
    "Clipped",
    "Constraint",
    "ElasticNet",
    "Family",
    "GroupL2",
    "Hinge",
    "HuberizedHinge",
    "L1Ball",
    "L2Ball",
    "Logistic",
    "Loss",
    "LossTraits",
    "Mcp",
    "Multinomial",
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
    "class_coefficients",
    "curvature_bound",
    "guess_coef_norm_of_columns",
    "has_exact_prox",
    "is_clipped",
    "is_hinge",
    "is_logistic",
    "is_multinomial",
    "is_squared",
    "is_uniform",
    "prox",
    "sum_zero_basis",
    "wider",
]
