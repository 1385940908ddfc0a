"""scikit-learn estimators: thin shells over the mechanisms."""

from confide.estimators._classifiers import LinearSVC, LogisticRegression
from confide.estimators._regressors import LinearRegression, PoissonRegression

__all__ = ["LinearRegression", "LinearSVC", "LogisticRegression", "PoissonRegression"]
