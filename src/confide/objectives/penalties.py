"""Penalties r(θ): ridge, lasso, elastic net, group lasso, SCAD, MCP and nuclear norm."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from confide._registry import Registry
from confide._types import Array
from confide.errors import Described, InvalidParameter
from confide.objectives.penalty import Penalty

PENALTIES: Registry[type[Any]] = Registry("penalty")


class _NoRidge:
    """Base class of penalties without a quadratic part."""

    __slots__ = ()

    def ridge(self, dimension: int) -> Array:
        """Return ridge weights of 0."""
        return np.zeros(dimension)

    def nonsmooth_part(self) -> Any:
        """Return the penalty itself."""
        return self


@PENALTIES.register("ridge")
@dataclass(frozen=True, slots=True)
class Ridge:
    """Ridge penalty, ½ Σ wⱼθⱼ².

    Parameters
    ----------
    weight : float or tuple of float
        One weight for all coefficients, or a weight for each. The penalty is added to a sum
        of losses over records, not to their mean. Larger weights shrink more.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.objectives import Ridge
    >>> Ridge(1.0).prox(np.array([3.0, -4.0]), step=1.0)
    array([ 1.5, -2. ])
    """

    weight: float | tuple[float, ...]
    convex: ClassVar[bool] = True
    least_curvature: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check_weights(self.weight)

    def value(self, theta: Array) -> float:
        """Return the value of the penalty at ``theta``."""
        return float(np.sum(np.asarray(self.weight) * theta**2) / 2)

    def prox(self, theta: Array, step: float) -> Array:
        """Divide every coordinate by 1 + step·weight."""
        return theta / (1 + step * np.asarray(self.weight))

    def ridge(self, dimension: int) -> Array:
        """Return the ridge weight of every coefficient."""
        return _spread(self.weight, dimension)

    def nonsmooth_part(self) -> None:
        """Return None: the penalty is purely quadratic."""


@PENALTIES.register("l1")
@dataclass(frozen=True, slots=True)
class L1(_NoRidge):
    r"""Lasso penalty, Σ wⱼ\|θⱼ\|.

    Parameters
    ----------
    weight : float or tuple of float
        One weight for all coefficients, or a weight for each. A coefficient with weight 0
        is not penalised; larger weights set more coefficients to 0.

    Examples
    --------
    Coefficients are moved towards 0 by the weight, but never past 0:

    >>> import numpy as np
    >>> from confide.objectives import L1
    >>> L1(1.0).prox(np.array([3.0, -0.5]), step=1.0)
    array([ 2., -0.])
    """

    weight: float | tuple[float, ...]
    convex: ClassVar[bool] = True
    least_curvature: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check_weights(self.weight)

    def value(self, theta: Array) -> float:
        """Return the value of the penalty at ``theta``."""
        return float(np.sum(np.asarray(self.weight) * np.abs(theta)))

    def prox(self, theta: Array, step: float) -> Array:
        """Soft-threshold every coordinate."""
        return soft(theta, step * np.asarray(self.weight))


@PENALTIES.register("elastic-net")
@dataclass(frozen=True, slots=True)
class ElasticNet:
    """Elastic net, weight · (mix·‖θ‖₁ + (1 − mix)/2·‖θ‖₂²).

    Parameters
    ----------
    weight : float
        The overall weight; larger means more shrinkage.
    mix : float, default 0.5
        The share of the lasso penalty, from 0 (ridge only) to 1 (lasso only).

    Raises
    ------
    InvalidParameter
        If the mix is not between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.objectives import ElasticNet
    >>> ElasticNet(2.0, mix=0.5).prox(np.array([3.0, -0.5]), step=1.0)
    array([ 1., -0.])
    """

    weight: float
    mix: float = 0.5
    convex: ClassVar[bool] = True
    least_curvature: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check_weights(self.weight)
        if not 0 <= self.mix <= 1:
            raise InvalidParameter("mix", "between 0 and 1", self.mix)

    def value(self, theta: Array) -> float:
        """Return the value of the penalty at ``theta``."""
        quadratic = (1 - self.mix) / 2 * float(theta @ theta)
        return self.weight * (self.mix * float(np.abs(theta).sum()) + quadratic)

    def prox(self, theta: Array, step: float) -> Array:
        """Soft-threshold every coordinate, and then shrink it by a common factor."""
        thin = soft(theta, step * self.weight * self.mix)
        return thin / (1 + step * self.weight * (1 - self.mix))

    def ridge(self, dimension: int) -> Array:
        """Return weight·(1 − mix) for every coordinate."""
        return np.full(dimension, self.weight * (1 - self.mix))

    def nonsmooth_part(self) -> L1 | None:
        """Return the lasso part, or None if its share is 0."""
        return L1(self.weight * self.mix) if self.mix else None


@PENALTIES.register("group-l2")
@dataclass(frozen=True, slots=True)
class GroupL2(_NoRidge):
    r"""Group lasso, weight · Σ_g √\|g\|·‖θ_g‖₂ over disjoint groups g.

    Parameters
    ----------
    weight : float
        The weight; a larger weight sets more groups to 0.
    groups : tuple of tuples of int
        The indices of the coefficients in each group. Coefficients in no group are not
        penalised.

    Raises
    ------
    InvalidParameter
        If groups overlap, are empty or contain a negative index.

    Examples
    --------
    Each group is shrunk or set to 0 as a whole; here the second one is set to 0:

    >>> import numpy as np
    >>> from confide.objectives import GroupL2
    >>> penalty = GroupL2(1.0, groups=((0, 1), (2,)))
    >>> penalty.prox(np.array([3.0, 4.0, 0.5]), step=1.0).round(2)
    array([2.15, 2.87, 0.  ])
    """

    weight: float
    groups: tuple[tuple[int, ...], ...]
    convex: ClassVar[bool] = True
    least_curvature: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check_weights(self.weight)
        members = [j for group in self.groups for j in group]
        negative = any(j < 0 for j in members)
        if negative or len(members) != len(set(members)) or not all(self.groups):
            must = "disjoint, not empty, and made of column indices, counted from 0"
            raise InvalidParameter("groups", must, str(self.groups))

    def levels(self) -> list[tuple[list[int], float]]:
        r"""Return the coefficient indices and the weight of every group.

        Returns
        -------
        list of tuples
            The indices in a group g, and weight·√\|g\|.
        """
        return [(list(g), self.weight * len(g) ** 0.5) for g in self.groups]

    def value(self, theta: Array) -> float:
        """Return the value of the penalty at ``theta``."""
        return sum(w * float(np.linalg.norm(theta[g])) for g, w in self.levels())

    def prox(self, theta: Array, step: float) -> Array:
        """Shrink the coefficients of every group by a common factor."""
        out = theta.copy()
        for group, weight in self.levels():
            length = float(np.linalg.norm(theta[group]))
            out[group] *= max(0.0, 1 - step * weight / length) if length else 0.0
        return out


@PENALTIES.register("scad")
@dataclass(frozen=True, slots=True)
class Scad(_NoRidge):
    """Smoothly clipped absolute deviation (Fan and Li): lasso near 0, constant far away.

    The penalty is not convex, so only mechanisms that do not require convexity accept it.

    Parameters
    ----------
    weight : float
        The slope near 0; a larger weight sets more coefficients to 0.
    shape : float, default 3.7
        Shape parameter, greater than 2. Coefficients whose absolute value exceeds
        shape·weight are not shrunk at all.

    Raises
    ------
    InvalidParameter
        If the shape is 2 or less.

    Examples
    --------
    Small coefficients are set to 0, and large ones are unchanged:

    >>> import numpy as np
    >>> from confide.objectives import Scad
    >>> Scad(1.0).prox(np.array([0.5, 10.0]), step=1.0)
    array([ 0., 10.])
    """

    weight: float
    shape: float = 3.7
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_weights(self.weight)
        if not self.shape > 2:
            raise InvalidParameter("shape", "greater than 2", self.shape)

    @property
    def least_curvature(self) -> float:
        """−1/(shape − 1), the second derivative between weight and shape·weight."""
        return -1 / (self.shape - 1)

    def value(self, theta: Array) -> float:
        """Return the value of the penalty at ``theta``."""
        w, a, t = self.weight, self.shape, np.abs(theta)
        middle = (2 * a * w * t - t**2 - w**2) / (2 * (a - 1))
        far = w**2 * (a + 1) / 2
        return float(np.where(t <= w, w * t, np.where(t <= a * w, middle, far)).sum())

    def prox(self, theta: Array, step: float) -> Array:
        """Return the proximal map, which is unique for step sizes below shape − 1."""
        w, a, t = self.weight, self.shape, np.abs(theta)
        _check_step(step, a - 1)
        near = np.maximum(t - step * w, 0)
        middle = ((a - 1) * t - step * a * w) / (a - 1 - step)
        size = np.where(t <= w * (1 + step), near, np.where(t <= a * w, middle, t))
        return np.sign(theta) * size


@PENALTIES.register("mcp")
@dataclass(frozen=True, slots=True)
class Mcp(_NoRidge):
    """Minimax concave penalty (Zhang): its slope falls linearly from weight to 0.

    The penalty is not convex, so only mechanisms that do not require convexity accept it.

    Parameters
    ----------
    weight : float
        The slope near 0; a larger weight sets more coefficients to 0.
    shape : float, default 3.0
        Shape parameter, greater than 1. Coefficients whose absolute value exceeds
        shape·weight are not shrunk at all.

    Raises
    ------
    InvalidParameter
        If the shape is 1 or less.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.objectives import Mcp
    >>> Mcp(1.0).prox(np.array([0.5, 10.0]), step=1.0)
    array([ 0., 10.])
    """

    weight: float
    shape: float = 3.0
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_weights(self.weight)
        if not self.shape > 1:
            raise InvalidParameter("shape", "greater than 1", self.shape)

    @property
    def least_curvature(self) -> float:
        """−1/shape, the second derivative between 0 and shape·weight."""
        return -1 / self.shape

    def value(self, theta: Array) -> float:
        """Return the value of the penalty at ``theta``."""
        w, g, t = self.weight, self.shape, np.abs(theta)
        near = w * t - t**2 / (2 * g)
        return float(np.where(t <= g * w, near, g * w**2 / 2).sum())

    def prox(self, theta: Array, step: float) -> Array:
        """Return the proximal map, which is unique for step sizes below shape."""
        w, g, t = self.weight, self.shape, np.abs(theta)
        _check_step(step, g)
        near = np.maximum(t - step * w, 0) / (1 - step / g)
        return np.sign(theta) * np.where(t <= g * w, near, t)


@PENALTIES.register("nuclear")
@dataclass(frozen=True, slots=True)
class Nuclear(_NoRidge):
    """Nuclear norm: weight times the sum of the singular values of a coefficient matrix.

    Parameters
    ----------
    weight : float
        The weight; a larger weight gives a lower rank.
    shape : tuple of two int
        Numbers of rows and columns of the matrix, whose entries are the first rows·columns
        coefficients.

    Examples
    --------
    Singular values are reduced by the weight, and the smaller one becomes 0:

    >>> import numpy as np
    >>> from confide.objectives import Nuclear
    >>> Nuclear(1.0, shape=(2, 2)).prox(np.array([3.0, 0.0, 0.0, 0.5]), step=1.0).round(6)
    array([2., 0., 0., 0.])
    """

    weight: float
    shape: tuple[int, int]
    convex: ClassVar[bool] = True
    least_curvature: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check_weights(self.weight)

    def _matrix(self, theta: Array) -> Array:
        return theta[: self.shape[0] * self.shape[1]].reshape(self.shape)

    def value(self, theta: Array) -> float:
        """Return the value of the penalty at ``theta``."""
        singular = np.linalg.svd(self._matrix(theta), compute_uv=False)
        return self.weight * float(singular.sum())

    def prox(self, theta: Array, step: float) -> Array:
        """Soft-threshold the singular values."""
        left, singular, right = np.linalg.svd(self._matrix(theta), full_matrices=False)
        thin = (left * np.maximum(singular - step * self.weight, 0)) @ right
        return np.concatenate([thin.ravel(), theta[thin.size :]])


def is_uniform(penalty: Penalty | None, columns: int) -> bool:
    """Return whether a penalty treats the first columns separately and equally.

    Parameters
    ----------
    penalty : Penalty or None
        The penalty.
    columns : int
        The number of columns.

    Returns
    -------
    bool
        True if the penalty is a sum of the same function of each of these coefficients.

    Examples
    --------
    >>> from confide.objectives import L1, is_uniform
    >>> is_uniform(L1((1.0, 1.0, 0.0)), columns=2), is_uniform(L1((1.0, 2.0)), columns=2)
    (True, False)
    """
    if isinstance(penalty, Ridge | L1):
        return np.unique(np.atleast_1d(penalty.weight)[:columns]).size == 1
    return penalty is None or isinstance(penalty, ElasticNet | Scad | Mcp)


def restrict_penalty(penalty: Penalty, count: int, columns: int, constant: bool) -> Penalty:
    """Return a penalty with equal weights, restricted to ``count`` columns."""
    if not isinstance(penalty, Ridge | L1) or not isinstance(penalty.weight, tuple):
        return penalty
    last = penalty.weight[columns:] if constant else ()
    return type(penalty)(penalty.weight[:1] * count + last)


def soft(theta: Array, level: Any) -> Array:
    """Soft-threshold every coordinate by ``level``."""
    return np.asarray(np.sign(theta) * np.maximum(np.abs(theta) - level, 0))


def _spread(weight: float | tuple[float, ...], dimension: int) -> Array:
    weights = np.asarray(weight, dtype=np.float64)
    if weights.ndim and weights.size != dimension:
        raise InvalidParameter(
            "weight",
            f"one number, or {dimension} numbers",
            Described(f"{weights.size} numbers"),
        )
    return np.array(np.broadcast_to(weights, dimension))


def _check_weights(weight: float | tuple[float, ...]) -> None:
    weights = np.asarray(weight, dtype=np.float64)
    if not (np.all(np.isfinite(weights)) and np.all(weights >= 0)):
        raise InvalidParameter("weight", "finite and not negative", weight)


def _check_step(step: float, limit: float) -> None:
    if not step < limit:
        raise InvalidParameter("step", f"below {limit:g} for this penalty", step)
