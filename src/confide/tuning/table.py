"""A table that a search cuts into pieces, rows with their targets."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from confide._types import AnyArray
from confide.data import Schema, read_table
from confide.data.schema.parse_values import as_cells
from confide.errors import InvalidData


@dataclass(frozen=True, slots=True, repr=False)
class SearchTable:
    """Rows and targets; ``target`` is None where a schema names it among the columns."""

    features: Any
    target: AnyArray | None
    schema: Schema | None = None

    @classmethod
    def of(cls, X: Any, y: Any, schema: Schema | None) -> "SearchTable":
        """Take over what an estimator has accepted already."""
        if schema is not None:
            return cls(read_table(X, schema, target=y is None), _column(y), schema)
        if isinstance(X, pd.DataFrame):
            return cls(X, _column(y))
        return cls(X.tocsr() if sparse.issparse(X) else np.asarray(as_cells(X)), _column(y))

    @property
    def count(self) -> int:
        """How many rows there are: private under add-remove neighbours."""
        return int(self.features.shape[0])

    @property
    def actual(self) -> AnyArray:
        """The target of every row."""
        if self.target is None and self.schema is not None:
            return np.asarray(self.schema.target_column(self.features))
        assert self.target is not None  # noqa: S101
        return self.target

    def take(self, places: AnyArray) -> "SearchTable":
        """Return the rows at these places."""
        frame = isinstance(self.features, pd.DataFrame)
        rows = self.features.iloc[places] if frame else self.features[places]
        return SearchTable(
            rows, None if self.target is None else self.target[places], self.schema
        )

    def rehearse(self, model: Any) -> Any:
        """Return what a fit on all rows would promise, or raise what it would refuse."""
        return model.rehearse(self.features, self.target)

    def fit(self, model: Any) -> Any:
        """Fit a model on all rows."""
        return model.fit(self.features, self.target)


def _column(y: Any) -> AnyArray | None:
    if y is None:
        return None
    column = np.asarray(as_cells(y))
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise InvalidData("a search needs one target; y has several columns.")
    return column
