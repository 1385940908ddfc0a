"""scikit-learn's own estimator checks, on instances that a budget makes accurate."""

import pytest
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from confide import (
    Approx,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MultiResponseRegression,
    PoissonRegression,
    PublicScaler,
    Pure,
    SparseLinearRegression,
)
from confide.mechanisms import MpAdmm
from confide.selection import ScreeningSelector, SelectThenFit
from confide.tuning import PrivateSearch, RandomStopping

PURE = {"budget": Pure(200), "row_norm": 10.0, "weight_cap": 5.0}
APPROX = {"budget": Approx(50, 1e-6), "row_norm": 10.0, "weight_cap": 5.0}
OUTPUT = {**PURE, "budget": Pure(2000), "mechanism": "output", "l2": 10.0}
STEPS = {
    "budget": APPROX["budget"],
    "row_norm": 10.0,
    "mechanism": MpAdmm(100, step=0.05),
}
CONFIGURED = [
    LogisticRegression(**PURE),
    LogisticRegression(**PURE, classes=[0, 1]),
    LogisticRegression(**OUTPUT),
    LinearSVC(**PURE),
    LinearSVC(**OUTPUT, loss="hinge"),
    LinearRegression(**APPROX, target_bound=5.0),
    LinearRegression(**OUTPUT, target_bound=5.0),
    PoissonRegression(**APPROX, target_bound=10.0, slope_bound=10.0),
    PoissonRegression(**OUTPUT, target_bound=10.0, slope_bound=10.0),
    MultiResponseRegression(**STEPS, target_bound=5.0),
    PrivateSearch(
        LogisticRegression(row_norm=10.0),
        {"l2": [0.5, 1.0]},
        Pure(2000),
        method=RandomStopping(runs=1.5),
    ),
    PrivateSearch(
        LinearRegression(row_norm=10.0, target_bound=5.0, neighbours="replace-one"),
        {"l2": [0.5, 1.0]},
        Pure(2000),
    ),
    SparseLinearRegression(Approx(50, 1e-6), size=1, column_bound=10.0, target_bound=5.0),
    PublicScaler(-10.0, 10.0),
]
OTHERS = [
    LogisticRegression(**STEPS),
    LogisticRegression(
        Pure(200), mechanism=SelectThenFit(ScreeningSelector(1), column_bound=10.0)
    ),
]

DECLARED = {
    "check_classifiers_classes": "the labels are the declared ones, not those found in y",
    "check_classifier_not_supporting_multiclass": (
        "a label that was not declared counts as none of the declared ones; refusing it "
        "would tell that somebody has it"
    ),
}


CHUNKS = {"check_fit2d_1sample": "one row has no three chunks, and the message says so"}


NO_WEIGHT = {
    "check_all_zero_sample_weights_error": (
        "that all weights are 0 is private: noise is released"
    ),
}
SHARES = NO_WEIGHT | {
    f"check_sample_weight_equivalence_on_{kind}_data": (
        "records count by shares of a public cap: a weight is so many copies but for noise "
        "and ridge, which do not grow with it"
    )
    for kind in ("dense", "sparse")
}
UNWEIGHTED = {
    f"check_{name}": "this mechanism has no theorem for weights"
    for name in (
        "sample_weights_pandas_series",
        "sample_weights_not_an_array",
        "sample_weights_list",
        "sample_weights_shape",
        "sample_weights_not_overwritten",
        "all_zero_sample_weights_error",
        "classifiers_one_label_sample_weights",
    )
}


PRIVATE_COUNT = {
    "check_estimators_empty_data_messages": (
        "under add-remove neighbours the number of rows is private: noise is released"
    ),
}


def expected_failures(estimator):
    if isinstance(estimator, PublicScaler):
        return {}
    if getattr(estimator, "method", None) == "chunks":
        return CHUNKS
    if estimator in OTHERS:
        return SHARES | UNWEIGHTED
    declared = SHARES | DECLARED if getattr(estimator, "classes", None) else SHARES
    reads = isinstance(estimator, MultiResponseRegression) or is_classifier(estimator)
    return declared | ({} if reads and declared is SHARES else PRIVATE_COUNT)


@pytest.mark.slow
@parametrize_with_checks(OTHERS, expected_failed_checks=expected_failures)
def test_scikit_learn_check_of_other_mechanisms(estimator, check):
    check(estimator)


@parametrize_with_checks(CONFIGURED, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
