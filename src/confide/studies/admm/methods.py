"""The methods of the ADMM studies, compared on one split of a table at one ε and λ."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np

from confide._types import Array
from confide.data import bound_rows
from confide.mechanisms import (
    AdmmObjectivePerturbation,
    DpAdmm,
    Mechanism,
    MomentumDescent,
    MpAdmm,
    ObjectivePerturbation,
    ProximalSgd,
    SsAdmm,
)
from confide.mechanisms.published import PublishedMpAdmm
from confide.noise import Entropy
from confide.objectives import L1, Clipped, HuberizedHinge, Logistic, Loss, Objective
from confide.privacy import Approx, Budget, Neighbours, Pure, Zcdp
from confide.solvers import minimise
from confide.studies.admm.population import AdmmTable, coverage, population, truth
from confide.studies.engine.study import Cell, Row

DELTA: Final = Fraction(1, 10**8)
LOSSES: Final[dict[str, Loss]] = {"logistic": Logistic(), "SVM": HuberizedHinge(0.5)}
PLAIN: Final = "not private"
HARDLY_ANY: Final = 0.1
"""Small ridge for the non-private fit, whose accuracy cannot be certified without one."""


@dataclass(frozen=True, slots=True)
class AdmmProblem:
    """A training table, a loss, and the weight λ of the l1 penalty on the coefficients."""

    table: AdmmTable
    loss: Loss
    weight: float

    @property
    def rate(self) -> Fraction:
        """The sampling rate of rows, which gives batches of about √n rows."""
        return Fraction(1, math.isqrt(len(self.table.labels)))

    @property
    def objective(self) -> Objective:
        """The objective: the sum of the losses plus the penalty nλ‖θ‖₁, without a ridge."""
        count, width = self.table.features.shape
        penalty = L1(self.weight * count)
        return Objective(self.loss, width, self.table.longest, 0.0, penalty=penalty)

    def value(self, theta: Array, table: AdmmTable) -> float:
        """Return the mean loss on a table plus the penalty λ‖θ‖₁."""
        losses = self.loss.value(table.features @ theta, table.labels)
        return float(losses.mean() + self.weight * np.abs(theta).sum())


@dataclass(frozen=True, slots=True)
class AdmmMethod:
    """A method to compare: its mechanism, its privacy accounting and its drawing style.

    ``mechanism`` returns the mechanism for a problem. If ``ridge`` is true, the mechanism
    needs a ridge penalty and chooses its weight itself. If ``cut`` is true, the derivative
    of the loss is clipped, which bounds the norm of each record's gradient by the gradient
    clip of the table.
    """

    mechanism: Callable[[AdmmProblem], Mechanism]
    style: dict[str, Any]
    charged: Literal["exactly", "by Proposition 1", "purely"] = "exactly"
    ridge: bool = False
    cut: bool = False

    def budget(self, epsilon: Fraction) -> Budget:
        """Return the budget for ε: (ε, δ), pure or zCDP, depending on the accounting."""
        match self.charged:
            case "exactly":
                return Approx(epsilon, DELTA)
            case "purely":
                return Pure(epsilon)
            case "by Proposition 1":
                return Zcdp(converted(float(epsilon)))

    def fits(
        self, problem: AdmmProblem, epsilon: Fraction, seeds: Sequence[tuple[int, int, int]]
    ) -> list[Array]:
        """Calibrate the noise once, and return private coefficients for each seed."""
        table, objective = problem.table, problem.objective
        if self.ridge:
            objective = replace(objective, l2=None)
        if self.cut:
            cut_off = Clipped(problem.loss, table.clip / table.longest)
            objective = replace(objective, loss=cut_off)
        mechanism = self.mechanism(problem)
        plan = mechanism.calibrate(objective, self.budget(epsilon), Neighbours.REPLACE_ONE)
        rows = bound_rows(table.features, table.labels, table.longest, 0.0)
        return [
            np.asarray(plan.release([rows], Entropy.seeded(seed)).value) for seed in seeds
        ]


def converted(epsilon: float) -> float:
    """Return the zCDP ρ that Proposition 1 converts to ε: ρ + 2√(ρ log 1/δ) = ε."""
    log = -math.log(DELTA)
    return (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2


def not_private(problem: AdmmProblem) -> Array:
    """Return the coefficients that minimise the mean loss plus penalty, without privacy."""
    table, objective = problem.table, problem.objective.with_l2(HARDLY_ANY)
    rows = bound_rows(table.features, table.labels, table.longest, 0.0)
    found = minimise(objective, rows, np.zeros(objective.dimension), 0.1).theta
    return np.where(np.abs(found) <= 1e-8, 0.0, found)


_RED, _ORANGE, _GREEN, _BROWN, _GREY = "#b2182b", "#e08214", "#1b7837", "#8c510a", "0.55"
_BLUE, _VIOLET, _PINK = "#2166ac", "#762a83", "#c51b7d"
PUBLISHED: Final[dict[str, AdmmMethod]] = {
    "ssADMM": AdmmMethod(
        lambda problem: SsAdmm(
            epochs=5,
            rate=problem.rate,
            rho=0.25,
            step=0.25,
            rule="epoch",
            averaged=0.0,
            clip=problem.table.clip,
            return_z=False,
            accounting="renyi",
        ),
        {"color": _RED, "marker": "o"},
    ),
    "mpADMM": AdmmMethod(
        lambda problem: PublishedMpAdmm(
            steps=50,
            rho=0.5,
            step=2.0,
            clip=problem.table.clip,
            return_z=False,
        ),
        {"color": _GREEN, "marker": "s"},
        charged="by Proposition 1",
    ),
    "DP-SGD": AdmmMethod(
        lambda problem: ProximalSgd(
            epochs=5,
            rate=problem.rate,
            step=0.25,
            rule="epoch",
            averaged=0.0,
            clip=problem.table.clip,
            accounting="renyi",
        ),
        {"color": _ORANGE, "marker": "^"},
    ),
    "DP-ADMM": AdmmMethod(
        lambda problem: DpAdmm(
            parties=2, steps=50, rho=0.5, step=2.0, clip=problem.table.clip
        ),
        {"color": _BROWN, "marker": "v"},
        charged="by Proposition 1",
    ),
    "ADMM-objP": AdmmMethod(
        lambda _: AdmmObjectivePerturbation(turns=3),
        {"color": _GREY, "marker": "D"},
        charged="purely",
    ),
}
OURS: Final[dict[str, AdmmMethod]] = {
    "mpADMM, x alone": AdmmMethod(
        lambda problem: MpAdmm(
            steps=50, rho=0.5, step=2.0, clip=problem.table.clip, return_z=False
        ),
        {"color": _GREEN, "ls": "--", "marker": "s"},
    ),
    "momentum": AdmmMethod(
        lambda problem: MomentumDescent(clip=problem.table.clip),
        {"color": _BLUE, "ls": "--", "marker": "^"},
    ),
    "objective": AdmmMethod(
        lambda _: ObjectivePerturbation(),
        {"color": _VIOLET, "ls": "--", "marker": "o"},
        ridge=True,
    ),
    "objective, cut": AdmmMethod(
        lambda _: ObjectivePerturbation(),
        {"color": _PINK, "ls": "--", "marker": "D"},
        ridge=True,
        cut=True,
    ),
}
METHODS: Final = PUBLISHED | OURS
STYLES: Final[dict[str, dict[str, Any]]] = {
    **{name: {"lw": 1.2, "ms": 4, **method.style} for name, method in METHODS.items()},
    PLAIN: {"lw": 1.2, "color": "black", "ls": ":"},
}
"""Drawing styles of all methods; lines of our own methods are dashed."""


COUNTS = (20, 25, 30, 40)
TRUTH = "truth"


def trial(cell: Cell, seed: int) -> list[Row]:
    """Fit every method with new noise in each repeat, and evaluate it on the test rows."""
    dataset, fold = str(cell["dataset"]), int(cell["fold"])
    learnt, test = population(dataset, fold, fold)
    problem = AdmmProblem(learnt, LOSSES[str(cell["loss"])], float(cell["weight"]))
    epsilon = Fraction(repr(cell["epsilon"]))
    simulated = dataset == "simulated"
    rows = [_row(PLAIN, [not_private(problem)], problem, test, simulated)]
    if simulated:
        rows.append(_row(TRUTH, [truth()], problem, test, simulated))
    for number, (name, method) in enumerate(METHODS.items()):
        seeds = [(seed, number, repeat) for repeat in range(int(cell["repeats"]))]
        found = method.fits(problem, epsilon, seeds)
        rows.append(_row(name, found, problem, test, simulated))
    return rows


def _row(
    name: str, thetas: list[Array], problem: AdmmProblem, test: AdmmTable, simulated: bool
) -> Row:
    """Average a method's measures over the repeats, including ξ for simulated data."""
    right = [((test.features @ one > 0) == (test.labels > 0)).mean() for one in thetas]
    found: dict[str, float] = {
        "accuracy": float(np.mean(right)),
        "objective": float(np.mean([problem.value(one, test) for one in thetas])),
    }
    if simulated:
        for count in COUNTS:
            shares = [coverage(one, count) for one in thetas]
            found[f"xi{count}"] = float(np.mean(shares))
    return {"method": name, **found}
