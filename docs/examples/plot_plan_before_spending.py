"""
Plan before spending
====================

A budget that has been spent cannot be recovered. Before spending it, a study office wants
to know how long the intervals will be, which columns will be hidden by noise, and how much
budget or how many rows would be enough. ``plan_fit`` predicts this from public facts alone.
It does not read the table.

The plan uses **synthetic** tables. At the end we generate another table and check the
predictions.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from stand_in import adult_like

from confide import Approx, Category, LogisticRegression, Number, Schema, Target
from confide.planning import plan_fit, plot_fit_plan

# %%
# What is known beforehand
# ------------------------
# ``typical`` (a range that contains four in five values) and ``share`` are optional. They
# come from a codebook or from common knowledge. They make the plan more accurate and do not
# change the fit.

schema = Schema(
    columns=(
        Number("age", lower=17, upper=90, unit="year", typical=(22, 58)),
        Number("schooling", lower=1, upper=16, unit="year", typical=(7, 13)),
        Number("hours", lower=1, upper=99, unit="hour", typical=(25, 55)),
        Category(
            "marital",
            levels=("never", "formerly", "married"),
            share={"never": 0.3, "formerly": 0.2, "married": 0.5},
        ),
        Category("sex", levels=("Female", "Male"), reference="Female"),
    ),
    target=Target("income", labels=("<=50K", ">50K"), share={">50K": 0.25}),
)
model = LogisticRegression(Approx(1, 1e-6), schema=schema, intervals=True)
plan = plan_fit(model, rows=5_000)
print(plan)

# %%
# Every column, before the fit
# ----------------------------
# Widths are relative to the size of a typical effect of the column. If the width is 1, a
# typical effect can be distinguished from zero, but only just.

plot_fit_plan(plan, ax=plt.subplots(figsize=(5.8, 3.4), layout="constrained")[1])
plt.show()

# %%
# How much budget, how many rows?
# -------------------------------
# Suppose that the interval for the effect of a year of schooling should be at most 0.15
# wide.

print(plan.smallest_budget("schooling", 0.15))
print(plan.smallest_rows("schooling", 0.15))

# %%
# Predicted and actual widths
# ---------------------------
# The band shows the quartiles of the predicted width over the tables that the plan
# simulates. The dots are fits to a table that was generated afterwards, ten for each
# budget.

table = adult_like(5_000)
budgets = [0.6, 1, 2, 4]
plans = [plan.with_budget(Approx(e, 1e-6)).line("schooling") for e in budgets]


def found_width(epsilon: float) -> float:
    """Return the width of the interval of schooling in one fit."""
    fitted = LogisticRegression(Approx(epsilon, 1e-6), schema=schema, intervals=True)
    one = fitted.fit(table).intervals_["schooling"]
    return one.upper - one.lower if one.identified else np.nan


BLUE, DOT = "#2166ac", "#222222"
figure, axes = plt.subplots(figsize=(5.4, 4), layout="constrained")
axes.fill_between(
    budgets,
    [one.narrow for one in plans],
    [one.wide for one in plans],
    color=BLUE,
    alpha=0.2,
    lw=0,
    label="planned: quartiles",
)
axes.plot(budgets, [one.width for one in plans], color=BLUE, label="planned: median")
for epsilon in budgets:
    widths = [found_width(epsilon) for _ in range(10)]
    axes.plot([epsilon] * 10, widths, ".", color=DOT, alpha=0.5)
axes.plot([], [], ".", color=DOT, label="actual fits")
axes.set(xscale="log", xlabel="ε, with δ = 10⁻⁶", ylabel="width of the interval")
axes.set_title("Schooling, 5,000 rows")
axes.set_xticks(budgets, [f"{e:g}" for e in budgets])
axes.minorticks_off()
axes.set_ylim(0, None)
axes.legend(frameon=False)
plt.show()

# %%
# What it means
# -------------
# The plan predicts the right order of magnitude, and it shows above which value a larger
# budget hardly helps. Where the curve is flat, sampling error determines the width, and
# only more rows make the interval shorter.
