"""Numbers in the text and tables of Li and Liu, whose figures print no values."""

from typing import Final

ADULT_VS_PLUS: Final = 15.5
"""Section 5.2: percentage misclassified by NAPP-VS+ at ε = 1, "around" this value."""
ADULT_PLAIN: Final = 15.2
"""Section 5.2: percentage misclassified without privacy."""
ADULT_TRAIN: Final = (22_654, 7_508)
ADULT_TEST: Final = (11_360, 3_700)
"""Section 5.2: numbers of people with incomes below and above 50,000."""
ADULT_STRENGTHS: Final = (0.1, 0.4, 1.0)
ADULT_ITERATIONS: Final = 80
REPEATS: Final = 500
TEST_ROWS: Final = 10_000
DELTAS: Final = (0.001, 0.0001)
"""The values of δ in table 4 and in the text."""
