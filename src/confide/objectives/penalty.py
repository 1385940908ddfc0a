"""What a penalty r(θ) offers: its value, its proximal map, and bounds on its curvature.

``ridge(p)`` is the quadratic part ½Σwⱼθⱼ², which counts towards strong convexity;
``nonsmooth_part()`` is the rest, the part that a proximal step must treat.
``least_curvature`` bounds the second derivative from below: 0 for a convex penalty,
negative for one that is not (SCAD, MCP), and ``convex`` says whether a theorem
that needs convexity applies.
"""

from typing import Protocol

from confide._types import Array


class Penalty(Protocol):
    """A function of the coefficients that does not depend on the data.

    Examples
    --------
    Every penalty is 0 at 0, and answers the same questions:

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
        """Return r(θ).

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
            The step; larger ones shrink more.

        Returns
        -------
        array
            The minimiser u.
        """
        ...

    def ridge(self, dimension: int) -> Array:
        """Return the weights of the quadratic part.

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
            The rest; None if nothing is left.
        """
        ...
