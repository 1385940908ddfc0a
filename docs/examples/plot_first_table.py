"""
The first table of a paper, and a model that follows
====================================================

Before they look at a model, readers want to know who was studied: how many people, how old,
and how many in each group. These figures are information about people too. ``describe``
releases all of them for one charge, each with an interval. Later fits can use the ranges
that it estimates at no further cost.

The patients are **synthetic**.
"""

import matplotlib.pyplot as plt
import numpy as np
from stand_in import warfarin_like

from confide import (
    Approx,
    Boolean,
    Category,
    LinearRegression,
    Number,
    Pure,
    Schema,
    Target,
    describe,
)

patients = warfarin_like(4_000)
schema = Schema(
    columns=(
        Number("age", lower=1, upper=9, unit="decade"),
        Number("weight", lower=20, upper=300, unit="kg"),
        Category("vkorc1", levels=("G/G", "A/G", "A/A")),
        Boolean("amiodarone"),
    ),
    target=Target("dose", lower=0, upper=500, unit="mg per week"),
)

# %%
# One charge for the whole table
# ------------------------------

description = describe(patients, schema, Pure(0.5))
frame = description.to_frame()
frame[frame["statistic"].isin(["rows", "mean", "share"])].round(2)

# %%
# Shares and quantiles
# --------------------
# Black crosses are the true values of the synthetic table, which a reader would not see.

BLUE = "#2166ac"
figure, (top, bottom) = plt.subplots(2, 1, figsize=(5, 6.6), layout="constrained")
shares = frame[(frame["column"] == "vkorc1") & (frame["statistic"] == "share")]
shares = shares[shares["of"].isin(["G/G", "A/G", "A/A"])]
weights = frame[(frame["column"] == "weight") & (frame["statistic"] == "quantile")]
true_shares = patients["vkorc1"].value_counts(normalize=True)
for axes, lines, labels, truth in (
    (top, shares, list(shares["of"]), [true_shares[one] for one in shares["of"]]),
    (
        bottom,
        weights,
        [f"{100 * float(one):.0f} %" for one in weights["of"]],
        patients["weight"].quantile(weights["of"].astype(float)).to_list(),
    ),
):
    places = np.arange(len(lines))
    axes.vlines(places, lines["lower"], lines["upper"], color=BLUE, lw=6, alpha=0.4)
    axes.plot(places, lines["estimate"], "o", color=BLUE)
    axes.plot(places, truth, "x", color="black", ms=8, zorder=5)
    axes.set_xticks(places, labels)
    axes.grid(axis="y", alpha=0.3)
    axes.margins(x=0.1)
top.set(title="Genotype of VKORC1", ylabel="share of patients", ylim=(0, 0.5))
bottom.set(title="Quantiles of the weight", ylabel="kg")
plt.show()

# %%
# Ranges for later fits
# ---------------------
# The limits of the schema were generous. The description has found narrower ranges, and its
# schema contains them, so that a fit need not pay for them again.

model = LinearRegression(Approx(0.5, 1e-6), schema=description.schema, intervals=True)
print(model.fit(patients).summary())

# %%
# What it means
# -------------
# With a pure budget of :math:`\varepsilon = 0.5` the first table is precise enough for a
# paper: the intervals are a few per cent wide. The description and the model each use their
# own budget. A ledger would have added up the two.
