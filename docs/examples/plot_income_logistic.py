"""
Who earns more? A logistic regression with error bars
=====================================================

A census office wants to publish which traits go with a high income, with error bars. It
must make sure that nobody in the table can be recognised in the publication. This example
goes from the table to the published coefficients.

The table is **synthetic**: it has some columns of the UCI Adult data, and its incomes are
drawn from a known model. This lets us check the result at the end.
"""

import matplotlib.pyplot as plt
from stand_in import adult_like

from confide import Approx, Category, LogisticRegression, Number, Schema, Target

people = adult_like(30_000)
people.head()

# %%
# Write down what is public
# -------------------------
# The schema states ranges and levels *before* anybody looks at the rows: they come from the
# questionnaire, not from the answers. ``reference`` is the level that the others are
# compared with.

schema = Schema(
    columns=(
        Number("age", lower=17, upper=90, unit="year"),
        Number("schooling", lower=1, upper=16, unit="year"),
        Number("hours", lower=1, upper=99, unit="hour"),
        Category("marital", levels=("never", "formerly", "married"), reference="never"),
        Category("sex", levels=("Female", "Male"), reference="Female"),
    ),
    target=Target("income", labels=("<=50K", ">50K")),
)

# %%
# Fit once
# --------
# One call spends the whole budget, :math:`\varepsilon = 1` and :math:`\delta = 10^{-6}`, on
# the coefficients, their error bars and the ranges to which numbers are clamped. The
# summary begins with the guarantee.

model = LogisticRegression(Approx(1, 1e-6), schema=schema, intervals=True)
model.fit(people)
print(model.summary())

# %%
# Two parts of an error bar
# -------------------------
# The thick part of a bar is the sampling uncertainty alone, which a fit without privacy
# also has. The thin ends are added by privacy noise. The effect of a numeric column refers
# to a change over its whole range, so that it can be compared with the effects of levels.

axes = model.plot(ax=plt.subplots(figsize=(5.6, 3.4), layout="constrained")[1])
axes.set_xlabel(
    "effect on the log-odds;\nfor numeric columns, of a change across the whole range"
)
plt.show()

# %%
# As odds ratios
# --------------
# All further results are computed from the release and cost no budget, for example odds
# ratios per five years of schooling and per ten hours of work.

print(model.odds_ratios({"schooling": 5, "hours": 10}))

# %%
# What it means
# -------------
# Marriage and schooling have the largest effects, and their intervals are far from zero. In
# the model behind this synthetic table the log-odds of married people are 2.1 higher and
# those of men 0.35 higher. With 30,000 rows the privacy noise lengthens most bars only a
# little: the price of the guarantee is small here.

truth = {"marital=married": 2.1, "sex=Male": 0.35, "marital=formerly": 0.0}
table = model.intervals_.to_frame()
table.loc[list(truth), ["estimate", "lower", "upper"]].assign(truth=truth).round(2)
