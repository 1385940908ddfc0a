"""The lines of a summary for one column."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide._types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The lines of a summary for one column, as linear functions of its coefficients.

    ``matrix`` has a row for every name and may be sparse; ``intercept`` is what the
    intercept takes over; ``against``, where given, is taken off every line. A category of
    many levels is shown against their average without a matrix of all pairs of levels.
    """

    names: tuple[str, ...]
    matrix: Any
    intercept: Array
    against: Array | None = None

    def dense(self) -> Array:
        """Return the lines as one matrix."""
        whole = np.asarray(self.matrix @ np.eye(len(self.intercept)))
        return whole if self.against is None else whole - self.against
