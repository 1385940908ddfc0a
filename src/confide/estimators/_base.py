"""Base class of the estimators, with the steps of a fit: check, calibrate and release.

Parameters are checked first, then the types, shapes and finiteness of the data. The
noise and the ridge are calibrated from public information. Rows are summed and noise is
drawn only after the last check that can raise an error.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from confide._interrupts import uninterrupted
from confide._types import AnyArray, Array
from confide.data import INTERCEPT, Display, Schema, read_table
from confide.data.schema.case_weights import NO_CASES
from confide.errors import ConfideError, Described, InvalidParameter
from confide.estimators._bounding import Bounding, bounding_for, bounding_of
from confide.estimators._cases import check_offset_of, read_weight_cap
from confide.estimators._habits import SklearnHabits
from confide.estimators._holdout import prepare_both
from confide.estimators._inference_methods import InferenceMethods
from confide.estimators._model_file import enter_release
from confide.estimators._predict_chunks import Margins, margins_in_parts, table_to_predict
from confide.estimators._prepare import (
    CalibratedFit,
    DryRun,
    PreparedFit,
    dataset_name,
    prepare,
)
from confide.estimators._readings import InParts, Reading, reading_of
from confide.estimators._response_methods import ResponseMethods
from confide.estimators._scored_model import ScoredModel
from confide.estimators._spec import (
    FitSpec,
    IntervalSetting,
    LedgerSetting,
    MechanismSetting,
    NeighbourSetting,
    RangePolicy,
    RangeSetting,
    RidgeSetting,
    check_penalty,
)
from confide.estimators._summary import (
    display_of_release,
)
from confide.estimators._summary_methods import SummaryMethods
from confide.estimators._target import TargetInfo, TargetRule, TargetSpec
from confide.estimators._validate import read_features, read_number, refuse_empty
from confide.ledger import Charge, Ledger
from confide.mechanisms import MECHANISMS, Intervals, Mechanism, Release, WithIntervals
from confide.mechanisms.intervals.mechanism import weighs_records
from confide.noise import Entropy, RandomState
from confide.objectives import Penalty
from confide.privacy import (
    Budget,
    Neighbours,
    check_budget,
    warn_if_claimed,
    warn_of_budget,
)
from confide.privacy.guarantee import PUBLIC_LABELS

BOUNDS = {
    "row_norm": "It bounds the Euclidean norm of every row of features. Rows with a larger "
    "norm are scaled down to this bound.",
    "target_bound": "It bounds the target; values beyond this bound are clamped.",
    "slope_bound": "It bounds the slope of the loss; steeper slopes are clipped.",
    "coef_norm": "It bounds the norm of the coefficient vector.",
}
"""Names of public bounds that a user may set, with explanations for error messages."""


class PrivateLinearModel(
    SummaryMethods, InferenceMethods, ResponseMethods, ScoredModel, SklearnHabits, ABC
):
    """Abstract base class of the estimators."""

    budget: Budget | None
    schema: Schema | None
    row_norm: float | None
    mechanism: MechanismSetting
    l2: RidgeSetting
    l1: float
    penalty: Penalty | None
    fit_intercept: bool
    neighbours: NeighbourSetting
    intervals: IntervalSetting
    ledger: LedgerSetting
    random_state: RandomState
    release_: Release
    n_features_in_: int
    feature_names_in_: AnyArray

    ranges: RangeSetting = "public"

    @abstractmethod
    def _rule(self, schema: Schema | None) -> TargetRule:
        """Return the rule by which the target is read and coded as numbers."""

    def _units(self, schema: Schema | None) -> tuple[float, float]:
        """Return the factor and constant that convert linear predictors to user units."""
        return 1.0, 0.0

    @property
    def schema_(self) -> Schema | None:
        """The schema with the ranges that the fit estimated; None without a schema."""
        check_is_fitted(self, "release_")
        return self._schema

    def _spec(self) -> FitSpec:
        """Check all parameters without reading data, and return the settings of the fit."""
        budget = check_budget(self.budget)
        mechanism = self._mechanism()
        intervals = Intervals.read(self.intervals)
        usual = mechanism.default_neighbours
        if intervals is not None and intervals.variant == "published":
            usual = Neighbours.REPLACE_ONE
        neighbours = Neighbours.of(usual if self.neighbours is None else self.neighbours)
        for name, purpose in BOUNDS.items():
            if getattr(self, name, None) is not None:
                read_number(name, getattr(self, name), purpose)
        read_number("l1", self.l1, "0 means no l1 penalty.", zero=True)
        check_penalty(mechanism, self.l1, self.penalty)
        if not self._ridge_is_automatic:
            read_number("l2", self.l2, "'auto' chooses one from the budget.", zero=True)
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise InvalidParameter("fit_intercept", "True or False", self.fit_intercept)
        if self.ledger is not None and not isinstance(self.ledger, Ledger | str | Path):
            raise InvalidParameter(
                "ledger",
                "a Ledger, or the path or address of one",
                self.ledger,
                "See Ledger.open.",
            )
        schema: Any = self.schema
        if schema is not None and not isinstance(schema, Schema):
            raise InvalidParameter("schema", "a Schema or None", type(schema).__name__)
        booked = None if self.ledger is None else dataset_name(schema, self.ledger)
        intercept = bool(self.fit_intercept)
        rule = self._rule(schema)
        if schema is not None and schema.offset is not None:
            check_offset_of(rule, schema.offset)
        weighs = weighs_records(mechanism, intervals)
        bounding = bounding_for(
            mechanism, schema, self.row_norm, fit_intercept=intercept, weighs=weighs
        )
        return FitSpec(
            budget,
            mechanism,
            neighbours,
            rule,
            schema,
            bounding,
            None if self._ridge_is_automatic else float(self.l2),
            float(self.l1),
            self.penalty,
            float(getattr(self, "nuclear", 0.0)),
            intercept,
            intervals,
            booked,
            is_classifier(self),
            RangePolicy.of(self.ranges),
        )

    def _mechanism(self) -> Mechanism:
        if isinstance(self.mechanism, str):
            return cast("Mechanism", MECHANISMS.find(self.mechanism)())
        if isinstance(self.mechanism, type) or not hasattr(self.mechanism, "calibrate"):
            must = f"one of {sorted(MECHANISMS)} or a mechanism"
            example = "Try mechanism='objective', or ObjectivePerturbation()."
            raise InvalidParameter("mechanism", must, self.mechanism, example)
        return self.mechanism

    @property
    def _ridge_is_automatic(self) -> bool:
        return isinstance(self.l2, str) and self.l2 == "auto"

    def _read(self, spec: FitSpec, X: Any, y: Any, sample_weight: Any = None) -> Reading:
        """Read a table; store the names and number of its columns, as scikit-learn does."""
        check = partial(validate_data, self, reset=True, ensure_min_samples=0)
        reading = reading_of(spec, X, y, check, sample_weight)
        self.n_features_in_ = reading.width
        if isinstance(reading, InParts) and spec.schema is None:
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            if reading.names is not None:
                self.feature_names_in_ = np.asarray(reading.names, dtype=object)
        return reading

    def _prepare(self, X: Any, y: Any, sample_weight: Any = None) -> PreparedFit:
        """Run all checks and calibrate the fit; only charge and release are left to do."""
        spec = self._spec()
        if sample_weight is not None:
            cap = read_weight_cap(self, spec.schema)
            spec = replace(spec, weight_cap=cap)
        in_table = y is None or isinstance(y, str)
        reading = self._read(spec, X, y, sample_weight)
        return prepare(spec, reading, target_in_table=in_table)

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, holdout: Any = None) -> Any:
        self.__dict__.pop("holdout_score_", None)
        coins = None if holdout is None else Entropy.of(self.random_state)
        ready, later = prepare_both(self, (X, y, sample_weight), holdout, coins)
        warn_if_claimed(ready.calibration.guarantee, callers=3)
        warn_of_budget(ready.spec.budget, ready.known_rows, callers=3)
        entropy = Entropy.of(self.random_state) if coins is None else coins
        if self.ledger is None and entropy.secret:
            self._count_unbooked(ready.spec.budget, callers=3)
        charge_entry = None
        if self.ledger is not None:
            what = type(self).__name__ + ("" if later is None else " and its score")
            events = None if later is None else later.events
            charge_entry = ready.charge(
                self._ledger(), what, secret=entropy.secret, events=events
            )
        found = ready.release(entropy)
        with uninterrupted():
            self._keep(found, ready.task)
            self.rows_ = ready.public_rows
            self.fitted_on_ = datetime.now(UTC).date().isoformat()
            if later is not None:
                self.release_ = later.joint(self.release_)
                self.holdout_score_ = later.release(self, ready.spec, entropy)
            self.anchor_ = None if charge_entry is None else charge_entry.anchor
            if charge_entry is not None:
                enter_release(self._ledger(), charge_entry, self)
        return self

    def rehearse(self, X: Any, y: Any = None) -> DryRun:
        """Return the guarantee that a fit to this table would have, at no privacy cost.

        All checks of `fit` are made, except whether enough budget is left in the ledger. No
        noise is drawn and no ledger is charged.

        Parameters
        ----------
        X : table, path or array
            Table, as in `fit`.
        y : array or str, optional
            Target, as in `fit`.

        Returns
        -------
        DryRun
            The ``guarantee`` of the fit, the name of the ``dataset`` under which a ledger
            would record it, and the ``labels`` that would be read from the target.

        Examples
        --------
        >>> import numpy as np
        >>> from confide import LinearRegression, Pure
        >>> X = np.linspace(-1, 1, 100)[:, None]
        >>> model = LinearRegression(Pure(1), row_norm=1.0, target_bound=1.0)
        >>> found = model.rehearse(X, X[:, 0])
        >>> str(found.guarantee.budget), str(found.guarantee.status)
        ('ε = 1', 'PROVED')

        A fit on this table would be provably 1-differentially private.
        """
        ready = clone(self)._prepare(X, y)  # noqa: SLF001
        task, guarantee = ready.task, self._assuming(ready.calibration.guarantee)
        labels = None
        if task.labels_were_read and task.classes is not None:
            labels = task.classes.tolist()
        return DryRun(guarantee, ready.spec.dataset, labels)

    def calibrated(self, rows: int) -> CalibratedFit:
        """Calibrate the noise and the ridge of a fit before any table is read.

        The model needs a schema and, if it is a classifier, declared labels.

        Parameters
        ----------
        rows : int
            Number of rows. Used only under the replace-one relation, where it is public.

        Returns
        -------
        CalibratedFit
            Noise and ridge of the fit.
        """
        spec = self._spec()
        if spec.schema is None:
            raise InvalidParameter(
                "schema",
                "given: without a table, the noise can be computed only from a schema",
                None,
                "Pass schema=Schema(...), or plan with make_plan.",
            )
        task = spec.target.spec(TargetInfo())
        found = spec.calibrate(task, len(spec.schema.features), rows)
        return CalibratedFit(spec, task, found)

    def offers_intervals(self) -> bool:
        """Return whether a fit with the same settings could also release intervals.

        The answer depends on public information only, and nothing is calibrated.

        Returns
        -------
        bool
            True if ``intervals=True`` would be accepted.
        """
        try:
            trial = clone(self).set_params(intervals=True, ledger=None)
            spec = trial._spec()  # noqa: SLF001
            task = spec.target.spec(TargetInfo(getattr(self, "classes_", None)))
            objective = spec.objective(task, self.n_features_in_)
            WithIntervals(spec.mechanism).check(objective)
        except (ConfideError, ValueError):
            return False
        return True

    def adopt(self, release: Release, charge_entry: Charge | None = None) -> Any:
        """Replace the release by one with the same coefficients and another guarantee.

        A search fits many models for a single charge, so the guarantee of the selected
        model must cover all these fits.

        Parameters
        ----------
        release : Release
            The release of this fit, with another guarantee.
        charge_entry : Charge, optional
            Charge in the ledger under which the release is recorded.

        Returns
        -------
        estimator
            The model itself.
        """
        check_is_fitted(self, "release_")
        if not np.array_equal(release.value, self.release_.value):
            raise InvalidParameter(
                "release",
                "the release of this fit, changed only in its guarantee",
                Described("a release with other coefficients"),
            )
        self.release_ = release
        if charge_entry is not None:
            self.anchor_ = charge_entry.anchor
            enter_release(self._ledger(), charge_entry, self)
        return self

    def _ledger(self) -> Ledger:
        place: Any = self.ledger
        return place if isinstance(place, Ledger) else Ledger.open(place)

    @property
    def _bounding(self) -> Bounding:
        """Bounds on the rows that the model was fitted to."""
        norm, intercept = self.row_norm, bool(self.fit_intercept)
        return bounding_of(self.release_, self.schema, norm, fit_intercept=intercept)

    def _keep(self, release: Release, task: TargetSpec) -> None:
        """Store a release, and nothing else that was learned from the data."""
        guarantee = self._assuming(release.guarantee)
        if task.labels_were_read:
            guarantee = guarantee.assuming(PUBLIC_LABELS)
        release = replace(release, guarantee=guarantee)
        self.release_ = release
        self._set_coefficients(release.value)

    def _check_release(self, release: Release) -> None:
        """Raise an error if the coefficients of a release do not have the right shape."""
        classes = getattr(self, "classes_", (0, 1))
        shape: tuple[int, ...] = (self.n_features_in_ + bool(self.fit_intercept),)
        if len(classes) > 2:
            shape = (len(classes), *shape)
        width = self.n_features_in_ if self.schema is None else len(self.schema.features)
        if release.value.shape != shape or width != self.n_features_in_:
            must = f"an array of shape {shape}"
            raise InvalidParameter(
                "coefficients", must, Described(f"shape {release.value.shape}")
            )

    def _set_coefficients(self, value: Array) -> None:
        """Split released coefficients into slopes and intercepts, in the user's units."""
        bought = self.release_.ranges
        self._schema = self.schema
        if self.schema is not None and bought is not None:
            self._schema = self.schema.with_ranges(bought.ranges)
        if self._schema is not None:
            self.feature_names_in_ = np.asarray(self._schema.features, dtype=object)
        unit, origin = self._units(self._schema)
        table = np.atleast_2d(value) * unit
        slopes = table[:, :-1] if self.fit_intercept else table
        levels = np.zeros(len(table))
        if self.fit_intercept:
            levels = self._bounding.height * table[:, -1]
        levels = levels + origin
        self._slopes, self._levels = slopes, levels
        if self._schema is None:
            self.coef_, self.intercept_ = slopes.copy(), levels.copy()
            return
        pairs = [self._schema.in_units(row) for row in slopes]
        self.coef_ = np.stack([row for row, _ in pairs])
        shift = self._schema.offset_middle
        self.intercept_ = levels - shift + np.array([constant for _, constant in pairs])

    def margin_map(self) -> Margins:
        """Return the map from rows to linear predictors.

        Returns
        -------
        Margins
            Picklable function that computes the linear predictors of the rows of a chunk.
            It contains no data.
        """
        check_is_fitted(self, "release_")
        names = getattr(self, "feature_names_in_", None)
        return Margins(
            self.schema_,
            None if names is None else tuple(names),
            self.n_features_in_,
            self._bounding,
            self._slopes,
            self._levels,
        )

    def _margins(self, X: Any) -> Array:
        """Return the linear predictors of all rows, with one column per coefficient set."""
        schema, margins = self.schema_, self.margin_map()
        table = table_to_predict(X, schema=schema is not None)
        if table is not None:
            return margins_in_parts(table, margins)
        if schema is not None:
            X = read_table(X, schema, target=False)
        check = partial(validate_data, self, reset=False)
        features = read_features(X, schema, check)
        refuse_empty(features.shape[0])
        return margins.of(features, NO_CASES if schema is None else schema.cases(X))

    def _display(self) -> Display:
        """Return the map from one set of coefficients to those shown in the summary."""
        schema, height = self.schema_, self._bounding.height
        if schema is not None:
            return self.display_by(schema, height)
        last = (INTERCEPT,) if self.fit_intercept else ()
        names = (*self._feature_names(), *last)
        factors = self._factors(None, self.n_features_in_, height)
        return display_of_release(self.release_, names, factors)

    def _factors(self, schema: Schema | None, columns: int, height: float) -> Array:
        """Return the factors that undo the scaling of the target and constant column."""
        factors = np.full(columns + bool(self.fit_intercept), self._units(schema)[0])
        if self.fit_intercept:
            factors[-1] *= height
        return factors

    def display_by(self, schema: Schema, height: float) -> Display:
        """Return the map from coefficients to those shown in a summary, for given ranges.

        Parameters
        ----------
        schema : Schema
            Schema with the ranges by which the columns are scaled.
        height : float
            Value of the constant column.

        Returns
        -------
        Display
            Names of the coefficients shown, and the affine map to their values.
        """
        factors, origin = (
            self._factors(schema, len(schema.features), height),
            self._units(schema)[1] - schema.offset_middle,
        )
        lines = schema.display_map()
        return lines.scaled(factors, origin * (np.array(lines.names) == INTERCEPT))

    def _row_labels(self, count: int) -> list[str]:
        classes = getattr(self, "classes_", None)
        if count == 1 or classes is None:
            return [""] * count
        return [f"{label}: " for label in classes]
