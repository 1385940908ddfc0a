"""
Categories: what are levels compared with?
==========================================

Six hospitals report how many days their patients stay. "Hospital C keeps patients two days
longer" means something only if we know: longer than *what*? This example shows three
answers. All are computed from one release, so the choice costs no budget.

The hospitals and their patients are **synthetic**.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from confide import Approx, Category, LinearRegression, Number, Schema, Target

rng = np.random.default_rng(0)
rows = 20_000
hospitals = ("A", "B", "C", "D", "E", "F")
shares = (0.38, 0.25, 0.16, 0.12, 0.08, 0.01)
longer = dict(zip(hospitals, (0.0, -0.6, 2.0, 0.4, 1.0, -0.5), strict=True))

stays = pd.DataFrame(
    {
        "hospital": rng.choice(hospitals, rows, p=shares),
        "age": np.clip(rng.normal(62, 15, rows), 18, 100).round(),
    }
)
days = 6 + stays["hospital"].map(longer) + 0.05 * (stays["age"] - 62)
stays["days"] = np.clip(days + rng.gamma(2, 1.5, rows) - 3, 1, 40).round(1)

# %%
# One fit
# -------
# ``share`` states the share of patients in each hospital, which is public here. Levels are
# then compared with the average over patients.

schema = Schema(
    columns=(
        Category("hospital", levels=hospitals, share=shares),
        Number("age", lower=18, upper=100, unit="year"),
    ),
    target=Target("days", lower=0, upper=40, unit="day"),
)
model = LinearRegression(Approx(1, 1e-6), schema=schema, intervals=True).fit(stays)
against_a = model.with_reference(hospital="A")
against_f = model.with_reference(hospital="F")

# %%
# Three views of the release
# --------------------------

BLUE, RED, GREY = "#2166ac", "#b2182b", "0.6"


def draw(axes: plt.Axes, view: LinearRegression, title: str) -> None:
    """Draw the effects of the hospitals in one view of the release."""
    table = view.intervals_.to_frame()
    for place, name in enumerate(hospitals):
        line = f"hospital={name}"
        if line not in table.index:
            axes.plot(0, place, "D", color=RED, ms=6)
            continue
        one = table.loc[line]
        axes.plot([one["lower"], one["upper"]], [place, place], color=BLUE, lw=3)
        axes.plot(one["estimate"], place, "o", color="#222222", ms=5)
    axes.axvline(0, color=GREY, lw=1, zorder=0)
    axes.set(title=title, ylabel="hospital", yticks=range(6), yticklabels=hospitals)
    axes.grid(axis="x", alpha=0.3)


figure, panels = plt.subplots(
    3, 1, figsize=(5.2, 8), sharex=True, sharey=True, layout="constrained"
)
draw(panels[0], model, "longer than the average patient")
draw(panels[1], against_a, "longer than in A, the largest")
draw(panels[2], against_f, "longer than in F, the smallest")
panels[0].invert_yaxis()
panels[2].set_xlabel("days longer")
plt.show()

# %%
# Questions about single pairs
# ----------------------------
# A contrast compares any two levels, and a Wald test asks whether there are any
# differences.

print(model.contrast("hospital=C - hospital=E"))
print(model.wald_test("hospital"))

# %%
# What it means
# -------------
# If hospitals are compared with the average or with a large hospital, the intervals are
# short. If they are compared with F, which has one patient in a hundred, *every* interval
# is long, because each one includes the uncertainty of F. Choose a common level as the
# reference, or the average over patients. A rare reference level does not make the
# estimates worse, but it makes them look worse.
