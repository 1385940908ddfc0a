"""The estimators: what each is called in print, and which model it fits."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class EstimatorEntry:
    """An estimator of this room, by the name of its class.

    ``model`` is what plans and commands call it, one of `confide.objectives.MODELS`; it is
    empty where they know no such model. ``labelled`` says whether targets are labels.
    """

    name: str
    title: str
    model: str = ""
    labelled: bool = False

    @property
    def kind(self) -> type[Any]:
        """The class."""
        found: type[Any] = getattr(import_module(__package__), self.name)
        return found


ESTIMATORS: Mapping[str, EstimatorEntry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            EstimatorEntry("LogisticRegression", "Logistic regression", "logistic", True),
            EstimatorEntry("LinearSVC", "Support-vector machine", "svm", True),
            EstimatorEntry("LinearRegression", "Linear regression", "linear"),
            EstimatorEntry("PoissonRegression", "Poisson regression", "poisson"),
            EstimatorEntry("SparseLinearRegression", "Sparse linear regression"),
            EstimatorEntry(
                "MultiResponseRegression", "Linear regression of several targets"
            ),
        )
    }
)
"""Every estimator, by the name of its class."""


def model_names(*, labelled: bool | None = None) -> tuple[str, ...]:
    """Return the models that commands fit; for labels or for numbers alone where told."""
    return tuple(
        entry.model
        for entry in ESTIMATORS.values()
        if entry.model and labelled in (None, entry.labelled)
    )
