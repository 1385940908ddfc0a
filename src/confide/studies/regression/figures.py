"""Figures 1 to 7 of the paper on private regression: doses of warfarin.

Figure 3 shows the shares of right, too low and too high doses instead of clinical risks,
because the paper does not print the parameters of its clinical simulation. Figures have one
panel per measure and one colour per method.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final

import pandas as pd

from confide.errors import ClaimedGuarantee
from confide.noise import Entropy
from confide.studies.engine.study import Cell, Row, Study, register
from confide.studies.napp.panels import legend
from confide.studies.regression.methods import CHUNKS, METHODS, PLAIN
from confide.studies.regression.population import division, measures

NAMES: Final = {
    "error": "error in (10 mg/week)²",
    "attack": "genotypes guessed right",
    "within": "within 20 % of the right dose",
    "below": "more than 20 % too low",
    "above": "more than 20 % too high",
}
LABELS: Final = {"epsilon": "ε", "share": "share of the training patients"}
MOST_ERROR: Final = 40.0
"""Upper limit of error axes; predicting 0 for everybody gives an error of about 12."""
GUESSES: Final = {
    "commonest": {"color": "0.6", "ls": ":", "lw": 1.0, "label": "commonest genotype"},
    "dose alone": {"color": "0.6", "ls": "-.", "lw": 1.0, "label": "dose, no model"},
}


def draw(rows: pd.DataFrame, values: Sequence[str], against: str, title: str) -> Any:
    """Draw measures against ε or the share of training patients.

    The measure "utility" is drawn as success of the model inversion attack against error.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    keys = [against, "method"]
    means = rows.groupby(keys, sort=False).mean(numeric_only=True).reset_index()
    layout = ConstrainedLayoutEngine(w_pad=0.12)
    figure = Figure(figsize=(max(6.6, 4.1 * len(values)), 5.0), layout=layout)
    panels = figure.subplots(1, len(values), squeeze=False)[0]
    for axes, value in zip(panels, values, strict=True):
        x, y = ("error", "attack") if value == "utility" else (against, value)
        _panel(axes, means.sort_values(against), x, y)
        if against == "epsilon" and x == against:
            ticks = sorted(means[against].unique())
            axes.set_xscale("log")
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
    legend(figure, 3)
    figure.suptitle(title, fontsize=11)
    return figure


def _panel(axes: Any, means: pd.DataFrame, x: str, y: str) -> None:
    from matplotlib.ticker import PercentFormatter

    for name, method in METHODS.items():
        line = means[means["method"] == name]
        style: dict[str, Any] = {"lw": 1.2, "ms": 4, "label": name, **method.style}
        if style.get("ls") == "--":
            style["mfc"] = "white"
        if x == "error":
            style |= {"ls": ""} | ({"marker": "*", "ms": 8} if name == PLAIN else {})
        if len(line):
            axes.plot(line[x], line[y], **style)
    if y == "attack":
        for name, style in GUESSES.items():
            axes.axhline(float(means[name].mean()), **style)
    if y != "error":
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for axis, value in ((axes.xaxis, x), (axes.yaxis, y)):
        if value == "error":
            _errors(axes, axis, float(means["error"].min()), float(means["error"].max()))
    axes.set_xlabel((NAMES | LABELS)[x], fontsize=9)
    axes.set_ylabel(NAMES[y], fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(visible=True, alpha=0.3)


def _errors(axes: Any, axis: Any, least: float, largest: float) -> None:
    """Make an error axis logarithmic, and limit it to errors up to `MOST_ERROR`."""
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    across = axis is axes.xaxis
    (axes.set_xscale if across else axes.set_yscale)("log")
    ends = (0.9 * least, min(MOST_ERROR, 1.1 * largest))
    (axes.set_xlim if across else axes.set_ylim)(*ends)
    axis.set_major_locator(FixedLocator([1.5, 2, 3, 5, 10, 20, 40]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))


GROWING_EPSILON: Final = 0.5
"""The ε of figure 7, in which the number of patients varies."""
FIT = ("data-independent", "oracle")
OURS = ("data-independent, tight", "defaults of confide")
TUNED = ("tuned output, R₁", "tuned output, R₂", "tuned output, tight")
OUTPUT = ("functional", *TUNED, *FIT, OURS[0], "random stopping, tight", OURS[1], PLAIN)


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """The methods, measures, title and horizontal axis of a figure."""

    methods: tuple[str, ...]
    shown: tuple[str, ...]
    title: str
    against: str = "epsilon"


PLANS: Final = {
    1: FigureSpec(
        OUTPUT, ("error",), "Error in the predicted dose, by ε: output perturbation"
    ),
    2: FigureSpec(
        (*FIT, "oracle, noise included", *OURS, PLAIN),
        ("error",),
        "Error in the predicted dose, by ε: data-independent choice and oracle",
    ),
    3: FigureSpec(
        ("functional", *TUNED, "data-independent", *OURS, PLAIN),
        ("within", "below", "above"),
        "Right, too low and too high doses by ε (in place of clinical risks)",
    ),
    4: FigureSpec(
        (
            *("tuned objective, R₁", "tuned objective, R₂"),
            *("objective, data-independent", *FIT, "histogram", *OURS, PLAIN),
        ),
        ("error",),
        "Error in the predicted dose, by ε: objective perturbation and histogram",
    ),
    5: FigureSpec(OUTPUT, ("attack", "utility"), "Genotypes guessed by model inversion"),
    6: FigureSpec(
        (*FIT, "oracle, noise included", "objective, data-independent", *OURS, PLAIN),
        ("attack", "utility"),
        "Genotypes guessed by model inversion: data-independent choice and oracle",
    ),
    7: FigureSpec(
        (*TUNED, "random stopping, tight", OURS[1], PLAIN),
        ("error", "attack"),
        f"Error and model inversion by number of patients at ε = {GROWING_EPSILON}",
        against="share",
    ),
}


def trial(cell: Cell, seed: int) -> list[Row]:
    """Fit one method to several training sets, and evaluate it on the test sets."""
    name, epsilon = str(cell["method"]), Fraction(repr(cell["epsilon"]))
    first = int(cell["first"])
    rows: list[Row] = []
    for repeat in range(first, first + int(cell["repeats"])):
        people, held_out = division(repeat, float(cell["share"]))
        with warnings.catch_warnings():
            # Published baselines are compared on purpose.
            warnings.simplefilter("ignore", ClaimedGuarantee)
            model = METHODS[name].fit(people, epsilon, Entropy.seeded((seed, repeat)))
        rows.append({"repeat": repeat, **measures(model, held_out)})
    return rows


SOURCE: Final = (
    "Wu, Fredrikson, Wu, Jha and Naughton: Revisiting Differentially Private Regression: "
    "Lessons From Learning Theory and their Consequences"
)
EPSILONS: Final = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
QUICK_EPSILONS: Final = (0.2, 1.0, 5.0)
SHARES: Final = tuple(k / 10 for k in range(1, 11))
QUICK_SHARES: Final = (0.1, 0.5, 1.0)
REPEATS, PARTS = 100, 20


def _cells(number: int, quick: bool) -> list[Cell]:
    plan = PLANS[number]
    if plan.against == "share":
        shares = QUICK_SHARES if quick else SHARES
        places = [(GROWING_EPSILON, share) for share in shares]
    else:
        places = [(epsilon, 1.0) for epsilon in (QUICK_EPSILONS if quick else EPSILONS)]
    return [
        {
            "method": method,
            "epsilon": epsilon,
            "share": share,
            "first": part * (REPEATS // PARTS),
            "repeats": REPEATS // PARTS,
        }
        for method in plan.methods
        for epsilon, share in places
        for part in range(1 if quick else PARTS)
    ]


def _table(plan: FigureSpec, rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate measures by ε or share of patients, with one column per method."""
    values = list(dict.fromkeys("error" if v == "utility" else v for v in plan.shown))
    key = plan.against
    groups = rows.groupby([key, "method"], sort=False)
    parts = []
    for value in values:
        found = {NAMES[value]: groups[value].mean()}
        if value == "error":
            found[f"{NAMES[value]}, median"] = groups[value].median()
        found[f"{NAMES[value]}, standard error"] = groups[value].sem()
        for name, numbers in found.items():
            wide = numbers.unstack("method").reset_index()  # noqa: PD010
            wide.insert(0, "measure", name)
            parts.append(wide)
    table = pd.concat(parts, ignore_index=True).rename_axis(columns=None)
    present = [name for name in METHODS if name in table]
    table = table[["measure", key, *present]].round(4)
    if "attack" in values:
        about = table["measure"] == NAMES["attack"]
        guesses = rows.groupby(key)[list(GUESSES)].mean().round(4)
        for name in GUESSES:
            table[name] = table[key].map(guesses[name]).where(about)
    return table.rename(columns={"epsilon": "ε", "share": "share of patients"})


def _source(number: int, plan: FigureSpec) -> str:
    more = f"; tuning uses {CHUNKS} chunks" if set(TUNED) & set(plan.methods) else ""
    return f"{SOURCE}, figure {number}{more}"


def _figure(plan: FigureSpec, rows: pd.DataFrame) -> Any:
    return draw(rows, plan.shown, plan.against, plan.title)


for _number, _plan in PLANS.items():
    register(
        Study(
            name=f"reg-figure{_number}",
            title=_plan.title,
            source=_source(_number, _plan),
            cells=partial(_cells, _number),
            run=trial,
            table=partial(_table, _plan),
            figure=partial(_figure, _plan),
            datasets=("warfarin",),
            version=2,
            grid="reg-doses",
            repetition=("first",),
        )
    )
