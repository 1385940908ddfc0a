"""Summary, plot, selected variables and file of a fitted model."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from confide._files import write_file
from confide._types import AnyArray
from confide.estimators._model_file import file_content, model_record
from confide.estimators._summary import (
    Facts,
    bounding_facts,
    head_facts,
    interval_caution,
    interval_facts,
    range_facts,
    release_facts,
    selected_names,
    selection_facts,
)
from confide.inference import IntervalTable, Summary


class SummaryMethods:
    """Mixin for the summary, selected variables, intervals, plot and file of a model."""

    def summary(self: Any) -> Summary:
        """Summarise the release: guarantee, noise, ridge and coefficients.

        Returns
        -------
        Summary
            Public facts and coefficients, shown as text or, in notebooks, as HTML.
        """
        check_is_fitted(self, "release_")
        release, schema = self.release_, self.schema_
        own = (*release_facts(release), *self._own_facts())
        if schema is not None:
            own += range_facts(release, schema)
        if schema is None:
            own += bounding_facts(release)
        if self._selects:
            columns = self.n_features_in_ if schema is None else len(schema.effects)
            own += selection_facts(self.selected_, columns)
        fitted_on = getattr(self, "fitted_on_", None)
        return Summary(
            type(self).__name__,
            release.guarantee,
            self._lines(),
            own + interval_facts(release),
            head_facts(schema, self.n_features_in_, fitted_on, self._rows_fact()),
            None if release.intervals is None else release.intervals.level,
            interval_caution(release),
            "penalised" if release.intervals is None else release.intervals.of,
            self._scale_of(0) if len(np.atleast_2d(release.value)) == 1 else None,
            *self._column_tables(),
        )

    def _own_facts(self: Any) -> Facts:
        """Return the lines of the summary that are specific to this model."""
        return ()

    @property
    def _selects(self: Any) -> bool:
        """Whether a coefficient of 0 means that a variable was not selected."""
        penalty = self.penalty
        zeroes = bool(self.l1) or (
            penalty is not None and penalty.nonsmooth_part() is not None
        )
        return zeroes or self.release_.support is not None

    @property
    def selected_(self: Any) -> tuple[str, ...]:
        """Names of the variables whose released coefficients are not all 0.

        A category is selected if the coefficient of one of its levels is not 0.
        """
        check_is_fitted(self, "release_")
        if not self._selects:
            raise AttributeError(
                "nothing was selected: fit with l1 greater than 0, or with a mechanism "
                "that selects columns, such as SelectThenFit"
            )
        table = np.atleast_2d(self.release_.value)[:, : self.n_features_in_]
        used = (table != 0).any(axis=0)
        return selected_names(used, self.schema, self._feature_names())

    @property
    def support_(self: Any) -> AnyArray:
        """Sorted indices of the columns whose released coefficients are not all 0."""
        check_is_fitted(self, "release_")
        table = np.atleast_2d(self.release_.value)[:, : self.n_features_in_]
        return np.flatnonzero((table != 0).any(axis=0))

    @property
    def intervals_(self: Any) -> IntervalTable:
        """The coefficients with their intervals, as an immutable table."""
        check_is_fitted(self, "release_")
        kept = self.release_.intervals
        if kept is None:
            raise AttributeError(
                "the model was fitted without intervals: fit with intervals=True or a "
                "share of the budget such as 0.2"
            )
        return IntervalTable(self._lines(), kept.level, kept.of)

    def plot(self: Any, *, ax: Any = None) -> Any:
        """Plot the coefficients, with their intervals if there are any.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default new axes.

        Returns
        -------
        matplotlib.axes.Axes
            The axes. For numeric columns, the effect of the whole range is shown.
        """
        return self.summary().plot(ax=ax)

    def save(self: Any, path: str | Path) -> None:
        """Write the released model to a JSON file that `load_model` can read.

        The file contains coefficients, schema, guarantee and public settings, but no data.
        Only the owner of the file can read it, unless it replaces one that others could
        read.

        Parameters
        ----------
        path : str or Path
            File to write.
        """
        write_file(Path(path), self.file_content(), "model file")

    def file_content(self: Any) -> bytes:
        """Return the content of the file that `save` writes.

        Returns
        -------
        bytes
            JSON in UTF-8.
        """
        check_is_fitted(self, "release_")
        return file_content(model_record(self))
