"""Numbers from the text of Wu et al., whose figures show no numerical values."""

from typing import Final

EPSILON: Final = 0.2
"""The ε at which the text describes figure 5."""
ORACLE_ERROR: Final = 1.82
"""Section 5.3: mean squared error of the oracle; the likely unit is (10 mg/week)²."""
FUNCTIONAL_ERROR: Final = 22.57
"""Section 5.3: mean squared error of the functional mechanism."""
ORACLE_ATTACK: Final = 0.45
"""Section 5.3, figure 5: share of genotypes guessed from the oracle's model."""
FUNCTIONAL_ATTACK: Final = 0.35
"""Section 5.3, figure 5: share of genotypes guessed with the functional mechanism."""
LARGEST_GAP: Final = 0.1
"""Figures 2 and 4: largest difference in error, over all ε, among the data-independent
choice, the oracle and objective perturbation."""
ACCURATE_EPSILON: Final = 0.1
"""Abstract: the smallest ε at which the data-independent choice is accurate."""
TUNED_EPSILON: Final = 0.3
"""Section 5.2: the smallest ε at which the tuned mechanism is accurate."""
GROWING_EPSILON: Final = 0.5
GROWING_ERRORS: Final = {0.1: 5.05, 0.9: 2.9}
"""Figure 7: errors of the tuned mechanism, by the share of the chunks used."""
GROWING_ATTACKS: Final = {0.1: 0.36, 0.9: 0.40}
ROWS: Final = 3000
COLUMNS: Final = 14
"""Section 4.2: n ≈ 3000 and d = 14."""
