"""One cell of the ADMM studies: all methods on one part of a table, at one ε and λ."""

from fractions import Fraction

import numpy as np

from confide._types import Array
from confide.studies.admm.methods import LOSSES, METHODS, PLAIN, AdmmProblem, not_private
from confide.studies.admm.population import AdmmTable, coverage, population, truth
from confide.studies.engine.study import Cell, Row

COUNTS = (20, 25, 30, 40)
TRUTH = "truth"


def trial(cell: Cell, seed: int) -> list[Row]:
    """Fit every method, with new noise for every repeat, and test it on the rest."""
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
    """Return means over repeats; ξ where it is known what matters."""
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
