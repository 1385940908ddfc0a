"""Progress: a bar with words on a terminal, lines elsewhere."""

import io

import pytest
from rich.console import Console

from confide.cli.progress import StudyBar, SweepBar, format_duration
from confide.data import Pass
from confide.studies import Progress


class Clock:
    """A console's clock that stands still until it is moved."""

    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def console(clock, *, terminal=True):
    return Console(
        file=io.StringIO(), force_terminal=terminal, get_time=clock, width=500, _environ={}
    )


def frame(bar, width=100):
    """Return the bar as a terminal shows it."""
    screen = Console(
        file=io.StringIO(), force_terminal=True, width=width, color_system=None
    )
    screen.print(bar)
    return screen.file.getvalue()


def test_the_bar_says_how_far_a_sweep_is(clock):
    sweeps = SweepBar(console(clock), "reading the table")
    assert "reading the table" in frame(sweeps.bar)
    clock.now = 110.0
    for seconds in (0, 1, 2):
        clock.now = 110.0 + seconds
        sweeps.watch(Pass(1, 1_000_000 * seconds, 10_000_000, seconds))
    first, second = frame(sweeps.bar).splitlines()
    assert first.startswith("sweep 1 ━")
    assert first.rstrip().endswith("1.0 million rows/s")
    assert second.rstrip() == (
        "2,000,000 of about 10,000,000 rows, 8 s left in this sweep, 12 s since the start"
    )
    sweeps.watch(Pass(1, 9_000_000, 10_000_000, 9.0, over=True))
    assert frame(sweeps.bar).splitlines()[1].startswith("9,000,000 rows, 12 s since")
    sweeps.watch(Pass(2, 0, 10_000_000, 0.0))
    clock.now = 115.0
    assert "0 of 9,000,000 rows, 3 s in this sweep" in frame(sweeps.bar)
    for seconds in (3, 6):
        clock.now = 112.0 + seconds
        sweeps.watch(Pass(2, 30_000 * seconds, 10_000_000, seconds))
    assert "30,000 rows/s" in frame(sweeps.bar)
    assert "180,000 of 9,000,000 rows, 4 min 54 s left in this sweep" in frame(sweeps.bar)
    assert max(map(len, frame(sweeps.bar, width=40).splitlines())) <= 40


def test_a_walk_of_unknown_length_is_shown_too(clock):
    walk = SweepBar(console(clock), "", once="checking")
    walk.watch(Pass(1, 500, None, 1.0))
    assert "checking" in frame(walk.bar)
    assert "500 rows, 0 s in this sweep" in frame(walk.bar)
    walk = SweepBar(console(clock), "", once="checking")
    walk.watch(Pass(1, 500, 400, 1.0))
    assert "500 of about 500 rows, under 1 s left," in frame(walk.bar)


def test_without_a_terminal_sweeps_are_lines_now_and_then(clock):
    plain = console(clock, terminal=False)
    sweeps = SweepBar(plain, "reading the table")
    with sweeps.shown():
        for second in range(25):
            clock.now = 100.0 + second
            sweeps.watch(Pass(1, 100 * second, 5000, second))
    first, second = plain.file.getvalue().splitlines()
    assert first == (
        "sweep 1: 100 rows/s, 1,000 of about 5,000 rows, 40 s left in this sweep, "
        "10 s since the start"
    )
    assert second.startswith("sweep 1: 100 rows/s, 2,000 of about 5,000 rows")


def test_a_study_shows_its_cells(clock):
    study = StudyBar(console(clock))
    assert "starting workers" in frame(study.bar)
    clock.now = 165.0
    study.watch(Progress(3, 10, ("n = 5", "n = 6"), 3725.0))
    first, second = frame(study.bar).splitlines()
    assert "3/10 cells 1 min 05 s about 1 h 02 min left" in first
    assert second.rstrip() == "running: n = 5; n = 6"


def test_without_a_terminal_a_study_prints_lines_and_every_note(clock):
    plain = console(clock, terminal=False)
    study = StudyBar(plain)
    with study.bar:
        study.watch(Progress(0, 4))
        for done in range(4):
            clock.now += 4
            note = "a worker died" if done == 1 else ""
            study.watch(Progress(done, 4, ("n = 5",), None, note))
    assert plain.file.getvalue().splitlines() == [
        "0/4 cells, 4 s, running: n = 5",
        "a worker died",
        "3/4 cells, 16 s, running: n = 5",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (3599, "59 min 59 s"), (7260, "2 h 01 min")],
)
def test_durations_have_two_units_at_most(seconds, words):
    assert format_duration(seconds) == words
