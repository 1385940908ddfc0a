"""Weights of NAPP, which imitate a penalty by Σ wⱼθⱼ² around the previous iterate.

A target penalty R is imitated by wⱼ = R(θⱼ)/θⱼ² at the previous θ. With "mitigation of
over-regularisation" (MOOR), the weight is the maximum of this value and the floor Λ₀;
without MOOR, it is their sum. Iterations without MOOR minimise a *fixed-point penalty* r
with r′(θ) = 2wθ, which differs from R: it is twice the lasso for the lasso, and
Λ|θ|^(2−γ)·2/(2−γ) for a bridge penalty.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from confide._types import Array
from confide.errors import InvalidParameter
from confide.objectives import L1, ElasticNet, Penalty

Regulariser = Literal["ridge", "lasso", "bridge", "elastic-net", "scad", "l0"]
REGULARISERS = ("ridge", "lasso", "bridge", "elastic-net", "scad", "l0")
SMALLEST = 1e-150
"""Lower bound on |θ| in the weights, which keeps them finite."""


@dataclass(frozen=True, slots=True)
class NappTarget:
    """Penalty that NAPP imitates by weighted ridge problems.

    Parameters
    ----------
    kind : {"ridge", "lasso", "bridge", "elastic-net", "scad", "l0"}, default="lasso"
        Kind of penalty.
    strength : float, default=0.1
        Strength Λ of the penalty.
    gamma : float, default=1
        γ in the norm l_{2−γ} of the bridge penalty.
    kappa : float, default=0.5
        Ridge of the elastic net, as a multiple of the strength.
    shape : float, default=3.7
        Shape parameter of SCAD.

    Raises
    ------
    InvalidParameter
        A setting is outside its range.

    Examples
    --------
    >>> from confide.mechanisms.published import NappTarget
    >>> NappTarget("scad").shape
    3.7
    """

    kind: Regulariser = "lasso"
    strength: float = 0.1
    gamma: float = 1.0
    kappa: float = 0.5
    shape: float = 3.7

    def __post_init__(self) -> None:
        if self.kind not in REGULARISERS:
            raise InvalidParameter("kind", f"one of {REGULARISERS}", self.kind)
        if not 0 < self.strength < np.inf:
            raise InvalidParameter("strength", "positive and finite", self.strength)
        if not 0 <= self.gamma < 2:
            raise InvalidParameter("gamma", "in [0, 2)", self.gamma)
        if not 0 < self.kappa < 1:
            raise InvalidParameter("kappa", "between 0 and 1", self.kappa)
        if not self.shape > 2:
            raise InvalidParameter("shape", "greater than 2", self.shape)

    @property
    def power(self) -> float:
        """Exponent γ of the weight Λ|θ|^(−γ): 1 for the lasso, 2 for l0."""
        return {"lasso": 1.0, "elastic-net": 1.0, "l0": 2.0}.get(self.kind, self.gamma)

    @property
    def adapts(self) -> bool:
        """Whether the weights depend on the previous iterate."""
        return self.kind != "ridge" and not (self.kind == "bridge" and self.gamma == 0)

    @property
    def convex(self) -> bool:
        """Whether the fixed-point penalty is convex."""
        return self.kind != "scad" and (not self.adapts or self.power <= 1)

    def first(self) -> float:
        """Return the weight for the first iteration.

        Returns
        -------
        float
            Weight of every coefficient.
        """
        if not self.adapts:
            return self.strength
        return self.strength * self.kappa if self.kind == "elastic-net" else 0.0

    def at(self, theta: Array) -> Array:
        """Return the weight R(θⱼ)/θⱼ² of every coefficient, where R is the penalty.

        Parameters
        ----------
        theta : ndarray
            Coefficients.

        Returns
        -------
        ndarray
            Weights.
        """
        if not self.adapts:
            return np.full(theta.shape, self.strength)
        size = np.maximum(np.abs(theta), SMALLEST)
        if self.kind == "scad":
            return _scad_weight(size, self.strength, self.shape)
        power = self.power
        weight = self.strength / (size if power == 1 else size**power)
        if self.kind == "elastic-net":
            weight += self.strength * self.kappa
        return weight

    def fixed_point(self) -> Penalty | None:
        """Return the fixed-point penalty, which the iterations without MOOR minimise.

        It does not include the ridge that results from the floor Λ₀.

        Returns
        -------
        Penalty or None
            The penalty, or None if the target is a ridge.
        """
        if not self.convex:
            raise InvalidParameter(
                "target", "a ridge, lasso, elastic net or bridge with γ <= 1", self.kind
            )
        if self.kind == "elastic-net":
            whole = 2 * self.strength * (1 + self.kappa)
            return ElasticNet(whole, 1 / (1 + self.kappa))
        if not self.adapts:
            return None
        if self.power == 1:
            return L1(2 * self.strength)
        return PowerPenalty(2 * self.strength / (2 - self.gamma), 2 - self.gamma)

    def fixed_ridge(self, floor: float) -> float:
        """Return Λ of the ridge ½Λ‖θ‖² that accompanies the fixed-point penalty.

        Parameters
        ----------
        floor : float
            Lower bound Λ₀ on the weights.

        Returns
        -------
        float
            Ridge Λ.
        """
        if self.kind == "ridge":
            return 2 * max(self.strength, floor)
        return 2 * (floor if self.adapts else self.strength + floor)


@dataclass(frozen=True, slots=True)
class Weighting:
    """Weights for a target penalty, with the floor Λ₀ and optionally MOOR.

    ``least`` is the larger floor after recycling, and 0 before.
    """

    target: NappTarget
    floor: float
    moor: bool = True
    least: float = 0.0

    def first(self, dimension: int) -> Array:
        """Return the weights of the first iteration."""
        return self._over(np.full(dimension, self.target.first()))

    def after(self, theta: Array) -> Array:
        """Return the weights of the iteration after ``theta``."""
        return self._over(self.target.at(theta))

    def _over(self, weight: Array) -> Array:
        if self.moor or self.target.kind == "ridge":
            return np.maximum(weight, max(self.floor, self.least))
        return np.maximum(weight + self.floor, self.least)


@dataclass(frozen=True, slots=True)
class PowerPenalty:
    """Penalty weight·Σ|θⱼ|^power with 1 < power < 2, which is smooth and convex."""

    weight: float
    power: float
    convex: ClassVar[bool] = True
    least_curvature: ClassVar[float] = 0.0

    def value(self, theta: Array) -> float:
        """Return the penalty weight·Σ|θⱼ|^power."""
        return self.weight * float(np.sum(np.abs(theta) ** self.power))

    def prox(self, theta: Array, step: float) -> Array:
        """Return the proximal map, which keeps the sign of every θ and shrinks |θ| to u.

        u solves u + step·weight·power·u^(power − 1) = |θ|. The left side is concave in u.
        Newton's method, started to the left of the root, therefore increases towards it and
        never exceeds it.
        """
        size = np.abs(theta)
        pull, rest = step * self.weight * self.power, self.power - 1
        root = np.maximum(size - pull * size**rest, 0.0)
        small = np.minimum(size / (1 + pull), (size / (1 + pull)) ** (1 / rest))
        root = np.maximum(root, small)
        with np.errstate(divide="ignore", invalid="ignore"):
            for _ in range(MOST_STEPS):
                excess = root + pull * root**rest - size
                change = excess / (1 + pull * rest * root ** (rest - 1))
                change = np.where(size > 0, change, 0.0)
                root = np.clip(root - change, 0.0, size)
                if np.all(np.abs(change) <= 4e-16 * root):
                    break
        return np.sign(theta) * root

    def ridge(self, dimension: int) -> Array:
        """Return zeros, because the penalty has no quadratic part."""
        return np.zeros(dimension)

    def nonsmooth_part(self) -> "PowerPenalty":
        """Return the penalty itself."""
        return self


MOST_STEPS = 60


def _scad_weight(size: Array, strength: float, shape: float) -> Array:
    """Return SCAD(θ)/θ²: Λ/|θ| for small θ, decreasing like 1/θ² for large θ."""
    safe = np.maximum(size, strength)
    middle = (2 * shape * strength * safe - safe**2 - strength**2) / (2 * (shape - 1))
    far = strength**2 * (shape + 1) / 2
    value = np.where(size <= shape * strength, middle, far)
    return np.where(size <= strength, strength / size, value / safe**2)
