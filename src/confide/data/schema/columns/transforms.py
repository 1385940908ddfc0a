"""Increasing transforms that can be applied to a number before it is scaled."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from confide._types import AnyArray
from confide.data.schema.range_grid import LARGEST_DOUBLE, USUAL_SPAN

TransformName = Literal["none", "log", "signed-log", "sqrt"]


@dataclass(frozen=True, slots=True)
class Transform:
    """An increasing function of numbers not below ``least``, and its inverse.

    ``span`` is the interval of transformed values in which the range of a column without
    limits is estimated.
    """

    apply: Callable[[Any], Any]
    invert: Callable[[Any], Any]
    least: float = -LARGEST_DOUBLE
    span: tuple[float, float] = USUAL_SPAN

    @property
    def reach(self) -> tuple[float, float]:
        """The smallest and largest transformed values whose inverses are finite doubles."""
        ends = np.float64(self.least), np.float64(LARGEST_DOUBLE)
        lower, upper = (float(self.apply(end)) for end in ends)
        return lower, upper


TRANSFORMS: Mapping[TransformName, Transform] = {
    "none": Transform(lambda x: x, lambda x: x),
    "log": Transform(np.log, np.exp, math.ulp(0.0), (-64.0, 64.0)),
    "signed-log": Transform(
        lambda x: np.sign(x) * np.log1p(np.abs(x)),
        lambda x: np.sign(x) * np.expm1(np.abs(x)),
        span=(-64.0, 64.0),
    ),
    "sqrt": Transform(np.sqrt, np.square, 0.0, (0.0, USUAL_SPAN[1])),
}


def transformed(numbers: AnyArray, name: TransformName) -> AnyArray:
    """Apply a transform elementwise; numbers below its ``least`` are raised to it first."""
    known = TRANSFORMS[name]
    with np.errstate(over="ignore"):
        doubles = np.asarray(numbers, dtype=np.float64)
        return np.asarray(known.apply(np.maximum(doubles, known.least)))
