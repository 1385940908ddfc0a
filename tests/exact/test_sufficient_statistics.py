"""How far one record moves released sums, and the exact laws of what hides it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from confide.data import bound_rows
from confide.errors import InvalidParameter
from confide.mechanisms import AdaSsp, FunctionalMechanism, SufficientStatistics
from confide.mechanisms.intervals.moments import ROUNDING_SLACK
from confide.mechanisms.statistics import adassp
from confide.mechanisms.statistics import functional as functional_file
from confide.mechanisms.statistics import ssp as ssp_file
from confide.mechanisms.statistics import sums as sufficient
from confide.mechanisms.statistics.adassp import eigenvalue_sensitivity
from confide.mechanisms.statistics.functional import Polynomial, noised_polynomial
from confide.mechanisms.statistics.sums import (
    SumReach,
    add_pair_noise,
    balanced_weight,
    pair_dimension,
    pair_sensitivity,
)
from confide.noise import Entropy
from confide.privacy import (
    Approx,
    Neighbours,
    Pure,
    Zcdp,
    gaussian_delta,
    gaussian_epsilon,
)
from support.examples import some
from support.sums import (
    coefficient_change,
    logistic,
    pair_distance,
    squares,
    statistics,
    worst_records,
)

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
SLACK = 1 + ROUNDING_SLACK
FALSE_ALARM = 1e-6
BASE = ([[0.3, -0.4], [-0.1, 0.7]], [0.5, -1.0])
every_relation = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)


def worst_tables(objective, weight, relation):
    """Return two neighbouring tables that move (G, w·m) as far as any."""
    (x, y), (other_x, other_y) = worst_records(objective, weight)
    first = (np.vstack([BASE[0], x]), [*BASE[1], y])
    if relation is ADD:
        return first, BASE
    return first, (np.vstack([BASE[0], other_x]), [*BASE[1], other_y])


def attained(objective, weight, relation):
    tables = worst_tables(objective, weight, relation)
    claim = pair_sensitivity(objective, weight, relation) / SLACK
    return pair_distance(objective, weight, *tables) / claim


@every_relation
@pytest.mark.parametrize("weight", [0.05, 0.6, 1.3, 4.0])
@pytest.mark.parametrize(("norm", "bound"), [(1.0, 1.0), (1.04, 0.5), (2.0, 3.0)])
def test_the_claimed_sensitivity_of_the_sums_is_attained(relation, weight, norm, bound):
    share = attained(squares(2, norm, bound), weight, relation)
    assert 1 - 1e-9 <= share <= 1 + 1e-9


@st.composite
def neighbours(draw):
    """Draw bounds and two tables that differ in a record, at their bounds or inside."""
    size = draw(st.integers(1, 5))
    norm, bound = draw(st.sampled_from([0.4, 1.0, 1.7])), draw(st.sampled_from([0.5, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.normal(size=(4, size))
    if draw(st.booleans()):
        x[1] = rng.choice([-1, 1]) * x[0] + 0.3 * rng.normal(size=size)
    if draw(st.booleans()):
        x = np.sign(x)
    x *= norm / np.linalg.norm(x, axis=1, keepdims=True)
    x[0] *= draw(st.sampled_from([0.0, 0.5, 1.0]))
    y = bound * rng.choice([-1.0, 1.0, 0.3], 4)
    relation = draw(st.sampled_from([ADD, REPLACE]))
    other = slice(2, 4) if relation is ADD else slice(1, 4)
    first = (x[[0, 2, 3]], y[[0, 2, 3]])
    return size, norm, bound, relation, first, (x[other], y[other])


@settings(max_examples=some(120))
@given(neighbours(), st.sampled_from([0.1, 0.7, 1.5, 5.0]))
def test_no_neighbour_moves_the_sums_further(case, weight):
    size, norm, bound, relation, first, second = case
    objective = squares(size, norm, bound)
    claim = pair_sensitivity(objective, weight, relation)
    assert pair_distance(objective, weight, first, second) <= claim
    before, after = (
        np.linalg.eigvalsh(statistics(objective, *table)[0])[0] for table in (first, second)
    )
    assert abs(before - after) <= norm**2 * (1 + 1e-12)


@settings(max_examples=some(120))
@given(neighbours(), st.booleans(), st.sampled_from(["tight", "published"]))
def test_no_neighbour_moves_the_coefficients_further(case, curved, constants):
    size, norm, bound, relation, first, second = case
    if curved:
        objective = logistic(size, norm)
        first, second = ((x, np.sign(y)) for x, y in (first, second))
    else:
        objective = squares(size, norm, bound)
    claim = FunctionalMechanism(constants).sensitivity(objective, relation)
    shape = Polynomial.of(objective)
    assert coefficient_change(objective, shape, first, second) <= claim


def calibrated(mechanism, budget, relation, size=2, copies=1):
    return mechanism.calibrate(squares(size), budget, relation, copies=copies)


def share_of_budget(budget, relation):
    """Return the exact privacy loss of a worst pair, over the budget.

    Both releases are the same noise around two points: the loss of spherical Laplace
    noise is at most their distance over the scale, and comes as near as one likes along
    the line through both; that of Gaussian noise is the profile of one shift.
    """
    found = calibrated(SufficientStatistics(), budget, relation)
    weight = balanced_weight(found.objective)
    tables = worst_tables(found.objective, weight, relation)
    shift = pair_distance(found.objective, weight, *tables) / found.noise.scale
    if isinstance(budget, Pure):
        return shift / float(budget.epsilon)
    if isinstance(budget, Zcdp):
        return shift**2 / 2 / float(budget.rho)
    return gaussian_delta(float(budget.epsilon), shift) / float(budget.delta)


def check_share(budget, relation):
    assert 0.97 <= share_of_budget(budget, relation) <= 1, "too much, or wasteful"


every_budget = pytest.mark.parametrize(
    "budget", [Pure("0.7"), Approx("0.7", "1e-5"), Zcdp("0.1")], ids=repr
)


@every_relation
@every_budget
def test_a_worst_pair_costs_the_budget_and_no_more(budget, relation):
    check_share(budget, relation)


def test_the_loss_of_a_pair_integrates_to_what_is_claimed():
    """One column: the release has two coordinates, so its law can be integrated."""
    budget = Approx(1, "1e-3")
    found = SufficientStatistics().calibrate(squares(1), budget, ADD)
    weight, sigma = balanced_weight(found.objective), found.noise.scale
    centres = [
        np.array([gram[0, 0], weight * moment[0]])
        for gram, moment in (
            statistics(found.objective, *table)
            for table in (([[1.0], [0.5]], [1.0, -1.0]), ([[0.5]], [-1.0]))
        )
    ]
    axis = np.linspace(-9, 10, 1201)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1) * sigma
    logs = [found.noise.log_density(((grid - c) ** 2).sum(axis=-1), 2) for c in centres]
    cell = (axis[1] - axis[0]) ** 2 * sigma**2
    assert np.exp(logs[0]).sum() * cell == pytest.approx(1, abs=1e-6)
    for one, other in (logs, logs[::-1]):
        delta = np.maximum(np.exp(one) - np.exp(1 + other), 0).sum() * cell
        assert 0.97 <= delta / 1e-3 <= 1


def noisy_pairs(budget, size, draws=1500):
    """Release the sums of nothing, in coordinates in which the noise is round."""
    found = calibrated(SufficientStatistics(), budget, REPLACE, size)
    nothing, entropy = (np.zeros((size, size)), np.zeros(size)), Entropy.seeded(3)
    weight, reach = balanced_weight(found.objective), SumReach.of(found.objective)
    row, column = np.triu_indices(size)
    root = np.where(row == column, 1.0, math.sqrt(2))
    seen = []
    for _ in range(draws):
        gram, moment = add_pair_noise(nothing, found.noise, weight, reach, entropy)
        assert np.array_equal(gram, gram.T)
        seen.append(np.concatenate([gram[row, column] * root, moment * weight]))
    return np.array(seen) / found.noise.scale


def check_law(budget, size=3):
    seen = noisy_pairs(budget, size)
    free = pair_dimension(size)
    squares_ = (seen**2).sum(axis=1)
    if isinstance(budget, Pure):
        law, radii, spread = stats.gamma(free), np.sqrt(squares_), math.sqrt(free + 1)
    else:
        law, radii, spread = stats.chi2(free), squares_, 1.0
    assert stats.kstest(radii, law.cdf).pvalue > FALSE_ALARM
    for j in range(free):
        product = (seen[:, j] / spread) ** 2 - 1
        score = product.sum() / math.sqrt(len(product)) / product.std()
        assert 2 * stats.norm.sf(abs(score)) > FALSE_ALARM, (j, score)


@pytest.mark.parametrize("budget", [Pure(1), Zcdp("0.1")], ids=repr)
def test_noise_on_the_sums_has_its_law(budget):
    check_law(budget)


def check_functional_law(objective, size=3, draws=1500):
    """Every coefficient of the polynomial of nothing is Laplace of the claimed scale."""
    found = FunctionalMechanism().calibrate(objective, Pure(1), REPLACE)
    rows = bound_rows(np.zeros((1, size)), np.zeros(1), 1.0, 0.0)
    entropy, seen = Entropy.seeded(4), []
    row, column = np.triu_indices(size)
    for _ in range(draws):
        matrix, linear = noised_polynomial(found, rows, entropy)
        assert np.array_equal(matrix, matrix.T)
        quadratic = matrix[row, column] / np.where(row == column, 2.0, 1.0)
        seen.append(np.concatenate([quadratic, linear]))
    table = np.array(seen) / found.noise.scale
    for column_ in table.T:
        assert stats.kstest(column_, stats.laplace.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    "objective", [squares(3), logistic(3)], ids=["squares", "logistic"]
)
def test_noise_on_the_coefficients_has_its_law(objective):
    check_functional_law(objective)


def functional_share(objective, relation, tries=20_000):
    """Return the largest change of the coefficients found, over the claim."""
    size, bound = objective.dimension, objective.target_bound or 1.0
    shape = Polynomial.of(objective)
    level = np.full(size, objective.row_norm / math.sqrt(size)) * (1 - 1e-15)
    claim = FunctionalMechanism().sensitivity(objective, relation) / SLACK
    if relation is ADD:
        one = ([*np.zeros((1, size)), level], [bound, bound])
        found = coefficient_change(objective, shape, one, (np.zeros((1, size)), [bound]))
        return found / claim
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, tries, size))
    z = np.where(rng.random((tries, 1)) < 0.5, level, z)
    x, z = (v * objective.row_norm / np.linalg.norm(v, axis=1)[:, None] for v in (x, z))
    quadratic = np.abs(x[:, :, None] * x[:, None] - z[:, :, None] * z[:, None])
    linear = np.abs(x + z).sum(axis=1) * bound
    change = shape.curvature / 2 * quadratic.sum(axis=(1, 2)) + shape.slope * linear
    return float(change.max()) / claim


def check_functional(objective):
    assert 1 - 1e-9 <= functional_share(objective, ADD) <= 1 + 1e-9
    assert 0.7 <= functional_share(objective, REPLACE) <= 1


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("make", [squares, logistic])
def test_the_claimed_change_of_coefficients_is_attained_or_nearly(make, size):
    check_functional(make(size, 1.2))


def test_published_functional_constants_are_those_of_the_papers():
    """2(d+1)² for whole squares, so half here; d²/4 + 3d for the logistic loss."""
    published = FunctionalMechanism("published")
    assert published.sensitivity(squares(14), REPLACE) / SLACK == pytest.approx(15**2)
    expected = 14**2 / 4 + 3 * 14
    assert published.sensitivity(logistic(14), REPLACE) / SLACK == pytest.approx(expected)
    tight = FunctionalMechanism().sensitivity(squares(14), REPLACE)
    assert tight < 14 + 2 * math.sqrt(14)


@every_relation
@pytest.mark.parametrize("budget", [Approx(1, "1e-6"), Zcdp("0.1")], ids=repr)
@pytest.mark.parametrize("copies", [1, 4])
def test_adassp_adds_up_to_its_event(budget, relation, copies):
    """Shifts of the sums and of the eigenvalue, over their noise, in one vector."""
    mechanism = AdaSsp()
    found = calibrated(mechanism, budget, relation, copies=copies)
    weight = found.noise.scale / found.others[0].scale
    reach = pair_sensitivity(found.objective, weight, relation) / found.noise.scale
    alone = eigenvalue_sensitivity(found.objective) / found.others[1].scale
    shift = math.sqrt(copies) * math.hypot(reach, alone)
    assert shift == pytest.approx(found.events[0].mu, rel=1e-9)
    if isinstance(budget, Zcdp):
        assert shift**2 / 2 == pytest.approx(float(budget.rho))
    else:
        assert gaussian_delta(1.0, shift) == pytest.approx(1e-6, rel=1e-6)


@every_relation
def test_the_eigenvalue_of_a_single_column_moves_by_a_squared_row(relation):
    objective = squares(1, 1.3)
    other = ([[0.5]], [0.0]) if relation is ADD else ([[0.5], [0.0]], [0.0, 1.0])
    before, after = (
        np.linalg.eigvalsh(statistics(objective, *table)[0])[0]
        for table in (([[0.5], [1.3]], [0.0, 1.0]), other)
    )
    assert before - after == pytest.approx(1.3**2)


@pytest.mark.slow
@pytest.mark.parametrize("constants", ["tight", "published"])
def test_the_released_eigenvalue_has_the_noise_that_is_stated(constants):
    """A ceiling high enough shows the eigenvalue itself, lowered by a fixed margin."""
    mechanism, ceiling = AdaSsp(constants), 1e6
    objective = squares(2, l2=ceiling)
    found = mechanism.calibrate(objective, Approx(1, "1e-6"), ADD)
    scale = found.others[1].scale
    rows = bound_rows(np.repeat(np.eye(2), 20_000, axis=0), np.ones(40_000), 1.0, 0.0)
    entropy = Entropy.seeded(6)
    ridges = [found.release([rows], entropy).ridges[0] for _ in range(400)]
    centre = 20_000 - mechanism._margin(found.budget, scale)
    seen = (ceiling - np.array(ridges) - centre) / scale
    assert stats.kstest(seen, stats.norm.cdf).pvalue > FALSE_ALARM


def test_published_adassp_keeps_its_budget_only_as_a_whole():
    """At (1, 1e-6): parts leak 8.8e-7 each where a third is 3.3e-7; together ε = 0.596."""
    found = calibrated(AdaSsp("published"), Approx(1, "1e-6"), ADD)
    sigma = 3 * math.sqrt(math.log(6e6))
    assert found.noise.scale == pytest.approx(sigma * SLACK)
    assert gaussian_delta(1 / 3, 1 / sigma) == pytest.approx(8.8e-7, rel=0.01)
    assert gaussian_epsilon(found.events[0].mu, 1e-6) == pytest.approx(0.596, abs=1e-3)
    tight = calibrated(AdaSsp(), Approx(1, "1e-6"), ADD)
    assert tight.noise.scale < 0.6 * found.noise.scale
    with pytest.raises(InvalidParameter, match="tight"):
        calibrated(AdaSsp("published"), Approx(200, "1e-6"), ADD)
    with pytest.raises(InvalidParameter, match="tight"):
        calibrated(AdaSsp("published"), Approx(1, "1e-6"), REPLACE)


@pytest.mark.slow
def test_published_adassp_has_independent_entries_above_the_diagonal(monkeypatch):
    found = calibrated(AdaSsp("published"), Approx(1, "1e-6"), ADD, size=3)
    rows, entropy = bound_rows(np.zeros((1, 3)), np.zeros(1), 1.0, 0.0), Entropy.seeded(5)
    seen = []

    def note(gram, moment, ridge, least):
        scales = found.noise.scale, found.others[0].scale
        seen.append([*gram[np.triu_indices(3)] / scales[0], *moment / scales[1]])
        return np.zeros(3)

    monkeypatch.setattr(adassp, "ridge_solution", note)
    for _ in range(2000):
        found.release([rows], entropy)
    for column in np.transpose(seen):
        assert stats.kstest(column, stats.norm.cdf).pvalue > FALSE_ALARM


def assert_red(check):
    with pytest.raises(AssertionError):
        check()


@every_relation
@every_budget
@pytest.mark.parametrize("factor", [0.5, 0.9])
def test_a_smaller_sensitivity_is_seen(monkeypatch, budget, relation, factor):
    honest = pair_sensitivity
    monkeypatch.setattr(
        ssp_file, "pair_sensitivity", lambda *given: factor * honest(*given)
    )
    assert_red(lambda: check_share(budget, relation))


def test_taking_replace_one_for_add_remove_is_seen(monkeypatch):
    monkeypatch.setattr(
        ssp_file, "pair_sensitivity", lambda o, w, _: pair_sensitivity(o, w, ADD)
    )
    assert_red(lambda: check_share(Pure("0.7"), REPLACE))


@pytest.mark.slow
def test_less_noise_off_the_diagonal_is_seen(monkeypatch):
    honest = sufficient.symmetric_stretch

    def wrong(size):
        return np.where(honest(size) < 1, 0.8, 1.0) * honest(size)

    monkeypatch.setattr(sufficient, "symmetric_stretch", wrong)
    for budget in (Pure(1), Zcdp("0.1")):
        assert_red(lambda budget=budget: check_law(budget))


def test_half_the_noise_on_a_diagonal_is_seen(monkeypatch):
    monkeypatch.setattr(functional_file, "DIAGONAL", 1.0)
    assert_red(lambda: check_functional_law(squares(3)))


def test_a_smaller_change_of_coefficients_is_seen(monkeypatch):
    honest = functional_file._tight
    monkeypatch.setattr(functional_file, "_tight", lambda *given: 0.6 * honest(*given))
    assert_red(lambda: check_functional(squares(2)))
