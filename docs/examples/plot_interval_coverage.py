"""
Do the intervals hold?
======================

A 95 % interval should contain the true coefficient in 95 of 100 studies, however much noise
was added to protect the people in the table. We repeat a study a hundred times on
**synthetic** tables, and count the intervals that contain the true coefficient.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from confide import Approx, Boolean, LogisticRegression, Number, Schema, Target

TRUE_EFFECT = 0.5
STUDIES, ROWS = 100, 4_000
schema = Schema(
    columns=(Number("age", lower=18, upper=90, unit="year"), Boolean("smoker")),
    target=Target("ill", labels=("no", "yes")),
)


def study(number: int) -> pd.DataFrame:
    """Return the table of one study."""
    rng = np.random.default_rng(number)
    age, smoker = rng.uniform(18, 90, ROWS), rng.random(ROWS) < 0.3
    log_odds = 0.03 * (age - 54) + TRUE_EFFECT * smoker - 0.5
    ill = np.where(rng.logistic(size=ROWS) < log_odds, "yes", "no")
    return pd.DataFrame({"age": age, "smoker": smoker, "ill": ill})


# %%
# A hundred studies at two budgets
# --------------------------------

budgets = {"ε = 0.2": Approx(0.2, 1e-6), "ε = 5": Approx(5, 1e-6)}
found = {
    name: [
        LogisticRegression(budget, schema=schema, intervals=True, ranges="public")
        .fit(study(number))
        .intervals_["smoker"]
        for number in range(STUDIES)
    ]
    for name, budget in budgets.items()
}

# %%
# Every interval
# --------------
# Red intervals do not contain the true effect.

BLUE, RED = "#2166ac", "#b2182b"
figure, panels = plt.subplots(1, 2, figsize=(5.8, 5.5), sharex=True, layout="constrained")
for axes, (name, lines) in zip(panels, found.items(), strict=True):
    known = [line for line in lines if line.identified]
    known.sort(key=lambda line: line.estimate)
    held = [line.lower <= TRUE_EFFECT <= line.upper for line in known]
    for place, (line, holds) in enumerate(zip(known, held, strict=True)):
        colour = BLUE if holds else RED
        axes.plot([line.lower, line.upper], [place] * 2, color=colour, lw=1.5)
    width = np.median([line.upper - line.lower for line in known])
    axes.axvline(TRUE_EFFECT, color="0.3", ls="--", lw=1)
    axes.set_title(f"{name}\n{sum(held)} of {len(known)} hold\nwidth {width:.2f}")
    axes.set(xlabel="effect of smoking", yticks=[])
plt.show()

# %%
# What it means
# -------------
# At both budgets about 95 of 100 intervals contain the true effect. With the smaller budget
# they are wider, as they must be: the intervals take into account how much noise was added.
# Noisy coefficients without such intervals would look equally certain at both budgets.
