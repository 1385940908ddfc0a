"""scikit-learn estimators: thin shells over the mechanisms."""

from confide.estimators._load import load_model
from confide.estimators._model_file import release_hash
from confide.estimators._predict_chunks import each_piece
from confide.estimators.catalogue import ESTIMATORS, EstimatorEntry
from confide.estimators.classifiers import LinearSVC, LogisticRegression
from confide.estimators.multi_response import MultiResponseRegression
from confide.estimators.regressors import LinearRegression, PoissonRegression
from confide.estimators.sparse import SparseLinearRegression

__all__ = [
    "ESTIMATORS",
    "EstimatorEntry",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MultiResponseRegression",
    "PoissonRegression",
    "SparseLinearRegression",
    "each_piece",
    "load_model",
    "release_hash",
]
