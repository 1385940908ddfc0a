"""Two looks together keep their guarantee, on a line and exactly."""

from fractions import Fraction

import numpy as np
import pytest

from confide.attacks import Records, exact_pair
from confide.mechanisms import AdaptiveObjectivePerturbation
from confide.mechanisms.objective import adaptive
from confide.mechanisms.objective.two_looks import _together
from confide.objectives import L1, ElasticNet
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from support import two_looks
from support.cases import add_remove_pairs, objective, replace_pairs
from support.two_looks import share_of_claim, unpaid

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
PAIRS = {ADD: add_remove_pairs, REPLACE: replace_pairs}
LASSO = AdaptiveObjectivePerturbation(typical=0.5)
BRIDGE = AdaptiveObjectivePerturbation("bridge", typical=0.5, share=Fraction(1, 3))
MECHANISMS = {"lasso": LASSO, "bridge": BRIDGE}
CROWD = Records.of([[1.0]], [-1.0], 60)
STEEP = [("among many", CROWD, CROWD.plus([1.0], 1.0))]
"""Among many of the other label, one record whose slope is nearly 1."""
NAMES = ["logistic", "huberized-hinge", "huber"]


def some(relation, name):
    """Return a few of the pairs."""
    return list(PAIRS[relation](name))[::3][:3]


NAMED = [
    pytest.param(name, marks=() if name == "logistic" else pytest.mark.slow)
    for name in NAMES
]


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize(
    "relation", [ADD, pytest.param(REPLACE, marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize("style", MECHANISMS)
def test_pure_budgets_hold_for_both_looks_together(name, relation, style):
    target = objective(name, penalty=L1(0.8))
    worst = share_of_claim(
        MECHANISMS[style], target, Pure(1), relation, some(relation, name)
    )
    attained = (name, relation) == ("logistic", ADD)
    assert worst > (0.99 if attained else 0.49)  # 1.0000 measured; 0.50 to 0.98 elsewhere


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_zcdp_budgets_hold_for_both_looks_together(name, relation):
    target = objective(name, penalty=L1(0.8))
    worst = share_of_claim(LASSO, target, Zcdp("0.1"), relation, some(relation, name))
    assert worst > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("style", MECHANISMS)
def test_approximate_budgets_hold_for_both_looks_together(name, relation, style):
    target = objective(name, penalty=L1(0.8))
    budget = Approx(1, 1e-2)
    share_of_claim(MECHANISMS[style], target, budget, relation, some(relation, name))


@pytest.mark.slow
def test_a_sum_of_losses_is_nearly_attained(monkeypatch):
    """Of the ways to divide the budget, the one that bounds both losses together."""
    monkeypatch.setattr(adaptive, "split_budget", _together)
    target = objective("logistic", penalty=L1(0.8))
    calibration = LASSO.calibrate(target, Approx(1, 1e-2), ADD)
    assert calibration.alone is None
    assert share_of_claim(LASSO, target, Approx(1, 1e-2), ADD, STEEP) > 0.5


def test_an_elastic_net_holds_too():
    target = objective("logistic", penalty=ElasticNet(2.0, 0.5))
    pairs = some(ADD, "logistic")
    assert share_of_claim(LASSO, target, Pure(1), ADD, pairs) > 0.99  # 1.0000 measured


@pytest.mark.slow
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-2), Zcdp("0.1")], ids=str)
def test_forgetting_the_first_look_is_noticed(budget):
    target = objective("logistic", penalty=L1(0.8))
    with pytest.raises(AssertionError):
        share_of_claim(LASSO, target, budget, ADD, STEEP, unpaid(LASSO, budget))


def weights_of_the_data(mechanism, calibration, _, records):
    """Weigh by the minimiser without noise: it differs between the datasets."""
    laws = []
    for one in records:
        solved = two_looks.minimiser(calibration.first.objective, one)
        final = mechanism._second(calibration, mechanism.weights(calibration, solved))
        tilt = float(mechanism.tilt(calibration, solved)[0])
        laws.append(exact_pair(final.objective, final.noise, *records, 1500, tilt=tilt))
    return laws[0][0], laws[1][1]


@pytest.mark.slow
def test_weights_from_the_data_are_noticed(monkeypatch):
    monkeypatch.setattr(two_looks, "second_looks", weights_of_the_data)
    target = objective("logistic", penalty=L1(8.0))
    base = Records.of([[1.0], [1.0]], [1.0, -1.0])
    pairs = [("in", base.plus([1.0], 1.0), base)]
    with pytest.raises(AssertionError):
        share_of_claim(LASSO, target, Pure(1), ADD, pairs)


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("style", MECHANISMS)
def test_no_result_of_the_first_look_is_refused(relation, style):
    mechanism = MECHANISMS[style]
    target = objective("huber", dimension=3, penalty=L1((1.0, 2.0, 0.0)))
    calibration = mechanism.calibrate(target, Pure(1), relation)
    for rough in np.array([[0, 0, 0], [1e-300, -1e300, 1.0], [3, -1e-9, 0]], dtype=float):
        weights = mechanism.weights(calibration, rough)
        assert np.all(weights <= mechanism.cap * np.array([1.0, 2.0, 0.0]))
        final = mechanism._second(calibration, weights)
        assert final.objective.strong_convexity >= calibration.objective.strong_convexity
        assert final.noise.scale <= calibration.noise.scale
