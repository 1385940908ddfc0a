"""
A ledger for an organisation
============================

Guarantees add up: ten fits at :math:`\\varepsilon = 0.3` together cost
:math:`\\varepsilon = 3`. A ledger adds up the costs for all people and programs that share
it. It refuses a fit that would exceed the limit, before any noise is drawn.

The table is **synthetic**.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from stand_in import adult_like

from confide import Approx, Category, Ledger, LogisticRegression, Number, Schema, Target
from confide.errors import BudgetExceeded

people = adult_like(20_000)
schema = Schema(
    columns=(
        Number("age", lower=17, upper=90),
        Number("schooling", lower=1, upper=16),
        Category("sex", levels=("Female", "Male")),
    ),
    target=Target("income", labels=("<=50K", ">50K")),
    name="people",
)

# %%
# The limit is set once
# ---------------------

book = Ledger.open(Path(tempfile.mkdtemp()) / "book.db")
book.set_limit("people", Approx(2, 1e-5))

# %%
# Fits until the ledger refuses
# -----------------------------

spent = []
for _ in range(9):
    model = LogisticRegression(Approx(0.3, 1e-6), schema=schema, ledger=book)
    try:
        model.fit(people)
    except BudgetExceeded as refusal:
        print(refusal)
        break
    spent.append(float(book.account("people").spent.epsilon))

# %%
# What has been spent
# -------------------

BLUE, RED, GREY = "#2166ac", "#b2182b", "0.6"
limit = 2.0
figure, axes = plt.subplots(figsize=(5.4, 3.6), layout="constrained")
axes.bar(range(1, len(spent) + 1), spent, color=BLUE, label="spent after the fit")
after = spent[-1] + 0.3
axes.bar(
    len(spent) + 1, after, color="none", edgecolor=RED, ls="--", label="refused: too much"
)
axes.axhline(limit, color=RED, lw=1.5)
axes.text(0.6, limit + 0.03, "limit", color=RED)
axes.set(xlabel="fit", ylabel="ε", xticks=range(1, len(spent) + 2), ylim=(0, 2.6))
axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.0, 0.7))
plt.show()

# %%
# The entries
# -----------
# Every entry is chained to the one before by its hash, so that old entries cannot be
# changed unnoticed. ``verify`` checks the whole chain.

print(f"{book.verify()} entries, intact")
for entry in book.entries("people")[:5]:
    print(entry.number, entry.kind, entry.budget or "", entry.digest[:12])

# %%
# What it means
# -------------
# Six fits are within the limit. The seventh is refused, with a message that states the
# remaining budget. No rows were read for the seventh fit, and nothing was charged.
