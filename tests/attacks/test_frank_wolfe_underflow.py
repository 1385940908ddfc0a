"""One record more must not decide whether a column can be chosen at all.

Columns 0, …, 12 lead by far, one ahead of the other; every step takes the next and pulls
its score down. Column 13 is as far behind column 12 as the smallest double is below 1, in
D' by one record less than in D. Weights kept over a maximum that has fallen since are 0 for
all columns then, and a choice among zeros knows nothing of the scores.
"""

import math

import numpy as np
from scipy import sparse

from confide import LogisticRegression, Pure
from confide.noise import Entropy, SignedWeights
from confide.selection import FrankWolfe

EPSILON, STEPS, FITS = 14, 14, 20
STEP = EPSILON / STEPS * 0.5 / 2.002
"""What one record adds to a score, in units of its noise."""
FIRST = int(800 / STEP)
GAP = next(g for g in range(int(745 / STEP), 10**6) if math.exp(-g * STEP) == 0)


def table(last):
    """Return rows with one indicator each; the last row has one of its own."""
    others = [FIRST + int((13 - k) * 20 / STEP) for k in range(12)]
    counts = [*others, FIRST, last]
    places = np.repeat(np.arange(14), counts)
    places[-1] = 14
    n = len(places)
    return sparse.csr_array((np.ones(n), (np.arange(n), places)), shape=(n, 15)), np.ones(n)


def hits(last):
    X, y = table(last)
    found = 0
    for seed in range(FITS):
        model = LogisticRegression(
            Pure(EPSILON),
            mechanism=FrankWolfe(steps=STEPS, radius=1000.0),
            classes=[-1, 1],
            fit_intercept=False,
            random_state=seed,
        )
        found += model.fit(X, y).coef_.ravel()[13] != 0
    return found


def test_one_record_does_not_decide_whether_a_column_is_ever_chosen():
    """By the exact law column 13 comes last and in every fit, but for e^-300 of them."""
    assert hits(FIRST - GAP + 1) == FITS
    assert hits(FIRST - GAP + 2) == FITS


def test_choices_hold_when_all_scores_fall_far_below_where_they_were():
    """Binomial, 2 000 draws at chance 1/(1 + e): false alarm 1e-6."""
    for far in (700.0, 745.0, 1e4, 1e300):
        corners = SignedWeights(np.array([far, 0.0, 0.0]))
        corners.update(np.array([0, 2]), np.array([0.0, 9.0]))
        corners.update(np.array([1]), np.array([8.0]))
        entropy = Entropy.seeded(7)
        places = np.array([corners.draw(entropy)[0] for _ in range(2000)])
        chance = math.e / (1 + math.e)
        assert abs(np.mean(places == 2) - chance) < 4.9 * math.sqrt(chance / 2000)
