"""One cell of the regression studies: some methods at one ε, on some divisions."""

import warnings
from fractions import Fraction

from confide.errors import ClaimedGuarantee
from confide.noise import Entropy
from confide.studies.engine.study import Cell, Row
from confide.studies.regression.figure_specs import PLANS
from confide.studies.regression.methods import METHODS
from confide.studies.regression.population import division, measures


def trial(cell: Cell, seed: int) -> list[Row]:
    """Fit every method to every division and measure it on those held out."""
    epsilon = Fraction(repr(cell["epsilon"]))
    first = int(cell["first"])
    numbers = {name: number for number, name in enumerate(METHODS)}
    rows: list[Row] = []
    for repeat in range(first, first + int(cell["repeats"])):
        people, held_out = division(repeat, float(cell["share"]))
        for name in PLANS[int(cell["figure"])].methods:
            entropy = Entropy.seeded((seed, numbers[name], repeat))
            with warnings.catch_warnings():
                # Published baselines are what is compared here.
                warnings.simplefilter("ignore", ClaimedGuarantee)
                model = METHODS[name].fit(people, epsilon, entropy)
            rows.append({"method": name, "repeat": repeat, **measures(model, held_out)})
    return rows
