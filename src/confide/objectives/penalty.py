"""The interface of a penalty r(θ): its value, proximal map and curvature.

``ridge(p)`` returns the weights of the quadratic part ½Σwⱼθⱼ², which increases strong
convexity. ``nonsmooth_part()`` is the remainder, which needs a proximal step.
``least_curvature`` bounds the second derivative from below: 0 for a convex penalty,
negative for one that is not convex (SCAD, MCP). ``convex`` tells whether theorems that
require convexity apply.
"""

from typing import Protocol

from confide._types import Array


class Penalty(Protocol):
    """A function of the coefficients that does not depend on the data.

    Examples
    --------
    Every penalty is 0 at 0, and has the same methods:

    >>> import numpy as np
    >>> from confide.objectives import L1, Ridge
    >>> [penalty.value(np.array([3.0, -4.0])) for penalty in (L1(1.0), Ridge(1.0))]
    [7.0, 12.5]
    """

    @property
    def convex(self) -> bool:
        """Whether the penalty is convex."""
        ...

    @property
    def least_curvature(self) -> float:
        """A lower bound on the second derivative."""
        ...

    def value(self, theta: Array) -> float:
        """Return the value of the penalty, r(θ).

        Parameters
        ----------
        theta : array
            Coefficients.

        Returns
        -------
        float
            The penalty.
        """
        ...

    def prox(self, theta: Array, step: float) -> Array:
        """Return the proximal map, the minimiser of step·r(u) + ½‖u − θ‖².

        Parameters
        ----------
        theta : array
            Coefficients.
        step : float
            The step size; larger steps shrink more.

        Returns
        -------
        array
            The minimiser u.
        """
        ...

    def ridge(self, dimension: int) -> Array:
        """Return the ridge weights, which define the quadratic part of the penalty.

        Parameters
        ----------
        dimension : int
            The number of coefficients.

        Returns
        -------
        array
            One weight for each coefficient.
        """
        ...

    def nonsmooth_part(self) -> "Penalty | None":
        """Return the penalty without its quadratic part.

        Returns
        -------
        Penalty or None
            The remainder; None if the penalty is purely quadratic.
        """
        ...
