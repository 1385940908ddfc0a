"""
A dose model, and what its errors would mean
============================================

Warfarin keeps blood from clotting. The right dose differs tenfold between patients and
depends on age, weight and two genes. A hospital wants to publish a dose model learned from
its patients without revealing the data of any of them.

The patients here are **synthetic**; they resemble those of the International Warfarin
Pharmacogenetics Consortium.
"""

import matplotlib.pyplot as plt
import numpy as np
from stand_in import warfarin_like

from confide import Approx, Boolean, Category, LinearRegression, Number, Schema, Target

patients, later = warfarin_like(4_000), warfarin_like(2_000, seed=1)

schema = Schema(
    columns=(
        Number("age", lower=1, upper=9, unit="decade"),
        Number("weight", lower=40, upper=140, unit="kg"),
        Category("vkorc1", levels=("G/G", "A/G", "A/A"), reference="G/G"),
        Category("cyp2c9", levels=("*1/*1", "*1/*2", "*1/*3"), reference="*1/*1"),
        Boolean("amiodarone"),
    ),
    target=Target("dose", lower=0, upper=100, unit="mg per week"),
)

# %%
# One fit, with intervals
# -----------------------

model = LinearRegression(Approx(1, 1e-6), schema=schema, intervals=True)
model.fit(patients)
print(model.summary())

# %%
# How good are the predicted doses?
# ---------------------------------
# A dose within 20 % of the right one is usually called safe. We compare five budgets on
# patients who were not in the fit, with ten fits for each budget. The band reaches from the
# worst fit to the best. The dashed line is a model that gives everybody the same dose. Make
# such a comparison only on a table that is public or synthetic, like this one. On a
# confidential table each of the fifty fits would have to be paid for.

BLUE, GREY = "#2166ac", "0.45"
budgets = [0.01, 0.03, 0.1, 0.3, 1]


def share_within(doses: np.ndarray) -> float:
    """Return the share of later patients whose dose is within 20 % of the right one."""
    right = later["dose"].to_numpy()
    return float(np.mean(np.abs(doses - right) <= 0.2 * right))


def refitted(epsilon: float) -> LinearRegression:
    """Return a new fit to the same patients."""
    return LinearRegression(Approx(epsilon, 1e-6), schema=schema).fit(patients)


safe = np.array(
    [[share_within(refitted(e).predict(later)) for _ in range(10)] for e in budgets]
)
same_for_all = share_within(np.full(len(later), patients["dose"].mean()))

figure, (top, bottom) = plt.subplots(2, 1, figsize=(5.2, 8), layout="constrained")
top.fill_between(budgets, safe.min(1), safe.max(1), color=BLUE, alpha=0.2, lw=0)
top.semilogx(budgets, safe.mean(1), "o-", color=BLUE, label="private model")
top.axhline(same_for_all, color=GREY, ls="--", label="same dose for all")
top.set_xticks(budgets, [f"{e:g}" for e in budgets])
top.minorticks_off()
top.set(
    xlabel="ε, with δ = 10⁻⁶",
    ylabel="share of doses within 20 %",
    title="Accuracy by budget",
    ylim=(0, 0.6),
)
top.legend(loc="lower right", frameon=False)

bottom.plot(later["dose"], model.predict(later), ".", ms=2.5, alpha=0.35, color=BLUE)
span = np.array([0, 100])
bottom.plot(span, span, color=GREY, lw=1)
bottom.fill_between(span, 0.8 * span, 1.2 * span, color=GREY, alpha=0.15, lw=0)
bottom.set(
    xlabel="right dose (mg per week)",
    ylabel="predicted dose",
    title="At ε = 1; shaded: within 20 %",
    xlim=(0, 100),
    ylim=(0, 100),
    aspect="equal",
)
plt.show()

# %%
# What it means
# -------------
# The two genes and age matter most, as the consortium found for real patients. From about
# :math:`\varepsilon = 0.1` on, a larger budget hardly improves the doses. The remaining
# error is due to differences between patients that no column explains. Before a model is
# used in a clinic, it should be scored on patients of another hospital.

print(model.wald_test(["vkorc1", "cyp2c9"]))
