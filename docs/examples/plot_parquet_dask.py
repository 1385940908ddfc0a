"""
Tables larger than memory: Parquet files and Dask
=================================================

A fit needs sums over blocks of rows and nothing else. The rows can therefore stay where
they are, in a folder of Parquet files or behind a Dask data frame. The release is the same
as for one table in memory.

The files here are small and **synthetic**: twelve months of visits to a hospital. The same
code reads billions of rows.
"""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from confide import Approx, Boolean, LogisticRegression, Number, Schema, Target

folder = Path(tempfile.mkdtemp())
for month in range(12):
    rng = np.random.default_rng(month)
    rows = 10_000
    age, nights = rng.uniform(18, 95, rows), rng.geometric(0.25, rows)
    alone = rng.random(rows) < 0.3
    log_odds = 0.03 * (age - 60) + 0.12 * (nights - 4) + 0.5 * alone - 1.2
    again = np.where(rng.logistic(size=rows) < log_odds, "yes", "no")
    visits = pd.DataFrame({"age": age, "nights": nights, "alone": alone, "again": again})
    visits.to_parquet(folder / f"visits-{month + 1:02}.parquet")

print(sorted(path.name for path in folder.iterdir())[:3], "…")

# %%
# Three sources, one release
# --------------------------
# ``fit`` takes a pattern of files, a Dask data frame, or a table in memory.
# ``random_state=0`` is used only for this comparison. With it, all three fits draw the same
# noise, so that any difference would have to come from the rows. A fit with a seed is not
# private, and its summary says so.

schema = Schema(
    columns=(
        Number("age", lower=18, upper=95, unit="year"),
        Number("nights", lower=1, upper=60),
        Boolean("alone"),
    ),
    target=Target("again", labels=("no", "yes")),
)
sources = {
    "in memory": pd.read_parquet(folder),
    "Parquet files": folder / "visits-*.parquet",
    "Dask": dd.read_parquet(folder),
}
models = {
    name: LogisticRegression(
        Approx(1, 1e-6), schema=schema, intervals=True, random_state=0
    ).fit(source)
    for name, source in sources.items()
}
coefficients = pd.DataFrame({name: one.coef_[0] for name, one in models.items()})
coefficients.index = list(models["Dask"].schema_.features)
coefficients

# %%
# The coefficients differ by no more than rounding errors:

print(f"{np.ptp(coefficients.to_numpy(), axis=1).max():.1e}")

# %%
# The same intervals from each source
# -----------------------------------

colours = {"in memory": "#222222", "Parquet files": "#2166ac", "Dask": "#b2182b"}
names = ["age", "nights", "alone"]
figure, axes = plt.subplots(figsize=(5.4, 3.4), layout="constrained")
for shift, (name, model) in zip((-0.2, 0, 0.2), models.items(), strict=True):
    table = model.effects("range").to_frame()
    places = np.arange(len(names)) + shift
    axes.hlines(places, table["lower"], table["upper"], color=colours[name], lw=3)
    axes.plot(table["estimate"], places, "o", color=colours[name], label=name, ms=5)
axes.axvline(0, color="0.6", lw=1)
axes.set_yticks(range(len(names)), names)
axes.invert_yaxis()
axes.set_xlabel("effect over the range (log-odds)")
axes.legend(frameon=False)
axes.grid(axis="x", alpha=0.3)
plt.show()

# %%
# What it means
# -------------
# A private fit needs no subsample of the rows, and the rows need not be collected on one
# machine. On the command line, ``--workers`` and ``--cluster`` distribute the rows over
# processes or a cluster. The number of passes over the files depends on the data, so it is
# shown to the data holder only and is not part of the release.
