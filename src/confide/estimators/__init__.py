"""scikit-learn estimators: thin shells over the mechanisms."""

from confide.estimators._classifiers import LinearSVC, LogisticRegression
from confide.estimators._load import load_model
from confide.estimators._model_file import release_hash
from confide.estimators._multi import MultiResponseRegression
from confide.estimators._pieces import each_piece
from confide.estimators._regressors import LinearRegression, PoissonRegression
from confide.estimators._rehearsal import offers_intervals
from confide.estimators._sparse import SparseLinearRegression

__all__ = [
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MultiResponseRegression",
    "PoissonRegression",
    "SparseLinearRegression",
    "each_piece",
    "load_model",
    "offers_intervals",
    "release_hash",
]
