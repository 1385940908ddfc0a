"""Boxes lie below the density, and what they leave is drawn from exactly what is left."""

import bisect
import itertools

import mpmath
import numpy as np
import pytest

from confide.noise import Entropy
from confide.noise.staircase import (
    BOX_BITS,
    EXPONENTIAL,
    GUMBEL,
    NORMAL,
    PLACE_BITS,
    UNIT_BITS,
    Real,
    Staircase,
    staircase,
)
from confide.noise.staircase import density as height
from support.exact_noise import (
    DIGITS,
    FALSE_ALARM,
    LAWS,
    Script,
    below,
    density,
    p_value,
)

every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
LAST_WORD = 2**64 - 1
REMAINDER = LAST_WORD


def units(x):
    return mpmath.mpf(x) / 2**UNIT_BITS


@every_law
def test_every_box_lies_below_the_density(law):
    stairs = staircase(law)
    with mpmath.workdps(DIGITS):
        for piece in stairs.pieces[: stairs.boxes]:
            near, far = piece.start, piece.start + piece.width
            assert abs(near) < abs(far) <= abs(near) + 2 ** (UNIT_BITS - 1)
            mass = abs(units(piece.width)) * density(law, units(far))
            assert mass >= mpmath.mpf(2) ** -BOX_BITS
            # A box that is wider than need be would be valid, and a waste.
            assert mass <= mpmath.mpf(2) ** -BOX_BITS * (1 + 2.0**-10)


@every_law
def test_boxes_and_tails_meet(law):
    stairs = staircase(law)
    for side in law.sides:
        chain = [p for p in stairs.pieces if p.width * side > 0]
        assert chain[0].start == 0
        assert chain[-1].tail
        assert not any(piece.tail for piece in chain[:-1])
        for piece, following in itertools.pairwise(chain):
            assert piece.start + piece.width == following.start


@every_law
def test_every_proposal_lies_above_what_is_left(law):
    stairs = staircase(law)
    with mpmath.workdps(DIGITS):
        for piece in stairs.pieces:
            width = abs(units(piece.width))
            needed = 2**64 * width * density(law, units(piece.start)) - piece.box
            assert needed <= piece.weight <= needed * (1 + 2.0**-20) + 2
            for y in (0.01, 1.0, 30.0) if piece.tail else ():
                x = units(piece.start) + units(piece.width) * y
                touching = density(law, units(piece.start)) * mpmath.exp(-y)
                assert density(law, x) <= touching * (1 + mpmath.mpf(10) ** -40)


@every_law
def test_doubles_of_boxes_are_exact(law):
    stairs = staircase(law)
    for index, piece in enumerate(stairs.pieces[: stairs.boxes]):
        assert stairs.starts[index] * 2**UNIT_BITS == piece.start
        assert stairs.widths[index] * 2**UNIT_BITS == piece.width


def box_edges(law):
    """Return where boxes end, from the left: each of them has the same mass."""
    stairs = staircase(law)
    boxes = stairs.pieces[: stairs.boxes]
    return sorted({end for p in boxes for end in (p.start, p.start + p.width)})


def mass_below(law, x):
    """Return the mass left of x that boxes do not cover."""
    edges = box_edges(law)
    place = min(max(x * 2**UNIT_BITS, edges[0]), edges[-1])
    index = min(bisect.bisect_right(edges, place), len(edges) - 1) - 1
    part = (place - edges[index]) / (edges[index + 1] - edges[index])
    return below(law, x) - (index + part) / 2**BOX_BITS


def check_remainder(law):
    """Chi-square over boxes and both tails; false alarm 1e-6."""
    stairs, entropy = staircase(law), Entropy.seeded(21)
    drawn = np.array([stairs.draw_remainder(entropy).value for _ in range(6000)])
    inner = [float(units(p.start)) for p in stairs.pieces if p.tail]
    edges = sorted({*inner, *(x / 8 for x in range(-60, 61)), 8.5, 9.0, 10.0})
    with mpmath.workdps(DIGITS):
        edges = [-mpmath.inf, *map(mpmath.mpf, edges), mpmath.inf]
        left = [mass_below(law, edge) for edge in edges]
        masses = [b - a for a, b in itertools.pairwise(left)]
        total = 1 - mpmath.mpf(stairs.boxes) / 2**BOX_BITS
        assert abs(sum(masses) - total) < mpmath.mpf(10) ** -40
        chances = np.array([float(mass / total) for mass in masses])
    counts, _ = np.histogram(drawn, [float(edge) for edge in edges])
    assert p_value(counts, chances) > FALSE_ALARM


@pytest.mark.slow
@every_law
def test_the_remainder_has_the_law_of_what_boxes_leave(law):
    check_remainder(law)


def tail_script(law, *numbers):
    """Return words that lead into the last tail, through exponentials, and accept."""
    stairs = staircase(law)
    return [REMAINDER, stairs.weights[-1] - 1, *numbers]


def exponential_words(depth):
    """Return words that take an exponential ``depth`` times into its own tail.

    In the end it falls into the first box, and all proposals on the way are accepted.
    """
    return [*tail_script(EXPONENTIAL) * depth, 0, *[0] * depth]


def check_reach(depth, size):
    """Of doubles from a word of 64 bits none exceeds 9.23."""
    script = Script([*tail_script(NORMAL), *exponential_words(depth), *[0] * 50])
    assert staircase(NORMAL).draw(script.entropy).value < -size


@pytest.mark.parametrize(("depth", "size"), [(1, 5), (3, 9.23), (10, 25)])
def test_numbers_far_beyond_nine_deviations_are_reached(depth, size):
    check_reach(depth, size)


def test_a_sampler_cut_at_nine_deviations_is_seen(monkeypatch):
    honest = Staircase.draw_remainder

    def cut(self, entropy):
        while abs((found := honest(self, entropy)).value) > 9:
            pass
        return found

    monkeypatch.setattr(Staircase, "draw_remainder", cut)
    with pytest.raises(AssertionError):
        check_reach(3, 9.23)


@pytest.mark.parametrize("law", [NORMAL, GUMBEL], ids=["normal", "gumbel"])
def test_a_remainder_that_takes_every_proposal_is_seen(monkeypatch, law):
    monkeypatch.setattr(Staircase, "_accepts", lambda *_: True)
    with pytest.raises(AssertionError):
        check_remainder(law)


def test_a_proposal_at_the_edge_of_a_coin_asks_for_more_bits():
    """The coin's first word is the chance's own: it is decided by later words."""
    stairs = staircase(NORMAL)
    piece = stairs.pieces[100]
    with mpmath.workdps(DIGITS):
        x = units(piece.start) + units(piece.width) * mpmath.mpf(0.5)
        room = 2**64 * units(piece.width) * density(NORMAL, x) - piece.box
        coin = int(2**64 * room / piece.weight)
    for last, kept in ((0, True), (LAST_WORD, False)):
        place = Real(1 << 63, 1, 64)
        # The place is narrowed along with the coin, towards the larger density.
        script = Script([coin, 0, last])
        assert stairs._accepts(piece, place, script.entropy) is kept
        assert script.log == [coin, 0, last]


def test_a_real_number_is_its_digits():
    script = Script([3, 2**63])
    real = Real(5, -7, 2)
    real.reveal(script.entropy)
    real.reveal(script.entropy)
    with mpmath.workdps(60):
        digits = mpmath.mpf(3) / 2**64 + mpmath.mpf(2**63) / 2**128
        expected = (5 - 7 * digits) / 4
        low, high = (mpmath.mpf(end) / mpmath.mpf(2) ** real.shift for end in real.ends)
        assert low <= expected <= high
        assert high - low == mpmath.mpf(7) / 4 / mpmath.mpf(2) ** 128
    assert real.value == float(expected)


def test_boxes_take_their_place_from_the_first_bits():
    stairs = staircase(NORMAL)
    word = (7 << PLACE_BITS) + 12345
    whole, first = stairs.box(word), stairs.box(word, 4)
    assert first.ends[0] << (PLACE_BITS - 4) <= whole.ends[0]
    assert whole.ends[1] <= first.ends[1] << (PLACE_BITS - 4)


@every_law
@pytest.mark.parametrize("size", [0.1, 5, 40, 500])
def test_densities_lie_between_their_bounds_far_out(law, size):
    """At 500 the exponent of a Gumbel is known to fewer digits than it has."""
    for side in law.sides:
        x = int(side * size * 2**UNIT_BITS)
        low, high = height(law, law.exponent(x, UNIT_BITS, 96), 96)
        with mpmath.workdps(DIGITS):
            assert low <= density(law, units(x)) * mpmath.mpf(2) ** 96 <= high
