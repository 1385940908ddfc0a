"""Differentially private regression, with confidence intervals.

This package fits linear models under differential privacy. Every guarantee names the
theorem on which it rests, and the tests of the package check the theorem numerically.

Subpackages, and the names that are re-exported from them, are imported on first use.
"""

from typing import TYPE_CHECKING

from confide._lazy import lazy
from confide._version import __version__ as __version__

if TYPE_CHECKING:
    from confide import (  # noqa: F401
        accounting,
        attacks,
        data,
        demo,
        description,
        errors,
        estimators,
        evaluation,
        inference,
        ledger,
        mechanisms,
        noise,
        objectives,
        parallel,
        planning,
        privacy,
        reporting,
        selection,
        solvers,
        studies,
        tuning,
        web,
    )
    from confide.data import Boolean, Category, Date, Number, Schema, Target
    from confide.description import Description, describe
    from confide.errors import ClaimedGuarantee, ConfideError, LooseBudget, NoiseChanged
    from confide.estimators import (
        Holdout,
        LinearRegression,
        LinearSVC,
        LogisticRegression,
        MultiResponseRegression,
        PoissonRegression,
        PublicScaler,
        SparseLinearRegression,
        buy_ranges,
        compare_models,
        load_model,
    )
    from confide.evaluation import load_score
    from confide.inference import Intervals
    from confide.ledger import Ledger
    from confide.mechanisms import Ranges, Release
    from confide.privacy import Approx, Guarantee, Neighbours, Pure, Status, Zcdp

__all__ = [
    "Approx",
    "Boolean",
    "Category",
    "ClaimedGuarantee",
    "ConfideError",
    "Date",
    "Description",
    "Guarantee",
    "Holdout",
    "Intervals",
    "Ledger",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "LooseBudget",
    "MultiResponseRegression",
    "Neighbours",
    "NoiseChanged",
    "Number",
    "PoissonRegression",
    "PublicScaler",
    "Pure",
    "Ranges",
    "Release",
    "Schema",
    "SparseLinearRegression",
    "Status",
    "Target",
    "Zcdp",
    "buy_ranges",
    "compare_models",
    "describe",
    "load_model",
    "load_score",
]

if not TYPE_CHECKING:
    _OTHERS = ("accounting", "attacks", "demo", "noise", "objectives", "parallel")
    _OTHERS += ("planning", "reporting", "selection", "solvers", "studies", "tuning", "web")
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "data": ("Boolean", "Category", "Date", "Number", "Schema", "Target"),
            "description": ("Description", "describe"),
            "errors": ("ClaimedGuarantee", "ConfideError", "LooseBudget", "NoiseChanged"),
            "estimators": (
                *("Holdout", "LinearRegression", "LinearSVC", "LogisticRegression"),
                *("MultiResponseRegression", "PoissonRegression", "PublicScaler"),
                *("SparseLinearRegression", "buy_ranges", "load_model"),
                "compare_models",
            ),
            "evaluation": ("load_score",),
            "inference": ("Intervals",),
            "ledger": ("Ledger",),
            "mechanisms": ("Ranges", "Release"),
            "privacy": ("Approx", "Guarantee", "Neighbours", "Pure", "Status", "Zcdp"),
            **dict.fromkeys(_OTHERS, ()),
        },
    )
