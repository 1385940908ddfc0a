"""Blocks of consecutive rows, to which functions are applied in sums over rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.matrix import Matrix


@dataclass(frozen=True, slots=True, repr=False)
class Block:
    """A block of consecutive rows: features, target, scale factors and intercept.

    Parameters
    ----------
    features : Matrix
        Features of the rows.
    target : ndarray
        Target of every row.
    factor : ndarray or None
        Factor by which each row is multiplied to respect the bound on its norm; None if no
        row needs scaling.
    height : float
        Value of the intercept column; 0 if there is no intercept.
    start : int, default=0
        Position in the table of the first row of the block.
    weight : ndarray, optional
        Weights of the records; by default every record has weight 1.
    offset : ndarray, optional
        Offsets that are added to the linear predictors; by default 0.

    Examples
    --------
    Mechanisms access rows only as blocks in a sum:

    >>> import numpy as np
    >>> from confide.data import bound_rows
    >>> rows = bound_rows(np.array([[3.0, 4.0], [0.3, 0.4]]), np.ones(2), 1.0, 0.0)
    >>> round(float(rows.sum(lambda block: block.lengths().sum())), 6)
    1.5
    """

    features: Matrix
    target: AnyArray
    factor: AnyArray | None
    height: float
    start: int = 0
    weight: AnyArray | None = None
    offset: AnyArray | None = None

    def weigh(self, values: AnyArray) -> AnyArray:
        """Return losses, or their derivatives, multiplied by the weights of the records."""
        if self.weight is None:
            return values
        return values * (self.weight if values.ndim == 1 else self.weight[:, None])

    def margin(self, theta: AnyArray, *, row_independent: bool = False) -> AnyArray:
        """Return the linear predictor ⟨x, θ⟩ of every row, with intercept and offset.

        If θ is a matrix, the result has one column per column of θ. In a matrix product,
        the rounding of the result for a row depends on the position of the row. With
        ``row_independent``, the linear predictor of a row depends on no other
        record, even in the last bit.
        """
        if row_independent and theta.ndim == 2:
            columns = [self.margin(column, row_independent=True) for column in theta.T]
            return np.column_stack(columns)
        slopes = theta[:-1] if self.height else theta
        if row_independent:
            margin = self.features.row_independent_product(slopes)
        else:
            margin = self.features @ slopes
        if self.factor is not None:
            margin *= self.factor if theta.ndim == 1 else self.factor[:, None]
        if self.height:
            margin += self.height * theta[-1]
        if self.offset is not None:
            margin += self.offset
        return margin

    def weighted_sum(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢ over the rows xᵢ; a matrix of weights gives one sum per column."""
        if weights.ndim == 2:
            return np.column_stack([self.weighted_sum(column) for column in weights.T])
        scaled = weights if self.factor is None else weights * self.factor
        total = self.features.weighted_sum(scaled)
        if not self.height:
            return total
        longer = np.empty(len(total) + 1, dtype=total.dtype)
        longer[:-1], longer[-1] = total, self.height * weights.sum()
        return longer

    def gram(self, weights: AnyArray, *, double: bool = False) -> Array:
        """Return Σ wᵢxᵢxᵢᵀ for non-negative weights, by default in single precision."""
        return self.features.gram(weights, self.factor, self.height, double=double)

    def gram_diagonal(self, weights: AnyArray) -> Array:
        """Return Σ wᵢxᵢⱼ² for every column j: the diagonal of the Gram matrix."""
        scaled = weights if self.factor is None else weights * self.factor**2
        total = self.features.gram_diagonal(scaled)
        if self.height:
            total = np.append(total, self.height**2 * weights.sum())
        return np.asarray(total, dtype=np.float64)

    def lengths(self) -> Array:
        """Return the norm ‖x‖ of every row, including any intercept column."""
        return self.features.lengths(self.factor, self.height)

    def absolute(self) -> "Block":
        """Return the same rows with the absolute values of all features."""
        return replace(self, features=self.features.absolute())

    def pieces(self, most: int) -> Iterator["Block"]:
        """Yield the rows in blocks of at most ``most`` rows."""
        if len(self.target) <= most:
            yield self
            return
        for low in range(0, len(self.target), most):
            yield replace(self.take(slice(low, low + most)), start=self.start + low)

    def take(self, chosen: slice | AnyArray) -> "Block":
        """Return the rows of a slice, or at the given positions."""
        own = (self.factor, self.weight, self.offset)
        factor, weight, offset = (some(one, chosen) for one in own)
        features, target = self.features[chosen], self.target[chosen]
        return Block(features, target, factor, self.height, 0, weight, offset)

    def toarray(self) -> Array:
        """Return the bounded rows as an array, including any intercept column."""
        rows = self.features.toarray()
        if self.factor is not None:
            rows = rows * self.factor[:, None]
        if not self.height:
            return rows
        return np.column_stack([rows, np.full(len(rows), self.height)])


def some(values: AnyArray | None, chosen: slice | AnyArray) -> AnyArray | None:
    """Return the chosen values; None stays None."""
    return None if values is None else values[chosen]
