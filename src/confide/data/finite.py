"""What to say of numbers that are not finite."""

from typing import Any

import numpy as np
from scipy import sparse

from confide.errors import InvalidData


def refuse_infinite(features: Any) -> None:
    """Say what is wrong with values of which some are not finite, and quote none."""
    values = features.data if sparse.issparse(features) else features
    if np.isnan(values).any():
        raise InvalidData(
            "X must hold finite numbers; it contains NaN. Fill or drop missing values "
            "by a rule chosen before looking at them."
        )
    if not np.isfinite(values).all():
        raise InvalidData("X must hold finite numbers; it contains infinity.")
    raise InvalidData(
        "the squared length of every row of X must fit a double; a value is too large. "
        "Bring the columns to a common public range first."
    )
