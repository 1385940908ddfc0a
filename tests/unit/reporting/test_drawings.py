"""Drawings of coefficients and released plots, and the numbers beside them."""

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import InvalidParameter
from confide.privacy import (
    Guarantee,
    Neighbours,
    Pure,
    Status,
)
from confide.reporting import (
    Coefficient,
    ReleasedPlot,
    model_card,
    report_page,
)
from confide.reporting.coefficient_svg import MOST_SHOWN, picture, scale_for
from confide.reporting.format import cut, round_up, short
from support.summaries import (
    WITH_PARTS,
    Reader,
    a_summary,
    bounded,
)


def test_a_long_list_shows_the_largest_and_folds_the_table():
    rows = [Coefficient(f"x{k}", float(k % 60 + 1) * (-1) ** k) for k in range(120)]
    drawn = picture(tuple(rows))
    wide = drawn.svg[: drawn.svg.index("</svg>")]
    names = re.findall(r'class="name"[^>]*>([^<]+)<', wide)
    assert len(names) == MOST_SHOWN
    assert names == [row.name for row in rows if abs(row.estimate) > 45]
    page = report_page(a_summary(rows=rows))
    assert "the 30 largest coefficients of 120" in page
    assert "<details><summary>Table of all 120 coefficients</summary>" in page
    assert page.count('<th scope="row">x') == 120
    assert "largest coefficients" not in report_page(a_summary())


def test_rows_of_a_drawing_never_overlap():
    rows = tuple(Coefficient(f"x{k}", float(k)) for k in range(30))
    for drawing in picture(rows).svg.split("</svg>")[:2]:
        heights = [float(y) for y in re.findall(r'class="name"[^>]* y="([\d.]+)"', drawing)]
        assert len(heights) == 30
        assert min(b - a for a, b in pairwise(heights)) >= 20


def test_the_sampling_part_is_drawn_inside_the_whole_interval():
    for drawing in picture(WITH_PARTS).svg.split("</svg>")[:2]:
        cores = re.findall(r'class="core" d="M([\d.]+) [\d.]+H([\d.]+)"', drawing)
        bars = re.findall(r'class="bar" d="M([\d.]+) [\d.]+H([\d.]+)M', drawing)
        assert len(cores) == len(bars) == 2
        shares = []
        for core, bar in zip(cores, bars, strict=True):
            (a, b), (left, right) = map(float, core), map(float, bar)
            assert left <= a < b <= right
            shares.append((b - a) / (right - left))
        assert shares == pytest.approx([0.1 / 0.3, 0.98], abs=0.05)
    assert "sampling alone" in picture(WITH_PARTS).key
    assert not picture((Coefficient("age", 1.0, 0.0, 2.0),)).key


def test_an_intercept_does_not_stretch_the_axis():
    rows = (*WITH_PARTS, Coefficient("(intercept)", 900.0))
    drawn = picture(rows)
    assert "900" not in drawn.svg
    assert "The intercept is shown in the table only." in drawn.notes
    assert "900" in picture(rows[-1:]).svg


def test_one_huge_interval_does_not_heap_the_others_on_zero():
    rows = (*WITH_PARTS[:2], Coefficient("none", 0.1, -500.0, 700.0, 1.0))
    assert scale_for([0.5, -0.1, 0.1], [-500.0, 700.0], [0.8, 0.6, 700.0]).unit is not None
    assert "logarithmic beyond" in " ".join(picture(rows).notes)


def test_page_and_card_say_what_an_interval_means_and_what_not():
    page, card = report_page(bounded(), card=False), model_card(bounded())
    text = Reader(page).text
    for said in ("In about 90 of 100 such studies", "The penalty.", "Causes and persons."):
        assert said in text
        assert said in card
    assert "with 90 % intervals" in text
    assert "estimate lower upper widened by" in text
    assert re.search(r"age \*.* privacy income .* sampling", text)
    assert page.count('class="sure"') == 1
    without = report_page(a_summary()) + model_card(a_summary())
    assert "What an interval means" not in without
    assert "## Intervals" not in without


def test_a_caution_about_intervals_is_a_warning():
    told = bounded(caution="they do not <hold>")
    page = report_page(told, card=False)
    assert '<p class="warning">They do not &lt;hold&gt;.</p>' in page
    assert "**They do not &lt;hold&gt;.**" in model_card(told)


def test_intervals_are_drawn_where_they_were_released():
    rows = (
        Coefficient("a", 1.0, 0.5, 1.5),
        Coefficient("b", 2.0),
        Coefficient("c", 0, -9, 9),
    )
    assert picture(rows).svg.count('class="bar"') == 2 * 2
    assert picture(rows[1:2]).svg.count('class="bar"') == 0
    assert "No intervals were released" in " ".join(picture(rows[1:2]).notes)
    page = report_page(a_summary(rows=rows))
    assert '<th scope="col" class="number">upper</th>' in page
    assert 'class="number">upper' not in report_page(a_summary())


@given(st.lists(st.floats(allow_subnormal=False), max_size=40), st.floats(0, 1e300))
def test_any_coefficients_can_be_drawn_inside_the_frame(estimates, width):
    rows = [Coefficient("x", e, e - width, e + width) for e in estimates]
    page = report_page(a_summary(rows=rows), card=False)
    assert not Reader(page).open
    places = [float(x) for x in re.findall(r'(?:cx|x1)="([^"]+)"', page)]
    assert all(0 <= x <= 760 for x in places)


def test_an_even_axis_is_linear_and_an_uneven_one_goes_by_powers_of_ten():
    even = scale_for([1.0, -2.0, 3.0], [])
    assert even.unit is None
    assert even.place(1.0) - even.place(0.0) == pytest.approx(
        even.place(3.0) - even.place(2.0)
    )
    uneven = scale_for([1e-5, 2e-3, 0.1, -3000.0], [])
    assert uneven.unit is not None
    gaps = [uneven.place(-(10.0 ** (k - 1))) - uneven.place(-(10.0**k)) for k in (0, 1, 2)]
    assert gaps == pytest.approx([gaps[0]] * 3)
    assert uneven.place(0.1) - uneven.place(0.0) > 0.05
    for most in (5, 7):
        assert 0.0 in uneven.ticks(most)
        assert len(uneven.ticks(most)) <= most


def test_decimal_points_line_up():
    rows = [Coefficient(f"x{v}", v) for v in (12.5, -0.001, 3e-9, 123456.0)]
    page = report_page(a_summary(rows=rows), card=False)
    widths = set(re.findall(r'class="tail" style="width:(\d+)ch"', page))
    assert len(widths) == 1
    longest = max(len(t) for t in re.findall(r'class="tail"[^>]*>([^<]*)<', page))
    assert int(widths.pop()) >= longest
    assert '<data value="-0.001">−0' in page


def test_numbers_read_well():
    assert [short(v) for v in (0.0, 1.5, -2e-9, math.inf, math.nan)] == [
        "0",
        "1.5000",
        "−2.0000×10⁻⁹",
        "∞",
        "not a number",
    ]
    assert round_up(0.12341) == "0.1235"
    assert cut("short", 10) == "short"
    assert len(cut("a very long name of a column=first", 20)) <= 21
    assert cut("native-country=Atlantis", 16).endswith("ntis")


def test_a_paid_plot_shows_its_own_guarantee():
    cost = Guarantee(Pure("0.125"), Neighbours.REPLACE_ONE, Status.CLAIMED, "Somebody 2021")
    plot = ReleasedPlot("ROC", ((0.0, 0.0), (0.5, 0.8), (1.0, 1.0)), cost)
    page = report_page(a_summary(), paid_plots=(plot,), card=False)
    section = page[page.index('class="plot-paid"') :]
    assert "ε = 0.125, replace-one neighbours" in section
    assert '<span class="badge claimed">CLAIMED</span>' in section
    assert "Somebody 2021" in section
    assert 'class="curve"' in section
    assert "ε = 0.125" not in report_page(a_summary())
    with pytest.raises(InvalidParameter, match="points"):
        ReleasedPlot("empty", (), cost)
    with pytest.raises(InvalidParameter, match="points"):
        ReleasedPlot("broken", ((0.0, math.nan),), cost)
