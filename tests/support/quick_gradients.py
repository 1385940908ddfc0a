"""Mechanisms that step along noisy gradients, with few steps each."""

from fractions import Fraction

from confide.mechanisms import (
    AdmmObjectivePerturbation,
    DpAdmm,
    MomentumDescent,
    MpAdmm,
    ProximalSgd,
    SsAdmm,
)
from confide.privacy import Approx, Pure

NAMES = ["ssadmm", "mpadmm", "momentum", "sgd", "dp-admm", "admm-objective"]


QUICK = {
    "momentum": MomentumDescent(10),
    "ssadmm": SsAdmm(2, Fraction(1, 10)),
    "sgd": ProximalSgd(2, Fraction(1, 10)),
    "mpadmm": MpAdmm(10),
    "dp-admm": DpAdmm(2, 10),
    "admm-objective": AdmmObjectivePerturbation(2),
}


BUDGET = Approx(2, 1e-5)


BUDGETS = dict.fromkeys(NAMES, BUDGET) | {"admm-objective": Pure(2)}
