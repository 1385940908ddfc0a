"""
Tuning for the price of one charge
==================================

If you try six ridges and keep the best one, the table is used six times for the fits, and
once more for the choice. A loop over private fits pays for each of them, and the scores by
which it chooses have no guarantee at all. ``PrivateSearch`` tries all candidates and
chooses among them for one charge.

The patients are **synthetic**.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from stand_in import warfarin_like

from confide import Approx, Boolean, Category, LinearRegression, Number, Schema, Target
from confide.tuning import PrivateSearch

patients, later = warfarin_like(4_000), warfarin_like(2_000, seed=1)
schema = Schema(
    columns=(
        Number("age", lower=1, upper=9, unit="decade"),
        Number("weight", lower=40, upper=140, unit="kg"),
        Category("vkorc1", levels=("G/G", "A/G", "A/A")),
        Category("cyp2c9", levels=("*1/*1", "*1/*2", "*1/*3")),
        Boolean("amiodarone"),
    ),
    target=Target("dose", lower=0, upper=100, unit="mg per week"),
)

# %%
# A setting that matters
# ----------------------
# Output perturbation adds noise to the fitted coefficients, and less noise if the ridge is
# stronger. With a weak ridge, noise hides the coefficients. A strong ridge shrinks them
# almost to zero. The candidates are written down before looking at the data.

budget = Approx(1, 1e-6)
ridges = [4, 16, 64, 256, 1_024, 4_096]
model = LinearRegression(schema=schema, mechanism="output", ranges="public")
search = PrivateSearch(model, {"l2": ridges}, budget).fit(patients)
print(search.best_params_)
print(search.best_estimator_.release_.guarantee)

# %%
# Was it a good choice?
# ---------------------
# On a synthetic table we can compute what would stay hidden on a confidential one: the
# errors of every candidate when it is fitted with the whole budget (left), and those of 20
# searches (right). Each dot is one fit or one search.


def typical_error(fitted: LinearRegression) -> float:
    """Return the root mean square error on later patients."""
    return float(np.sqrt(np.mean((fitted.predict(later) - later["dose"]) ** 2)))


def fixed(ridge: float) -> LinearRegression:
    """Return a fit with a fixed ridge and the whole budget."""
    return clone(model).set_params(budget=budget, l2=ridge).fit(patients)


alone = np.array([[typical_error(fixed(ridge)) for _ in range(20)] for ridge in ridges])
searches = [PrivateSearch(model, {"l2": ridges}, budget).fit(patients) for _ in range(20)]
chosen = np.array([typical_error(one.best_estimator_) for one in searches])

BLUE, RED = "#2166ac", "#b2182b"
jitter = np.linspace(-0.12, 0.12, 20)
figure, axes = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
for place, errors in enumerate(alone):
    axes.plot(place + jitter, errors, ".", color=BLUE, alpha=0.5)
axes.plot(range(6), np.median(alone, axis=1), color=BLUE, label="one ridge, whole budget")
axes.plot(7 + jitter, chosen, ".", color=RED, alpha=0.6, label="chosen by a search")
axes.plot([6.8, 7.2], [np.median(chosen)] * 2, color=RED)
axes.axhline(later["dose"].std(), color="0.5", ls="--", lw=1, label="same dose for all")
axes.set_xticks([*range(6), 7], [*(f"{ridge:,}" for ridge in ridges), "search"])
axes.set(xlabel="ridge (l2)", ylabel="error of the dose (mg per week)")
axes.set_ylim(8, None)
axes.legend(frameon=False, loc="upper center")
plt.show()

# %%
# What it means
# -------------
# The search avoids the ridges that would have ruined the fit, and its errors are close to
# those of the best one. The price is that every candidate is fitted on only a part of the
# rows. Use a search if the right setting matters and is unknown. The default mechanism
# chooses its ridge from public facts. Where that works well, a search is not worth its
# cost.
