"""Estimators with the scikit-learn interface, as thin wrappers around the mechanisms.

A module is imported when one of its names is first used, so it is fast to import only the
registry of estimators.
"""

from typing import TYPE_CHECKING

from confide._lazy import lazy

if TYPE_CHECKING:
    from confide.estimators._compare import compare_models
    from confide.estimators._holdout import Holdout
    from confide.estimators._load import load_model
    from confide.estimators._model_file import (
        coefficients_hash,
        file_content,
        release_hash,
    )
    from confide.estimators._predict_chunks import each_piece
    from confide.estimators._prepare import CalibratedFit
    from confide.estimators._spec import FitSpec
    from confide.estimators.booked import check_booked
    from confide.estimators.catalogue import ESTIMATORS, EstimatorEntry, model_names
    from confide.estimators.linear import LinearRegression
    from confide.estimators.logistic import LogisticRegression
    from confide.estimators.multi_response import MultiResponseRegression
    from confide.estimators.poisson import PoissonRegression
    from confide.estimators.public_scaler import PublicScaler
    from confide.estimators.ranges import BoughtRanges, buy_ranges
    from confide.estimators.sparse import SparseLinearRegression
    from confide.estimators.svm import LinearSVC

__all__ = [
    "ESTIMATORS",
    "BoughtRanges",
    "CalibratedFit",
    "EstimatorEntry",
    "FitSpec",
    "Holdout",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MultiResponseRegression",
    "PoissonRegression",
    "PublicScaler",
    "SparseLinearRegression",
    "buy_ranges",
    "check_booked",
    "coefficients_hash",
    "compare_models",
    "each_piece",
    "file_content",
    "load_model",
    "model_names",
    "release_hash",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "_compare": ("compare_models",),
            "_holdout": ("Holdout",),
            "_load": ("load_model",),
            "_model_file": ("coefficients_hash", "file_content", "release_hash"),
            "_predict_chunks": ("each_piece",),
            "_prepare": ("CalibratedFit",),
            "_spec": ("FitSpec",),
            "booked": ("check_booked",),
            "catalogue": ("ESTIMATORS", "EstimatorEntry", "model_names"),
            "linear": ("LinearRegression",),
            "logistic": ("LogisticRegression",),
            "poisson": ("PoissonRegression",),
            "svm": ("LinearSVC",),
            "multi_response": ("MultiResponseRegression",),
            "public_scaler": ("PublicScaler",),
            "ranges": ("BoughtRanges", "buy_ranges"),
            "sparse": ("SparseLinearRegression",),
        },
    )
