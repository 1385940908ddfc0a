"""
Do people see a doctor less often when they pay? Poisson regression
===================================================================

In the RAND health insurance experiment families were given plans under which they paid
different shares of the bill themselves. Does this *coinsurance* keep them from seeing a
doctor? A count of visits calls for a Poisson regression, whose coefficients are logarithms
of rate ratios.

The table is **synthetic**. It has some of the columns of the experiment, with similar
distributions.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from stand_in import visits_like

from confide import (
    Approx,
    Boolean,
    Category,
    Number,
    PoissonRegression,
    Schema,
    Target,
)

visits = visits_like(20_000)

schema = Schema(
    columns=(
        Category("coinsurance", levels=(0, 25, 50, 95), reference=0),
        Number("diseases", lower=0, upper=60),
        Boolean("limited"),
        Category(
            "health", levels=("excellent", "good", "fair", "poor"), reference="excellent"
        ),
    ),
    target=Target("visits", lower=0, upper=30),
)

# %%
# Rate ratios
# -----------
# At most 30 visits are counted for each person, and the possible rates of coinsurance are
# known from the insurance plans. Both facts are public.

model = PoissonRegression(Approx(1, 1e-6), schema=schema, intervals=True)
model.fit(visits)
ratios = model.rate_ratios()
print(ratios)

# %%
# Poor health is rare, and its line may be marked *not identified*. In that case noise hides
# its effect, and no meaningless number is printed.

# %%
# The expected number of visits
# -----------------------------
# ``mean_intervals`` gives the expected count for hypothetical people, with its interval.
# The people below differ only in their plan.

plans = [0, 25, 50, 95]
person = {"diseases": 10.0, "limited": False, "health": "good"}
asked = pd.DataFrame([{**person, "coinsurance": plan} for plan in plans])
means = model.mean_intervals(asked).to_frame()

BLUE, RED = "#2166ac", "#b2182b"
figure, axes = plt.subplots(figsize=(5.6, 4), layout="constrained")
middle = means["estimate"].to_numpy()
reach = np.abs(means[["lower", "upper"]].to_numpy().T - middle)
axes.errorbar(plans, middle, yerr=reach, fmt="o", color=BLUE, capsize=4)
axes.plot(plans, middle, color=BLUE, alpha=0.3)
axes.set(
    xlabel="share of the bill paid by the family (%)",
    ylabel="expected visits in a year",
    title="One person under four plans, 95 % intervals",
    ylim=(0, None),
)
axes.grid(axis="y", alpha=0.3)
plt.show()

# %%
# Is it the coinsurance?
# ----------------------
# A Wald test asks whether any of the three levels differs from free care. It is computed
# from the release and costs no budget.

print(model.wald_test("coinsurance"))

# %%
# What it means
# -------------
# People who pay part of the bill see a doctor about a quarter less often than people with
# free care. Most of this difference is present at a share of 25 %. Visits vary more than
# Poisson counts would. The intervals allow for this, because their standard errors are
# estimated without assuming a Poisson variance.
