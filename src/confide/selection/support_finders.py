"""Finders: which few columns matter in one block of rows, without any privacy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone

from confide._registry import Registry
from confide._types import AnyArray, Array
from confide.mechanisms.base import check_whole


class Finder(Protocol):
    """Anything that finds columns in a block; it must remember nothing between blocks.

    It may use randomness of its own, return fewer columns than asked for, or fail: the
    block then has fewer votes or none.
    """

    def find(self, features: Any, target: Array, size: int) -> Sequence[int]:
        """Return up to ``size`` columns of a dense or CSR matrix."""
        ...


FINDERS: Registry[type[Any]] = Registry("finder")


@FINDERS.register("lasso-path")
@dataclass(frozen=True, slots=True)
class LassoPath:
    """The largest coefficients of the lasso, ``stretch`` times size steps along its path.

    Columns and target are centred within the block and not rescaled. The path is followed
    among the ``widest`` columns with the largest covariances with the target. Of two equal
    columns the path takes up one, so their votes may split.
    """

    stretch: int = 2
    widest: int = 1000
    name: ClassVar[str] = "lasso-path"

    def __post_init__(self) -> None:
        check_whole("stretch", self.stretch)
        check_whole("widest", self.widest)

    def find(self, features: Any, target: Array, size: int) -> Sequence[int]:
        """Return up to ``size`` columns of a dense or CSR matrix."""
        from sklearn.linear_model import lars_path  # slow to import

        residual = target - target.mean()
        pull = np.abs(features.T @ residual)
        most = min(self.widest, len(pull))
        used = np.sort(np.argpartition(-pull, most - 1)[:most])
        block = features[:, used]
        dense = block.toarray() if sparse.issparse(block) else block
        _, _, ends = lars_path(
            np.asfortranarray(dense - dense.mean(axis=0)),
            residual,
            max_iter=self.stretch * size,
            return_path=False,
            method="lasso",
            copy_X=False,
        )
        return used[_strongest(ends, size)].tolist()


@dataclass(frozen=True, slots=True)
class CoefficientFinder:
    """The largest coefficients of any scikit-learn estimator that has ``coef_``.

    A clone of it is fitted on every block; a seed in it is public.
    """

    estimator: Any

    def find(self, features: Any, target: Array, size: int) -> Sequence[int]:
        """Return up to ``size`` columns of a dense or CSR matrix."""
        fitted = clone(self.estimator).fit(features, target)
        strength = np.abs(np.atleast_2d(fitted.coef_)).max(axis=0)
        return _strongest(strength, size).tolist()


def _strongest(coefficients: Array, size: int) -> AnyArray:
    """Return the places of the largest coefficients that are not 0."""
    strength = np.abs(coefficients)
    top = np.argsort(-strength, kind="stable")[:size]
    return top[strength[top] > 0]
