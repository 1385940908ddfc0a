"""Constraint sets for coefficients, with their projections and radii."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from confide._registry import Registry
from confide._types import Array
from confide.errors import InvalidParameter


class Constraint(Protocol):
    """A closed convex set of coefficients that contains 0.

    Examples
    --------
    Points inside a set are unchanged, and others are moved to the nearest point of it:

    >>> import numpy as np
    >>> from confide.objectives import Box, L2Ball
    >>> [set_.project(np.array([3.0, 4.0])).tolist() for set_ in (Box(-1, 3), L2Ball(10))]
    [[3.0, 3.0], [3.0, 4.0]]
    """

    def project(self, theta: Array) -> Array:
        """Return the point of the set that is nearest to ``theta``.

        Parameters
        ----------
        theta : array
            Coefficients.

        Returns
        -------
        array
            The projection.
        """
        ...

    def radius(self, dimension: int) -> float:
        """Return the largest Euclidean norm of a point in the set.

        Parameters
        ----------
        dimension : int
            The number of coefficients.

        Returns
        -------
        float
            The radius; infinite for an unbounded set.
        """
        ...


CONSTRAINTS: Registry[type[Any]] = Registry("constraint")


@CONSTRAINTS.register("l2-ball")
@dataclass(frozen=True, slots=True)
class L2Ball:
    """A Euclidean ball, ‖θ‖₂ <= size.

    Parameters
    ----------
    size : float
        The radius, positive and finite; public. A smaller ball needs less noise, but
        excludes more coefficient vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.objectives import L2Ball
    >>> L2Ball(1.0).project(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    size: float

    def __post_init__(self) -> None:
        _check_size(self.size)

    def project(self, theta: Array) -> Array:
        """Rescale a vector outside the ball to the surface of the ball."""
        length = float(np.linalg.norm(theta))
        return theta if length <= self.size else theta * (self.size / length)

    def radius(self, dimension: int) -> float:
        """Return the radius of the ball."""
        return self.size


@CONSTRAINTS.register("l1-ball")
@dataclass(frozen=True, slots=True)
class L1Ball:
    """An L1 ball (cross-polytope), ‖θ‖₁ <= size; projections onto it are sparse.

    Parameters
    ----------
    size : float
        The largest sum of absolute values, positive and finite; public.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.objectives import L1Ball
    >>> L1Ball(1.0).project(np.array([3.0, 2.5]))
    array([0.75, 0.25])
    """

    size: float

    def __post_init__(self) -> None:
        _check_size(self.size)

    def project(self, theta: Array) -> Array:
        """Soft-threshold at the lowest level that yields a point in the ball."""
        lengths = np.abs(theta)
        if lengths.sum() <= self.size:
            return theta
        falling = np.sort(lengths)[::-1]
        levels = (np.cumsum(falling) - self.size) / np.arange(1, theta.size + 1)
        above = np.flatnonzero(falling > levels)
        level = levels[above[-1]] if len(above) else falling[0]
        return np.sign(theta) * np.maximum(lengths - level, 0)

    def radius(self, dimension: int) -> float:
        """Return ``size``, the Euclidean norm of the corners."""
        return self.size


@CONSTRAINTS.register("box")
@dataclass(frozen=True, slots=True)
class Box:
    """A box: every coefficient lies between the same two limits.

    Parameters
    ----------
    lower : float, default -1.0
        The lower limit, at most 0; public.
    upper : float, default 1.0
        The upper limit, at least 0; public.

    Raises
    ------
    InvalidParameter
        If 0 is not between the limits.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.objectives import Box
    >>> Box(0.0, 1.0).project(np.array([-0.5, 0.5, 1.5]))
    array([0. , 0.5, 1. ])
    """

    lower: float = -1.0
    upper: float = 1.0

    def __post_init__(self) -> None:
        if not self.lower <= 0 <= self.upper:
            raise InvalidParameter("box", "an interval around 0", (self.lower, self.upper))

    def project(self, theta: Array) -> Array:
        """Clip every coordinate."""
        return np.clip(theta, self.lower, self.upper)

    def radius(self, dimension: int) -> float:
        """Return the Euclidean norm of the corner that is farthest from 0."""
        return max(-self.lower, self.upper) * math.sqrt(dimension)


@CONSTRAINTS.register("nonnegative")
@dataclass(frozen=True, slots=True)
class Nonnegative:
    """The set of nonnegative coefficients.

    The set is unbounded, so a loss that needs bounded coefficients must be clipped.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.objectives import Nonnegative
    >>> Nonnegative().project(np.array([-0.5, 0.5]))
    array([0. , 0.5])
    """

    def project(self, theta: Array) -> Array:
        """Replace negative coefficients by 0."""
        return np.maximum(theta, 0)

    def radius(self, dimension: int) -> float:
        """Return infinity: the set is unbounded."""
        return math.inf


def _check_size(size: float) -> None:
    if not 0 < size < math.inf:
        raise InvalidParameter("size of the ball", "positive and finite", size)
