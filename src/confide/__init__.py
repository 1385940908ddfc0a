"""Private convex learning, with error bars.

Linear models fitted under differential privacy; every guarantee carries its theorem, and
the theorem is checked by machine.
"""

from confide.data import Boolean, Category, Date, Number, Schema, Target
from confide.errors import ClaimedGuarantee, ConfideError
from confide.estimators import (
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MultiResponseRegression,
    PoissonRegression,
    SparseLinearRegression,
    load_model,
)
from confide.inference import Intervals
from confide.ledger import Ledger
from confide.mechanisms import Release
from confide.privacy import Approx, Guarantee, Neighbours, Pure, Status, Zcdp

__version__ = "0.2.0"

__all__ = [
    "Approx",
    "Boolean",
    "Category",
    "ClaimedGuarantee",
    "ConfideError",
    "Date",
    "Guarantee",
    "Intervals",
    "Ledger",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MultiResponseRegression",
    "Neighbours",
    "Number",
    "PoissonRegression",
    "Pure",
    "Release",
    "Schema",
    "SparseLinearRegression",
    "Status",
    "Target",
    "Zcdp",
    "load_model",
]
