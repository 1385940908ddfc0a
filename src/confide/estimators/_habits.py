"""scikit-learn conventions: cloning, display in notebooks and feature names."""

import os
import warnings
from collections import Counter
from itertools import count
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from confide._types import AnyArray
from confide.data import Schema
from confide.errors import RepeatedSpending
from confide.ledger.amounts import Amount
from confide.privacy import Budget, Guarantee
from confide.privacy.guarantee import ROW_BY_ROW

USUAL_FITS = 6
"""Number of fits in a cross-validation with five folds and a final refit."""
_numbers = count()
_unbooked: Counter[str] = Counter()
"""Number of fits without a ledger in this process, for each model with its clones."""


class SklearnHabits(BaseEstimator):  # type: ignore[misc]
    """Mixin for cloning, feature names and display in notebooks.

    Fits without a ledger are counted per family, which is a model and all its clones.
    """

    schema: Schema | None
    n_features_in_: int

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy that belongs to the same family as this model."""
        copy = super().__sklearn_clone__()
        if not hasattr(self, "_family"):
            self._family = f"{os.getpid()}-{next(_numbers)}"
        copy._family = self._family  # noqa: SLF001
        return copy

    def _count_unbooked(self, budget: Budget, callers: int) -> None:
        """Count a fit without a ledger; warn at the second one in the family."""
        family = getattr(self, "_family", None)
        if family is None:
            return
        _unbooked[family] += 1
        if _unbooked[family] == 2:
            total = Amount.of(budget).scaled(USUAL_FITS)
            text = (
                "copies of this model are being fitted repeatedly, as in "
                f"cross-validation and grid searches. Each fit spends {budget}. The total "
                "is that budget times the number of fits (folds times candidates, plus "
                f"one for a refit): {total} for five folds and a refit. It is not "
                "recorded: pass a ledger, which rejects charges beyond a limit, or tune "
                "with PrivateSearch, which spends its budget only once."
            )
            warnings.warn(text, RepeatedSpending, stacklevel=callers + 1)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns of ``coef_``.

        Parameters
        ----------
        input_features : None
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        ndarray of str
            Names of the columns of the design matrix, in the order of ``coef_``.
        """
        names: Any = self._feature_names()
        return np.asarray(names, dtype=object)

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks, which is the summary if the model is fitted."""
        if hasattr(self, "release_"):
            text: str = self.summary()._repr_html_()
            return text
        shown: str = super()._repr_html_()
        return shown

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the text and HTML for notebooks, by MIME type."""
        try:
            return {"text/plain": repr(self), "text/html": self._repr_html_()}
        except AttributeError:
            # scikit-learn is configured to display text only.
            return {"text/plain": repr(self)}

    def _feature_names(self) -> tuple[str, ...]:
        if self.schema is not None:
            return self.schema.features
        names: AnyArray | None = getattr(self, "feature_names_in_", None)
        if names is not None:
            return tuple(str(name) for name in names)
        return tuple(f"x{j}" for j in range(self.n_features_in_))

    def _assuming(self, guarantee: Guarantee) -> Guarantee:
        """Add to a guarantee the assumptions about array features or earlier releases."""
        schema = self.schema
        for line in (ROW_BY_ROW,) if schema is None else schema.assumptions:
            guarantee = guarantee.assuming(line)
        return guarantee

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
