"""Loss bounds that depend on a second variable, cell by cell."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.accounting.loss_bound import LossBound, piece_deltas
from confide.privacy.rounding import round_up


@dataclass(frozen=True, slots=True)
class LossMixture:
    """Bounds M(z), each with a weight: that of a cell of another variable.

    The weights need not add up to 1; delta is the weighted sum.
    """

    pieces: tuple[Array, Array, Array, Array]
    weights: Array
    largest: Array

    @classmethod
    def of(cls, bounds: Sequence[LossBound], weights: Array) -> "LossMixture":
        """Put bounds and their weights together."""
        parts = [bound.pieces() for bound in bounds]
        counts = [len(part[0]) for part in parts]
        lefts, rights, offsets, slopes = (
            np.concatenate(one) for one in zip(*parts, strict=True)
        )
        sizes = np.array([bound.largest for bound in bounds])
        return cls(
            (lefts, rights, offsets, slopes),
            np.repeat(weights, counts),
            np.repeat(sizes, counts),
        )

    def delta(self, epsilon: float) -> float:
        """Return the weighted sum of E(1 − e^{ε−M})₊, rounded up."""
        total = piece_deltas(self.pieces, epsilon, self.largest)
        return min(1.0, round_up(float(total @ self.weights)))
