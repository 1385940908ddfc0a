"""A plan: noise and ridge as a fit has them, errors by the formulas, and the search."""

import dataclasses
import json
import math
import sys

import numpy as np
import pytest
from scipy.special import expit

from confide.errors import ConfideError, InvalidParameter, MissingPublicBound
from confide.estimators import ESTIMATORS as CATALOGUE
from confide.estimators import (
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegression,
    model_names,
)
from confide.mechanisms import ObjectivePerturbation
from confide.mechanisms.objective.minimiser import LINEAR_SHARE
from confide.objectives import MODELS, HuberizedHinge
from confide.objectives.families import Classes
from confide.planning import (
    compare_mechanisms,
    make_plan,
    plan_curve,
    plot_plan,
)
from confide.privacy import Approx, Neighbours, Pure, Zcdp

BUDGETS = [Pure(1), Approx(1, 1e-6), Zcdp(0.05)]
BOUNDS = {
    "logistic": {},
    "svm": {},
    "linear": {"target_bound": 10.0},
    "poisson": {"target_bound": 40.0, "slope_bound": 10.0},
}
ESTIMATORS = {
    "logistic": LogisticRegression,
    "svm": LinearSVC,
    "linear": LinearRegression,
    "poisson": PoissonRegression,
}


def test_every_model_has_its_estimator_and_what_a_plan_needs():
    entries = {entry.model: entry for entry in CATALOGUE.values() if entry.model}
    assert set(entries) == set(MODELS) == set(ESTIMATORS)
    for model, loss in MODELS.items():
        assert entries[model].kind is ESTIMATORS[model]
        assert entries[model].labelled == (loss.targets == "signs")
    assert model_names() == tuple(entries)
    assert model_names(labelled=True) == ("logistic", "svm")
    assert model_names(labelled=False) == ("linear", "poisson")


class Upright(Classes):
    """A family with words of its own."""

    def assumption(self, signal):
        return f"labels of another kind, {signal:g}"


class Another(HuberizedHinge):
    """A loss that planning has never heard of."""

    family = Upright()


def test_a_new_loss_needs_nothing_from_planning(monkeypatch):
    monkeypatch.setitem(MODELS._entered, "another", Another)
    new, old = (make_plan(500, 3, Pure(1), model=m) for m in ("another", "svm"))
    assert new.total_error == old.total_error
    assert "labels of another kind, 1" in new.assumptions


def rows_and_labels(rows, columns, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, np.where(rng.random(rows) < expit(x.sum(axis=1)), 1, 0)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("model", BOUNDS)
def test_noise_and_ridge_are_those_of_a_fit(model, mechanism, budget):
    x, y = rows_and_labels(50, 4, 1)
    public = {"mechanism": mechanism, "row_norm": 2.0, **BOUNDS[model]}
    release = ESTIMATORS[model](budget, random_state=1, **public).fit(x, y).release_
    plan = make_plan(50, 4, budget, model=model, **public)
    assert plan.noise_scale == release.noise_scale
    assert plan.noise_kind == release.noise[0].kind
    assert plan.ridge == release.l2
    assert (plan.budget, plan.neighbours) == (budget, Neighbours.ADD_REMOVE)
    assert plan.guarantee.theorem == release.guarantee.theorem


def test_a_given_ridge_and_relation_reach_the_calibration():
    plan = make_plan(1000, 4, Pure(1), l2=7.5, neighbours="replace-one")
    assert plan.ridge == 7.5
    assert plan.neighbours is Neighbours.REPLACE_ONE
    alone = make_plan(1000, 4, Pure(1), l2=7.5)
    assert plan.noise_scale == pytest.approx(2 * alone.noise_scale)


@pytest.mark.parametrize(
    ("budget", "longer"), [(Pure(1), 9 + 2), (Approx(1, 1e-6), 1)], ids=["laplace", "gauss"]
)
def test_linear_regression_is_as_by_hand(budget, longer):
    """Squared loss: H = nτ² + Λ, and the residual has a known spread."""
    n, d, bound, signal = 4000, 9, 5.0, 0.5
    plan = make_plan(
        *(n, d, budget),
        model="linear",
        mechanism=ObjectivePerturbation(noise="gaussian"),
        target_bound=bound,
        signal=signal,
        slope_bound=bound,
    )
    hessian = n / d + plan.ridge
    noise = plan.noise_scale * math.sqrt(longer)
    assert plan.privacy_error == pytest.approx(bound * noise / hessian, rel=1e-3)
    residual = bound / 3 / math.hypot(1, signal)
    sampling = residual * math.sqrt(n / d) / hessian
    assert plan.sampling_error == pytest.approx(sampling, rel=0.02)
    assert plan.shrinkage == pytest.approx(plan.ridge / hessian, rel=0.02)
    assert plan.typical_coefficient == pytest.approx(signal * residual, rel=0.01)


def test_a_weak_logistic_signal_has_curvature_one_quarter():
    n, d = 50_000, 4
    mechanism = ObjectivePerturbation(noise="gaussian")
    plan = make_plan(n, d, Approx(1, 1e-6), mechanism=mechanism, signal=0.05)
    hessian = n / 4 / d + plan.ridge
    assert plan.privacy_error == pytest.approx(plan.noise_scale / hessian, rel=5e-3)
    assert plan.sampling_error == pytest.approx(math.sqrt(n / 4 / d) / hessian, rel=5e-3)


def test_a_strong_signal_leaves_less_curvature():
    weak, strong = (make_plan(10_000, 5, Pure(1), signal=s) for s in (0.1, 4.0))
    assert strong.privacy_error > 1.8 * weak.privacy_error


def test_strong_noise_flattens_the_curvature_that_holds_it():
    """The mean of p(1 − p) at the true coefficients is 0.207; noise carries beyond."""
    plan = make_plan(500, 20, Pure(0.5))
    at_the_truth = 500 / 20 * 0.207 + plan.ridge
    naive = plan.noise_scale * math.sqrt(21 + 1) / at_the_truth
    assert plan.privacy_error > 1.1 * naive


def test_noise_on_the_output_is_the_privacy_error():
    plan = make_plan(10_000, 6, Pure(1), mechanism="output")
    assert plan.privacy_error == pytest.approx(plan.noise_scale * math.sqrt(7 + 1))
    assert plan.dominated_by == "privacy"


def test_the_small_second_noise_counts_where_it_is_not_small():
    loose = ObjectivePerturbation(tolerance=1e-3)
    exact, blurred = (
        make_plan(10**6, 5, Pure(1), mechanism=m) for m in ("objective", loose)
    )
    second = 2e-3 * (1 + LINEAR_SHARE) / 0.01 * math.sqrt(7)
    expected = math.hypot(exact.privacy_error, second)
    assert blurred.privacy_error == pytest.approx(expected, rel=1e-6)


def test_privacy_falls_with_rows_and_sampling_with_their_root():
    small = make_plan(10**6, 10, Pure(1))
    large = small.with_rows(4 * 10**6)
    assert small.privacy_error / large.privacy_error == pytest.approx(4, rel=0.01)
    assert small.sampling_error / large.sampling_error == pytest.approx(2, rel=0.01)
    assert large.dominated_by == "sampling"
    assert large == make_plan(4 * 10**6, 10, Pure(1))


def test_units_of_rows_and_targets_only_rescale():
    one = make_plan(3000, 5, Pure(1), l2=10.0)
    wide = make_plan(3000, 5, Pure(1), l2=40.0, row_norm=2.0)
    assert wide.total_error == pytest.approx(one.total_error / 2, rel=1e-6)
    plain, big = (
        make_plan(3000, 5, Pure(1), model="linear", target_bound=b) for b in (1.0, 50.0)
    )
    assert big.interval_width == pytest.approx(50 * plain.interval_width, rel=1e-6)


def test_width_and_total_combine_the_parts():
    plan = make_plan(2000, 20, Pure(1), level=0.9)
    both = math.hypot(plan.privacy_error, plan.sampling_error)
    assert plan.interval_width == pytest.approx(2 * 1.6448536 * both)
    lost = plan.shrinkage * plan.typical_coefficient
    assert plan.total_error == pytest.approx(math.hypot(both, lost))


@pytest.mark.parametrize("columns", [1, 2, 3, 500])
@pytest.mark.parametrize("model", BOUNDS)
def test_every_number_of_columns_and_rows_has_finite_errors(model, columns):
    for rows in (1, 30, 10**9):
        plan = make_plan(rows, columns, Pure(1), model=model, **BOUNDS[model])
        numbers = [plan.privacy_error, plan.sampling_error, plan.shrinkage]
        assert np.all(np.isfinite(numbers))
        assert plan.privacy_error > 0
        assert plan.shrinkage <= 1


@pytest.mark.parametrize("model", BOUNDS)
@pytest.mark.parametrize("part", [0.2, 1.7])
def test_smallest_rows_is_the_turning_point(model, part):
    plan = make_plan(5000, 5, Pure(1), model=model, **BOUNDS[model])
    width = part * plan.interval_width
    fewest = plan.smallest_rows(width)
    assert plan.with_rows(fewest).interval_width <= width
    assert plan.with_rows(fewest - 1).interval_width > width
    assert (fewest > plan.rows) == (part < 1)


def test_smallest_rows_does_not_count_what_the_ridge_flattened():
    """A handful of rows has narrow intervals around nothing."""
    plan = make_plan(3, 5, Zcdp(0.05))
    assert plan.shrinkage > 0.5
    fewest = plan.smallest_rows(3 * plan.interval_width)
    assert plan.with_rows(fewest).shrinkage <= 0.5 < plan.with_rows(fewest - 1).shrinkage


def test_smallest_rows_says_when_no_rows_suffice():
    plan = make_plan(5000, 5, Pure(1), mechanism="output")
    with pytest.raises(InvalidParameter, match=r"width must be more than 8\.278.*l2"):
        plan.smallest_rows(1.0)
    assert plan.smallest_rows(8.7) > 1
    for wrong in (0, -1.0, math.nan, math.inf, "1"):
        with pytest.raises(InvalidParameter, match="width"):
            plan.smallest_rows(wrong)


@pytest.mark.parametrize("model", BOUNDS)
def test_mechanisms_are_compared_best_first(model):
    plans = compare_mechanisms(20_000, 5, Pure(1), model=model, **BOUNDS[model])
    assert [plan.mechanism for plan in plans] == ["objective", "output"]
    assert plans[0].total_error < plans[1].total_error
    assert plans[0] == make_plan(20_000, 5, Pure(1), model=model, **BOUNDS[model])


def test_a_comparison_leaves_out_what_cannot_treat_the_model():
    """So small a ridge is too little for objective perturbation of a hinge."""
    (only,) = compare_mechanisms(20_000, 5, Pure(1), model="svm", l2=0.01)
    assert only.mechanism == "output"
    with pytest.raises(InvalidParameter, match="rows"):
        compare_mechanisms(0, 5, Pure(1))
    with pytest.raises(MissingPublicBound):
        compare_mechanisms(10, 5, Pure(1), model="linear")


def test_a_large_ridge_can_turn_the_comparison():
    """Under a ridge that flattens everything the noise on the output is the smaller."""
    plans = compare_mechanisms(100, 5, Zcdp(0.05), model="svm", l2=1e6)
    assert [plan.mechanism for plan in plans] == ["output", "objective"]
    assert plans[0].total_error <= plans[1].total_error


def test_the_text_opens_with_the_guarantee_and_is_aligned():
    plan = make_plan(2000, 5, Approx(1, 1e-6))
    first, *rest = str(plan).splitlines()
    assert first == "Guarantee    ε = 1, δ = 1e-06, add-remove neighbours"
    start, end = rest.index(""), rest.index("Assuming")
    table = rest[start + 1 : end - 1]
    assert len({len(line) for line in table}) == 1
    assert len(table) == len(plan.records())
    assert any(line.startswith("error from privacy ") for line in table)
    assert [line[4:] for line in rest[end + 1 :]] == list(plan.assumptions)
    assert any("uniformly distributed directions" in one for one in plan.assumptions)


def test_records_are_plain():
    plan = make_plan(2000, 5, Zcdp(0.05), model="poisson", **BOUNDS["poisson"])
    records = json.loads(json.dumps(plan.records()))
    table = {record["name"]: record["value"] for record in records}
    assert table["error from privacy"] == plan.privacy_error
    assert table["rows"] == 2000
    assert table["dominated by"] == plan.dominated_by


def test_a_plan_is_frozen_and_the_same_every_time():
    plan = make_plan(2000, 5, Pure(1))
    assert plan == make_plan(2000, 5, Pure(1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.rows = 3


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("rows", 0),
        ("rows", 2.5),
        ("rows", True),
        ("rows", 10**9 + 1),
        ("columns", 0),
        ("columns", "5"),
        ("budget", 1.0),
        ("model", "ridge"),
        ("mechanism", "magic"),
        ("mechanism", ObjectivePerturbation),
        ("mechanism", 3),
        ("neighbours", "cousins"),
        ("row_norm", 0.0),
        ("row_norm", math.inf),
        ("l2", "some"),
        ("l2", 0.0),
        ("l2", math.nan),
        ("level", 1.0),
        ("level", 95),
        ("signal", 0.0),
        ("signal", 10.0),
        ("signal", math.nan),
        ("target_bound", -1.0),
        ("slope_bound", False),
    ],
)
def test_wrong_arguments_are_named(name, wrong):
    arguments = {"rows": 100, "columns": 5, "budget": Pure(1), name: wrong}
    positional = [arguments.pop(key) for key in ("rows", "columns", "budget")]
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        make_plan(*positional, **arguments)


@pytest.mark.parametrize(
    ("model", "bounds", "missing"),
    [
        ("linear", {}, "target_bound"),
        ("poisson", {"slope_bound": 3.0}, "target_bound"),
        ("poisson", {"target_bound": 3.0}, "slope_bound"),
    ],
)
def test_a_missing_bound_is_asked_for(model, bounds, missing):
    with pytest.raises(MissingPublicBound, match=missing):
        make_plan(100, 5, Pure(1), model=model, **bounds)


def test_fits_show_what_was_planned():
    """The small version of tests/statistical/test_plan_holds.py; error about 5 %."""
    plan = make_plan(1000, 10, Approx(1, 1e-6))

    def fit(data, seed):
        model = LogisticRegression(
            plan.budget, classes=[0, 1], random_state=seed, row_norm=1.0
        )
        return model.fit(*data).coef_[0]

    same = [fit(rows_and_labels(1000, 10, 0), seed) for seed in range(40)]
    fresh = [fit(rows_and_labels(1000, 10, seed), seed) for seed in range(40)]
    privacy, both = (np.sqrt(np.var(c, axis=0, ddof=1).mean()) for c in (same, fresh))
    assert plan.privacy_error == pytest.approx(privacy, rel=0.2)
    assert math.hypot(plan.privacy_error, plan.sampling_error) == pytest.approx(
        both, rel=0.2
    )


def test_the_curve_is_the_plan_at_every_number_of_rows():
    plan = make_plan(2000, 5, Pure(1))
    curve = plan_curve(plan, [500, 2000])
    assert curve.rows == (500, 2000)
    assert curve.privacy == (plan.with_rows(500).privacy_error, plan.privacy_error)
    assert curve.sampling == (plan.with_rows(500).sampling_error, plan.sampling_error)


def test_the_picture_shows_both_parts_and_the_planned_rows():
    figure = pytest.importorskip("matplotlib.figure")
    plan = make_plan(2000, 20, Pure(1))
    ax = figure.Figure().subplots()
    assert plot_plan(plan, ax=ax) is ax
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    lines = {line.get_label(): line for line in ax.get_lines()}
    shown = dict(zip(*lines["privacy noise"].get_data(), strict=True))
    assert shown[2000] == plan.privacy_error
    assert max(shown) / min(shown) == pytest.approx(1000, rel=0.05)
    shown = dict(zip(*lines["sampling"].get_data(), strict=True))
    assert shown[2000] == plan.sampling_error
    assert set(lines["planned: 2,000 rows"].get_xdata()) == {2000}
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["privacy noise", "sampling", "planned: 2,000 rows"]
    assert ax.get_xlabel() == "number of rows"
    assert "coefficient" in ax.get_ylabel()
    assert str(plan.budget) in ax.get_title()


def test_a_picture_of_its_own_keeps_the_legend_off_the_lines():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = plot_plan(make_plan(1, 5, Pure(1)))
    ax.figure.canvas.draw()
    (legend,) = ax.figure.legends
    assert not legend.get_window_extent().overlaps(ax.get_window_extent())
    sys.modules["matplotlib.pyplot"].close(ax.figure)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfideError, match=r"pip install 'confide\[plots\]'"):
        plot_plan(make_plan(2000, 5, Pure(1)))


@pytest.mark.parametrize("intervals", [None, True])
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-6), Zcdp("0.1")], ids=repr)
def test_several_classes_are_planned_as_they_are_fitted(budget, intervals):
    plan = make_plan(20_000, 5, budget, classes=4, intervals=intervals)
    model = LogisticRegression(budget, classes=range(4), intervals=intervals, row_norm=1.0)
    rng = np.random.default_rng(1)
    model.fit(rng.normal(size=(20_000, 5)), rng.integers(0, 4, 20_000))
    assert plan.noise_scale == model.release_.noise_scale
    assert plan.ridge == model.release_.l2
    assert "4 balanced classes of a multinomial model" in str(plan)
    assert ("classes", 4) in [(one["name"], one["value"]) for one in plan.records()]
    if intervals is not None:
        widths = [line.upper - line.lower for line in model.summary().rows[:5]]
        assert 0.6 < plan.interval_width / np.median(widths) < 1.6
