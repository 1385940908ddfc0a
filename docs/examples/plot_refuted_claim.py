"""
A published claim, refuted
==========================

Not every claim of privacy holds. NAPP-ERM is a published method that adds a random linear
term to the objective once and then reweights its penalty again and again (its authors call
this MOOR). It claims pure differential privacy. This example shows a pair of tables for
which the claim fails.

The two tables are **synthetic** and tiny. The first contains a record without any
information, and the second has one more record, which is informative.
"""

import matplotlib.pyplot as plt
import numpy as np

from confide.data import bound_rows
from confide.errors import Unproved
from confide.mechanisms.published import Napp, NappTarget
from confide.noise import Entropy
from confide.objectives import Logistic, Objective
from confide.privacy import Neighbours, Pure

# %%
# The library refuses to run it
# -----------------------------
# A refuted mechanism cannot be used by accident, and its guarantee states no budget.

try:
    Napp(NappTarget("lasso", 0.25))
except Unproved as refusal:
    print(refusal)

# %%
# Run it anyway
# -------------
# We fit a logistic regression with one coefficient at :math:`\varepsilon = 1` and
# :math:`\delta = 0`, with all settings as the paper prescribes. In the first table the only
# record is 0 and says nothing about the coefficient. The second table has one more record.

napp = Napp(NappTarget("lasso", 0.25), accept_unproved=True)
objective = Objective(Logistic(), dimension=1)
calibration = napp.calibrate(objective, Pure(1), Neighbours.ADD_REMOVE)
print(calibration.guarantee.status)

without = bound_rows(np.zeros((1, 1)), np.ones(1), 1.0, 0.0)
with_one = bound_rows(np.array([[0.0], [1.0]]), np.ones(2), 1.0, 0.0)
entropy = Entropy.system()


def released(rows: object, runs: int = 1_500) -> np.ndarray:
    """Return many releases."""
    return np.array([calibration.release([rows], entropy).value[0] for _ in range(runs)])


seen_without, seen_with = released(without), released(with_one)

# %%
# An event that gives the record away
# -----------------------------------
# Pure differential privacy with :math:`\varepsilon = 1` allows one record to make an event
# at most 2.7 times as likely.


def inside(values: np.ndarray) -> np.ndarray:
    """Return whether the absolute value of each value lies clearly between 0 and 1."""
    return (np.abs(values) > 0.05) & (np.abs(values) < 0.95)


shares = inside(seen_with).mean(), inside(seen_without).mean()
print(f"with the record: {shares[0]:.3f}, without it: {shares[1]:.3f}")

BLUE, RED, GREY = "#2166ac", "#b2182b", "0.45"
bins = np.linspace(-3, 3, 121)
figure, axes = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
for span in ((-0.95, -0.05), (0.05, 0.95)):
    axes.axvspan(*span, color=RED, alpha=0.1, lw=0)
axes.hist(seen_without, bins, color=GREY, alpha=0.6, label="without the record")
axes.hist(seen_with, bins, histtype="step", color=BLUE, lw=1.5, label="with it")
axes.set(
    xlabel="released coefficient",
    ylabel="releases (of 1,500)",
    title="Shaded: blue exceeds grey by far more than 2.7",
    yscale="log",
)
axes.title.set_fontsize("medium")
axes.legend(frameon=False)
plt.show()

# %%
# Where the proof goes wrong
# --------------------------
# The proof treats the weights of the penalty as constants. In fact they depend on the
# previous iterate, and therefore on the data. In the limit the penalty is linear near zero,
# without the curvature that the proof relies on. For the table without information, the
# coefficient then moves to zero or beyond one in absolute value, and after 80 iterations
# hardly any value remains in between.

# %%
# What it means
# -------------
# A coefficient in the shaded region reveals the record with far more certainty than the
# claim allows. If the record is in the table, this happens with a probability of about
# 0.08. For any method, ask for a proof, and for a check of the proof. A private method for
# the same purpose is ``mechanism="adaptive"``, which computes the weights in a first
# private step and uses them in a second one.
