"""One panel of the NAPP studies: every method over a grid of Λ on the same tables.

Λ is always defined as published. At the fixed point of the iterations, a published weight
Λ/|θ| is equivalent to the penalty 2Λ|θ|, so the other methods use the penalty 2Λ‖θ‖₁.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from confide._types import Array
from confide.data import Rows, bound_rows
from confide.mechanisms import Calibration
from confide.mechanisms.published import Napp, NappPath
from confide.mechanisms.published.napp.iterations import settled
from confide.mechanisms.published.napp.rows import Shares
from confide.noise import (
    Entropy,
    Noise,
    RoundNoise,
    generator,
)
from confide.objectives import Objective
from confide.privacy import Approx, Budget, Neighbours, Pure
from confide.studies.engine.study import Cell, Row
from confide.studies.napp.baselines import (
    lasso,
    sound,
    sound_retrieved,
    two_looks,
    two_looks_retrieved,
)
from confide.studies.napp.batch import BatchTable, Fits, retrieved, together
from confide.studies.napp.population import SETTINGS, TEST_ROWS, Setting, selection_rates


@dataclass(frozen=True, slots=True)
class Variant:
    """A published variant of NAPP-ERM.

    ``moor`` tells whether it uses MOOR, ``selection`` whether its linear term is ⟨b,|θ|⟩
    rather than ⟨b,θ⟩, and ``truncated`` whether all entries of b are positive.
    """

    moor: bool
    selection: bool = False
    truncated: bool = False

    @property
    def mechanism(self) -> Napp:
        """The mechanism for a single fit."""
        floor = 0.0 if self.truncated else -math.inf
        return Napp(
            moor=self.moor,
            selection=self.selection,
            truncation=floor,
            accept_unproved=True,
        )


VARIANTS = {
    "VS+ MOOR": Variant(moor=True, selection=True, truncated=True),
    "VS+": Variant(moor=False, selection=True, truncated=True),
    "VS MOOR": Variant(moor=True, selection=True),
    "VS": Variant(moor=False, selection=True),
    "ERM MOOR": Variant(moor=True),
    "DP-ERM": Variant(moor=False),
}
LASSO, SOUND, LOOKS = "lasso", "sound", "two looks"
RECYCLED = ", recycled"
ZERO_BELOW = 1e-8
Measured = dict[str, list[Array]]


def budget_of(cell: Cell) -> Pure | Approx:
    """Return the privacy budget of a grid cell; it is pure if δ is 0."""
    epsilon, delta = (Fraction(repr(cell[name])) for name in ("epsilon", "delta"))
    return Approx(epsilon, delta) if delta else Pure(epsilon)


def trial(cell: Cell, seed: int) -> list[Row]:
    """Evaluate the methods of a grid cell on ``repeats`` simulated tables.

    The parameter ``methods`` of the cell is "all", "published" (neither the lasso nor our
    private methods) or "recycled" (of the published variants only those with MOOR, without
    and with one round of recycling). In the results of our private methods, ``retrieved``
    is the share of ε/2 that they need not reserve for the log-determinant.
    """
    setting, budget = SETTINGS[str(cell["regression"])], budget_of(cell)
    rng, entropy = generator(seed), Entropy.seeded(seed)
    test = setting.simulate(TEST_ROWS, rng)
    strengths = setting.strengths
    methods = str(cell["methods"])
    seen: dict[str, Measured] = {}
    for repeat in range(int(cell["repeats"])):
        x, y = setting.simulate(int(cell["rows"]), rng)
        found = published(
            setting, budget, (x, y), strengths, entropy, recycled=methods == "recycled"
        )
        if methods != "published":
            objective = setting.objective
            rows = bound_rows(x, y, objective.row_norm, 0.0)
            plain = [lasso(objective, rows, strength) for strength in strengths]
            found[LASSO] = (np.stack(plain), None)
            found |= private(objective, budget, rows, strengths, (seed, repeat))
        for name, (thetas, shares) in found.items():
            _measure(seen.setdefault(name, {}), setting, thetas, shares, test)
    spared = {} if methods == "published" else _spared(setting.objective, budget)
    return [
        {**_row(name, strength, measured, k), **spared.get(name, {})}
        for name, measured in seen.items()
        for k, strength in enumerate(strengths)
    ]


def _spared(objective: Objective, budget: Budget) -> dict[str, dict[str, float]]:
    return {
        SOUND: {"retrieved": sound_retrieved(objective, budget)},
        LOOKS: {"retrieved": two_looks_retrieved(objective, budget)},
    }


def published(
    setting: Setting,
    budget: Pure | Approx,
    data: tuple[Array, Array],
    strengths: Array,
    entropy: Entropy,
    *,
    recycled: bool,
) -> dict[str, tuple[Array, Array | None]]:
    """Return coefficients and retrieved shares of ε/2 over the grid of Λ, by variant.

    Variants use the same noise draws if possible, so that differences are not due to noise.
    """
    names = [name for name, one in VARIANTS.items() if one.moor or not recycled]
    plan = calibrated(setting.objective, budget)
    whole = plan.noise.draw(setting.objective.dimension, entropy)
    above = draw_above(plan.noise, setting.objective.dimension, entropy)
    floor = plan.objective.strong_convexity / 2
    parts = [
        Fits.of(
            strengths,
            floor,
            above if VARIANTS[name].truncated else whole,
            moor=VARIANTS[name].moor,
            folded=VARIANTS[name].selection,
        )
        for name in names
    ]
    fits, table = together(parts), BatchTable(setting.loss, *data)
    path = table.follow(fits)
    half = float(budget.epsilon) / 2
    shares = Shares(half, half)
    found = _cut(names, path, retrieved(fits, shares, path) / half)
    if recycled:
        again, gained = table.recycle(fits, shares, path)
        longer = [name + RECYCLED for name in names]
        found |= _cut(longer, again, gained / half)
    return found


def calibrated(objective: Objective, budget: Budget) -> Calibration:
    """Return the calibration of noise and Λ₀ that all published variants share."""
    plain = Napp(accept_unproved=True)
    return plain.calibrate(objective, budget, Neighbours.ADD_REMOVE)


def draw_above(noise: Noise, dimension: int, entropy: Entropy) -> Array:
    """Draw the noise of NAPP-VS+, whose coordinates are all positive."""
    return cast("RoundNoise", noise).draw_above(0.0, dimension, entropy)


def _cut(
    names: list[str], path: NappPath, shares: Array
) -> dict[str, tuple[Array, Array | None]]:
    thetas = settled(path, ZERO_BELOW)
    return dict(
        zip(
            names,
            zip(
                np.split(thetas, len(names)),
                np.split(shares, len(names)),
                strict=True,
            ),
            strict=True,
        )
    )


def private(
    objective: Objective,
    budget: Budget,
    rows: Rows,
    strengths: Array,
    seeds: tuple[int, int],
) -> dict[str, tuple[Array, Array | None]]:
    """Return coefficients of our private methods, with the same noise for every Λ."""
    found: dict[str, tuple[Array, Array | None]] = {}
    for name, method in ((SOUND, sound), (LOOKS, two_looks)):
        fits = [
            method(objective, budget, rows, strength, Entropy.seeded(seeds))
            for strength in strengths
        ]
        found[name] = (np.stack(fits), None)
    return found


def _measure(
    seen: Measured,
    setting: Setting,
    thetas: Array,
    shares: Array | None,
    test: tuple[Array, Array],
) -> None:
    hit, wrong = selection_rates(thetas)
    values = {
        "tpr": hit,
        "fpr": wrong,
        "nothing": (thetas == 0).all(axis=1),
        "error": setting.errors(thetas, *test),
    }
    if shares is not None:
        values["retrieved"] = shares
    for name, value in values.items():
        seen.setdefault(name, []).append(value)


def _row(method: str, strength: float, seen: Measured, k: int) -> Row:
    means = {name: float(np.mean([one[k] for one in seen[name]])) for name in seen}
    spread = float(np.std([one[k] for one in seen["error"]]))
    lost = {} if "retrieved" in means else {"retrieved": None}
    return {
        "method": method,
        "strength": float(strength),
        **means,
        "error_deviation": spread,
        **lost,
    }
