"""Coverage and length of private intervals over bootstrap replicates of a population.

As in the paper, the table is the population, the minimiser of its objective is the true
parameter, and replicates drawn with replacement are the samples. All methods and variants
are applied to the same replicates.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from scipy.special import ndtri

from confide._types import Array
from confide.mechanisms import (
    IntervalCalibration,
    Intervals,
    ObjectivePerturbation,
    OutputPerturbation,
    WithIntervals,
)
from confide.mechanisms.intervals.budget import Variant
from confide.noise import Entropy, Generator, Noise, RoundNoise, generator
from confide.objectives import HuberizedHinge, Logistic, Loss, Objective
from confide.privacy import Budget, Neighbours, Pure, Zcdp
from confide.studies.engine.study import Cell, Row
from confide.studies.intervals.population import (
    Population,
    draw_population,
    minimisers,
    moment_sums,
)
from confide.studies.intervals.replicates import (
    drawn_offsets,
    half_lengths,
    is_normal,
    noisy_moments,
    published_errors,
    tight_errors,
)

RIDGE = 1e-3
"""The constant c of the paper's objective, mean loss + c‖θ‖².

Our objective, the summed loss + ½Λ‖θ‖², is n times as large and has Λ = 2cn."""
LEVEL = 0.95
CELL_VALUES = 3_000_000
LOSSES: dict[str, Loss] = {"LR": Logistic(), "SVM": HuberizedHinge(1.0)}


@dataclass(frozen=True, slots=True)
class Scheme:
    """A row of the paper's tables (privacy, method and loss), in one of four variants.

    "published" and "tight" intervals split the budget as the paper does. "chosen" are tight
    intervals with the same total budget, split as in this library by default, and
    "add-remove" intervals are like "chosen" ones, but for add-remove neighbours.
    """

    privacy: str
    method: str
    loss: str
    variant: str


SCHEMES = tuple(
    Scheme(privacy, method, loss, variant)
    for privacy in ("DP", "zCDP")
    for method in ("obj", "output")
    for loss in LOSSES
    for variant in ("published", "tight", "chosen", "add-remove")
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A scheme, its calibration for a population, and the results collected so far."""

    scheme: Scheme
    plan: IntervalCalibration
    rows: int | None
    estimates: list[Array]
    covered: list[Array]
    lengths: list[Array]

    @property
    def on_term(self) -> Noise | None:
        """The noise on the linear term, or None if it is added to the coefficients."""
        return self.plan.main.noise if self.scheme.method == "obj" else None


def trial(cell: Cell, seed: int) -> list[Row]:
    """Evaluate all schemes of a grid cell on the same replicates of a population.

    The parameters of the cell include ``replicates``, the number of replicates for which
    intervals are computed; ``variability``, the smallest number of replicates from which
    the variability of estimates is computed, or 0 to omit it; and ``draw``, the seed of the
    population.
    """
    rng, entropy = generator(seed), Entropy.seeded(seed)
    population = draw_population(
        str(cell["dataset"]), int(cell["rows"]), int(cell["columns"]), int(cell["draw"])
    )
    variants = str(cell["variants"]).split("+")
    trials = [
        _calibrate(one, cell, population) for one in SCHEMES if one.variant in variants
    ]
    replicates = int(cell["replicates"])
    until = max(replicates, int(cell["variability"]))
    batch = max(8, min(200, CELL_VALUES // len(population.counts)))
    truths = {name: _truth(name, population) for name in LOSSES}
    for start in range(0, until, batch):
        counts = population.resample(min(batch, until - start), rng)
        watched = start < replicates
        for name in LOSSES:
            group = [one for one in trials if one.scheme.loss == name]
            see(
                group,
                population,
                counts,
                truths[name],
                entropy=entropy,
                rng=rng,
                watched=watched,
            )
    return [_row(one, cell, truths[one.scheme.loss], population) for one in trials]


def _objective(name: str, population: Population) -> Objective:
    ridge = 2 * RIDGE * population.rows
    return Objective(LOSSES[name], population.size, 1.0, ridge)


def _calibrate(scheme: Scheme, cell: Cell, population: Population) -> Trial:
    parts = [Fraction(repr(cell[name])) for name in ("e1", "e2", "e3")]
    budget: Budget = Pure(sum(parts))
    if scheme.privacy == "zCDP":
        parts = [part**2 / 2 for part in parts]
        budget = Zcdp(sum(parts))
    whole = sum(parts)
    split = (parts[0] / whole, parts[1] / whole, parts[2] / whole)
    mechanism = ObjectivePerturbation() if scheme.method == "obj" else OutputPerturbation()
    variant: Variant = "published" if scheme.variant == "published" else "tight"
    hidden = scheme.variant == "add-remove"
    rows = None if hidden else population.rows
    settings = Intervals(
        split=split if scheme.variant in ("published", "tight") else None,
        variant=variant,
        of="penalised",
    )
    plan = WithIntervals(mechanism, settings, rows).calibrate(
        _objective(scheme.loss, population),
        budget,
        Neighbours.ADD_REMOVE if hidden else Neighbours.REPLACE_ONE,
    )
    return Trial(scheme, plan, rows, [], [], [])


def _truth(name: str, population: Population) -> Array:
    size = population.size
    nothing = np.zeros((size, 1))
    counts = population.counts[:, None]
    objective = _objective(name, population)
    return minimisers(objective, population, counts, nothing, np.zeros(size))[:, 0]


def see(
    group: list[Trial],
    population: Population,
    counts: Array,
    truth: Array,
    *,
    entropy: Entropy,
    rng: Generator,
    watched: bool,
) -> None:
    """Fit a batch of replicates once per noise distribution, for all schemes that use it.

    The results are appended to those of ``group``; intervals are computed if ``watched``.
    """
    objective = group[0].plan.main.objective
    shape = (population.size, counts.shape[1])
    for noise in dict.fromkeys(one.on_term for one in group):
        linear = np.zeros(shape) if noise is None else _draw(noise, shape, entropy)
        solved = minimisers(objective, population, counts, linear, truth)
        sums = None
        for one in (one for one in group if one.on_term == noise):
            theta = solved
            if noise is None:
                theta = solved + _draw(one.plan.main.noise, shape, entropy)
            one.estimates.append(theta)
            if watched:
                if sums is None or noise is None:
                    sums = moment_sums(objective, population, counts, theta)
                _cover(one, theta, sums, truth, entropy=entropy, rng=rng)


def _draw(noise: Noise, shape: tuple[int, int], entropy: Entropy) -> Array:
    size, count = shape
    return cast("RoundNoise", noise).draw_many(count, size, entropy).T


def _cover(
    one: Trial,
    estimates: Array,
    sums: tuple[Array, Array],
    truth: Array,
    *,
    entropy: Entropy,
    rng: Generator,
) -> None:
    """Compute the intervals of each replicate; record their lengths and coverage."""
    objective = one.plan.main.objective
    added_to = "linear term" if one.on_term is not None else "coefficients"
    noise = one.plan.main.records(added_to)[0]
    moments = noisy_moments(one.plan.moments, estimates, sums, entropy)
    if one.scheme.variant == "published" and one.rows is not None:
        errors = published_errors(objective, estimates, noise, moments, one.rows)
    else:
        errors = tight_errors(objective, estimates, noise, moments, one.rows)
    if one.scheme.variant == "published" and not is_normal(noise.kind, len(truth)):
        low, high = drawn_offsets(errors, noise.kind, LEVEL, rng)
    else:
        high = half_lengths(errors, noise.kind, LEVEL)
        low = -high
    gap = truth - estimates.T
    one.covered.extend((low <= gap) & (gap <= high))
    one.lengths.extend(high - low)


def _row(one: Trial, cell: Cell, truth: Array, population: Population) -> Row:
    """Summarise a scheme over all coefficients, and for the first coefficient alone."""
    scheme = one.scheme
    found: dict[str, float] = {}
    if one.lengths:
        lengths = np.stack(one.lengths)
        plain = _without_privacy(one.plan.main.objective, population, truth)
        found |= {
            "coverage": float(np.mean(one.covered)),
            "length": float(lengths.mean()),
            "deviation": float(lengths.mean(axis=1).std()),
            "plain_length": float(plain.mean()),
            "first_length": float(lengths[:, 0].mean()),
            "first_deviation": float(lengths[:, 0].std()),
        }
    if cell["variability"]:
        tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
        ends = np.quantile(np.hstack(one.estimates), tails, axis=1)
        variability = ends[1] - ends[0]
        found["variability_length"] = float(variability.mean())
        found["first_variability"] = float(variability[0])
    return {
        "privacy": scheme.privacy,
        "method": scheme.method,
        "loss": scheme.loss,
        "variant": scheme.variant,
        **found,
        "share": float(1 - one.plan.split[0]),
    }


def _without_privacy(objective: Objective, population: Population, truth: Array) -> Array:
    """Return the lengths of intervals without privacy noise."""
    counts = population.counts[:, None]
    (curvature,), (scatter,) = moment_sums(objective, population, counts, truth[:, None])
    inverse = np.linalg.inv(curvature + np.diag(objective.ridge))
    pull = objective.ridge * truth
    spread = inverse @ (scatter - np.outer(pull, pull) / population.rows) @ inverse
    return np.asarray(2 * float(ndtri((1 + LEVEL) / 2)) * np.sqrt(np.diag(spread)))
