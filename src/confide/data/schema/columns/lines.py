"""Lines of the coefficient table for one effect of the model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide._types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Lines of the coefficient table for one effect, as linear functions of coefficients.

    ``matrix`` has one row per line and may be sparse. ``intercept`` is the linear
    combination of coefficients that is added to the intercept. ``against``, if given, is a
    linear combination that is subtracted from every line. The levels of a category can
    thus be compared with their average without a dense matrix of all pairs of levels.
    """

    names: tuple[str, ...]
    matrix: Any
    intercept: Array
    against: Array | None = None

    def dense(self) -> Array:
        """Return all lines as one dense matrix, with ``against`` subtracted."""
        whole = np.asarray(self.matrix @ np.eye(len(self.intercept)))
        return whole if self.against is None else whole - self.against
