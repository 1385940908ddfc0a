import mpmath
import numpy as np
import pytest
from scipy.special import softmax

from confide.errors import InvalidParameter
from confide.objectives import (
    LOSSES,
    Multinomial,
    Objective,
    PublicBounds,
    class_coefficients,
    curvature_bound,
    is_multinomial,
    sum_zero_basis,
)
from confide.objectives.multinomial import (
    BASIS_ERROR,
    MOST_CLASSES,
    class_map,
    class_pairs,
    over_pairs,
)
from confide.objectives.twofold import Twofold

PUBLIC = PublicBounds(1.0)
every_count = pytest.mark.parametrize("classes", [3, 4, 7])


def margins(classes, count=200, spread=4.0):
    rng = np.random.default_rng(classes)
    target = rng.integers(0, classes, count).astype(float)
    return spread * rng.normal(size=(count, classes - 1)), target


@pytest.mark.parametrize("classes", [2, 3, 7, MOST_CLASSES])
def test_the_basis_is_orthonormal_and_adds_up_to_zero(classes):
    basis = sum_zero_basis(classes)
    gram = basis.T @ basis - np.eye(classes - 1)
    assert np.linalg.norm(gram, 2) < BASIS_ERROR
    assert np.abs(basis.sum(axis=0)).max() < 1e-14
    with pytest.raises(ValueError, match="read-only"):
        basis[0, 0] = 1.0


@every_count
def test_slopes_are_those_of_the_value(classes):
    loss, (eta, y) = Multinomial(classes), margins(classes)
    step = 1e-6
    for j in range(classes - 1):
        moved = step * np.eye(classes - 1)[j]
        quotient = (loss.value(eta + moved, y) - loss.value(eta - moved, y)) / (2 * step)
        np.testing.assert_allclose(quotient, loss.slope(eta, y)[:, j], atol=1e-8)
    np.testing.assert_allclose(
        loss.chances(eta), softmax(eta @ loss_basis(classes), axis=1)
    )


def loss_basis(classes):
    return sum_zero_basis(classes).T


@every_count
def test_the_constants_hold_and_are_attained(classes):
    loss, (eta, y) = Multinomial(classes), margins(classes, 3000, 20.0)
    lengths = np.linalg.norm(loss.slope(eta, y), axis=1)
    assert 1.4142 < lengths.max() <= loss.slope_bound(PUBLIC)
    chances = loss.chances(eta)
    bend = [np.diag(p) - np.outer(p, p) for p in chances]
    largest = max(np.linalg.norm(one, 2) for one in bend)
    assert 0.4 < largest <= curvature_bound(loss, PUBLIC)
    assert max(np.linalg.norm(one) for one in bend) <= 0.5 + 1e-12
    for reach in (0.0, 0.5, 3.0):
        short = reach * eta / np.linalg.norm(eta, axis=1)[:, None]
        steep = loss.steepest_slope(PUBLIC, reach)
        assert np.linalg.norm(loss.slope(short, y), axis=1).max() <= steep
    assert loss.steepest_slope(PUBLIC, np.inf) <= loss.slope_bound(PUBLIC) * (1 + 1e-11)


def test_a_label_that_is_no_class_counts_for_nothing():
    loss, (eta, y) = Multinomial(4), margins(4)
    none = np.full_like(y, -1.0)
    assert not loss.value(eta, none).any()
    assert not loss.slope(eta, none).any()
    assert not loss.slope_and_chances(eta, none)[1].any()
    beyond = loss.twofold_slope(Twofold.of(eta), none)
    assert not beyond.high.any()
    assert not beyond.low.any()


@every_count
def test_slopes_beyond_doubles_are_as_near_as_promised(classes):
    loss, (eta, y) = Multinomial(classes), margins(classes, 12, 15.0)
    found = loss.twofold_slope(Twofold.of(eta), y)
    basis = sum_zero_basis(classes)
    slope, margin = loss.twofold_error
    with mpmath.workdps(50):
        for row, place, high, low in zip(eta, y, found.high, found.low, strict=True):
            exact = exact_slope(row, int(place), basis)
            errors = [
                e - mpmath.mpf(h) - mpmath.mpf(s)
                for e, h, s in zip(exact, high, low, strict=True)
            ]
            length = mpmath.sqrt(mpmath.fsum(e**2 for e in errors))
            assert length <= slope * 2**0.5 + margin * np.linalg.norm(row)


def exact_slope(row, place, basis):
    scores = [mpmath.fdot(map(mpmath.mpf, line), map(mpmath.mpf, row)) for line in basis]
    powers = [mpmath.exp(score) for score in scores]
    total = mpmath.fsum(powers)
    gaps = [power / total - (k == place) for k, power in enumerate(powers)]
    return [mpmath.fdot(gaps, map(mpmath.mpf, column)) for column in basis.T]


def test_sums_over_pairs_are_hessians_and_scatters():
    rng = np.random.default_rng(3)
    chances, x = rng.dirichlet(np.ones(4)), rng.normal(size=3)
    gaps = chances - np.eye(4)[2]
    basis = sum_zero_basis(4)
    grams = [chances[j] * chances[k] * np.outer(x, x) for j, k in class_pairs(4)]
    bend = basis.T @ (np.diag(chances) - np.outer(chances, chances)) @ basis
    np.testing.assert_allclose(
        over_pairs(4, grams), np.kron(np.outer(x, x), bend), atol=1e-14
    )
    grams = [-gaps[j] * gaps[k] * np.outer(x, x) for j, k in class_pairs(4)]
    gradient = np.kron(x, basis.T @ gaps)
    np.testing.assert_allclose(
        over_pairs(4, grams), np.outer(gradient, gradient), atol=1e-14
    )


def test_coefficients_of_classes_are_a_linear_image():
    theta = np.random.default_rng(5).normal(size=4 * 3)
    lines = class_coefficients(theta, 4)
    assert lines.shape == (4, 4)
    np.testing.assert_allclose(lines.sum(axis=0), 0, atol=1e-14)
    assert np.linalg.norm(lines) == pytest.approx(np.linalg.norm(theta))
    for place in range(4):
        np.testing.assert_allclose(class_map(4, place, 4) @ theta, lines[place], atol=1e-14)


def test_an_objective_counts_one_gradient_for_all_scores():
    objective = Objective(Multinomial(5), 12, 2.0, 1.0, responses=4)
    assert objective.lipschitz == pytest.approx(2 * 2**0.5)
    assert objective.smoothness == pytest.approx(2.0)
    assert is_multinomial(objective.loss)
    assert Multinomial not in LOSSES.values()


@pytest.mark.parametrize("classes", [2, MOST_CLASSES + 1])
def test_too_few_or_too_many_classes_are_refused(classes):
    with pytest.raises(InvalidParameter, match="classes"):
        Multinomial(classes)


def test_its_slope_is_not_clipped():
    with pytest.raises(InvalidParameter, match="slope_bound"):
        Multinomial(3).inverse_slope(np.zeros(1), np.zeros(1))
