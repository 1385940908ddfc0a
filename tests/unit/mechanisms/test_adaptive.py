"""Two looks in estimators: zeros, selected variables, what is retrieved and refused."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from confide import (
    Approx,
    Category,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Number,
    PoissonRegression,
    Pure,
    Schema,
    Target,
    Zcdp,
)
from confide.accounting import as_pure, as_zcdp, compose
from confide.data import bound_rows
from confide.errors import InvalidParameter, UnmetNeeds
from confide.estimators import load_model
from confide.mechanisms import AdaptiveObjectivePerturbation, ObjectivePerturbation
from confide.noise import Entropy
from confide.objectives import (
    L1,
    Clipped,
    ElasticNet,
    GroupL2,
    HuberizedHinge,
    Logistic,
    Objective,
    Squared,
)
from confide.privacy import Neighbours

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
RICH = Approx(50, 1e-3)
MODELS = {
    "logistic": LogisticRegression(RICH, l1=15.0, mechanism="adaptive", row_norm=1.0),
    "svm": LinearSVC(RICH, l1=15.0, mechanism="adaptive", row_norm=1.0),
    "linear": LinearRegression(
        RICH, l1=15.0, mechanism="adaptive", target_bound=1.0, row_norm=1.0
    ),
    "poisson": PoissonRegression(
        RICH, l1=15.0, mechanism="adaptive", target_bound=4.0, slope_bound=4.0, row_norm=1.0
    ),
}


def data(kind, count=3000):
    """Two columns that matter, and six that do not."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (count, 8)) / np.sqrt(8)
    margin = 6 * X[:, 0] - 6 * X[:, 1]
    if kind == "linear":
        return X, np.clip(margin / 4, -1, 1)
    if kind == "poisson":
        return X, np.minimum(rng.poisson(np.exp(margin / 4)), 4).astype(float)
    return X, np.where(margin + rng.logistic(0, 0.5, count) > 0, 1, -1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_variables_that_do_not_matter_get_exact_zeros(kind):
    X, y = data(kind)
    model = MODELS[kind].fit(X, y)
    assert model.selected_ == ("x0", "x1")
    slopes = np.ravel(model.coef_)
    assert np.all(slopes[2:] == 0)
    assert slopes[0] > 0 > slopes[1]
    assert "2 of 8 variables: x0, x1" in str(model.summary())
    assert "proved" in str(model.release_.guarantee).lower()


@pytest.mark.slow
def test_several_classes_look_twice_each():
    X, _ = data("logistic")
    y = np.argmax(np.column_stack([X[:, 0], X[:, 1], -X[:, 0]]), axis=1)
    model = LogisticRegression(
        RICH, l1=15.0, mechanism="adaptive", classes=[0, 1, 2], row_norm=1.0
    )
    model.fit(X, y)
    assert model.coef_.shape == (3, 8)
    assert set(model.selected_) <= {f"x{j}" for j in range(8)}
    assert len(model.release_.weights) == 3


SCHEMA = Schema(
    (Number("dose", 0, 1), Number("noise", 0, 1), Category("town", ("a", "b", "c"))),
    Target("ill", labels=("no", "yes")),
    "clinic",
)


def table(count=4000):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "dose": rng.uniform(0, 1, count),
            "noise": rng.uniform(0, 1, count),
            "town": rng.choice(["a", "b", "c"], count),
        }
    )
    margin = 2 * (frame["town"] == "b") - 1 + 3 * (frame["dose"] - 0.5)
    frame["ill"] = np.where(margin + rng.logistic(0, 0.3, count) > 0, "yes", "no")
    return frame


@pytest.mark.parametrize("mechanism", ["adaptive", "objective"])
def test_a_category_is_selected_by_any_of_its_levels(mechanism, tmp_path):
    settings = {"schema": SCHEMA, "mechanism": mechanism, "l1": 60.0}
    model = LogisticRegression(RICH, **settings).fit(table())
    assert model.selected_ == ("dose", "town")
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.selected_ == model.selected_
    assert np.array_equal(again.coef_, model.coef_)
    assert again.release_.weights == model.release_.weights
    assert again.release_.retrieved == model.release_.retrieved


def test_a_configured_mechanism_survives_a_model_file(tmp_path):
    mechanism = AdaptiveObjectivePerturbation("bridge", share="1/3", typical=2.0)
    X, y = data("logistic", 300)
    model = LogisticRegression(Pure(1), l1=2.0, mechanism=mechanism, row_norm=1.0).fit(X, y)
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").mechanism == mechanism


def test_without_l1_nothing_is_selected():
    X, y = data("logistic", 300)
    model = LogisticRegression(Pure(1), row_norm=1.0).fit(X, y)
    with pytest.raises(AttributeError, match="l1 greater than 0"):
        _ = model.selected_
    assert "Selected" not in str(model.summary())


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "l1 must be greater than 0"),
        ({"l1": 5.0, "intervals": True}, "'objective' or 'output' for intervals"),
    ],
    ids=["no l1", "intervals"],
)
def test_what_does_not_fit_is_refused(settings, complaint):
    X, y = data("logistic", 300)
    with pytest.raises(InvalidParameter, match=complaint):
        LogisticRegression(Pure(1), mechanism="adaptive", row_norm=1.0, **settings).fit(
            X, y
        )


@pytest.mark.parametrize(
    "settings",
    [{"style": "ridge"}, {"share": 0}, {"share": 1}, {"power": 0}, {"cap": 0.5}],
    ids=str,
)
def test_settings_without_a_meaning_are_refused(settings):
    with pytest.raises(InvalidParameter):
        AdaptiveObjectivePerturbation(**settings)


def test_other_penalties_are_refused():
    grouped = Objective(Logistic(), 2, penalty=GroupL2(1.0, ((0, 1),)))
    with pytest.raises(UnmetNeeds, match="elastic-net"):
        AdaptiveObjectivePerturbation().calibrate(grouped, Pure(1), ADD)


def rows(count, seed=0, dimension=3):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, dimension))
    return bound_rows(features, np.sign(rng.normal(size=count)), 1.0, 0.0)


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("count", [1, 400])
def test_logistic_retrieves_everything_without_a_look_at_the_data(relation, count):
    """The second look gets 3/4 of 0.99, so X²/0.7425 is enough of a ridge."""
    mechanism = AdaptiveObjectivePerturbation()
    enough = relation.shifts / 0.7425 * (1 + 1e-9)
    for ridge, all_of_it in ((enough, True), (3 * enough, True), (0.7 * enough, False)):
        objective = Objective(Logistic(), 3, l2=ridge, penalty=L1(1.0))
        calibration = mechanism.calibrate(objective, Pure(1), relation)
        release = calibration.release([rows(count)], Entropy.seeded(1))
        assert (release.retrieved == pytest.approx(1)) is all_of_it
        assert release.retrieved == calibration.retrieved(calibration.noise)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-6), Zcdp("0.1")], ids=str)
def test_what_is_retrieved_is_a_share(budget):
    mechanism = AdaptiveObjectivePerturbation()
    shares = []
    for ridge in (4.0, 8.0, 800.0):
        objective = Objective(HuberizedHinge(), 3, 1.0, ridge)
        calibration = mechanism.calibrate(objective, budget, ADD)
        shares.append(calibration.retrieved(calibration.noise))
    assert 0 <= shares[0] <= shares[1] < shares[2] < 1


def test_a_bridge_uses_the_ridge_that_its_weights_bring():
    mechanism = AdaptiveObjectivePerturbation("bridge")
    objective = Objective(
        Clipped(Squared(), 1.0), 3, 1.0, 4.0, penalty=L1(40.0), target_bound=1.0
    )
    calibration = mechanism.calibrate(objective, Pure(1), ADD)
    release = calibration.release([rows(50)], Entropy.seeded(1))
    assert release.retrieved > calibration.retrieved(calibration.noise)
    assert release.events == calibration.events
    assert np.all(release.value != 0)


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("copies", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_events_add_up_to_the_budget(relation, copies):
    mechanism = AdaptiveObjectivePerturbation()
    objective = Objective(Logistic(), 4, penalty=ElasticNet(2.0))

    def events(budget):
        return mechanism.calibrate(objective, budget, relation, copies=copies).events

    assert as_pure(events(Pure("0.3"))) == Pure("0.3")
    assert float(as_zcdp(events(Zcdp("0.3"))).rho) == pytest.approx(0.3)
    together = compose(events(Approx(1, "1e-6")), "1e-6")
    assert float(together.epsilon) <= 1.001


@pytest.mark.slow
@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_both_looks_are_accounted_together_where_that_is_better(relation):
    """The second look has 3/4 of a squared shift: its noise is little above √(4/3)."""
    objective = Objective(Logistic(), 24, penalty=L1(2.0))
    budget = Approx(1, "1e-6")
    adaptive = AdaptiveObjectivePerturbation().calibrate(objective, budget, relation)
    plain = ObjectivePerturbation(noise="gaussian").calibrate(
        replace(objective, l2=adaptive.objective.l2), budget, relation
    )
    assert adaptive.noise.scale < 1.1 * np.sqrt(4 / 3) * plain.noise.scale
    assert adaptive.alone is None


def test_weights_are_those_asked_for_where_a_slope_looked_average():
    mechanism = AdaptiveObjectivePerturbation(share=Fraction(1, 3), cap=10.0)
    objective = Objective(Logistic(), 4, penalty=L1((2.0, 2.0, 2.0, 0.0)))
    calibration = mechanism.calibrate(objective, Pure(1), ADD)
    found = mechanism.weights(calibration, np.array([1.0, -2.0, 0.0, 9.0]))
    assert found == pytest.approx([2.0, 1.0, 20.0, 0.0])
    assert mechanism.weights(calibration, np.zeros(4)) == pytest.approx([2, 2, 2, 0])


@pytest.mark.slow
def test_the_second_ridge_pulls_towards_the_first_look():
    """With few rows and much ridge the second look stays near the first, not near 0."""
    objective = Objective(Logistic(), 3, l2=1e4, penalty=L1(1e-6))
    found = {}
    for centred in (True, False):
        mechanism = AdaptiveObjectivePerturbation(centred=centred)
        calibration = mechanism.calibrate(objective, Pure(1), ADD)
        found[centred] = calibration.release([rows(5)], Entropy.seeded(3)).value
    assert np.linalg.norm(found[True]) > 100 * np.linalg.norm(found[False])
