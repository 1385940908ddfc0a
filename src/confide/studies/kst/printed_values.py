"""Tables 1 and 2 of Kifer, Smith and Thakurta: the printed orders of growth."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RiskOrder:
    """A row of table 1: theorem, noise, and exponents of p and 1/n in the excess risk."""

    theorem: str
    noise: str
    size_power: float
    rows_power: float


TABLE1: Final = (
    RiskOrder("Theorem 4, part 1", "Gamma", 3.0, 1.0),
    RiskOrder("Theorem 4, part 2", "Gaussian", 2.5, 1.0),
    RiskOrder("Theorem 5", "Gaussian", 2.0, 1.0),
)


@dataclass(frozen=True, slots=True)
class RowsOrder:
    """A row of table 2: the exponents of s and log p in the required sample size."""

    algorithm: str
    support_power: float
    log_power: float


TABLE2: Final = (RowsOrder("Exp-mech", 3.0, 1.0), RowsOrder("Samp-Agg", 2.0, 2.0))
