"""Targets over their public bound."""

import numpy as np

from confide._types import AnyArray, Array
from confide.errors import MissingPublicBound
from confide.objectives import Objective


def target_size(objective: Objective) -> float:
    """Return the largest |y|: 1 for classes, the declared bound for numbers and counts."""
    if objective.loss.targets == "signs":
        return 1.0
    if objective.target_bound is None:
        raise MissingPublicBound(
            "selecting columns needs a public bound on the target: set target_bound."
        )
    return objective.target_bound


def scaled_target(objective: Objective, target: AnyArray) -> Array:
    """Return y over its bound, within [−1, 1] whatever the records say."""
    return np.clip(target / target_size(objective), -1.0, 1.0)
