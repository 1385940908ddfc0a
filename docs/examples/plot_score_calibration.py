"""
Score a released model, and see whether its probabilities are right
===================================================================

A model fitted in one year is used in the next. Is it still good? Its scores on the new rows
are computed from confidential data, so they need a budget as well. ``private_score``
releases them with intervals.

The people are **synthetic**. Those of the later year have the same traits, but fewer of
them have a high income: the scores should show that the model has become too optimistic.
"""

import matplotlib.pyplot as plt
import numpy as np
from stand_in import adult_like

from confide import Approx, Category, LogisticRegression, Number, Pure, Schema, Target

schema = Schema(
    columns=(
        Number("age", lower=17, upper=90),
        Number("schooling", lower=1, upper=16),
        Number("hours", lower=1, upper=99),
        Category("marital", levels=("never", "formerly", "married")),
        Category("sex", levels=("Female", "Male")),
    ),
    target=Target("income", labels=("<=50K", ">50K")),
)
model = LogisticRegression(Approx(1, 1e-6), schema=schema).fit(adult_like(30_000))

# %%
# Two sets of rows
# ----------------
# In the later year there are fewer people with a high income, because three in five of them
# have been removed from the table. Ranking people is as hard as before, but the
# probabilities no longer hold.

same_year = adult_like(10_000, seed=1)
later_year = adult_like(10_000, seed=2)
left_town = np.random.default_rng(3).random(len(later_year)) < 0.6
later_year = later_year[(later_year["income"] == "<=50K") | ~left_town]

# %%
# Scores with intervals
# ---------------------
# Scores are cheap: a fifth of the budget of the fit is enough here.

scores = {
    "the same year": model.private_score(same_year, Pure(0.2)),
    "a later year": model.private_score(later_year, Pure(0.2)),
}
print(scores["a later year"])

# %%
# Discrimination and calibration
# ------------------------------

colours = {"the same year": "#2166ac", "a later year": "#b2182b"}
figure, (top, bottom) = plt.subplots(2, 1, figsize=(5, 9), layout="constrained")
for name, score in scores.items():
    colour, area = colours[name], score["area under the ROC curve"]
    roc = score.curve("ROC curve")
    label = f"{name}: area {area.value:.2f} ({area.lower:.2f} to {area.upper:.2f})"
    top.plot(
        [p.x for p in roc.points], [p.y for p in roc.points], color=colour, label=label
    )
    points = score.curve("Calibration").points
    middle = np.array([p.y for p in points])
    ends = np.array([[p.y - p.lower for p in points], [p.upper - p.y for p in points]])
    said = [p.x for p in points]
    bars = np.maximum(ends, 0)
    bottom.errorbar(said, middle, yerr=bars, fmt="o", color=colour, capsize=2)
for axes in (top, bottom):
    axes.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--", zorder=0)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
top.set(xlabel="1 - specificity", ylabel="sensitivity", title="ROC curve")
top.legend(loc="lower right", frameon=False, fontsize="small")
bottom.set(xlabel="predicted probability", ylabel="observed share", title="Calibration")
plt.show()

# %%
# What it means
# -------------
# The model still ranks people about as well in the later year: the two ROC curves are
# close. But its probabilities are too high: nearly all red points lie below the diagonal,
# and most of their intervals exclude it. The model could still be used to rank people, but
# not to forecast how many of them have a high income.
