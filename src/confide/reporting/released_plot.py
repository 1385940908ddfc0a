"""Plots of privately released points, each with its own guarantee."""

import math
from dataclasses import dataclass

from confide.errors import InvalidParameter
from confide.privacy import Guarantee
from confide.reporting.coefficient_svg import Scale
from confide.reporting.format import html, tick_text

WIDTH, HEIGHT, LEFT, RIGHT, TOP, FOOT = 400, 320, 58, 16, 14, 50


@dataclass(frozen=True, slots=True)
class ReleasedPlot:
    """Curve or scatter plot that a private mechanism released.

    This class adds no noise. A ROC curve or residuals computed directly from the records
    have no guarantee, and must not be plotted with this class.

    Parameters
    ----------
    title : str
        Title of the plot.
    points : tuple of (float, float)
        The released points.
    guarantee : Guarantee
        Guarantee of the released points; they cost budget in addition to the coefficients.
    x_label : str, default=""
        Label of the x-axis.
    y_label : str, default=""
        Label of the y-axis.
    joined : bool, default=True
        Whether to join the points by a line, as for a ROC curve, instead of drawing dots.
    ends : tuple of (float, float), default=()
        Intervals of the y-values, drawn as a band around a line or as bars through dots.
    guide : {"", "diagonal", "zero"}, default=""
        Reference line.

    Raises
    ------
    InvalidParameter
        If there are no points, a number is not finite, or only some points have intervals.

    Examples
    --------
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> from confide.reporting import ReleasedPlot
    >>> theorem = "evaluation.md#tables-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> plot = ReleasedPlot("ROC curve", ((0.0, 0.0), (0.2, 0.7), (1.0, 1.0)), promise)
    >>> str(plot.guarantee.budget)
    'ε = 1'

    A report prints this budget below the curve.
    """

    title: str
    points: tuple[tuple[float, float], ...]
    guarantee: Guarantee
    x_label: str = ""
    y_label: str = ""
    joined: bool = True
    ends: tuple[tuple[float, float], ...] = ()
    guide: str = ""

    def __post_init__(self) -> None:
        numbers = sum((*self.points, *self.ends), ())
        if not self.points or not all(map(math.isfinite, numbers)):
            raise InvalidParameter("points", "finite, and at least one", self.points)
        if self.ends and len(self.ends) != len(self.points):
            raise InvalidParameter("ends", "an interval for every point", self.ends)


def plot_svg(plot: ReleasedPlot, number: int) -> str:
    """Draw a plot; ``number`` makes the identifiers of its elements unique on a page."""
    xs, ys = zip(*plot.points, strict=True)
    if plot.guide == "diagonal":
        xs, ys = (*xs, 0.0, 1.0), (*ys, 0.0, 1.0)
    elif plot.guide == "zero":
        ys = (*ys, 0.0)
    across, up = _span(xs), _span((*ys, *sum(plot.ends, ())))
    spots = [(_x(across, x), _y(up, y)) for x, y in plot.points]
    joined = plot.joined and len(spots) > 1
    dots = "".join(
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in spots
    )
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
    drawn = f'<path class="curve" d="M{path}"/>' if joined else dots
    drawn = _guide(plot, across, up) + _ends(plot, up, spots, joined=joined) + drawn
    title = f"paid-{number}-title"
    return (
        f'<svg class="paid" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="{title}"><title id="{title}">{html(plot.title)}</title>'
        f"{_axes(plot, across, up)}{drawn}</svg>"
    )


def _guide(plot: ReleasedPlot, across: Scale, up: Scale) -> str:
    """Draw the reference line."""
    if not plot.guide:
        return ""
    ends = ((0.0, 0.0), (1.0, 1.0))
    if plot.guide == "zero":
        ends = ((across.low, 0.0), (across.high, 0.0))
    start, stop = (f"{_x(across, x):.1f} {_y(up, y):.1f}" for x, y in ends)
    return f'<path class="guide" d="M{start}L{stop}"/>'


def _ends(
    plot: ReleasedPlot, up: Scale, spots: list[tuple[float, float]], *, joined: bool
) -> str:
    """Draw the intervals of the points."""
    if not plot.ends:
        return ""
    lows, highs = (
        [(x, _y(up, end[side])) for (x, _), end in zip(spots, plot.ends, strict=True)]
        for side in (0, 1)
    )
    if joined:
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in (*lows, *reversed(highs)))
        return f'<path class="band" d="M{path}Z"/>'
    bars = (
        f"M{x:.1f} {low:.1f}V{high:.1f}"
        for (x, low), (_, high) in zip(lows, highs, strict=True)
    )
    return f'<path class="bar" d="{"".join(bars)}"/>'


def _span(values: tuple[float, ...]) -> Scale:
    low, high = min(values), max(values)
    margin = 0.03 * (high - low) or max(abs(low), 1.0)
    return Scale(low - margin, high + margin)


def _x(scale: Scale, value: float) -> float:
    return LEFT + scale.place(value) * (WIDTH - LEFT - RIGHT)


def _y(scale: Scale, value: float) -> float:
    return HEIGHT - FOOT - scale.place(value) * (HEIGHT - FOOT - TOP)


def _axes(plot: ReleasedPlot, across: Scale, up: Scale) -> str:
    floor, end = HEIGHT - FOOT, WIDTH - RIGHT
    parts = []
    for value in across.ticks(5):
        x = f"{_x(across, value):.1f}"
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{floor}"/>')
        text = tick_text(value)
        parts.append(f'<text class="tick" x="{x}" y="{floor + 16}">{text}</text>')
    for value in up.ticks(5):
        y = _y(up, value)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{end}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        spot = f'x="{LEFT - 6}" y="{y + 4:.1f}"'
        parts.append(f'<text class="tick side" {spot}>{tick_text(value)}</text>')
    middle = (TOP + floor) / 2
    below = f'x="{(LEFT + end) / 2:g}" y="{HEIGHT - 10}"'
    beside = f'transform="translate(13 {middle:g}) rotate(-90)"'
    parts += (
        f'<text class="tick" {spot}>{html(label)}</text>'
        for spot, label in ((below, plot.x_label), (beside, plot.y_label))
    )
    return "".join(parts)
