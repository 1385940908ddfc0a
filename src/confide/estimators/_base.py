"""What the estimators share: read, bound, calibrate, release, report. Thin on purpose.

The order of work is the order of trust. Parameters are checked first; then types, shapes
and finiteness; noise and ridge are calibrated from public facts; and only when nothing
can be refused any more are rows summed and noise drawn.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from confide._types import AnyArray, Array
from confide.data import INTERCEPT, Display, Schema, read_table
from confide.errors import InvalidParameter
from confide.estimators._dataset_name import dataset_name
from confide.estimators._group_release import group_events, per_person
from confide.estimators._interval_release import (
    Prepared,
    calibrate,
    coded_rows,
    coefficient_lines,
    interval_caution,
    interval_facts,
    interval_level,
    intervals_of,
    release_all,
)
from confide.estimators._model_file import release_hash, write_model
from confide.estimators._objective import TargetSpec, objective_of
from confide.estimators._predict_chunks import Margins, margins_in_parts, table_to_predict
from confide.estimators._read import reading_of
from confide.estimators._rehearse import DryRun, PreparedFit, rehearsed
from confide.estimators._row_bounds import (
    Bounding,
    bounding_facts,
    bounding_for,
    bounding_of,
)
from confide.estimators._summary_facts import about
from confide.estimators._support import (
    check_penalty,
    display_of_release,
    selected,
    selection_facts,
    selects,
)
from confide.estimators._target_coding import TargetInfo
from confide.estimators._validate import check_count_is_public, read_features, read_number
from confide.inference import Coefficient, Intervals, IntervalTable, Summary
from confide.ledger import Charge, Ledger
from confide.mechanisms import MECHANISMS, Mechanism, Release
from confide.noise import Entropy
from confide.objectives import Objective
from confide.privacy import (
    Budget,
    Neighbours,
    check_budget,
    row_budget,
    warn_if_claimed,
)
from confide.privacy.guarantee import PUBLIC_LABELS

BOUNDS = {
    "row_norm": "It bounds the length of a feature row; longer rows are scaled to it.",
    "target_bound": "It bounds the target; what lies beyond is clamped to it.",
    "slope_bound": "It is where the slope of the loss is cut off.",
    "coef_norm": "It is the radius of a ball that holds the coefficients.",
}
"""The public bounds that a user may set, and what they are for."""


class PrivateLinearModel(BaseEstimator, ABC):  # type: ignore[misc]
    """Common ground of the estimators; not for direct use."""

    budget: Any
    schema: Schema | None
    row_norm: float
    mechanism: Any
    l2: Any
    l1: float
    penalty: Any
    fit_intercept: bool
    neighbours: Any
    intervals: Any
    ledger: Any
    random_state: Any
    release_: Release

    def _ready(self, X: Any, y: Any) -> PreparedFit:
        """Check everything and calibrate: after this a fit only pays and releases."""
        budget, mechanism, neighbours = self._settings()
        reading = reading_of(self, X, y)
        task = reading.task
        bounding = bounding_for(self, mechanism)
        objective = self._objective(task, reading.width, bounding)
        crowd = 1 if self.schema is None else self.schema.rows_per_person
        wish = Intervals.of(self.intervals)
        rows = None if wish is None else reading.enclose(bounding)
        calibration = calibrate(
            mechanism,
            objective,
            row_budget(budget, crowd),
            neighbours,
            copies=len(task.codings),
            wish=wish,
            rows=0 if rows is None else rows.table_count,
        )
        in_table = y is None or isinstance(y, str)
        if in_table and calibration.takes_count_as_public:
            check_count_is_public(self.schema)
        rows = reading.enclose(bounding) if rows is None else rows
        calibration.check_rows(rows)
        tasks, count = coded_rows(rows, task.codings), rows.table_count
        return PreparedFit(
            budget, crowd, wish, count, calibration, task, tasks, bounding.height
        )

    def _fit(self, X: Any, y: Any) -> Any:
        budget, crowd, wish, count, calibration, task, tasks, height = self._ready(X, y)
        warn_if_claimed(calibration.guarantee, callers=3)
        entropy = Entropy.of(self.random_state)
        receipt = self._charge(calibration, budget, crowd, secret=entropy.secret)
        still = None if self.schema is None else self.schema.still_directions(height)
        release = release_all(calibration, tasks, entropy, wish, count, still=still)
        self._keep(per_person(release, budget, crowd), task)
        self.fitted_on_ = datetime.now(UTC).date().isoformat()
        if receipt is not None:
            self._ledger().record(receipt, release_hash(self.release_))
        return self

    def rehearse(self, X: Any, y: Any = None) -> DryRun:
        """Return what a fit on this table would promise; nothing is spent or drawn.

        Whatever a fit would refuse is refused here as well.
        """
        return rehearsed(self, clone(self)._ready(X, y))  # noqa: SLF001

    def adopt(self, release: Release, receipt: Charge | None = None) -> Any:
        """Carry a release that promises less than this fit did, for another charge.

        A search fits many models and pays once; its winner promises what all cost.
        """
        check_is_fitted(self, "release_")
        if not np.array_equal(release.value, self.release_.value):
            raise InvalidParameter("release", "this fit's, with another promise", "another")
        self.release_ = release
        if receipt is not None:
            self._ledger().record(receipt, release_hash(release))
        return self

    def _charge(
        self, calibration: Prepared, budget: Budget, crowd: int, *, secret: bool
    ) -> Charge | None:
        """Pay before anything is drawn; nothing after this may fail because of the data."""
        if self.ledger is None:
            return None
        return self._ledger().charge(
            dataset_name(self.schema, self.ledger),
            budget,
            group_events(calibration.events, crowd),
            neighbours=calibration.guarantee.neighbours,
            what=type(self).__name__,
            status=calibration.guarantee.status,
            private=secret,
        )

    def _ledger(self) -> Ledger:
        return self.ledger if isinstance(self.ledger, Ledger) else Ledger.open(self.ledger)

    def _seeks_labels(self) -> bool:
        """Whether labels that nobody declared are to be read from the target."""
        return False

    def _found(self, y: Any, count: int) -> TargetInfo:
        """Look at a target for what is not declared."""
        return TargetInfo()

    @abstractmethod
    def _task(self, found: TargetInfo) -> TargetSpec:
        """Return the loss, its bounds, and how a target becomes what it takes."""

    def _settings(self) -> tuple[Budget, Mechanism, Neighbours]:
        """Check every parameter that needs no data, and return what the fit is made of."""
        budget = check_budget(self.budget)
        mechanism = self._mechanism()
        chosen = self.neighbours
        usual = mechanism.default_neighbours
        if Intervals.of(self.intervals) is not None:
            usual = Neighbours.REPLACE_ONE
        neighbours = Neighbours.of(usual if chosen is None else chosen)
        for name, purpose in BOUNDS.items():
            if name == "row_norm" or getattr(self, name, None) is not None:
                read_number(name, getattr(self, name), purpose)
        read_number("l1", self.l1, "0 means no l1 penalty.", zero=True)
        check_penalty(mechanism, self.l1, self.penalty)
        if not self._ridge_is_automatic:
            read_number("l2", self.l2, "'auto' chooses one from the budget.", zero=True)
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise InvalidParameter("fit_intercept", "True or False", self.fit_intercept)
        if self.ledger is not None and not isinstance(self.ledger, Ledger | str | Path):
            raise InvalidParameter(
                "ledger", "a Ledger, or the place of one", self.ledger, "See Ledger.open."
            )
        schema: Any = self.schema
        if schema is not None and not isinstance(schema, Schema):
            raise InvalidParameter("schema", "a Schema or None", type(schema).__name__)
        if self.ledger is not None:
            dataset_name(schema, self.ledger)
        return budget, mechanism, neighbours

    def _mechanism(self) -> Mechanism:
        if isinstance(self.mechanism, str):
            return cast("Mechanism", MECHANISMS.find(self.mechanism)())
        if isinstance(self.mechanism, type) or not hasattr(self.mechanism, "calibrate"):
            must = f"one of {sorted(MECHANISMS)} or a mechanism"
            example = "Try mechanism='objective', or ObjectivePerturbation()."
            raise InvalidParameter("mechanism", must, self.mechanism, example)
        return cast("Mechanism", self.mechanism)

    @property
    def _ridge_is_automatic(self) -> bool:
        return isinstance(self.l2, str) and self.l2 == "auto"

    @property
    def _bounding(self) -> Bounding:
        """How the rows behind the release were bounded."""
        return bounding_of(self, self.release_)

    def _objective(self, task: TargetSpec, columns: int, bounding: Bounding) -> Objective:
        return objective_of(self, task, columns, bounding)

    def _keep(self, release: Release, task: TargetSpec) -> None:
        """Take over a release, and nothing else that was learned from the data."""
        if task.labels_were_read:
            guarantee = release.guarantee.assuming(PUBLIC_LABELS)
            release = replace(release, guarantee=guarantee)
        self.release_ = release
        self._set_coefficients(release.value)

    def _check_release(self, release: Release) -> None:
        """Refuse a release of another shape or without a guarantee to print."""
        classes = getattr(self, "classes_", (0, 1))
        shape: tuple[int, ...] = (self.n_features_in_ + bool(self.fit_intercept),)
        if len(classes) > 2:
            shape = (len(classes), *shape)
        width = self.n_features_in_ if self.schema is None else len(self.schema.features)
        if release.value.shape != shape or width != self.n_features_in_:
            raise InvalidParameter("coefficients", f"of shape {shape}", "another shape")

    def _set_coefficients(self, value: Array) -> None:
        """Split a release into slopes and intercept, in the user's units."""
        table = np.atleast_2d(value) * self._unit()
        slopes = table[:, :-1] if self.fit_intercept else table
        levels = np.zeros(len(table))
        if self.fit_intercept:
            levels = self._bounding.height * table[:, -1]
        levels = levels + self._origin()
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

    def _origin(self) -> float:
        """Return where the predictor starts, in the user's units."""
        return 0.0

    def _margins(self, X: Any) -> Array:
        """Return the linear predictor of every row, one column per coding."""
        check_is_fitted(self, "release_")
        names = getattr(self, "feature_names_in_", None)
        margins = Margins(
            self.schema,
            None if names is None else tuple(names),
            self.n_features_in_,
            self._bounding,
            self._slopes,
            self._levels,
        )
        table = table_to_predict(X, schema=self.schema is not None)
        if table is not None:
            return margins_in_parts(table, margins)
        if self.schema is not None:
            X = read_table(X, self.schema, target=False)
        return margins.of(read_features(self, X, self.schema, reset=False))

    def _feature_names(self) -> tuple[str, ...]:
        if self.schema is not None:
            return self.schema.features
        names: AnyArray | None = getattr(self, "feature_names_in_", None)
        if names is not None:
            return tuple(str(name) for name in names)
        return tuple(f"x{j}" for j in range(self.n_features_in_))

    def _display(self) -> Display:
        """Return what turns one coding of the release into the lines of the summary."""
        factors = np.full(self.n_features_in_ + bool(self.fit_intercept), self._unit())
        if self.fit_intercept:
            factors[-1] *= self._bounding.height
        if self.schema is None:
            last = (INTERCEPT,) if self.fit_intercept else ()
            names = (*self._feature_names(), *last)
            return display_of_release(self.release_, names, factors)
        lines = self.schema.display_map()
        return Display(
            lines.names,
            lines.matrix[:, : len(factors)] * factors,
            lines.constant + self._origin() * (np.array(lines.names) == INTERCEPT),
        )

    def summary(self) -> Summary:
        """Return the guarantee and the coefficients as a printable table."""
        check_is_fitted(self, "release_")
        release = self.release_
        rows = self._lines()
        noises = "; ".join(f"{n.kind} {n.scale:.4g} on {n.added_to}" for n in release.noise)
        ridge = ("Ridge", f"l2 = {release.l2:.6g}")
        selection = selection_facts(self) if selects(self) else ()
        bounds = bounding_facts(release) if self.schema is None else ()
        own = (*bounds, *selection, *interval_facts(release))
        facts = (("Noise", noises), ridge, *own)
        title, level = type(self).__name__, interval_level(release)
        caution = interval_caution(release)
        return Summary(title, release.guarantee, rows, facts, about(self), level, caution)

    @property
    def selected_(self) -> tuple[str, ...]:
        """The names of the variables whose released coefficients are not all 0.

        A category is selected if one of its levels is.
        """
        check_is_fitted(self, "release_")
        if not selects(self):
            raise AttributeError(
                "nothing was selected: fit with l1 greater than 0, or with a mechanism "
                "that selects columns, such as SelectThenFit"
            )
        return selected(self)

    @property
    def support_(self) -> AnyArray:
        """The columns whose released coefficients are not all 0, in rising order."""
        check_is_fitted(self, "release_")
        table = np.atleast_2d(self.release_.value)[:, : self.n_features_in_]
        return np.flatnonzero((table != 0).any(axis=0))

    @property
    def intervals_(self) -> IntervalTable:
        """The coefficients with their intervals, as a frozen table."""
        check_is_fitted(self, "release_")
        level = interval_level(self.release_)
        if level is None:
            raise AttributeError(
                "no intervals were paid for: fit with intervals=True or a share like 0.2"
            )
        return IntervalTable(self._lines(), level)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the coefficients, with their intervals where there are any."""
        return self.summary().plot(ax=ax)

    def _lines(self) -> tuple[Coefficient, ...]:
        """Return a line for every displayed coefficient of every coding."""
        display, codings = self._display(), np.atleast_2d(self.release_.value)
        lines: list[Coefficient] = []
        for k, label in enumerate(self._row_labels(len(codings))):
            names = [label + name for name in display.names]
            shown = display.show(codings[k])
            bounds = intervals_of(self.release_, k, display.matrix)
            lines += coefficient_lines(names, shown, bounds)
        return tuple(lines)

    def save(self, path: str | Path) -> None:
        """Write the released model as JSON, for `confide.estimators.load_model`.

        The file holds coefficients, schema, guarantee and public settings, and no data.
        """
        check_is_fitted(self, "release_")
        write_model(self, Path(path))

    def _row_labels(self, count: int) -> list[str]:
        classes = getattr(self, "classes_", None)
        if count == 1 or classes is None:
            return [""] * count
        return [f"{label}: " for label in classes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
