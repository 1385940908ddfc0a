"""Several targets at once: the coefficients form one matrix."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from confide import Approx, LinearRegression, MultiResponseRegression, Zcdp, load_model
from confide.data import bound_rows
from confide.errors import InvalidData, InvalidParameter, UnmetNeeds
from confide.mechanisms import (
    DpAdmm,
    MomentumDescent,
    MpAdmm,
    ObjectivePerturbation,
    ProximalSgd,
    SsAdmm,
)
from confide.mechanisms.gradient.clipped_gradient import clipped_gradient
from confide.mechanisms.gradient.noisy_gradient import noisy_gradient
from confide.noise import Entropy, Gaussian
from confide.objectives import L1, Clipped, Nuclear, Objective, Squared
from confide.privacy import Neighbours

ROWS, WIDTH, MANY = 240, 4, 3
RICH = Zcdp(10**12)


def data():
    """Return rows and targets whose slopes are a matrix of rank 1."""
    entropy = Entropy.seeded(21)
    features = entropy.normal(ROWS * WIDTH).reshape(ROWS, WIDTH)
    features /= np.linalg.norm(features, axis=1)[:, None]
    slopes = np.outer([0.8, -0.5, 0.2, 0.0], [1.0, -0.6, 0.3])
    noise = 0.05 * entropy.normal(ROWS * MANY).reshape(ROWS, MANY)
    return features, np.clip(features @ slopes + noise, -1, 1)


X, Y = data()
STEPS = MpAdmm(300, 0.02, 0.9)
MECHANISMS = {
    "mpadmm": STEPS,
    "ssadmm": SsAdmm(300, Fraction(1), 0.02, 0.9, "constant"),
    "sgd": ProximalSgd(300, Fraction(1), 0.9, "constant"),
    "dp-admm": DpAdmm(2, 400, 0.02, 0.9),
    "momentum": MomentumDescent(300),
}


def minimiser(weight, ridge):
    """Return the matrix that proximal descent ends at; slopes are not cut here."""
    theta, step = np.zeros((WIDTH, MANY)), 1 / (np.linalg.norm(X, 2) ** 2 + ridge)
    for _ in range(3000):
        moved = theta - step * (X.T @ (X @ theta - Y) + ridge * theta)
        left, singular, right = np.linalg.svd(moved, full_matrices=False)
        theta = (left * np.maximum(singular - step * weight, 0)) @ right
    return theta


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("weight", [0.0, 6.0])
def test_without_noise_they_find_the_matrix_of_small_rank(name, weight):
    model = MultiResponseRegression(
        RICH,
        mechanism=MECHANISMS[name],
        l2=2.0,
        nuclear=weight,
        target_bound=1.0,
        slope_bound=5.0,
        fit_intercept=False,
        random_state=1,
        row_norm=1.0,
    ).fit(X, Y)
    expected = minimiser(weight, 2.0)
    assert np.abs(model.coef_ - expected.T).max() < 1e-3
    assert np.linalg.matrix_rank(model.coef_, 1e-6) == (1 if weight else MANY)
    assert model.predict(X).shape == (ROWS, MANY)
    assert model.score(X, Y) > 0.5


def test_every_target_alone_gives_the_same_without_a_common_penalty():
    settings = {"l2": 2.0, "target_bound": 2.0, "random_state": 1, "mechanism": STEPS}
    settings["row_norm"] = 1.0
    model = MultiResponseRegression(RICH, slope_bound=20.0, **settings).fit(X, Y)
    for j in range(MANY):
        alone = LinearRegression(RICH, slope_bound=20.0, **settings).fit(X, Y[:, j])
        assert model.coef_[j] == pytest.approx(alone.coef_, abs=2e-3)
        assert model.intercept_[j] == pytest.approx(alone.intercept_, abs=2e-3)


def test_the_gradient_of_a_record_is_clipped_as_a_whole():
    """All its targets together move a sum by the clip, and can move it so far."""
    entropy = Entropy.seeded(2)
    for _ in range(20):
        row = entropy.normal(WIDTH)[None] / 4
        target = 10 * entropy.normal(MANY)[None]
        rows = bound_rows(row, target, 1.0, 0.0)
        theta = entropy.normal(WIDTH * MANY)
        length = np.linalg.norm(clipped_gradient(Squared(), rows, 0.3)(theta))
        assert length <= 0.3 * (1 + 1e-12)
    assert length == pytest.approx(0.3)


def test_the_bound_of_a_gradient_counts_all_targets():
    one = Objective(Clipped(Squared(), 2.0), 4, 3.0, target_bound=1.0)
    four = Objective(Clipped(Squared(), 2.0), 4, 3.0, target_bound=1.0, responses=4)
    assert four.lipschitz == 2 * one.lipschitz == 12.0
    with pytest.raises(InvalidParameter, match="divisor"):
        Objective(Squared(), 4, responses=3)


@pytest.mark.slow
def test_batches_are_unbiased():
    """The mean over many batches is the whole sum, within five standard errors."""
    rows = bound_rows(X, Y, 1.0, 0.0)
    target = Objective(
        Clipped(Squared(), 1.0), WIDTH * MANY, 1.0, 1.0, target_bound=1.0, responses=MANY
    )
    for neighbours in Neighbours:
        mechanism = SsAdmm(1, Fraction(1, 8))
        calibration = mechanism.calibrate(target, Approx(1, 1e-5), neighbours)
        calibration = replace(calibration, noise=Gaussian(1e-9), steps=2000)
        gradient = noisy_gradient(calibration, rows, Entropy.seeded(3))
        drawn = np.array([gradient(np.zeros(WIDTH * MANY)) for _ in range(2000)])
        exact = clipped_gradient(target.loss, rows, calibration.clip)
        error = drawn.std(axis=0) / np.sqrt(2000)
        off = np.abs(drawn.mean(axis=0) - exact(np.zeros(WIDTH * MANY)))
        assert (off < 5 * error + 1e-9).all()


def test_a_private_fit_is_reported_saved_and_loaded(tmp_path):
    model = MultiResponseRegression(
        Approx(2, 1e-6),
        mechanism=MpAdmm(10),
        penalty=L1(1.0),
        target_bound=1.0,
        row_norm=1.0,
    ).fit(X, Y)
    assert model.release_.guarantee.private
    assert "y2: x3" in str(model.summary())
    assert model.coef_.shape == (MANY, WIDTH)
    assert model.intercept_.shape == (MANY,)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.penalty == L1(1.0)


def test_other_mechanisms_and_odd_settings_are_refused():
    def fit(target=Y, **settings):
        settings = {
            "target_bound": 1.0,
            "mechanism": MpAdmm(2),
            "row_norm": 1.0,
            **settings,
        }
        return MultiResponseRegression(Approx(1, 1e-6), **settings).fit(X, target)

    with pytest.raises(UnmetNeeds, match="a single target per record"):
        fit(mechanism=ObjectivePerturbation())
    with pytest.raises(InvalidParameter, match="0 if l1 or penalty is set"):
        fit(nuclear=1.0, l1=1.0)
    with pytest.raises(InvalidParameter, match="for 15 coefficients"):
        fit(penalty=Nuclear(1.0, (4, 4)))
    with pytest.raises(InvalidData, match="a column for each"):
        fit(Y[:, 0])
    with pytest.raises(InvalidData, match="same number of rows"):
        fit(Y[:-1])
