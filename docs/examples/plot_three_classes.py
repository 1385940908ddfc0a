"""
Three outcomes: stay at home, ward, intensive care
==================================================

Patients are sent home, to a ward, or to intensive care. A multinomial logistic regression
fits all three outcomes with one noise vector, which is smaller than the noise of three
separate fits.

The patients are **synthetic**.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from confide import Approx, LogisticRegression, Number, Schema, Target

rng = np.random.default_rng(0)
rows = 20_000
age, oxygen = rng.uniform(18, 95, rows), np.clip(rng.normal(94, 4, rows), 70, 100)
scores = np.column_stack(
    [
        np.zeros(rows),
        0.04 * (age - 60) - 0.15 * (oxygen - 94),
        0.05 * (age - 70) - 0.35 * (oxygen - 91) - 1.5,
    ]
)
names = np.array(["home", "ward", "intensive"])
drawn = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
patients = pd.DataFrame({"age": age, "oxygen": oxygen, "outcome": names[drawn]})

# %%
# One fit for all
# ---------------
# Three labels in the schema are enough: the fit is multinomial.

schema = Schema(
    columns=(
        Number("age", lower=18, upper=95, unit="year"),
        Number("oxygen", lower=70, upper=100, unit="%"),
    ),
    target=Target("outcome", labels=("home", "ward", "intensive")),
)
budget = Approx(0.3, 1e-6)
model = LogisticRegression(budget, schema=schema, intervals=True).fit(patients)
print(model.summary())

# %%
# Probabilities
# -------------
# The solid lines are the predicted probabilities for people aged 80, by the oxygen
# saturation of their blood. The dotted lines are the true probabilities.

saturation = np.linspace(80, 100, 81)
asked = pd.DataFrame({"age": 80.0, "oxygen": saturation})
chances = model.predict_proba(asked)
true_scores = np.column_stack(
    [
        np.zeros(81),
        0.04 * (80 - 60) - 0.15 * (saturation - 94),
        0.05 * (80 - 70) - 0.35 * (saturation - 91) - 1.5,
    ]
)
truth = np.exp(true_scores) / np.exp(true_scores).sum(axis=1, keepdims=True)

colours = {"home": "#1b7837", "ward": "#2166ac", "intensive": "#b2182b"}
figure, axes = plt.subplots(figsize=(5.4, 4), layout="constrained")
for place, name in enumerate(schema.target.labels):
    column = list(model.classes_).index(name)
    axes.plot(saturation, chances[:, column], color=colours[name], label=name, lw=2)
    axes.plot(saturation, truth[:, place], ":", color=colours[name])
axes.set(
    xlabel="oxygen saturation (%)",
    ylabel="probability at the age of 80",
    ylim=(0, 1),
    xlim=(80, 100),
)
axes.legend(frameon=False, loc="upper right")
axes.grid(alpha=0.3)
plt.show()

# %%
# What it means
# -------------
# The lower the saturation, the more likely are first the ward and then intensive care, as
# in the model behind the table. The coefficients of a class compare it with the average of
# all classes, so the coefficients of one column add up to zero. Only differences between
# classes can be interpreted.
