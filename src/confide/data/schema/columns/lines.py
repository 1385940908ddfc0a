"""Summary lines for one column."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide._types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Summary lines for one column, as linear functions of its coefficients.

    ``matrix`` has one row per line and may be sparse. ``intercept`` is the linear
    combination of coefficients that is added to the intercept. ``against``, if given, is a
    linear combination that is subtracted from every line. Thus a category with many levels
    is shown relative to their average without a dense matrix of all pairs of levels.
    """

    names: tuple[str, ...]
    matrix: Any
    intercept: Array
    against: Array | None = None

    def dense(self) -> Array:
        """Return the lines as one dense matrix."""
        whole = np.asarray(self.matrix @ np.eye(len(self.intercept)))
        return whole if self.against is None else whole - self.against
