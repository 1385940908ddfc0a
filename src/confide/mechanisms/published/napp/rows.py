"""NAPP's budget retrieval: how much of ε its proof would give back, and what it does.

The published proof spends (1 − r)ε on the ratio of determinants for a curvature of 2Λ₀.
Where the smallest weight at the end exceeds Λ₀, Algorithm 2 takes the difference back:

    Δε = max{0, (1 − r)ε·(1 − Λ₀/min w)}

(printed with a min, and with half the ratio). Recycling spends it on smaller noise,
b·rε/(rε + Δε), under the floor min w, and starts over. The weights are functions of the
private rows, so neither is sound: see docs/napp.md.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from confide._types import Array
from confide.data.matrix.dense import Dense
from confide.data.rows.in_memory import InMemoryRows, Rows, require_in_memory
from confide.errors import InvalidParameter
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
"""Rows come in mirrored pairs, and pairs under both labels."""


@dataclass(frozen=True, slots=True)
class AugmentedLabels:
    """Labels of four augmented rows, their slopes at 0, and the curvature there."""

    labels: tuple[float, float, float, float]
    slopes: tuple[float, float, float, float]
    curvature: float


def labels_for(loss: Loss) -> AugmentedLabels:
    """Return labels that do not let the slope vanish.

    The smoothed hinge is curved on one side of 0 only. Of two mirrored rows one lies
    there, so its curvature counts half.
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
                "augmented", "None for a loss other than the published four", loss
            )


def check_augmentation(loss: Loss, count: int) -> None:
    """Reject what cannot be augmented, before anything is read."""
    labels_for(loss)
    if count < ROWS_PER_SET or count % ROWS_PER_SET:
        raise InvalidParameter("augmented", f"a multiple of {ROWS_PER_SET}", count)


def estimator_for(loss: Loss) -> Any:
    """Return scikit-learn's unregularised model for a loss, None where it has none."""
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
    """A reweighted problem solved by a plain fit to rows and augmented rows.

    ``estimator`` is anything with ``fit(X, y)`` and ``coef_`` that adds no intercept and
    no penalty; None takes scikit-learn's own, or Newton's method for the smoothed hinge.
    One that minimises the *squared* hinge is curved on both sides of 0.
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
        """Return Σφ over the table."""
        return self._plain.loss(theta)

    def solve(self, weights: Array, linear: Array, start: Array) -> Array:
        """Draw augmented rows for these weights and fit."""
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
        """Return n_e augmented rows."""
        half, size = self._count // 2, len(weights)
        spread = np.sqrt(2 * weights / (self._count * self._curvature))
        drawn = self._entropy.normal(half * size).reshape(half, size) * spread
        mirrored = np.stack([drawn, -drawn], axis=1).reshape(self._count, size)
        return np.asarray(mirrored + linear / (self._count * self._slopes[:, None]))


NO_WEIGHT = 1e-9


@dataclass(frozen=True, slots=True)
class Shares:
    """ε for the noise (rε) and for the determinants ((1 − r)ε)."""

    noise: float
    curvature: float


def retrievable(share: float, floor: float, weights: Array) -> float:
    """Return Δε out of a share, by the repaired Eq. 13."""
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
    """Run Algorithm 2; ``rounds`` = 0 only says what could be returned.

    As printed the noise is rescaled twice over and a second round never retrieves,
    because its floor is compared with itself. Here the noise is rescaled from the first
    draw, and a round's retrieval compares with the floor it ran under.
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
