"""Private convex learning, with error bars.

Linear models fitted under differential privacy; every guarantee carries its theorem, and
the theorem is checked by machine.
"""

from confide.data import Category, Number, Schema, Target
from confide.errors import ConfideError
from confide.estimators import (
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegression,
)
from confide.mechanisms import Release
from confide.privacy import Approx, Guarantee, Neighbours, Pure, Status, Zcdp

__version__ = "0.1.0"

__all__ = [
    "Approx",
    "Category",
    "ConfideError",
    "Guarantee",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "Neighbours",
    "Number",
    "PoissonRegression",
    "Pure",
    "Release",
    "Schema",
    "Status",
    "Target",
    "Zcdp",
]
