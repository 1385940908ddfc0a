"""
Audit a mechanism
=================

A proof says that one record changes the chance of any outcome by a factor of at most
:math:`e^\\varepsilon`. An audit tries to catch the program breaking that promise. It
makes thousands of releases from two tables that differ in one record, and measures how well
the outcomes distinguish the tables.

The tables are **synthetic**: one contains a single record with the value 0, and the other
has one more record.
"""

import matplotlib.pyplot as plt
import numpy as np

from confide.attacks import threshold_audit
from confide.data import bound_rows
from confide.mechanisms import OutputPerturbation
from confide.noise import Entropy
from confide.objectives import Logistic, Objective
from confide.privacy import Neighbours, Pure

# %%
# Two tables and a claim
# ----------------------
# The claim is pure differential privacy with :math:`\varepsilon = 1`. The record in which
# the two tables differ moves the coefficient as far as any record can.

CLAIM = Pure(1)
RUNS = 4_000
objective = Objective(Logistic(), dimension=1, row_norm=1.0, l2=1.0)
calibration = OutputPerturbation().calibrate(objective, CLAIM, Neighbours.ADD_REMOVE)
without = bound_rows(np.zeros((1, 1)), np.ones(1), 1.0, 0.0)
with_one = bound_rows(np.array([[0.0], [1.0]]), np.ones(2), 1.0, 0.0)
entropy = Entropy.system()


def released(rows: object, shrunk: float = 1.0) -> np.ndarray:
    """Return many releases; ``shrunk`` below 1 makes their noise too small on purpose."""
    values = np.array([calibration.release([rows], entropy).value[0] for _ in range(RUNS)])
    centre = np.median(values)
    return centre + shrunk * (values - centre)


honest = released(with_one), released(without)
broken = released(with_one, 0.2), released(without, 0.2)

# %%
# What an attacker sees
# ---------------------
# The lower bound on :math:`\varepsilon` holds with 99 % confidence. A bound above the claim
# would refute it.

BLUE, RED, GREY = "#2166ac", "#b2182b", "0.45"
figure, panels = plt.subplots(2, 1, figsize=(5.2, 7), layout="constrained")
for axes, (present, absent), title in (
    (panels[0], honest, "Correct noise"),
    (panels[1], broken, "A fifth of the noise"),
):
    found = threshold_audit(present, absent)
    bins = np.linspace(-4, 4, 61)
    axes.hist(absent, bins, density=True, color=GREY, alpha=0.5, label="without the record")
    axes.hist(
        present, bins, density=True, histtype="step", color=BLUE, lw=1.5, label="with it"
    )
    caught = found.epsilon > float(CLAIM.epsilon)
    verdict = "the claim of 1 is refuted" if caught else "the claim of 1 is not refuted"
    axes.set_title(
        f"{title}: ε ≥ {max(found.epsilon, 0):.2f}\n{verdict}",
        color=RED if caught else "black",
    )
    axes.set(xlabel="released coefficient", ylabel="density", xlim=(-4, 4))
panels[0].legend(frameon=False, fontsize="small")
plt.show()

# %%
# What it means
# -------------
# The audit catches noise that is too small, and finds nothing wrong with the actual
# mechanism. This is not a proof: an audit tries one pair of tables and one attack, and can
# only refute a claim. The guarantees rest on the proofs; audits like this one, and exact
# integrals in one and two dimensions, are used to look for mistakes in the proofs and in
# the program. On the command line ``confide audit`` does the same.
