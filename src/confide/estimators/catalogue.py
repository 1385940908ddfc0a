"""The estimators: what each is called in print, and which model it fits."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from confide._registry import Registry


@dataclass(frozen=True, slots=True)
class EstimatorEntry:
    """An estimator by the name of its class, which is imported when it is asked for.

    ``model`` is what plans and commands call it, one of `confide.objectives.MODELS`; it is
    empty where they know no such model. ``labelled`` says whether targets are labels.
    """

    name: str
    title: str
    model: str = ""
    labelled: bool = False
    own: type[Any] | None = None

    @classmethod
    def of(cls, kind: type[Any], title: str) -> "EstimatorEntry":
        """Return the entry of an estimator that another package defines."""
        return cls(kind.__name__, title, own=kind)

    @property
    def kind(self) -> type[Any]:
        """The class."""
        found: type[Any] | None = self.own
        return found or getattr(import_module(__package__), self.name)


ESTIMATORS: Registry[EstimatorEntry] = Registry("estimator")
"""Every estimator, by the name of its class; a model file can be loaded if it is here."""
for _entry in (
    EstimatorEntry("LogisticRegression", "Logistic regression", "logistic", True),
    EstimatorEntry("LinearSVC", "Support-vector machine", "svm", True),
    EstimatorEntry("LinearRegression", "Linear regression", "linear"),
    EstimatorEntry("PoissonRegression", "Poisson regression", "poisson"),
    EstimatorEntry("SparseLinearRegression", "Sparse linear regression"),
    EstimatorEntry("MultiResponseRegression", "Linear regression of several targets"),
):
    ESTIMATORS.register(_entry.name)(_entry)


def model_names(*, labelled: bool | None = None) -> tuple[str, ...]:
    """Return the models that commands fit; for labels or for numbers alone where told."""
    return tuple(
        entry.model
        for entry in ESTIMATORS.values()
        if entry.model and labelled in (None, entry.labelled)
    )
