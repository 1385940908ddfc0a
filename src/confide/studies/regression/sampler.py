"""A hypothesis about the paper on private regression: the norm of its noise was too small.

With the printed noise, no scaling of rows and doses reproduces the printed errors. Noise in
a random direction with an exponential radius nearly does, but is not private in more than
one dimension. `reg-scalings` compares all scalings at one ε, `reg-sampler` repeats figures
1, 2, 5 and 7 with this noise, and `reg-promise` computes its privacy. None of this proves
what the authors did; their text leaves it open.
"""

from functools import cache, partial
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression as LeastSquares

from confide._types import Array
from confide.data import Schema
from confide.data.datasets.loaders import paper_features
from confide.noise import Generator, generator
from confide.studies.engine.study import Cell, Row, Study, register
from confide.studies.napp.panels import legend
from confide.studies.regression.figures import EPSILONS, QUICK_EPSILONS, SOURCE
from confide.studies.regression.methods import PENALTIES, RADII
from confide.studies.regression.population import (
    UNIT,
    all_patients,
    division,
    division_places,
    measures,
    warfarin_schema,
)
from confide.studies.regression.radius_noise import excess_loss, promised
from confide.studies.regression.scalings import (
    DOSES,
    LABELS,
    PRINTED_SAMPLER,
    ROWS,
    SAMPLERS,
    SHORT_SAMPLER,
    DoseScale,
    Fitted,
    Sampler,
    Scaler,
    TableSums,
    all_pairs,
    data_independent,
    dose_scale,
    fitted,
    oracle,
)

EPSILON: Final = 0.2
"""The ε at which the paper prints an error."""
SCALING_REPEATS: Final = 4


@cache
def row_scaler(name: str) -> Scaler:
    """Return the scaling of rows with this name, computed from all patients."""
    return ROWS[name](all_patients().features)


def _scaling_cells(quick: bool) -> list[Cell]:
    rows = tuple(ROWS)[:: 5 if quick else 1]
    doses = DOSES[:: 4 if quick else 1]
    return [
        {
            "rows": one,
            "doses": other,
            "epsilon": EPSILON,
            "first": first,
            "repeats": SCALING_REPEATS,
        }
        for one, other in product(rows, doses)
        for first in range(0, SCALING_REPEATS * (1 if quick else 5), SCALING_REPEATS)
    ]


def scaling_trial(cell: Cell, seed: int) -> list[Row]:
    """Return expected errors of the oracle and the data-independent choice, by sampler."""
    del seed
    people = all_patients()
    features = row_scaler(str(cell["rows"]))(people.features)
    scale = dose_scale(str(cell["doses"]), people.dose)
    target, epsilon = scale(people.dose), float(cell["epsilon"])
    unit = (scale.unit / UNIT) ** 2
    first = int(cell["first"])
    found: list[Row] = []
    for repeat in range(first, first + int(cell["repeats"])):
        learn, held_out = division_places(repeat)
        seen = TableSums.of(features[learn], target[learn])
        new = TableSums.of(
            features[held_out], (people.dose[held_out] - scale.origin) / scale.unit
        )
        fits = all_pairs(features[learn], target[learn], epsilon)
        without_look = data_independent(features[learn], target[learn], epsilon)
        plain = LeastSquares().fit(people.features[learn], people.dose[learn])
        said = plain.predict(people.features[held_out])
        floor = float((((said - people.dose[held_out]) / UNIT) ** 2).mean())
        for name, sampler in SAMPLERS.items():
            best = oracle(fits, seen, sampler).error(new, sampler)
            chosen = without_look.error(new, sampler)
            found.append(
                {
                    "sampler": name,
                    "repeat": repeat,
                    "oracle": unit * best,
                    "data-independent": unit * chosen,
                    "not private": floor,
                }
            )
    return found


def _scaling_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate expected errors, with one row per scaling and two columns per sampler."""
    keys = ["rows", "doses", "sampler"]
    means = rows.groupby(keys, sort=False)[["oracle", "data-independent"]].mean()
    wide = means.reset_index().pivot_table(
        index=keys[:2], columns="sampler", values=list(means.columns), sort=False
    )
    order = [(who, name) for name in SAMPLERS for who in ("oracle", "data-independent")]
    heads = [f"{who}, {name}" for who, name in order]
    floors = rows.groupby(keys[:2], sort=False)["not private"].mean()
    shown = wide[order].set_axis(heads, axis="columns").join(floors)
    return shown.reset_index().replace({"rows": LABELS, "doses": LABELS}).round(3)


register(
    Study(
        name="reg-scalings",
        title=f"Expected error of rls-out at ε = {EPSILON} by scaling and sampler",
        source=f"{SOURCE}; a hypothesis about figures 1 and 5",
        cells=_scaling_cells,
        run=scaling_trial,
        table=_scaling_table,
        datasets=("warfarin",),
        version=2,
        repetition=("first",),
    )
)

METHODS: Final = ("oracle", "data-independent", "tuned, R₁", "tuned, R₂")
SHARES: Final = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
GROWING: Final = 0.5
SHOWN: Final = (
    ("public ranges", "per 100 mg"),
    ("public ranges", "0 to 100 mg onto [−1, 1]"),
    ("standardised, each row", "centred, cut at two deviations"),
)
"""Pairs of scalings of rows and doses: that of our figures, and two alternatives."""


def _sampler_cells(quick: bool) -> list[Cell]:
    places = [(epsilon, 1.0) for epsilon in (QUICK_EPSILONS if quick else EPSILONS)]
    shares = (SHARES[0], SHARES[-2]) if quick else SHARES
    places += [(GROWING, share) for share in shares if (GROWING, share) not in places]
    parts, repeats = (1 if quick else 10), 4
    return [
        {
            "rows": scaled_rows,
            "doses": doses,
            "sampler": sampler,
            "epsilon": epsilon,
            "share": share,
            "first": part * repeats,
            "repeats": repeats,
        }
        for scaled_rows, doses in (SHOWN[2:] if quick else SHOWN)
        for sampler in (PRINTED_SAMPLER, SHORT_SAMPLER)
        for epsilon, share in places
        for part in range(parts)
    ]


def sampler_trial(cell: Cell, seed: int) -> list[Row]:
    """Fit, add noise, and evaluate error and model inversion on the test patients."""
    scale = dose_scale(str(cell["doses"]), all_patients().dose)
    rows = str(cell["rows"])
    sampler, epsilon = SAMPLERS[str(cell["sampler"])], float(cell["epsilon"])
    first = int(cell["first"])
    found: list[Row] = []
    for repeat in range(first, first + int(cell["repeats"])):
        people, held_out = division(repeat, float(cell["share"]))
        table = row_scaler(rows)(people.features), scale(people.dose)
        rng = generator(seed + repeat)
        for method in METHODS:
            theta = _released(method, table, epsilon, sampler, rng)
            seen = measures(ScaledModel(warfarin_schema(), theta, rows, scale), held_out)
            found.append(
                {
                    "method": method,
                    "repeat": repeat,
                    "error": seen["error"],
                    "attack": seen["attack"],
                }
            )
    return found


class ScaledModel(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear model on scaled rows and doses, which predicts doses from raw records."""

    def __init__(self, schema: Schema, theta: Array, rows: str, scale: DoseScale) -> None:
        self.schema = schema
        self.theta = theta
        self.rows = rows
        self.scale = scale

    def predict(self, frame: pd.DataFrame) -> Array:
        """Return predicted weekly doses in mg, not clipped."""
        features = row_scaler(self.rows)(paper_features(frame, self.schema))
        return np.asarray(self.scale.origin + self.scale.unit * (features @ self.theta))


Table = tuple[Array, Array]
"""Features and scaled doses."""


def _released(
    method: str, table: Table, epsilon: float, sampler: Sampler, rng: Generator
) -> Array:
    features, target = table
    if method == "data-independent":
        return _noised(data_independent(features, target, epsilon), sampler, rng)
    if method == "oracle":
        fits = all_pairs(features, target, epsilon)
        best = oracle(fits, TableSums.of(features, target), sampler)
        return _noised(best, sampler, rng)
    return _tuned(RADII[method[-2:]], table, epsilon, sampler, rng)


def _noised(fit: Fitted, sampler: Sampler, rng: Generator) -> Array:
    return fit.theta + fit.scale * sampler.draw(len(fit.theta), rng)


def _tuned(
    radii: tuple[float, ...],
    table: Table,
    epsilon: float,
    sampler: Sampler,
    rng: Generator,
) -> Array:
    """Return the coefficients that Algorithm 5 selects.

    There is one chunk of rows for each pair of radius and penalty, and one on which the
    pairs are compared. The selection probabilities are those printed in the paper.
    """
    features, target = table
    pairs = list(product(radii, PENALTIES))
    size = len(target) // (len(pairs) + 1)
    chunks = np.arange(size * (len(pairs) + 1)).reshape(len(pairs) + 1, size)
    found = [
        _noised(fitted(features[chunk], target[chunk], *pair, epsilon), sampler, rng)
        for pair, chunk in zip(pairs, chunks[:-1], strict=True)
    ]
    judge = TableSums.of(features[chunks[-1]], target[chunks[-1]])
    losses = np.array([judge.error(theta) for theta in found])
    odds = np.exp(-(losses - losses.min()) * epsilon / (2 * max(radii) ** 2))
    return found[int(rng.choice(len(found), p=odds / odds.sum()))]


def _sampler_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate measures, with one row per scaling, sampler, ε and share of patients."""
    keys = ["rows", "doses", "sampler", "epsilon", "share"]
    groups = rows.groupby([*keys, "method"], sort=False)
    parts = []
    for name, numbers in {
        "error": groups["error"].mean(),
        "error, median": groups["error"].median(),
        "error, standard error": groups["error"].sem(),
        "genotypes guessed": groups["attack"].mean(),
    }.items():
        wide = numbers.unstack("method").reset_index()  # noqa: PD010
        wide.insert(0, "measure", name)
        parts.append(wide)
    table = pd.concat(parts, ignore_index=True).rename_axis(columns=None)
    table = table.replace({"rows": LABELS, "doses": LABELS})
    return table.rename(columns={"epsilon": "ε"}).round(4)


def _sampler_figure(rows: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    colours = dict(zip(METHODS, ("#1b7837", "#b2182b", "#e08214", "#8c510a"), strict=True))
    places = list(dict.fromkeys(zip(rows["rows"], rows["doses"], strict=True)))
    figure = Figure(figsize=(12.0, 3.6 * len(places) + 1.0), layout="constrained")
    grid = figure.subplots(len(places), 3, squeeze=False)
    wholes, growing = rows[rows["share"] == 1.0], rows[rows["epsilon"] == GROWING]
    plans = (
        (wholes, "epsilon", "error", "error in (10 mg/week)²"),
        (wholes, "epsilon", "attack", "genotypes guessed right"),
        (growing, "share", "error", f"error at ε = {GROWING:g}"),
    )
    for line, (scaled_rows, doses) in zip(grid, places, strict=True):
        for axes, (part, against, value, label) in zip(line, plans, strict=True):
            here = part[part["rows"].eq(scaled_rows) & part["doses"].eq(doses)]
            for method, colour in colours.items():
                for name, style in ((PRINTED_SAMPLER, ":"), (SHORT_SAMPLER, "-")):
                    kept = here[here["method"].eq(method) & here["sampler"].eq(name)]
                    means = kept.groupby(against)[value].median()
                    label_of = f"{method}, {name}"
                    axes.plot(
                        means.index, means, color=colour, ls=style, marker="o", ms=3,
                        label=label_of,
                    )  # fmt: skip
            if value == "error":
                axes.set_yscale("log")
                axes.set_ylim(1.5, 40)
            if against == "epsilon":
                axes.set_xscale("log")
            labels = (LABELS.get(one, one) for one in (scaled_rows, doses))
            axes.set_title("; ".join(labels), fontsize=9)
            axes.set_xlabel({"epsilon": "ε", "share": "share of the patients"}[against])
            axes.set_ylabel(label, fontsize=9)
            axes.grid(visible=True, alpha=0.3)
    legend(figure, 4)
    figure.suptitle("A hypothesis: noise with a radius that is too short", fontsize=11)
    return figure


register(
    Study(
        name="reg-sampler",
        title="Error and model inversion when the radius of the noise is exponential",
        source=f"{SOURCE}; a hypothesis about figures 1, 2, 5 and 7",
        cells=_sampler_cells,
        run=sampler_trial,
        table=_sampler_table,
        figure=_sampler_figure,
        datasets=("warfarin",),
        repetition=("first",),
    )
)

COLUMNS: Final = 14
DELTAS: Final = (0.1, 0.01, 1e-3, 1e-6)
SHIFTS: Final = {"the move that the noise is for": 1.0, "the largest move there is": 0.4}
"""Distances between minimisers, in units of (12R + 8)/(λn).

The second is (4R + 4)/(λn) at R = 1."""
SHIFT_LABELS: Final = {
    "the move that the noise is for": "sensitivity for which the noise is calibrated",
    "the largest move there is": "largest actual sensitivity",
}


def _promise_cells(quick: bool) -> list[Cell]:
    epsilons = EPSILONS[1:4:2] if quick else EPSILONS[:5]
    return [{"stated": epsilon, "shift": shift} for epsilon in epsilons for shift in SHIFTS]


def promise_trial(cell: Cell, seed: int) -> list[Row]:
    """Return the true δ at the stated ε, and the true ε at several δ, by integration."""
    del seed
    stated = float(cell["stated"])
    scale = 1 / (stated * SHIFTS[str(cell["shift"])])
    excess = partial(excess_loss, scale=scale, dimension=COLUMNS)
    row: dict[str, Any] = {
        "δ, Gamma radius": excess(stated, shape=COLUMNS),
        "δ, Exponential radius": excess(stated, shape=1),
    }
    for delta in DELTAS:
        row[f"ε at δ = {delta:g}"] = promised(delta, scale, COLUMNS, 1)
    return [row]


def _promise_table(rows: pd.DataFrame) -> pd.DataFrame:
    table = rows.replace({"shift": SHIFT_LABELS})
    return table.rename(columns={"stated": "stated ε", "shift": "sensitivity"}).round(6)


register(
    Study(
        name="reg-promise",
        title="Privacy of noise with an exponential radius in 14 dimensions",
        source=f"{SOURCE}, Algorithm 4; exact integrals, nothing is sampled",
        cells=_promise_cells,
        run=promise_trial,
        table=_promise_table,
    )
)
