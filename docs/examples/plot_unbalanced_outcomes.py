"""
Unbalanced outcomes: when one in twenty says yes
================================================

A bank calls its clients; about one in twenty subscribes. A model that always predicts "no"
is right for nineteen in twenty clients, so accuracy says next to nothing. What matters is
whether the model ranks clients well, and whether its probabilities are right.

The clients are **synthetic** and resemble those of the UCI bank marketing data.
"""

import matplotlib.pyplot as plt
from stand_in import bank_like

from confide import Approx, Category, LogisticRegression, Number, Schema, Target
from confide.data import CaseWeights

clients = bank_like(45_000)
clients["subscribed"].value_counts(normalize=True).round(3)

# %%
# One budget for the model and its score
# --------------------------------------
# ``holdout=0.25`` keeps a random quarter of the rows out of the fit and scores the model on
# them. No row is in both parts, so the fit and the score together cost what the fit costs.

schema = Schema(
    columns=(
        Number("age", lower=18, upper=100, unit="year"),
        Number("balance", lower=-50_000, upper=500_000, unit="euro"),
        Number("calls", lower=1, upper=52),
        Category("contact", levels=("cellular", "telephone", "unknown")),
        Category("before", levels=("none", "failure", "success"), reference="none"),
    ),
    target=Target("subscribed", labels=("no", "yes")),
)
model = LogisticRegression(Approx(1, 1e-6), schema=schema)
model.fit(clients, holdout=0.25)
score = model.holdout_score_
print(score)

# %%
# Precision and recall
# --------------------
# Suppose that the bank can afford to call only some of its clients. The lower plot shows,
# for every cut-off of the predicted probability, the share of subscribers whom it would
# reach (sensitivity) and the share of its calls that would succeed (precision). The bars
# are 95 % intervals that cover sampling error and privacy noise. The dashed line shows the
# result of calling clients at random.

BLUE, RED, GREY = "#2166ac", "#b2182b", "0.45"
share = score["prevalence"].value
figure, (top, bottom) = plt.subplots(2, 1, figsize=(5.2, 7.5), layout="constrained")
for axes, title in ((top, "ROC curve"), (bottom, "Precision and recall")):
    curve = score.curve(title)
    x, y = [p.x for p in curve.points], [p.y for p in curve.points]
    known = [p for p in curve.points if p.lower is not None and p.upper is not None]
    axes.vlines(
        [p.x for p in known],
        [p.lower for p in known],
        [p.upper for p in known],
        color=BLUE,
        alpha=0.35,
        lw=3,
    )
    axes.plot(x, y, ".-", color=BLUE)
    axes.set(xlabel=curve.x_label, ylabel=curve.y_label, title=title, xlim=(0, 1))
top.set_ylim(0, 1)
bottom.set_ylim(0, 0.5)
top.plot([0, 1], [0, 1], color=GREY, ls="--")
bottom.axhline(share, color=GREY, ls="--")
plt.show()

# %%
# Should the rare label count more?
# ---------------------------------
# Weights of labels are public and belong in the schema. They hardly change the ranking of
# clients, but they make probabilities too high: a model in which each "yes" has the weight
# ten expects about one client in three to subscribe.

weighted = LogisticRegression(
    Approx(1, 1e-6),
    schema=Schema(
        columns=schema.columns,
        target=schema.target,
        case_weights=CaseWeights(classes={"yes": 10}),
    ),
).fit(clients, holdout=0.25)

for name, one in (("every label once", model), ("yes ten times", weighted)):
    area = one.holdout_score_["area under the ROC curve"]
    mean = one.predict_proba(clients)[:, 1].mean()
    print(f"{name:17} area {area.value:.3f}, mean predicted probability {mean:.3f}")

# %%
# What it means
# -------------
# The area under the ROC curve shows that the model ranks clients clearly better than
# chance, although its accuracy is no better than that of always saying "no". Leave the
# labels unweighted and choose the cut-off that the bank can afford. The probabilities then
# remain correct, whereas weights would only add noise.
