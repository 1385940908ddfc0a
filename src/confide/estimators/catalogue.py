"""The estimators: what each is called in print and on the command line."""

from dataclasses import dataclass
from typing import Any

from confide._registry import Registry
from confide.estimators.classifiers import LinearSVC, LogisticRegression
from confide.estimators.multi_response import MultiResponseRegression
from confide.estimators.regressors import LinearRegression, PoissonRegression
from confide.estimators.sparse import SparseLinearRegression


@dataclass(frozen=True, slots=True)
class EstimatorEntry:
    """An estimator; ``command`` is empty where the command line does not fit it."""

    kind: type[Any]
    title: str
    command: str = ""
    labelled: bool = False


ESTIMATORS: Registry[EstimatorEntry] = Registry("estimator")
"""Every estimator, by the name of its class; a model file can be loaded if it is here."""
for _entry in (
    EstimatorEntry(LogisticRegression, "Logistic regression", "logistic", True),
    EstimatorEntry(LinearSVC, "Support-vector machine", "svm", True),
    EstimatorEntry(LinearRegression, "Linear regression", "linear"),
    EstimatorEntry(PoissonRegression, "Poisson regression", "poisson"),
    EstimatorEntry(SparseLinearRegression, "Sparse linear regression"),
    EstimatorEntry(MultiResponseRegression, "Linear regression of several targets"),
):
    ESTIMATORS.register(_entry.kind.__name__)(_entry)
