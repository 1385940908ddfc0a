"""A rounded sum is the lattice point next to the exact sum, whatever doubles make of it."""

import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from confide.errors import InvalidParameter, NoRandomness, PrivacyLeak
from confide.noise import Entropy, lattice
from confide.noise.lattice import check_grid, grid_of, round_sum
from confide.noise.real_vector import (
    Chi,
    Draws,
    ScaledDraws,
    SphericalDraws,
    laplace,
    normal,
    spherical_laplace,
)
from confide.noise.staircase import EXPONENTIAL, NORMAL
from support.exact_noise import (
    DIGITS,
    FALSE_ALARM,
    FEW,
    LAWS,
    MANY,
    Script,
    box_word,
    cell_chances,
    counts_of,
    number_of,
    p_value,
    random_words,
    word_of,
)

SIZES = [pytest.param(FEW), pytest.param(MANY, marks=pytest.mark.slow)]
SCALES = (1.0, 0.7, 3e-9, 1234.5)
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def nearest(value, grid):
    """Return the lattice point next to a fraction, to fifty digits."""
    with mpmath.workdps(DIGITS):
        ratio = mpmath.mpf(value.numerator) / value.denominator / mpmath.mpf(grid)
        return int(mpmath.floor(ratio + mpmath.mpf(1) / 2)) * grid


def near_ties(law, count, seed, bits=(30, 24, 16, 1)):
    """Yield words, scale, grid, centre and the exact sum, all but half-way between points.

    The second word is chosen so that the sum comes as near as it can; where the centre is
    small enough for that, the third decides.
    """
    words = iter(random_words(4 * count, seed))
    for case in range(count):
        first, third, spin, other = (next(words) for _ in range(4))
        first = box_word(law, first)
        scale = SCALES[case % len(SCALES)]
        grid = grid_of(scale, bits[case // len(SCALES) % len(bits)])
        about = number_of(law, [first, spin]) * Fraction(scale)
        steps = math.floor(about / Fraction(grid)) + (spin % 2001 if spin % 4 == 0 else 0)
        boundary = (steps + Fraction(1, 2)) * Fraction(grid)
        centre = float(boundary - about)
        wanted = (boundary - Fraction(centre)) / Fraction(scale)
        second = word_of(law, first, wanted)
        if other % 2:
            third = other % 3 * (2**63 - 1)
        written = [first, second, third]
        exact = Fraction(centre) + Fraction(scale) * number_of(law, written)
        yield written, scale, grid, centre, exact


def round_script(law, written, scale, grid, centre, rounding):
    script = Script(written)
    noise = ScaledDraws.of(Draws.of(law, 1, script.entropy), scale)
    found = rounding(np.array([centre]), noise, grid)[0]
    return found, len(script.log) if noise.draws.known else 0


def decide_near_ties(law, count, rounding=round_sum):
    """Return how many near ties went wrong, and how many took three words."""
    wrong = deep = 0
    for written, scale, grid, centre, exact in near_ties(law, count, 31):
        found, words = round_script(law, written, scale, grid, centre, rounding)
        wrong += found != nearest(exact, grid)
        deep += words >= 3
    return wrong, deep


def decide_near_radii(law, count, rounding=round_sum):
    """Put sums within two radii of a tie: how many are wrong, how many are refined."""
    words = random_words(3 * count, 32)
    wrong = refined = 0
    for case in range(count):
        first, spin, last = words[3 * case : 3 * case + 3]
        first = box_word(law, first)
        scale = SCALES[case % len(SCALES)]
        grid = grid_of(scale)
        number = number_of(law, [first, last]) * Fraction(scale)
        radius = (abs(number) + Fraction(scale)) / 2**50
        off = radius * (Fraction(spin, 2**62) - 2) / (1, 10, 30)[case % 3]
        steps = math.floor(number / Fraction(grid)) + spin % 100
        centre = float((steps + Fraction(1, 2)) * Fraction(grid) - number + off)
        found, used = round_script(law, [first, last], scale, grid, centre, rounding)
        wrong += found != nearest(Fraction(centre) + number, grid)
        refined += used > 0
    return wrong, refined


@every_law
@pytest.mark.parametrize("count", SIZES)
def test_near_ties_are_decided_as_by_fifty_digits(law, count):
    wrong, deep = decide_near_ties(law, count)
    assert wrong == 0
    assert deep > 0.2 * count


@every_law
@pytest.mark.parametrize("count", SIZES)
def test_doubles_decide_only_what_they_may(law, count):
    wrong, refined = decide_near_radii(law, count)
    assert wrong == 0
    assert 0.5 < refined / count < 0.95


def in_doubles(centre, noise, grid):
    return np.rint((centre + noise.values) / grid) * grid + 0.0


@every_law
def test_rounding_decided_in_doubles_is_seen(law):
    assert decide_near_ties(law, FEW, in_doubles)[0] > 0.1 * FEW
    assert decide_near_radii(law, FEW, in_doubles)[0] > 0


@every_law
def test_a_radius_ten_times_too_small_is_seen(law, monkeypatch):
    honest = lattice.filter_radii
    monkeypatch.setattr(lattice, "filter_radii", lambda *given: honest(*given) / 10)
    assert decide_near_radii(law, 2 * FEW)[0] > 0


@pytest.mark.parametrize("bits", [4, 52])
@every_law
def test_frequencies_on_a_coarse_lattice(law, bits):
    """Chi-square against chances to thirty digits and more; false alarm 1e-6.

    With 4 bits to begin with nearly all points are decided by bits that are drawn later.
    """
    count = 20_000 if bits == 52 else 6_000
    scale, grid, centre = 2.0, 1.0, 0.3
    noise = ScaledDraws.of(Draws.of(law, count, Entropy.seeded(33), bits), scale)
    points = round_sum(np.full(count, centre), noise, grid)
    cells = range(-30, 60)
    chances = cell_chances(law, scale, centre, grid, cells)
    assert p_value(counts_of(points, grid, cells), chances) > FALSE_ALARM
    if bits == 4:
        assert len(noise.draws.known) > count / 10


def quadrant(a, b):
    """Return the mass of [0, a] × [0, b] under exp(−r)/(2π), by angles."""

    def inside(radius):
        return 1 - (1 + radius) * mpmath.exp(-radius)

    if a == 0 or b == 0:
        return mpmath.mpf(0)
    flat = mpmath.quad(lambda t: inside(a / mpmath.cos(t)), [0, mpmath.atan2(b, a)])
    steep = mpmath.quad(lambda t: inside(b / mpmath.cos(t)), [0, mpmath.atan2(a, b)])
    return (flat + steep) / (2 * mpmath.pi)


def corner(x, y):
    """Return the signed mass between 0 and x, and 0 and y."""
    return mpmath.sign(x) * mpmath.sign(y) * quadrant(abs(x), abs(y))


def square_chances(scale, centre, grid, reach):
    """Return the chances of lattice points around 0 under a spherical Laplace."""
    with mpmath.workdps(30):
        edges = [
            [((mpmath.mpf(k) - 0.5) * grid - c) / scale for k in range(-reach, reach + 2)]
            for c in centre
        ]
        table = [[corner(x, y) for y in edges[1]] for x in edges[0]]
        size = 2 * reach + 1
        cells = [
            float(table[i + 1][j + 1] - table[i][j + 1] - table[i + 1][j] + table[i][j])
            for i in range(size)
            for j in range(size)
        ]
        return np.array([*cells, 1 - sum(cells)])


def square_counts(points, grid, reach):
    steps = np.rint(points / grid).astype(int) + reach
    size = 2 * reach + 1
    inside = ((steps >= 0) & (steps < size)).all(axis=1)
    place = steps[inside] @ [size, 1]
    return np.array([*np.bincount(place, minlength=size**2), (~inside).sum()])


@pytest.mark.slow
@pytest.mark.parametrize("bits", [4, 52])
def test_frequencies_of_a_spherical_laplace_in_the_plane(bits):
    """Chi-square over 50 cells, chances to thirty digits; false alarm 1e-6."""
    scale, grid, centre = 1.0, 0.5, np.array([0.2, -0.1])
    entropy = Entropy.seeded(34)
    points = np.array(
        [
            round_sum(
                centre,
                SphericalDraws.of(
                    Draws.of(NORMAL, 2, entropy, bits), Chi.of(3, entropy, bits), scale
                ),
                grid,
            )
            for _ in range(3000)
        ]
    )
    chances = square_chances(scale, centre, grid, 3)
    assert p_value(square_counts(points, grid, 3), chances) > FALSE_ALARM


def test_frequencies_of_normals_in_the_plane():
    """Coordinates are independent: product chances; false alarm 1e-6."""
    scale, grid, centre = 1.0, 0.5, (0.2, -0.1)
    noise = normal(40_000, scale, Entropy.seeded(35))
    points = round_sum(np.tile(centre, 20_000), noise, grid).reshape(-1, 2)
    cells = range(-4, 5)
    one, two = (cell_chances(NORMAL, scale, c, grid, cells)[:-1] for c in centre)
    chances = np.outer(one, two).ravel()
    counts = square_counts(points, grid, 4)
    assert p_value(counts, [*chances, 1 - chances.sum()]) > FALSE_ALARM


@pytest.mark.parametrize("dimension", [1, 2, 3, 8])
def test_a_spherical_laplace_rounds_what_its_digits_say(dimension):
    """Centres put each coordinate next to a tie; deeper intervals agree with the answer."""
    entropy, grid = Entropy.seeded(36), 2.0**-20
    undecided = 0
    for _ in range(60):
        noise = spherical_laplace(dimension, 0.7, entropy)
        centre = (np.rint(noise.values / grid) + 0.5) * grid - noise.values
        found = round_sum(centre, noise, grid)
        for index in range(dimension):
            low, high = noise.enclose(index, 3)
            sums = [nearest(Fraction(float(centre[index])) + e, grid) for e in (low, high)]
            assert sums == [found[index]] * 2
            value, radius = (float(a[index]) for a in (noise.values, noise.radii))
            assert abs(Fraction(value) - low) < Fraction(radius) * Fraction(9, 10)
        undecided += len(noise.draws.known) > 0
    assert undecided > 30


def test_the_length_of_a_spherical_laplace_is_a_chi():
    """The interval of a chi holds the root of the sums that its words say."""
    script = Script([box_word(EXPONENTIAL, w) for w in random_words(3, 5)])
    chi = Chi.of(6, script.entropy)
    low, high = chi.enclose(0)
    total = sum(number_of(EXPONENTIAL, [word]) for word in script.log)
    with mpmath.workdps(DIGITS):
        root = mpmath.sqrt(2 * mpmath.mpf(total.numerator) / total.denominator)
        assert float(low) <= root <= float(high) * (1 + 1e-15)
    assert high - low < Fraction(1, 2**50)
    deeper = chi.enclose(1)
    assert low <= deeper[0] <= deeper[1] <= high


def test_sums_of_many_exponentials_are_exact():
    draws = Draws.of(EXPONENTIAL, 3000, Entropy.seeded(8))
    low, high = draws.total(0)
    ends = [draws.enclose(index, 0) for index in range(3000)]
    assert (low, high) == (sum(e[0] for e in ends), sum(e[1] for e in ends))
    assert any(draws.known[i].refined == 0 for i in draws.known)


def test_the_lattice_ends_and_zero_has_no_sign():
    noise = normal(4, 1.0, Entropy.seeded(1))
    grid = 2.0**-30
    edge = 2.0**53 * grid
    centre = np.array([1e300, -1e300, 4 * edge, edge / 2])
    found = round_sum(centre, noise, grid)
    assert found[:3].tolist() == [edge, -edge, edge]
    assert abs(found[3] - edge / 2) < 10
    fine = grid_of(1e-150)
    tiny = normal(2, 1e-150, Entropy.seeded(1))
    assert round_sum(np.array([1e300, -1e308]), tiny, fine).tolist() == [
        2.0**53 * fine,
        -(2.0**53) * fine,
    ]
    one = normal(1, 1.0, Entropy.seeded(2))
    for shift in (-0.1, 0.1):
        zero = round_sum(-one.values + shift, one, 0.5)
        assert (zero[0], math.copysign(1, zero[0])) == (0, 1)


def test_a_large_centre_leaves_the_rounding_exact():
    """Centres of 2²⁰ scales: reduced modulo the grid, as few are undecided as near 0."""
    noise = normal(20_000, 1.0, Entropy.seeded(3))
    before = len(noise.draws.known)
    round_sum(np.full(20_000, 2.0**20 + 0.1), noise, 2.0**-30)
    assert len(noise.draws.known) - before < 10


def test_released_points_are_on_the_lattice_and_print_exactly():
    grid = 2.0**-30
    found = round_sum(np.linspace(-3, 3, 500), laplace(500, 1.0, Entropy.seeded(4)), grid)
    assert (np.rint(found / grid) * grid == found).all()
    assert [float(repr(float(x))) for x in found] == found.tolist()


def test_coordinates_may_have_scales_of_their_own():
    scales = np.array([1.0, 2.0**0.5, 30.0])
    whole = normal(3, scales, Entropy.seeded(5))
    unit = normal(3, 1.0, Entropy.seeded(5))
    np.testing.assert_array_equal(whole.values, unit.values * scales)
    low, high = whole.enclose(2, 0)
    assert low <= 30 * unit.enclose(2, 2)[0] <= high
    assert whole.least_scale == 1.0
    part = whole[1:3]
    np.testing.assert_array_equal(part.scale, scales[1:])
    assert round_sum(np.zeros((3, 1)), whole, 0.5).shape == (3, 1)


def test_slices_are_the_same_numbers():
    noise = normal(50, 1.0, Entropy.seeded(6))
    part, same = noise[20:30], noise[10:40][10:20]
    assert part.enclose(3, 2) == same.enclose(3, 2) == noise.enclose(23, 2)
    whole = spherical_laplace(50, 1.0, Entropy.seeded(6))
    assert whole[20:30].enclose(3, 2) == whole.enclose(23, 2)
    with pytest.raises(InvalidParameter, match="step"):
        noise[::2]


@pytest.mark.parametrize("grid", [0.3, 0.0, -0.5, math.inf, math.nan, 3.0])
def test_a_grid_is_a_power_of_two(grid):
    with pytest.raises(InvalidParameter, match="power of two"):
        round_sum(np.zeros(2), normal(2, 1.0, Entropy.seeded(1)), grid)


@pytest.mark.parametrize("grid", [2.0, 2.0**-41])
def test_a_grid_fits_the_noise(grid):
    with pytest.raises(InvalidParameter, match="scale of the noise"):
        round_sum(np.zeros(2), normal(2, 1.0, Entropy.seeded(1)), grid)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, 1e-200, 1e200])
def test_a_scale_is_positive_and_finite(scale):
    for noise in (normal, laplace, spherical_laplace):
        with pytest.raises(InvalidParameter, match="scale of the noise"):
            noise(3, scale, Entropy.seeded(1))
        with pytest.raises(InvalidParameter, match="scale of the noise"):
            noise(3, np.array([1.0, scale, 1.0]), Entropy.seeded(1))


def test_a_centre_is_finite():
    noise = normal(2, 1.0, Entropy.seeded(1))
    for bad in (math.nan, math.inf):
        with pytest.raises(FloatingPointError, match="finite"):
            round_sum(np.array([0.0, bad]), noise, 0.5)


@pytest.mark.parametrize("scale", [1.0, 1.5, 1e-150, 1e150, 2.0**0.5])
def test_usual_grids_are_powers_of_two_below_the_scale(scale):
    grid = grid_of(scale)
    check_grid(grid, scale)
    assert scale * 2.0**-31 < grid <= scale * 2.0**-30


@pytest.mark.usefixtures("system_words")
def test_without_randomness_nothing_is_drawn(monkeypatch):
    def missing(size):
        raise NotImplementedError("no source of randomness")

    entropy = Entropy.system()
    monkeypatch.setattr("os.urandom", missing)
    with pytest.raises(NoRandomness, match="nothing was spent"):
        Entropy.system()
    for draw in (normal, laplace, spherical_laplace):
        with pytest.raises(NotImplementedError, match="randomness"):
            draw(3, 1.0, entropy)


def test_noise_is_neither_shown_nor_stored():
    noise = normal(3, 1.0, Entropy.system())
    assert "values" not in repr(noise)
    with pytest.raises(PrivacyLeak):
        pickle.dumps(noise)


@pytest.mark.parametrize("seed", range(3))
def test_a_seed_repeats_everything(seed):
    centre, grid = np.linspace(-1, 1, 3000), 2.0**-38
    first, second = (
        round_sum(centre, normal(3000, 1.0, Entropy.seeded(seed)), grid) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_no_word_is_used_twice():
    """Each word moves the one number that it was drawn for, and no other."""
    base = [box_word(NORMAL, word) for word in random_words(4, 9)]

    def intervals(words):
        script = Script(words)
        draws = Draws.of(NORMAL, 4, script.entropy)
        return [draws.enclose(index, 1) for index in range(4)], script.log

    honest, log = intervals(base)
    assert len(log) == 8
    for place in range(8):
        moved, _ = intervals([*log[:place], log[place] ^ 1, *log[place + 1 :]])
        changed = [index for index in range(4) if moved[index] != honest[index]]
        assert changed == [place % 4]
