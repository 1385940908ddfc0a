"""What to say of features that are no numbers, or not finite."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from confide.errors import InvalidData

MAX_ROW_LENGTH = float(np.sqrt(np.finfo(np.float64).max))
"""Longer rows have a squared length that is no double."""


def not_numbers(columns: Sequence[str]) -> InvalidData:
    """Return what to raise where columns hold something else than numbers."""
    return InvalidData(
        f"columns {list(columns)} of X must hold numbers. Declare them in a schema "
        "(schema=Schema(...)), which encodes categories by their public levels."
    )


def refuse_infinite(features: Any) -> None:
    """Say what is wrong with values of which some are not finite, and quote none."""
    values = features.data if sparse.issparse(features) else features
    if np.isnan(values).any():
        raise InvalidData(
            "X must hold finite numbers; it contains NaN. Fill or drop missing values "
            "by a rule chosen before looking at them."
        )
    if not np.isfinite(values).all():
        raise InvalidData(
            "X must hold finite numbers; it contains infinity, or a number that is too "
            "large for a double."
        )
    raise InvalidData(
        "the squared length of every row of X must fit a double; a value is too large. "
        "Bring the columns to a common public range first."
    )
