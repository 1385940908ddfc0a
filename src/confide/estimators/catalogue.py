"""Registry of the estimators, with their titles in reports and names in commands."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from confide._registry import Registry


@dataclass(frozen=True, slots=True)
class EstimatorEntry:
    """Registry entry of an estimator, whose class is imported when it is first used.

    Parameters
    ----------
    name : str
        Name of the class.
    title : str
        Title of the model in reports.
    model : str, default=""
        Name of the model in plans and commands, one of `confide.objectives.MODELS`. Empty
        for models that plans and commands do not support.
    labelled : bool, default=False
        Whether targets are labels.
    own : type, optional
        The class itself, for estimators of other packages.

    Examples
    --------
    >>> from confide.estimators import ESTIMATORS
    >>> entry = ESTIMATORS["PoissonRegression"]
    >>> entry.title, entry.model, entry.labelled
    ('Poisson regression', 'poisson', False)

    Commands offer it as ``--model poisson``, for numeric targets.
    """

    name: str
    title: str
    model: str = ""
    labelled: bool = False
    own: type[Any] | None = None

    @classmethod
    def of(cls, kind: type[Any], title: str) -> "EstimatorEntry":
        """Create the entry of an estimator that another package defines.

        Parameters
        ----------
        kind : type
            The class.
        title : str
            Title of the model in reports.

        Returns
        -------
        EstimatorEntry
            An entry to register in `ESTIMATORS`.
        """
        return cls(kind.__name__, title, own=kind)

    @property
    def kind(self) -> type[Any]:
        """The class of the estimator."""
        found: type[Any] | None = self.own
        return found or getattr(import_module(__package__), self.name)


ESTIMATORS: Registry[EstimatorEntry] = Registry("estimator")
"""All estimators by class name. Model files can be loaded only for these classes."""
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
    """Return the names of the models that commands can fit.

    Parameters
    ----------
    labelled : bool, optional
        True for classifiers only, False for regressions only; by default both.

    Returns
    -------
    tuple of str
        Names as in ``confide fit --model``.

    Examples
    --------
    >>> from confide.estimators import model_names
    >>> model_names(labelled=False)
    ('linear', 'poisson')

    Two models predict numbers.
    """
    return tuple(
        entry.model
        for entry in ESTIMATORS.values()
        if entry.model and labelled in (None, entry.labelled)
    )
