"""Kifer, Smith and Thakurta's theorems: numbers by hand, shapes, and what they bound."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, gamma, laplace

from confide.errors import InvalidParameter
from confide.mechanisms import ObjectivePerturbation
from confide.noise import generator
from confide.objectives import Logistic, Objective
from confide.privacy import Approx, Neighbours, Pure
from confide.studies.kst.risk_bounds import (
    balanced_ridge,
    curved_radius,
    least_ridge,
    linear_regression,
    noise_square,
    perturbed_risk,
    quadratic_risk,
    rows_for_risk,
)
from confide.studies.kst.support_bounds import (
    fit_on_support,
    largest_loss,
    lasso_rows,
    log_supports,
    sparse_regression,
    support_excess,
    support_rows,
    vote_blocks,
    vote_failure,
    vote_failure_exact,
    vote_rows,
)

ROOM = 8 * math.log(2e6) + 4  # at epsilon 1 and delta 1e-6: 120.0693
GAUSS = Approx(1, "1e-6")
SIZES = st.integers(1, 300)
EPSILONS = st.floats(0.05, 5)


def test_the_setting_of_table_1_has_the_constants_of_appendix_h():
    four = linear_regression(4)
    assert four.lipschitz == pytest.approx(16)  # 2p^{3/2}
    assert four.smoothness == pytest.approx(4)  # p
    nine = sparse_regression(9)
    assert nine.lipschitz == pytest.approx(54)  # 2s^{3/2}
    assert nine.smoothness == pytest.approx(9)


def test_noise_by_hand():
    four = linear_regression(4)
    assert noise_square(four, Pure(1)) == pytest.approx(4 * 5 * 32**2)
    assert noise_square(four, Pure(2)) == pytest.approx(4 * 5 * 16**2)
    assert noise_square(four, GAUSS) == pytest.approx(4 * 256 * 120.0693, rel=1e-6)
    tail = noise_square(four, Pure(1), 0.1)
    assert tail == pytest.approx((4 * 32 * math.log(40)) ** 2)
    tail = noise_square(four, GAUSS, 0.1)
    assert tail == pytest.approx(2 * 4 * 256 * ROOM * math.log(10))


@pytest.mark.parametrize("budget", [Pure(1), GAUSS], ids=["gamma", "gaussian"])
def test_the_noise_is_that_of_the_mechanism(budget):
    objective = linear_regression(3).with_l2(1e3)
    mechanism = ObjectivePerturbation("kst")
    found = mechanism.calibrate(objective, budget, Neighbours.ADD_REMOVE)
    scale, main = found.noise.scale, budget.share("0.99")
    each = 3 * 4 * scale**2 if isinstance(budget, Pure) else 3 * scale**2
    assert noise_square(objective, main) == pytest.approx(each)
    enough = least_ridge(objective, main)
    mechanism.calibrate(objective.with_l2(enough), budget, Neighbours.ADD_REMOVE)
    with pytest.raises(InvalidParameter, match="l2"):
        mechanism.calibrate(
            objective.with_l2(0.999 * enough), budget, Neighbours.ADD_REMOVE
        )


@pytest.mark.parametrize("size", [1, 2, 3, 5, 20, 300, 2000])
@pytest.mark.parametrize("failure", [0.49999, 0.3, 0.05, 1e-6])
def test_printed_tails_hold(size, failure):
    objective = Objective(Logistic(), size)
    length = math.sqrt(noise_square(objective, Pure(1), failure))
    assert gamma.sf(length, size, scale=2) <= failure * (1 + 1e-9)
    square = noise_square(objective, GAUSS, failure)
    assert chi2.sf(square / ROOM, size) <= failure


def test_theorem_4_by_hand():
    four = linear_regression(4)
    # Gamma: sqrt(4·5)·32 = 143.1084 over ‖θ‖ = 2 is the ridge; risk ‖θ‖·√E‖b‖²/n.
    assert balanced_ridge(four, Pure(1), 2.0) == pytest.approx(71.5542, rel=1e-6)
    risk = perturbed_risk(four, Pure(1), 1000, norm=2.0)
    assert risk == pytest.approx(0.2862167, rel=1e-6)
    # Gaussian: 2·16·√120.0693 = 350.6435.
    risk = perturbed_risk(four, GAUSS, 1000, norm=2.0)
    assert risk == pytest.approx(0.7012871, rel=1e-6)
    # With a ridge of one's own: (20480/2/100 + 100·4/2)/1000.
    risk = perturbed_risk(four, Pure(1), 1000, norm=2.0, ridge=100.0)
    assert risk == pytest.approx(0.3024)


def test_theorem_5_by_hand():
    four = linear_regression(4)
    least = least_ridge(four, GAUSS)
    assert least == pytest.approx(8)
    risk = perturbed_risk(four, GAUSS, 1000, norm=2.0, ridge=least, curvature=1000.0)
    assert risk == pytest.approx((1024 * ROOM / 2 / 1008 + 8 * 4 / 2) / 1000)


def test_a_ridge_that_is_not_private_is_refused():
    four = linear_regression(4)
    least = least_ridge(four, Pure(1))
    for printed in (least / 4, 0.99 * least):  # the first is Theorem 4's λ/(2ε)
        with pytest.raises(InvalidParameter, match="not private"):
            perturbed_risk(four, Pure(1), 100, norm=2.0, ridge=printed)
    assert balanced_ridge(four, Pure(1), 1e9) == pytest.approx(least)


@given(SIZES, EPSILONS, st.sampled_from([0.0, 1.0]), st.sampled_from([None, 0.1]))
def test_risks_fall_with_rows_and_budget(size, epsilon, share, failure):
    objective = linear_regression(size)
    norm = math.sqrt(size)
    for few, more in (
        (Pure(epsilon), Pure(2 * epsilon)),
        (Approx(epsilon, "1e-6"), Approx(2 * epsilon, "1e-6")),
    ):

        def risk(budget, rows):
            curved = share * rows
            return perturbed_risk(
                objective, budget, rows, norm=norm, curvature=curved, failure=failure
            )

        assert risk(few, 2000) <= risk(few, 1000) / 2 * (1 + 1e-12)
        assert risk(more, 1000) < risk(few, 1000)


@given(SIZES)
def test_the_ratio_of_the_bounds_grows_as_the_root_of_the_size(size):
    objective = linear_regression(size)
    norm = math.sqrt(size)
    pure, gauss = (
        perturbed_risk(objective, budget, 100, norm=norm) for budget in (Pure(1), GAUSS)
    )
    assert pure / gauss == pytest.approx(2 * math.sqrt((size + 1) / ROOM))


def test_slopes_of_table_1():
    """Bounds grow as p³, p^{5/2} and p², the last where n is large beside p²."""

    def slope(budget, *, curved):
        sizes, risks = (1000, 2000), []
        for size in sizes:
            objective = linear_regression(size)
            curvature = 1e12 if curved else 0.0
            ridge = least_ridge(objective, budget) if curved else None
            risks.append(
                perturbed_risk(
                    objective,
                    budget,
                    10**12,
                    norm=math.sqrt(size),
                    ridge=ridge,
                    curvature=curvature,
                )
            )
        return math.log2(risks[1] / risks[0])

    assert slope(Pure(1), curved=False) == pytest.approx(3, abs=1e-3)
    assert slope(GAUSS, curved=False) == pytest.approx(2.5, abs=1e-9)
    assert slope(GAUSS, curved=True) == pytest.approx(2, abs=1e-2)


@given(SIZES, EPSILONS, st.floats(0.0, 2.0), st.floats(0.01, 10))
def test_rows_for_risk_inverts_the_bound(size, epsilon, curvature, excess):
    objective, budget = linear_regression(size), Approx(epsilon, "1e-6")
    norm = math.sqrt(size)
    rows = rows_for_risk(objective, budget, excess, norm=norm, curvature=curvature)
    if rows < 1:
        return
    risk = perturbed_risk(objective, budget, rows, norm=norm, curvature=curvature * rows)
    assert risk == pytest.approx(excess, rel=1e-6)


@given(st.integers(1, 12), st.integers(0, 2**32), st.booleans(), st.floats(1.0, 50.0))
def test_what_is_bounded_lies_below_the_bounds(size, seed, pure, factor):
    rng = generator(seed)
    spectrum = 10 ** rng.uniform(-2, 5, size)
    place = rng.normal(size=size)
    place /= np.linalg.norm(place)
    objective = linear_regression(size)
    budget = Pure(1) if pure else GAUSS
    ridge = factor * least_ridge(objective, budget)
    exact = quadratic_risk(spectrum, place, objective, budget, 100, ridge=ridge)
    curved = perturbed_risk(
        objective, budget, 100, norm=1.0, ridge=ridge, curvature=float(spectrum.min())
    )
    flat = perturbed_risk(objective, budget, 100, norm=1.0, ridge=ridge)
    assert exact <= curved <= flat


def test_the_radius_of_theorem_30_holds_in_simulation():
    rng, size = generator(5), 3
    objective, budget = linear_regression(size), GAUSS
    spectrum, best = np.array([200.0, 900.0, 5000.0]), np.array([1.0, -1.0, 0.5])
    ridge, norm = 3 * least_ridge(objective, budget), float(np.linalg.norm(best))
    radius = curved_radius(
        objective, budget, norm=norm, ridge=ridge, curvature=200.0, failure=0.1
    )
    sigma = math.sqrt(noise_square(objective, budget) / size)
    noise = sigma * rng.normal(size=(2000, size))
    found = (spectrum * best - noise) / (spectrum + ridge)
    outside = np.mean(np.linalg.norm(found - best, axis=1) > radius)
    assert outside <= 0.1
    assert radius == pytest.approx(
        (math.sqrt(2 * size * sigma**2 * math.log(10)) + ridge * norm) / (ridge + 200)
    )


def test_theorem_6_by_hand():
    assert log_supports(10, 3) == pytest.approx(math.log(120))
    assert largest_loss(3) == 18
    mean = support_excess(10, 3, 0.5, 100, most=18)
    assert mean == pytest.approx(2 * 18 / 0.5 * math.log(120) / 100)
    tail = support_excess(10, 3, 0.5, 100, most=18, failure=0.1)
    assert tail == pytest.approx(72 * math.log(1200) / 100)
    assert tail <= 2 * 18 * 3 * math.log(10 / 0.1) / (0.5 * 100)  # as printed
    half = support_excess(10, 3, 0.5, 100, most=18, monotone=True)
    assert half == pytest.approx(mean / 2)


@given(st.integers(2, 40), st.integers(0, 2**32), st.floats(0.05, 20))
def test_a_random_choice_is_as_near_the_best_as_theorem_6_says(count, seed, epsilon):
    losses = np.sort(10 ** generator(seed).uniform(-2, 3, count))
    weights = np.exp(-epsilon * (losses - losses[0]) / (2 * 2.0))
    chances = weights / weights.sum()
    mean = float(chances @ losses) - losses[0]
    assert mean <= support_excess(count, 1, epsilon, 1, most=2.0) * (1 + 1e-9)
    worst = support_excess(count, 1, epsilon, 1, most=2.0, failure=0.1)
    assert chances[losses - losses[0] > worst].sum() <= 0.1
    gap = float(losses[1] - losses[0])
    if gap > 1e-9:
        rows = support_rows(count, 1, epsilon, most=2.0, gap=gap, failure=0.2)
        sharp = weights**rows
        assert 1 - sharp[0] / sharp.sum() <= 0.2


@given(
    st.integers(2, 12),
    st.integers(1, 6),
    st.floats(0.01, 0.9),
    st.floats(0.1, 5),
    st.booleans(),
)
def test_where_columns_miss_one_by_one_fewer_rows_do(
    columns, size, failure, epsilon, monotone
):
    size = min(size, columns)
    most, gap = 2.0, 0.3
    rows = support_rows(
        columns,
        size,
        epsilon,
        most=most,
        gap=gap,
        failure=failure,
        monotone=monotone,
        additive=True,
    )
    cold = (1 if monotone else 2) * most / epsilon
    missed = np.arange(1, min(size, columns - size) + 1)
    counts = [math.comb(size, j) * math.comb(columns - size, j) for j in missed]
    others = float(np.array(counts) @ np.exp(-rows * gap * missed / cold))
    assert others / (1 + others) <= failure


def test_theorem_8_by_hand():
    # ε = 1, k = 80, s = 4, p = 50: 25·exp(−5).
    assert vote_failure(50, 4, 1.0, 80) == pytest.approx(25 * math.exp(-5))
    assert vote_failure(50, 4, 1.0, 1) == 1
    assert vote_blocks(50, 4, 1.0, 25 * math.exp(-5)) == pytest.approx(80)
    # Two columns, one right: half of (1 + gap/2)·exp(−gap), the tail of two noises' sum.
    gap = 3.0
    exact = vote_failure_exact(2, 1, 2 * gap, 1)
    assert exact == pytest.approx((1 + gap / 2) * math.exp(-gap) / 2)
    assert vote_failure_exact(7, 7, 1.0, 5) == 0


@pytest.mark.parametrize(
    ("columns", "size", "epsilon", "blocks"), [(30, 3, 1.0, 40), (200, 8, 0.5, 90)]
)
def test_the_chance_of_a_wrong_support_is_what_draws_show(columns, size, epsilon, blocks):
    """20,000 draws: off by 4 standard errors once in 15,000 times."""
    exact = vote_failure_exact(columns, size, epsilon, blocks)
    scale = 2 * size / (blocks * epsilon)
    drawn = laplace.rvs(scale=scale, size=(20_000, columns), random_state=11)
    wrong = drawn[:, size:].max(axis=1) > 1 + drawn[:, :size].min(axis=1)
    assert abs(wrong.mean() - exact) <= 4 * math.sqrt(exact * (1 - exact) / 20_000)


@given(st.integers(2, 500), st.integers(1, 20), st.floats(0.1, 4), st.integers(1, 400))
def test_the_exact_chance_lies_below_theorem_8_and_falls_with_blocks(
    columns, size, epsilon, blocks
):
    size = min(size, columns)
    exact = vote_failure_exact(columns, size, epsilon, blocks)
    assert 0 <= exact <= vote_failure(columns, size, epsilon, blocks) * (1 + 1e-7)
    pairs = blocks * epsilon / (2 * size)
    union = size * (columns - size) * (1 + pairs / 2) * math.exp(-pairs) / 2
    assert exact <= union * (1 + 1e-7)
    assert vote_failure_exact(columns, size, epsilon, 2 * blocks) <= exact * (1 + 1e-7)


def test_theorem_8_loses_half_of_the_exponent():
    """From k to 2k blocks the exact chance is squared, up to factors without k."""
    few, many = (vote_failure_exact(50, 2, 1.0, blocks) for blocks in (200, 400))
    assert math.log(few / many) / 200 == pytest.approx(1 / 4, rel=0.02)  # ε/(2s)
    few, many = (vote_failure(50, 2, 1.0, blocks) for blocks in (200, 400))
    assert math.log(few / many) / 200 == pytest.approx(1 / 8)  # ε/(4s)


def test_table_2_by_hand():
    needed = lasso_rows(50, 4, spread=0.1, curvature=0.5, least=0.8)
    assert needed == pytest.approx(16 * 4 * math.log(50))
    rows = vote_rows(50, 4, 0.5, block_rows=needed, failure=0.05)
    blocks = vote_blocks(50, 4, 0.5, 0.05)
    assert blocks == pytest.approx(32 * math.log(500))
    assert rows == pytest.approx(needed**2)
    assert vote_rows(50, 4, 0.5, block_rows=10, failure=0.05) == pytest.approx(blocks**2)
    thrifty = vote_rows(50, 4, 0.5, block_rows=needed, failure=0.05, square=False)
    assert thrifty == pytest.approx(needed * blocks)
    sampled = support_rows(50, 4, 0.5, most=largest_loss(4), gap=0.16, failure=0.05)
    assert sampled == pytest.approx(128 * (math.log(230300) + math.log(20)) / 0.16)


def test_rows_where_columns_are_missed_one_by_one_by_hand():
    # 3·37 supports miss one of three columns; T = 36 and log(111/log 1.1) = 7.060149.
    rows = support_rows(40, 3, 1.0, most=18, gap=0.125, failure=0.1, additive=True)
    assert rows == pytest.approx(36 * 7.060149 / 0.125, rel=1e-6)


def test_theorem_9_by_hand():
    # s = 4, Ψ = ½: ridge 8, E‖b‖² = 4·256·120.0693, n = 1000.
    risk = fit_on_support(4, GAUSS, 1000, curvature=0.5)
    assert risk == pytest.approx((1024 * ROOM / 2 / 508 + 8 * 4 / 2) / 1000)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: perturbed_risk(linear_regression(2), GAUSS, 0, norm=1.0), "rows"),
        (lambda: perturbed_risk(linear_regression(2), GAUSS, 9, norm=0.0), "norm"),
        (
            lambda: perturbed_risk(
                linear_regression(2), GAUSS, 9, norm=1.0, curvature=-1.0
            ),
            "curvature",
        ),
        (lambda: rows_for_risk(linear_regression(2), GAUSS, 0.0, norm=1.0), "excess"),
        (lambda: vote_failure(3, 4, 1.0, 5), "size"),
        (lambda: vote_failure(5, 4, 0.0, 5), "epsilon"),
        (lambda: vote_failure(5, 4, 1.0, 0), "blocks"),
        (lambda: vote_blocks(5, 4, 1.0, 1.0), "failure"),
        (lambda: support_excess(5, 2, 1.0, 0, most=1.0), "rows"),
        (lambda: support_rows(5, 2, 1.0, most=1.0, gap=0.0), "gap"),
        (lambda: lasso_rows(5, 2, spread=0.0, curvature=1.0, least=1.0), "spread"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(call, name):
    with pytest.raises(InvalidParameter, match=name):
        call()
