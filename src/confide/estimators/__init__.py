"""scikit-learn estimators: thin shells over the mechanisms."""

from confide.estimators._classifiers import LinearSVC, LogisticRegression
from confide.estimators._load import load_model
from confide.estimators._model_file import release_hash
from confide.estimators._multi import MultiResponseRegression
from confide.estimators._regressors import LinearRegression, PoissonRegression

__all__ = [
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MultiResponseRegression",
    "PoissonRegression",
    "load_model",
    "release_hash",
]
