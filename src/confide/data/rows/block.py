"""Some rows, and what is computed from them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.matrix import Matrix


@dataclass(frozen=True, slots=True, repr=False)
class Block:
    """Some rows: features, target, row factors, intercept height.

    Rows of a block follow one another in the table, from ``start`` on.
    """

    features: Matrix
    target: AnyArray
    factor: AnyArray | None
    height: float
    start: int = 0

    def margin(self, theta: AnyArray, *, row_independent: bool = False) -> AnyArray:
        """Return ⟨x, θ⟩ for every row, the intercept column included.

        A matrix θ gives a column of margins for each of its columns. A product of matrices
        rounds a row by where it stands. ``row_independent`` rounds every row as if there
        were no other: what depends on one record then does so to the last bit.
        """
        slopes = theta[:-1] if self.height else theta
        if row_independent:
            margin = self.features.row_independent_product(slopes)
        else:
            margin = self.features @ slopes
        if self.factor is not None:
            margin *= self.factor if theta.ndim == 1 else self.factor[:, None]
        if self.height:
            margin += self.height * theta[-1]
        return margin

    def weighted_sum(self, weights: AnyArray) -> AnyArray:
        """Return Σ wᵢxᵢ; a matrix of weights gives a column for each of its columns."""
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
        """Return Σ wᵢxᵢxᵢᵀ for weights not negative, in single precision unless double."""
        return self.features.gram(weights, self.factor, self.height, double=double)

    def gram_diagonal(self, weights: AnyArray) -> Array:
        """Return the diagonal of the Gram matrix, Σ wᵢxᵢⱼ²."""
        scaled = weights if self.factor is None else weights * self.factor**2
        total = self.features.gram_diagonal(scaled)
        if self.height:
            total = np.append(total, self.height**2 * weights.sum())
        return np.asarray(total, dtype=np.float64)

    def lengths(self) -> Array:
        """Return ‖x‖ for every row, the intercept column included."""
        return self.features.lengths(self.factor, self.height)

    def absolute(self) -> "Block":
        """Return the same rows with every entry positive."""
        return replace(self, features=self.features.absolute())

    def pieces(self, most: int) -> Iterator["Block"]:
        """Walk over the rows, ``most`` of them or fewer at a time."""
        count = len(self.target)
        if count <= most:
            yield self
            return
        for low in range(0, count, most):
            piece = self.take(slice(low, low + most))
            yield replace(piece, start=self.start + low)

    def take(self, chosen: slice | AnyArray) -> "Block":
        """Return the rows of a slice, or at some places, in their order."""
        factor = None if self.factor is None else self.factor[chosen]
        return Block(self.features[chosen], self.target[chosen], factor, self.height)

    def toarray(self) -> Array:
        """Return the bounded rows as an array, the intercept column included."""
        rows = self.features.toarray()
        if self.factor is not None:
            rows = rows * self.factor[:, None]
        if not self.height:
            return rows
        return np.column_stack([rows, np.full(len(rows), self.height)])
