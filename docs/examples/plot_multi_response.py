"""
Several outcomes at once
========================

Twelve laboratory values of the same patients depend on the same fifteen traits, mainly
through two hidden processes. A private fit of each value alone would divide the budget by
twelve and ignore what the values have in common. A fit of all of them, with a penalty on
the nuclear norm, looks for a matrix of coefficients of low rank.

The table is **synthetic**, and the true matrix has rank two.
"""

import matplotlib.pyplot as plt
import numpy as np

from confide import Approx, MultiResponseRegression
from confide.mechanisms import MomentumDescent

rng = np.random.default_rng(0)
rows, traits, values = 5_000, 15, 12
truth = 0.3 * rng.normal(size=(values, 2)) @ rng.normal(size=(2, traits))
X = rng.uniform(-1, 1, (rows, traits))
Y = X @ truth.T + 0.5 * rng.normal(size=(rows, values))

# %%
# With and without the penalty
# ----------------------------
# A record contains all traits and all laboratory values of one patient, and the guarantee
# protects the whole record. ``row_norm`` and ``target_bound`` are public.

common = {
    "row_norm": 2.5,
    "target_bound": 3.0,
    "mechanism": MomentumDescent(),
}
budget = Approx(0.5, 1e-6)
plain = MultiResponseRegression(budget, **common).fit(X, Y)
joint = MultiResponseRegression(budget, **common, nuclear=250.0).fit(X, Y)

# %%
# The matrices and their singular values
# --------------------------------------

matrices = {
    "truth": truth,
    "without a penalty": plain.coef_,
    "nuclear norm": joint.coef_,
}
figure, panels = plt.subplots(2, 2, figsize=(5.8, 6), layout="constrained")
*maps, below = panels.ravel()
limit = np.abs(truth).max()
for axes, (name, matrix) in zip(maps, matrices.items(), strict=True):
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    error = np.sqrt(np.mean((matrix - truth) ** 2))
    axes.set_title(name if matrix is truth else f"{name}:\nerror {error:.3f}")
    axes.set(xlabel="trait", xticks=range(0, traits, 4), yticks=range(0, values, 2))
    axes.set_ylabel("laboratory value")
figure.colorbar(image, ax=maps, location="top", label="coefficient", shrink=0.6)
for (name, matrix), mark in zip(matrices.items(), "os^", strict=True):
    sizes = np.linalg.svd(matrix, compute_uv=False)
    below.plot(np.arange(1, values + 1), sizes, mark + "-", label=name, ms=4)
below.set(xlabel="number", ylabel="singular value", xticks=range(2, values + 1, 2))
below.legend(frameon=False, fontsize="small")
plt.show()

# %%
# What it means
# -------------
# The true matrix has two singular values that are not zero. Without the penalty, the
# estimates of the other ten consist of noise, which blurs the matrix. The penalty on the
# nuclear norm shrinks all singular values by about the same amount. This changes the two
# large ones little, removes much of the ten others, and brings the matrix closer to the
# truth.
