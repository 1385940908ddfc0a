"""What the estimators share: read, bound, calibrate, release, report. Thin on purpose.

The order of work is the order of trust: parameters are checked first, then the noise is
calibrated without data, then shapes and finiteness are checked, then rows are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from confide._types import AnyArray, Array
from confide.data import Rows, Schema, enclose
from confide.errors import InvalidParameter
from confide.estimators._intake import read_features
from confide.inference import Coefficient, Summary
from confide.mechanisms import MECHANISMS, Mechanism, Release
from confide.noise import Entropy
from confide.objectives import L1, L2Ball, Loss, Objective
from confide.privacy import Neighbours, check_budget
from confide.privacy.guarantee import PUBLIC_LABELS

INTERCEPT_HEIGHT = 0.3
"""Height of the intercept column as a share of the row norm."""


@dataclass(frozen=True, slots=True)
class Task:
    """One objective for every target coding; the codings share rows and budget."""

    loss: Loss
    codings: int
    target_bound: float | None = None
    coef_norm: float | None = None
    labels_were_read: bool = False


class PrivateLinearModel(BaseEstimator):  # type: ignore[misc]
    """Common ground of the estimators; not for direct use."""

    budget: Any
    schema: Schema | None
    row_norm: float
    mechanism: Any
    l2: Any
    l1: float
    fit_intercept: bool
    neighbours: Any
    intervals: Any
    ledger: Any
    random_state: Any

    def _fit(self, X: Any, y: Any) -> Any:
        budget = check_budget(self.budget)
        mechanism = self._mechanism()
        neighbours = Neighbours.of(self.neighbours or mechanism.default_neighbours)
        self._check_settings()
        features = read_features(self, X, self.schema, reset=True)
        if y is None and self.schema is not None:
            y = self.schema.target_column(X)
        task, codings = self._task(y, features.shape[0])
        objective = self._objective(task, features.shape[1])
        calibration = mechanism.calibrate(
            objective, budget, neighbours, copies=task.codings
        )
        rows = enclose(features, np.zeros(0), self._row_norm, self._height)
        calibration.check_count(rows.count)
        tasks: Iterator[Rows] = (rows.labelled(coding) for coding in codings)
        release = mechanism.release(calibration, tasks, Entropy.of(self.random_state))
        self.release_ = _assuming(release, task)
        self._set_coefficients(release.value)
        return self

    def _task(self, y: Any, count: int) -> tuple[Task, Iterator[Array]]:
        """Read the target: the loss and its bounds, and an iterator of codings."""
        raise NotImplementedError

    def _mechanism(self) -> Mechanism:
        if isinstance(self.mechanism, str):
            found: Mechanism = MECHANISMS.find(self.mechanism)()
            return found
        if not hasattr(self.mechanism, "calibrate"):
            raise InvalidParameter(
                "mechanism", f"one of {sorted(MECHANISMS)} or an instance", self.mechanism
            )
        instance: Mechanism = self.mechanism
        return instance

    def _check_settings(self) -> None:
        for name in ("row_norm", "l1"):
            value = getattr(self, name)
            if not isinstance(value, int | float | np.number) or not np.isfinite(value):
                raise InvalidParameter(name, "a finite number", value)
        if self.row_norm <= 0:
            raise InvalidParameter("row_norm", "greater than 0", self.row_norm)
        if self.l1 < 0:
            raise InvalidParameter("l1", "at least 0", self.l1)
        if self.l2 != "auto" and not isinstance(self.l2, int | float | np.number):
            raise InvalidParameter("l2", "'auto' or a number", self.l2)
        for name in ("intervals", "ledger"):
            if getattr(self, name) is not None:
                raise InvalidParameter(name, "None in this version", getattr(self, name))
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise InvalidParameter("schema", "a Schema", self.schema)

    @property
    def _row_norm(self) -> float:
        return 1.0 if self.schema is not None else float(self.row_norm)

    @property
    def _height(self) -> float:
        return INTERCEPT_HEIGHT * self._row_norm if self.fit_intercept else 0.0

    def _objective(self, task: Task, columns: int) -> Objective:
        dimension = columns + (1 if self.fit_intercept else 0)
        penalty = None
        if self.l1:
            spared = (0.0,) if self.fit_intercept else ()
            penalty = L1((float(self.l1),) * columns + spared)
        ball = None if task.coef_norm is None else L2Ball(task.coef_norm)
        return Objective(
            task.loss,
            dimension,
            float(np.hypot(self._row_norm, self._height)),
            None if self.l2 == "auto" else float(self.l2),
            penalty,
            ball,
            task.target_bound,
        )

    def _set_coefficients(self, value: Array) -> None:
        """Split a release into slopes and intercept, in the user's units."""
        table = np.atleast_2d(value) * self._unit()
        slopes = table[:, :-1] if self.fit_intercept else table
        levels = self._height * table[:, -1] if self.fit_intercept else np.zeros(len(table))
        self._slopes, self._levels = slopes, levels
        if self.schema is None:
            self.coef_, self.intercept_ = slopes.copy(), levels.copy()
            return
        pairs = [self.schema.in_units(row) for row in slopes]
        self.coef_ = np.stack([row for row, _ in pairs])
        self.intercept_ = levels + np.array([constant for _, constant in pairs])

    def _unit(self) -> float:
        """Return how many of the user's units one unit of the objective is."""
        return 1.0

    def _margins(self, X: Any) -> Array:
        """Return the linear predictor of every row, one column per coding."""
        check_is_fitted(self, "release_")
        features = read_features(self, X, self.schema, reset=False)
        rows = enclose(features, np.zeros(features.shape[0]), self._row_norm, 0.0)
        table = self._slopes.T
        parts = []
        for block in rows.blocks(0, rows.count):
            part = block.features @ table
            parts.append(part if block.factor is None else part * block.factor[:, None])
        return np.concatenate(parts) + self._levels

    def _feature_names(self) -> tuple[str, ...]:
        if self.schema is not None:
            return self.schema.features
        names: AnyArray | None = getattr(self, "feature_names_in_", None)
        if names is not None:
            return tuple(str(name) for name in names)
        return tuple(f"x{j}" for j in range(self.n_features_in_))

    def summary(self) -> Summary:
        """Return the guarantee and the coefficients as a printable table."""
        check_is_fitted(self, "release_")
        release = self.release_
        slopes, levels = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        labels = self._row_labels(len(slopes))
        rows = []
        for label, row, level in zip(labels, slopes, levels, strict=True):
            named = zip(self._feature_names(), row, strict=True)
            rows += [Coefficient(label + name, float(value)) for name, value in named]
            if self.fit_intercept:
                rows.append(Coefficient(f"{label}(intercept)", float(level)))
        noises = "; ".join(f"{n.kind} {n.scale:.4g} on {n.added_to}" for n in release.noise)
        facts = (("Noise", noises), ("Ridge", f"l2 = {release.l2:.6g}"))
        return Summary(type(self).__name__, release.guarantee, tuple(rows), facts)

    def _row_labels(self, count: int) -> list[str]:
        classes = getattr(self, "classes_", None)
        if count == 1 or classes is None:
            return [""] * count
        return [f"{label}: " for label in classes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags


def _assuming(release: Release, task: Task) -> Release:
    if not task.labels_were_read:
        return release
    return Release(
        release.value,
        release.guarantee.assuming(PUBLIC_LABELS),
        release.noise,
        release.l2,
        release.events,
        release.extras,
    )
