"""Random choices between scores of any size, and noise that doubles can hold."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from confide import LinearRegression
from confide.data import EntryBounds
from confide.errors import InvalidParameter
from confide.noise import (
    Entropy,
    Gaussian,
    Gumbel,
    Laplace,
    SphericalLaplace,
    TruncatedNegativeBinomial,
    choose,
    poisson_subsets,
)
from confide.objectives import Objective, Poisson
from confide.privacy import Neighbours, Pure
from confide.selection import (
    ExponentialSelector,
)
from confide.tuning.chunks import choice_powers
from confide.tuning.scores import score_for

FAR = [50.0, 700.0, 746.0, 1e4, 1e15, 1e300]


def frequencies(powers, draws, seed=0):
    entropy = Entropy.seeded(seed)
    drawn = [choose(np.asarray(powers, dtype=float), entropy) for _ in range(draws)]
    return np.bincount(drawn, minlength=len(powers))


@pytest.mark.parametrize("far", FAR)
def test_choices_hold_however_far_scores_are_apart(far):
    """Of the two at the top each by its weight and never another; false alarm 1e-6."""
    top = [far, far + 1.0]
    chance = 1 / (1 + math.exp(top[0] - top[1]))
    for order in itertools.permutations([*top, 0.0, -far]):
        seen = frequencies(order, 200)
        others = [place for place in range(4) if order[place] not in top]
        assert seen[others].sum() == 0
        if top[0] < top[1]:
            off = seen[order.index(top[1])] - 200 * chance
            assert abs(off) < 6.2 * math.sqrt(200 * chance * (1 - chance))


@pytest.mark.slow
def test_every_place_of_many_has_its_chance():
    """Chi-square over 5 cells of 100 003, 1 000 draws; false alarm 1e-6."""
    powers = np.full(100_003, -1e4)
    some = np.array([0, 1023, 1024, 50_000, 100_002])
    powers[some] = 0.0
    seen = frequencies(powers, 1000)[some]
    assert seen.sum() == 1000
    assert ((seen - 200) ** 2 / 200).sum() < 33.4


def test_a_weight_of_zero_is_never_chosen():
    powers = np.full(3000, -math.inf)
    powers[[1025, 2047]] = 0.0
    seen = frequencies(powers, 200)
    assert seen[[1025, 2047]].sum() == 200
    assert seen[[1025, 2047]].min() > 50  # false alarm 1e-12


@pytest.mark.parametrize(
    "powers", [[0.0, math.nan], [0.0, math.inf], [-math.inf, -math.inf]], ids=str
)
@pytest.mark.parametrize("noise", [Gumbel(1.0), Laplace(1.0)], ids=str)
def test_nothing_is_drawn_where_weights_are_no_numbers(powers, noise):
    with pytest.raises(FloatingPointError, match="finite"):
        choose(np.array(powers), Entropy.seeded(1))
    with pytest.raises(FloatingPointError, match="finite"):
        noise.largest(np.array(powers), 1, Entropy.seeded(1))


@pytest.mark.parametrize("noise", [Gumbel(1.0), Laplace(1.0)], ids=str)
@pytest.mark.parametrize("far", FAR)
def test_the_largest_are_found_however_far_scores_are_apart(far, noise):
    scores = np.array([0.0, far, -far, far])
    assert noise.largest(scores, 2, Entropy.seeded(2)).tolist() == [1, 3]


@pytest.mark.parametrize("kind", [Gumbel, Laplace, Gaussian, SphericalLaplace])
def test_noise_that_rounds_to_nothing_is_refused(kind):
    for scale in (0.0, 5e-324, 1e200, math.inf, math.nan, -1.0):
        with pytest.raises(InvalidParameter, match="scale of the noise"):
            kind(scale)


@pytest.mark.parametrize("bound", [1e-320, 1e-200, 1e200])
def test_bounds_that_leave_no_noise_or_nothing_else_are_refused(bound):
    with pytest.raises(InvalidParameter, match="column_bound"):
        EntryBounds(bound)


def test_losses_without_a_finite_range_are_refused():
    """e^1000 is no double: scores and noise would be infinite, and the choice no choice."""
    target = Objective(Poisson(), 3, 1.0, target_bound=1.0, entries=EntryBounds(1.0))
    selector = ExponentialSelector(1, radius=1000.0)
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(InvalidParameter, match="scale of the noise"),
    ):
        selector.calibrate(target, Pure(1), Neighbours.ADD_REMOVE)


@pytest.mark.parametrize("shape", [0.0, 1e-9, 0.5, 1.0, 100.0])
@pytest.mark.parametrize("mean", [1 + 1e-9, 1.0001, 1.5, 100.0, 1e6])
def test_the_law_of_stopping_is_that_of_its_gamma(shape, mean):
    """Against 60 digits, also where gamma is next to 1."""
    law = TruncatedNegativeBinomial.of_mean(shape, mean)
    with localcontext(prec=60):
        gamma, eta = Decimal(law.gamma), Decimal(shape)
        rest = -gamma.ln() if shape == 0 else (1 - (eta * gamma.ln()).exp()) / eta
        exact = (1 / gamma - 1) / rest
        assert abs(Decimal(law.mean) / exact - 1) < Decimal("1e-14")


@pytest.mark.parametrize(
    ("rate", "least", "most"),
    [
        (Fraction(1, 10**400), 0, 0),
        (Fraction(1, 10**18), 0, 0),
        (1 - Fraction(1, 10**18), 1000, 1000),
        (1 - Fraction(1, 10**400), 1000, 1000),
    ],
    ids=["0", "1e-18", "1", "1 - 1e-400"],
)
def test_rates_that_round_to_nothing_or_to_one_draw_subsets(rate, least, most):
    subsets = poisson_subsets(1000, rate, Entropy.seeded(3))
    for _ in range(200):
        chosen = next(subsets)
        assert least <= len(chosen) <= most


@pytest.mark.parametrize("bound", [1e-200, 1e200])
@pytest.mark.parametrize("scoring", ["squared", "absolute"])
def test_scores_whose_bound_is_no_double_are_refused(scoring, bound):
    """A bound that underflows asks for no noise, one that overflows for nothing else."""
    model = LinearRegression(Pure(1), target_bound=bound, row_norm=1.0)
    with pytest.raises(InvalidParameter, match="largest loss of a record"):
        score_for(scoring, model)


@pytest.mark.parametrize("far", FAR)
def test_candidates_far_apart_have_weights_that_neighbours_share(far):
    """All totals far from 0, and one record more: log-odds move by epsilon at most."""
    before = np.array([far, far, 2 * far])
    after = before + np.array([1.0, 0.0, 1.0])
    laws = [choice_powers(t, 1.0, 0.5, Neighbours.ADD_REMOVE) for t in (before, after)]
    moved = laws[1] - laws[0]
    assert moved.max() - moved.min() <= 0.5 * (1 + 1e-9) + 2.0**-52 * far
    entropy = Entropy.seeded(4)
    for law in laws:
        assert {choose(law, entropy) for _ in range(100)} == {0, 1}
