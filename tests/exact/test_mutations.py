"""The checks can fail: each known way to break privacy turns one of them red."""

import numpy as np
import pytest

from confide.mechanisms.objective import calibration as objective_analysis
from confide.mechanisms.objective import calibration as objective_calibration
from confide.mechanisms.objective.calibration import LogDet
from confide.noise import Entropy, SphericalLaplace
from confide.objectives import Objective
from confide.privacy import Approx, Neighbours, Pure, Zcdp
from support.cases import add_remove_pairs, objective
from support.checks import largest_delta, largest_loss, largest_renyi
from support.witness import sensitivity_ratio

ADD = Neighbours.ADD_REMOVE


def forget():
    """Drop remembered calibrations: a mutation must be calibrated anew."""
    objective_calibration.approx.cache_clear()
    objective_calibration.zcdp.cache_clear()


@pytest.fixture(autouse=True)
def _leave_nothing_behind():
    yield
    forget()


def halve_sensitivity(monkeypatch):
    forget()
    honest = Objective.lipschitz.fget
    monkeypatch.setattr(Objective, "lipschitz", property(lambda self: honest(self) / 2))


def drop_log_det(monkeypatch):
    forget()

    def nothing(target, *, coupled=True):
        return LogDet(np.array([0.0, target.slope_bound]), np.zeros(2))

    monkeypatch.setattr(objective_analysis, "log_det", nothing)


def assert_red(check):
    with pytest.raises(AssertionError):
        check()


def test_halving_the_sensitivity_is_seen_by_the_witness(monkeypatch):
    halve_sensitivity(monkeypatch)
    assert_red(lambda: _in_range(sensitivity_ratio(ADD)))


@pytest.mark.parametrize("name", ["logistic", "huberized-hinge", "huber"])
def test_halving_the_sensitivity_is_seen_by_the_exact_profile(monkeypatch, name):
    pairs = list(add_remove_pairs(name))
    target = objective(name, l2=20.0)
    largest_delta(target, Approx(1, 1e-4), ADD, pairs)
    halve_sensitivity(monkeypatch)
    assert_red(lambda: largest_delta(target, Approx(1, 1e-4), ADD, pairs))


@pytest.mark.parametrize(
    ("name", "ridge"),
    [("huberized-hinge", 1.0), ("smoothed-hinge", 1.0), ("huber", 1.0)],
)
def test_dropping_the_log_determinant_is_seen_where_it_matters(monkeypatch, name, ridge):
    pairs = list(add_remove_pairs(name))
    target = objective(name, l2=ridge)
    largest_loss(target, Pure(1), ADD, pairs)
    drop_log_det(monkeypatch)
    assert_red(lambda: largest_loss(target, Pure(1), ADD, pairs))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["huberized-hinge", "huber"])
@pytest.mark.filterwarnings("ignore::confide.errors.NoiseChanged")
def test_dropping_the_log_determinant_is_seen_under_zcdp(monkeypatch, name):
    """At a ridge whose log-determinant alone exceeds rho."""
    pairs, orders = list(add_remove_pairs(name)), (1.01, 1.5, 2.0, 8.0, 64.0)
    target = objective(name, l2=1.02 * objective(name).smoothness / np.expm1(0.2))
    assert np.log1p(target.smoothness / target.strong_convexity) > 9 * 0.02
    largest_renyi(target, Zcdp("0.02"), ADD, pairs, orders)
    drop_log_det(monkeypatch)
    assert_red(lambda: largest_renyi(target, Zcdp("0.02"), ADD, pairs, orders))


def radius_test(count=4000, dimension=6):
    """Twice the radius over the scale is chi-square with 2p degrees of freedom."""
    entropy = Entropy.seeded(11)
    noise = SphericalLaplace(0.5)
    radii = [np.linalg.norm(noise.draw(dimension, entropy)) for _ in range(count)]
    total = np.sum(radii) / noise.scale
    expected, spread = count * dimension, np.sqrt(count * dimension)
    assert abs(total - expected) < 4.9 * spread  # false alarm 1e-6


def test_gamma_of_shape_one_is_seen_by_the_sampler_test(monkeypatch):
    radius_test()
    honest = Entropy.gamma
    monkeypatch.setattr(Entropy, "gamma", lambda self, shape: honest(self, 1))
    assert_red(radius_test)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_three_percent_less_or_more_noise_is_seen_by_the_sampler_test(monkeypatch, factor):
    honest = Entropy.gamma
    monkeypatch.setattr(Entropy, "gamma", lambda self, shape: factor * honest(self, shape))
    assert_red(lambda: radius_test(20_000))


def _in_range(ratio):
    assert 0.999 <= ratio <= 1.0, ratio
