"""
Curves and interactions
=======================

Does the chance that a client subscribes depend on age? It is high for old and for young
clients, which a straight line cannot show. Splines let the data choose the curve, and
interactions let the curve differ between groups. Both add columns whose entries depend only
on one row and on public constants, so the guarantee still holds.

The table is **synthetic**, and the true curves are known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit

from confide import Approx, Category, LogisticRegression, Number, Schema, Target

rng = np.random.default_rng(0)
rows = 60_000


def true_chance(age: np.ndarray, home: np.ndarray) -> np.ndarray:
    """Return the chance of subscribing, which is lowest in middle age."""
    depth = np.where(home == "owner", 2.2, 0.9)
    return expit(-0.3 - depth * np.exp(-(((age - 45) / 14) ** 2)))


clients = pd.DataFrame(
    {
        "age": rng.uniform(18, 90, rows).round(),
        "home": rng.choice(["owner", "tenant"], rows),
    }
)
chance = true_chance(clients["age"].to_numpy(), clients["home"].to_numpy())
clients["subscribed"] = np.where(rng.random(rows) < chance, "yes", "no")

# %%
# Terms in the schema
# -------------------
# ``bs(age, df=5)`` is a B-spline whose knots divide the *public* range evenly, so no
# quantile of the rows is used. ``home:bs(age, df=5)`` gives owners and tenants their own
# curves.

columns = (
    Number("age", lower=18, upper=90, unit="year"),
    Category("home", levels=("owner", "tenant"), reference="owner"),
)
target = Target("subscribed", labels=("no", "yes"))
straight = Schema(columns, target)
curved = Schema(columns, target, terms=("home", "bs(age, df=5)", "home:bs(age, df=5)"))

budget = Approx(1, 1e-6)
models = {
    "straight lines": LogisticRegression(
        budget, schema=straight, intervals=True, ranges="public"
    ).fit(clients),
    "splines with an interaction": LogisticRegression(
        budget, schema=curved, intervals=True, ranges="public"
    ).fit(clients),
}

# %%
# The fitted curves
# -----------------
# ``mean_intervals`` gives the predicted chance for hypothetical clients, with its interval.

ages = np.arange(18, 91, 2.0)
colours = {"owner": "#2166ac", "tenant": "#b2182b"}
figure, panels = plt.subplots(2, 1, figsize=(5.4, 8), sharex=True, layout="constrained")
for axes, (title, model) in zip(panels, models.items(), strict=True):
    for home, colour in colours.items():
        asked = pd.DataFrame({"age": ages, "home": home})
        found = model.mean_intervals(asked)
        axes.fill_between(ages, found.lower, found.upper, color=colour, alpha=0.2, lw=0)
        axes.plot(ages, found.estimate, color=colour, label=home)
        axes.plot(ages, true_chance(ages, asked["home"].to_numpy()), ":", color=colour)
    axes.set(title=title, ylabel="chance of subscribing", ylim=(0, 0.7), xlim=(18, 90))
    axes.grid(alpha=0.3)
panels[1].set_xlabel("age")
panels[0].legend(title="dotted: the truth", frameon=False)
plt.show()

# %%
# Is the interaction needed?
# --------------------------
# A Wald test of its coefficients answers this question from the same release.

print(models["splines with an interaction"].wald_test("home:bs(age, df=5)"))

# %%
# What it means
# -------------
# The straight lines miss the dip between 30 and 60, and their narrow bands give no warning:
# an interval refers to the fitted model, whether that model is right or wrong. The splines
# follow the dips of both groups for the same budget. Their bands are wider, above all at
# the ends, because the model has more coefficients.
