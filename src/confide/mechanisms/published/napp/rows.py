"""Augmented rows and budget retrieval of NAPP.

The published proof spends (1 − r)ε on the ratio of determinants for a curvature of 2Λ₀. If
the smallest weight after the last iteration exceeds Λ₀, Algorithm 2 retrieves

    Δε = max{0, (1 − r)ε·(1 − Λ₀/min w)}.

The paper prints this with a min instead of the max, and with half the ratio. Recycling
repeats the iterations with the floor min w and the smaller noise b·rε/(rε + Δε). The
weights are functions of the private rows, so neither retrieval nor recycling is private:
see docs/napp.md.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from confide._types import Array
from confide.data.matrix.dense import Dense
from confide.data.rows.in_memory import InMemoryRows, Rows, require_in_memory
from confide.errors import Described, InvalidParameter
from confide.mechanisms.published.napp.iterations import (
    ExactStep,
    NappPath,
    NappStopping,
    Step,
    follow,
)
from confide.mechanisms.published.napp.weights import Weighting
from confide.noise import Entropy
from confide.objectives import Logistic, Loss, Objective, Poisson, SmoothedHinge, Squared

ROWS_PER_SET = 4
"""Size of a set of augmented rows: two mirrored pairs, one pair per label."""


@dataclass(frozen=True, slots=True)
class AugmentedLabels:
    """Labels of four augmented rows, with slopes and curvature of the loss at margin 0."""

    labels: tuple[float, float, float, float]
    slopes: tuple[float, float, float, float]
    curvature: float


def labels_for(loss: Loss) -> AugmentedLabels:
    """Return labels of augmented rows for which the loss has a nonzero slope at margin 0.

    The smoothed hinge is curved on one side of 0 only. Only one of two mirrored rows lies
    on that side, so the curvature is halved.
    """
    match loss:
        case Squared():
            return AugmentedLabels((1, 1, 1, 1), (-1, -1, -1, -1), 1.0)
        case Poisson():
            return AugmentedLabels((0, 0, 0, 0), (1, 1, 1, 1), 1.0)
        case Logistic():
            return AugmentedLabels((1, 1, -1, -1), (-0.5, -0.5, 0.5, 0.5), 0.25)
        case SmoothedHinge():
            return AugmentedLabels((1, 1, -1, -1), (-1, -1, 1, 1), 0.5)
        case _:
            raise InvalidParameter(
                "augmented",
                "None unless the loss is squared, Poisson, logistic or smoothed hinge",
                Described(f"augmented rows with the loss {type(loss).__name__}"),
            )


def check_augmentation(loss: Loss, count: int) -> None:
    """Reject a loss or number of augmented rows that NAPP does not support."""
    labels_for(loss)
    if count < ROWS_PER_SET or count % ROWS_PER_SET:
        raise InvalidParameter("augmented", f"a multiple of {ROWS_PER_SET}", count)


def estimator_for(loss: Loss) -> Any:
    """Return scikit-learn's unregularised model for a loss, or None if there is none."""
    from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

    match loss:
        case Squared():
            return LinearRegression(fit_intercept=False)
        case Poisson():
            return PoissonRegressor(
                alpha=0.0, fit_intercept=False, solver="newton-cholesky", tol=1e-10
            )
        case Logistic():
            return LogisticRegression(
                C=np.inf, fit_intercept=False, solver="newton-cholesky", tol=1e-10
            )
        case _:
            return None


class AugmentedStep:
    """Solver that fits private and augmented rows together, without a penalty.

    ``estimator`` has a method ``fit(X, y)`` and an attribute ``coef_``, and adds neither an
    intercept nor a penalty. None selects the estimator of scikit-learn, or Newton's method
    for the smoothed hinge. An estimator that minimises the *squared* hinge is treated as if
    its loss were curved on both sides of 0.
    """

    def __init__(
        self, objective: Objective, rows: Rows, count: int, estimator: Any, entropy: Entropy
    ) -> None:
        self._plain = ExactStep(objective, rows)
        self._objective, self._count, self._entropy = objective, count, entropy
        table = require_in_memory(rows, "NAPP")
        self._x, self._y = table.toarray(), np.asarray(table.target, dtype=np.float64)
        found = labels_for(objective.loss)
        squared = getattr(estimator, "loss", None) == "squared_hinge"
        self._curvature = 1.0 if squared else found.curvature
        self._labels = np.tile(
            np.array(found.labels, dtype=np.float64), count // ROWS_PER_SET
        )
        self._slopes = np.tile(np.array(found.slopes), count // ROWS_PER_SET)
        self._estimator = estimator or estimator_for(objective.loss)

    def loss(self, theta: Array) -> float:
        """Return the loss Σφ over the private rows."""
        return self._plain.loss(theta)

    def solve(self, weights: Array, linear: Array, start: Array) -> Array:
        """Draw augmented rows for the given weights, and fit."""
        made = self.rows(weights, linear)
        features = np.vstack([self._x, made])
        target = np.concatenate([self._y, self._labels])
        if self._estimator is None:
            whole = InMemoryRows(Dense(features), target, None, 0.0)
            idle = np.full(len(weights), NO_WEIGHT)
            step = ExactStep(self._objective, whole)
            return step.solve(idle, np.zeros(len(weights)), start)
        fitted = clone(self._estimator).fit(features, target)
        return np.asarray(fitted.coef_, dtype=np.float64).reshape(-1)

    def rows(self, weights: Array, linear: Array) -> Array:
        """Draw n_e augmented rows for the given weights and linear term."""
        half, size = self._count // 2, len(weights)
        spread = np.sqrt(2 * weights / (self._count * self._curvature))
        drawn = self._entropy.normal(half * size).reshape(half, size) * spread
        mirrored = np.stack([drawn, -drawn], axis=1).reshape(self._count, size)
        return np.asarray(mirrored + linear / (self._count * self._slopes[:, None]))


NO_WEIGHT = 1e-9


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of ε for the noise (rε) and for the ratio of determinants ((1 − r)ε)."""

    noise: float
    curvature: float


def retrievable(share: float, floor: float, weights: Array) -> float:
    """Return the Δε that the corrected Eq. 13 retrieves from ``share``, a part of ε."""
    return max(0.0, share * (1 - floor / float(weights.min())))


def recycle(
    step: Step,
    weighting: Weighting,
    linear: Array,
    stopping: NappStopping,
    shares: Shares,
    *,
    rounds: int,
    folded: bool = False,
) -> tuple[NappPath, float]:
    """Run Algorithm 2, and return the path and Δε.

    If ``rounds`` is 0, nothing is recycled. As printed, the algorithm rescales the noise
    twice, and a second round never retrieves anything because its floor is compared with
    itself. Here the noise is rescaled from the first draw, and every round is compared with
    the floor that it used.
    """
    path = follow(step, weighting, linear, stopping, folded=folded)
    found = retrievable(shares.curvature, weighting.floor, path.weights)
    if not rounds:
        return path, found
    total = 0.0
    for _ in range(rounds):
        if found <= NOTHING * shares.curvature:
            break
        total += found
        least = float(path.weights.min())
        weighting = replace(weighting, least=least)
        smaller = linear * (shares.noise / (shares.noise + total))
        path = follow(step, weighting, smaller, stopping, folded=folded)
        found = retrievable(shares.curvature - total, least, path.weights)
    return path, float(np.clip(total, 0.0, shares.curvature))


NOTHING = 1e-9
