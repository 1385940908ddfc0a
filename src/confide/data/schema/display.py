"""How a schema shows coefficients: per original unit, and levels against their average.

Of a category only differences between its levels have a meaning: what all of them share
belongs to the intercept. Each level is therefore shown against the plain average of the
levels of its column. A row without a level, whose indicators are all zero, gets a line of
its own, so that the lines shown say of every row what the model says of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from confide._types import AnyArray, Array
from confide.data.schema.columns import Column

INTERCEPT = "(intercept)"
INTERCEPT_HEIGHT = 0.3
"""Height of the intercept column as a share of the row norm."""


@dataclass(frozen=True, slots=True, repr=False)
class Display:
    """The lines of a summary as an affine function of coefficients.

    ``shown = matrix @ coefficients + constant``, where the coefficients are the slopes
    and, last, the intercept; ``names`` are those of the lines, the intercept's last.
    """

    names: tuple[str, ...]
    matrix: Array
    constant: Array

    def show(self, coefficients: Array) -> Array:
        """Return what stands in the lines."""
        shown: Array = self.matrix @ coefficients + self.constant
        return shown


def units_matrix(columns: Sequence[Column], weights: Array) -> AnyArray:
    """Return the sparse matrix that turns coefficients into effects per original unit.

    Both sides hold slopes and, last, an intercept, to which a change of origin adds.
    """
    units = [column.units() for column in columns]
    factors = weights * np.concatenate([factor for factor, _ in units])
    origins = np.concatenate([np.full(len(factor), origin) for factor, origin in units])
    last = sparse.csr_array(np.append(-origins * factors, 1.0)[None, :])
    slopes = sparse.diags_array(factors).tocsr()
    slopes.resize(len(factors), len(factors) + 1)
    return sparse.vstack([slopes, last], format="csr")


def display(columns: Sequence[Column], weights: Array) -> Display:
    """Return what turns coefficients of the design matrix into lines to be shown."""
    lines = [column.lines() for column in columns]
    names = (name for one in lines for name in one.names)
    centring = sparse.block_diag([*(one.matrix for one in lines), np.ones((1, 1))])
    centring = centring.toarray()
    centring[-1, :-1] = np.concatenate([one.intercept for one in lines])
    matrix = np.asarray(centring @ units_matrix(columns, weights))
    return Display((*names, INTERCEPT), matrix, np.zeros(len(matrix)))


def unidentified_directions(
    columns: Sequence[Column], weights: Array, height: float
) -> Array:
    """Return directions, as columns, along which a row that has all its levels is still.

    The indicators of a category add up to 1 wherever there is a level, as the intercept
    does: coefficients may move along their difference and no such row notices.
    """
    sizes = [len(column.features) for column in columns]
    starts = np.cumsum([0, *sizes])
    sums = []
    for column, start, size in zip(columns, starts, sizes, strict=False):
        if column.coded and size > 1:
            one = np.zeros(len(weights) + bool(height))
            one[start : start + size] = 1 / weights[start : start + size]
            sums.append(one)
    if height:
        intercept = np.zeros(len(weights) + 1)
        intercept[-1] = 1 / height
        sums.append(intercept)
    if len(sums) < 2:
        return np.zeros((len(weights) + bool(height), 0))
    return np.column_stack([one - sums[-1] for one in sums[:-1]])
