"""A hypothesis about figure 6 of the NAPP paper: noise calibrated for shorter rows.

The paper bounds the norm of records in its Assumption 1, but does not say how the Adult
data were coded or scaled to satisfy this bound. Here numeric attributes are scaled to
[0, 1], and every level of a category has an indicator column (or the levels are numbered,
in one column). Without the constant 1, a row then has norm up to √14. The noise is
calibrated either for rows of norm 1, although actual norms are larger, or for the largest
possible norm. The former has no privacy guarantee. The paper gives δ as 0.001 in table 4
and as 0.0001 elsewhere. Everything else is as in `figure6`, with one exception: for the
largest norm, Λ₀ = 1/ε is too small, and the Λ₀ of the theorem is used.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd

from confide._types import Array
from confide.data import Schema, bound_rows, load
from confide.mechanisms.published.napp.iterations import settled
from confide.noise import Entropy
from confide.objectives import Logistic, Objective
from confide.privacy import Approx
from confide.studies.engine.study import Cell, Row, Study, register
from confide.studies.napp.baselines import lasso
from confide.studies.napp.batch import BatchTable
from confide.studies.napp.figure6 import (
    EPSILONS,
    STRENGTHS,
    readings_figure,
    readings_table,
    tested,
    variant_fits,
)
from confide.studies.napp.panels import SOURCE
from confide.studies.napp.trial import LASSO, VARIANTS, ZERO_BELOW, calibrated

SHORT, LONGEST = "noise for length 1", "noise for the longest row"
EVERY, BUT_COMMONEST, NUMBERED = "every level", "all but the commonest", "levels numbered"
LABELS: Final = {
    SHORT: "calibrated for rows of length 1",
    LONGEST: "calibrated for the longest row",
    EVERY: "an indicator for every level",
    BUT_COMMONEST: "indicators for all levels but the commonest",
    NUMBERED: "levels as numbers",
}
"""Labels in tables; the names determine the seeds of cells."""
DELTAS: Final = (1e-6, 1e-4, 1e-3)
PARTS, REPEATS = 5, 1


@lru_cache(maxsize=2)
def people(split: str, coding: str) -> tuple[Array, Array]:
    """Return complete records scaled to [0, 1] with a column of ones, and incomes as ±1."""
    frame, known = load("adult", split).dropna(), load("adult", "train").dropna()
    schema = Schema.bundled("adult")
    parts: list[Any] = []
    for column in schema.columns:
        values = frame[column.name]
        if not column.coded:
            low, high = column.ends
            parts.append((column.read(values).clip(low, high) - low) / (high - low))
        elif coding == NUMBERED:
            places = {level: place for place, level in enumerate(column.levels)}
            parts.append(values.map(places).astype(float) / (len(places) - 1))
        else:
            commonest = known[column.name].mode().iloc[0]
            kept = [one for one in column.levels if coding == EVERY or one != commonest]
            parts += [values == level for level in kept]
    columns = [*parts, np.ones(len(frame))]
    rich = (schema.target_column(frame) == ">50K").to_numpy()
    return np.column_stack(columns).astype(np.float64), np.where(rich, 1.0, -1.0)


def longest_row() -> float:
    """Return √15, the norm of a row whose 14 attributes and constant are all 1."""
    return float(np.sqrt(len(Schema.bundled("adult").columns) + 1))


def _settings(quick: bool) -> Iterator[tuple[str, str, float, float, float]]:
    """Yield calibration of the noise, coding, δ, ε and Λ of every setting."""
    middle, most = STRENGTHS[1], EPSILONS[-1]
    yield SHORT, BUT_COMMONEST, DELTAS[1], most, middle
    yield LONGEST, BUT_COMMONEST, DELTAS[1], most, middle
    if quick:
        return
    yield SHORT, NUMBERED, DELTAS[1], most, middle
    for epsilon in (EPSILONS[0], EPSILONS[3], most):
        for strength in STRENGTHS:
            if (epsilon, strength) != (most, middle):
                yield SHORT, BUT_COMMONEST, DELTAS[1], epsilon, strength
    for coding, delta in product((EVERY, BUT_COMMONEST), DELTAS):
        if (coding, delta) != (BUT_COMMONEST, DELTAS[1]):
            yield SHORT, coding, delta, most, middle


def _cells(quick: bool) -> list[Cell]:
    return [
        {
            "noise": noise,
            "coding": coding,
            "delta": delta,
            "epsilon": epsilon,
            "strength": strength,
            "part": part,
            "repeats": REPEATS,
        }
        for noise, coding, delta, epsilon, strength in _settings(quick)
        for part in range(1 if quick else PARTS)
    ]


def trial(cell: Cell, seed: int) -> list[Row]:
    """Evaluate the published variants at one ε and Λ, with new noise in each repeat."""
    coding = str(cell["coding"])
    x, y = people("train", coding)
    epsilon = Fraction(repr(cell["epsilon"]))
    budget = Approx(epsilon, Fraction(repr(cell["delta"])))
    longest = longest_row()
    objective = Objective(Logistic(), x.shape[1], longest)
    if cell["noise"] == SHORT:
        objective = Objective(Logistic(), x.shape[1], 1.0).with_l2(2 / float(epsilon))
    plan = calibrated(objective, budget)
    entropy, table = Entropy.seeded(seed), BatchTable(objective.loss, x, y)
    strength = np.array([float(cell["strength"])])
    row = partial(tested, people("test", coding))
    real = Objective(Logistic(), x.shape[1], longest)
    plain = lasso(real, bound_rows(x, y, longest, 0.0), strength[0])
    found = [row(LASSO, plain, plain)]
    for _ in range(int(cell["repeats"])):
        path = table.follow(variant_fits(plan, strength, entropy))
        ends = zip(VARIANTS, settled(path, ZERO_BELOW), path.theta, strict=True)
        found += [row(*end) for end in ends]
    return found


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the results of figure 6 for every calibration of the noise, coding and δ."""
    keys = ["noise", "coding", "delta"]
    parts = []
    for _, part in rows.groupby(keys, sort=False):
        heads = part[keys].iloc[:1].rename(columns={"delta": "δ"})
        parts.append(heads.merge(readings_table(part), how="cross"))
    return pd.concat(parts, ignore_index=True).replace({"noise": LABELS, "coding": LABELS})


def _figure(rows: pd.DataFrame) -> Any:
    here = rows["noise"].eq(SHORT) & rows["coding"].eq(BUT_COMMONEST)
    return readings_figure(rows[here & rows["delta"].eq(DELTAS[1])])


register(
    Study(
        name="napp-lengths",
        title="Misclassification in the Adult data, with noise for shorter rows",
        source=f"{SOURCE}; a hypothesis about figure 6",
        cells=_cells,
        run=trial,
        table=_table,
        figure=_figure,
        datasets=("adult",),
        repetition=("part",),
    )
)
