"""Settings printed in the Rényi ADMM paper, which shows its results only in figures."""

from typing import Final

ROWS: Final = {"a9a": 48_842, "acs": 38_000, "simulated": 40_000}
COLUMNS: Final = {"a9a": 124, "acs": 53, "simulated": 100}
MAJORITY: Final = {"a9a": 0.761, "acs": 0.507, "simulated": 0.500}
"""Share of the larger class (section 5.3); for acs, the paper's value for IPUMS-BR."""
DELTA: Final = 1e-8
HUBER: Final = 0.5
RHO: Final = {"ssADMM": 0.25, "mpADMM": 0.5}
"""Penalty parameter of the augmented Lagrangian, from sections 5.1 and 5.4."""
