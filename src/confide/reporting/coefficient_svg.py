"""Coefficient plots in SVG: one dot per coefficient, and a bar for its interval."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from confide.reporting.coefficients import (
    MOST_SHOWN,
    NOT_IDENTIFIED,
    Coefficient,
    pictured_rows,
)
from confide.reporting.effect_scale import EffectScale
from confide.reporting.format import cut, html, short, tick_text

LOG_AXIS_RATIO = 30.0
LOG_AXIS_DECADES = 6
TINY, HUGE = 1e-290, 1e300


@dataclass(frozen=True, slots=True)
class Scale:
    """Axis of a plot; if ``unit`` is given, the axis is logarithmic beyond ±``unit``."""

    low: float
    high: float
    unit: float | None = None

    def place(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 to 1, clipped at its ends."""
        low, high = self._transformed(self.low), self._transformed(self.high)
        inside = self._transformed(min(max(value, self.low), self.high))
        return (inside - low) / (high - low)

    def ticks(self, most: int) -> tuple[float, ...]:
        """Return round numbers for the ticks, at most about ``most`` of them."""
        if self.unit is None:
            return _even_ticks(self.low, self.high, most)
        return self._decade_ticks(self.unit, most)

    def _transformed(self, value: float) -> float:
        if self.unit is None:
            return value
        size = abs(value) / self.unit
        return math.copysign(size if size <= 1 else 1 + math.log10(size), value)

    def _decade_ticks(self, unit: float, most: int) -> tuple[float, ...]:
        sides = [side for side in (self.low, self.high) if abs(side) >= unit]
        first = round(math.log10(unit))
        last = math.floor(math.log10(max(-self.low, self.high)) + 1e-9)
        room = max(1, (most - 1) // max(1, len(sides)))
        stride = math.ceil((last - first + 1) / room)
        powers = [10.0**power for power in range(last, first - 1, -stride)]
        signed = [math.copysign(p, s) for s in sides for p in powers if p <= abs(s)]
        return (0.0, *signed)


def scale_for(
    estimates: Sequence[float], ends: Sequence[float], reach: Sequence[float] = ()
) -> Scale:
    """Return an axis that covers estimates and the finite ends of their intervals.

    ``reach`` holds, for every coefficient, the largest absolute value of its estimate and
    the ends of its interval; by default, that of the estimate alone. If one of these values
    is much larger than most others, the axis is logarithmic, because on a linear axis most
    dots would coincide at zero.
    """
    values = [value for value in (*estimates, *ends) if math.isfinite(value)]
    low, high = max(min(0.0, 0.0, *values), -HUGE), min(max(0.0, 0.0, *values), HUGE)
    if high - low < TINY:
        return Scale(-1.0, 1.0)
    sizes = [abs(e) for e in reach or estimates if TINY <= abs(e) <= HUGE]
    if sizes and max(sizes) / median(sizes) > LOG_AXIS_RATIO:
        top = math.ceil(math.log10(max(-low, high)))
        unit = 10.0 ** max(math.floor(math.log10(min(sizes))), top - LOG_AXIS_DECADES)
        return Scale(1.6 * low, 1.6 * high, unit)
    margin = 0.04 * (high - low)
    return Scale(low - margin, high + margin)


def _even_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step), math.floor(high / step)
    return tuple(float(f"{k * step:.6g}") for k in range(first, last + 1))


@dataclass(frozen=True, slots=True)
class PlotLayout:
    """Dimensions of a plot; if ``stacked``, names are printed above the dots."""

    name: str
    width: int
    row: int
    left: int
    right: int
    letters: int
    ticks: int
    stacked: bool

    def x(self, scale: Scale, value: float) -> float:
        """Return the horizontal coordinate of a value in the plot."""
        return self.left + scale.place(value) * (self.width - self.left - self.right)


WIDE = PlotLayout("wide", 760, 24, 274, 96, 34, 7, stacked=False)
NARROW = PlotLayout("narrow", 340, 42, 24, 24, 31, 5, stacked=True)
TOP, FOOT = 26, 26
_SAMPLE = (
    '<svg class="key" viewBox="0 0 44 12" aria-hidden="true"><path class="{}" d="{}"/>'
)
KEY = (
    f'<p class="legend"><span>{_SAMPLE.format("core", "M2 6H42")}</svg> from '
    f"sampling alone</span> <span>{_SAMPLE.format('bar', 'M2 6H42M2 2v8M42 2v8')}</svg> "
    "whole interval, with privacy noise</span></p>"
)


@dataclass(frozen=True, slots=True)
class Picture:
    """Coefficient plot, in a wide and a narrow version, with legend and notes."""

    svg: str
    notes: tuple[str, ...]
    key: str = ""


def picture(
    rows: tuple[Coefficient, ...], effects: EffectScale | None = None
) -> Picture | None:
    """Draw the coefficients; return None if there are none to draw.

    ``effects`` is the scale of the coefficients. If they have odds or rate ratios, an upper
    axis shows these.
    """
    shown = pictured_rows(rows)
    if not shown:
        return None
    ends = [end for row in shown for end in (row.lower, row.upper) if end is not None]
    reach = [_reach(row) for row in shown]
    scale = scale_for([row.estimate for row in shown], ends, reach)
    ratio = effects is not None and bool(effects.ratio)
    layouts = (WIDE, NARROW)
    svg = "".join(_drawing(shown, scale, one, ratio=ratio) for one in layouts)
    key = KEY if any(row.sampling is not None for row in shown) else ""
    return Picture(svg, tuple(_notes(rows, shown, scale, effects)), key)


def _reach(row: Coefficient) -> float:
    """Return the largest absolute value of an estimate and the ends of its interval."""
    ends = (row.estimate, row.lower, row.upper)
    return max(abs(end) for end in ends if end is not None and math.isfinite(end))


def _notes(
    rows: tuple[Coefficient, ...],
    shown: tuple[Coefficient, ...],
    scale: Scale,
    effects: EffectScale | None,
) -> Iterable[str]:
    if any(row.lower is not None and row.upper is not None for row in shown):
        yield "Dots are the released estimates, bars their released intervals."
    else:
        yield (
            "Dots are the released estimates, privacy noise included. No intervals were "
            "released, so the picture does not show how uncertain they are."
        )
    if effects is not None:
        above = f" The upper axis shows them as {effects.ratio}s." if effects.ratio else ""
        yield effects.meaning + above
    if any(row.span != 1 for row in rows):
        yield (
            "For a numeric column, the effect over its whole range is drawn, so that "
            "columns can be compared; the table shows effects per unit."
        )
    else:
        yield "The size of a coefficient depends on the unit of its column."
    if any(row.is_intercept for row in rows) and not any(r.is_intercept for r in shown):
        yield "The intercept is shown in the table only."
    slopes = [row for row in rows if not row.is_intercept]
    if len(slopes) > MOST_SHOWN and len(shown) < len(slopes):
        which = "largest"
        if any(row.lower is not None for row in shown):
            which = "most certain" if len(shown) == MOST_SHOWN else "identified"
        yield (
            f"The plot shows the {len(shown)} {which} coefficients of {len(slopes)}; the "
            "table shows all of them."
        )
    if scale.unit is not None:
        yield (
            "The effects differ so much in size that the axis is logarithmic beyond "
            f"±{tick_text(scale.unit)}."
        )


def _drawing(
    shown: tuple[Coefficient, ...], scale: Scale, layout: PlotLayout, *, ratio: bool
) -> str:
    height = TOP + layout.row * len(shown) + FOOT
    grid = "".join(
        _tick(value, scale, layout, height, ratio=ratio)
        for value in scale.ticks(layout.ticks)
    )
    lines = "".join(_line(k, row, scale, layout) for k, row in enumerate(shown))
    title, about = f"plot-{layout.name}-title", f"plot-{layout.name}-about"
    return (
        f'<svg class="plot {layout.name}" viewBox="0 0 {layout.width} {height}" role="img" '
        f'aria-labelledby="{title} {about}">'
        f'<title id="{title}">Coefficient plot</title>'
        f'<desc id="{about}">{_about(shown)}</desc>{grid}{lines}</svg>'
    )


def _about(shown: tuple[Coefficient, ...]) -> str:
    low = min(shown, key=lambda row: row.estimate)
    high = max(shown, key=lambda row: row.estimate)
    return html(
        f"{len(shown)} coefficients as dots around a line at zero, from {low.name} at "
        f"{short(low.estimate, 4)} to {high.name} at {short(high.estimate, 4)}. All values "
        "are in the table of coefficients."
    )


def _tick(
    value: float, scale: Scale, layout: PlotLayout, height: int, *, ratio: bool
) -> str:
    x, name = layout.x(scale, value), tick_text(value)
    above = f"×{tick_text(float(f'{math.exp(min(value, 99.0)):.2g}'))}" if ratio else name
    kind = "zero" if value == 0 else "grid"
    bottom = height - FOOT + 4
    return (
        f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{bottom}"/>'
        f'<text class="tick" x="{x:.1f}" y="{TOP - 10}">{above}</text>'
        f'<text class="tick" x="{x:.1f}" y="{bottom + 15}">{name}</text>'
    )


def _line(k: int, row: Coefficient, scale: Scale, layout: PlotLayout) -> str:
    top = TOP + k * layout.row
    text_y = top + (15 if layout.stacked else layout.row / 2 + 4)
    y = top + (28 if layout.stacked else layout.row / 2)
    name_x = 4 if layout.stacked else layout.left - 14
    anchor = "start" if layout.stacked else "end"
    x = layout.x(scale, row.estimate)
    radius = 4.5 if row.lower is None else 3.5
    kind = "dot" if row.identified else "open"
    return (
        f"<g><title>{html(_spoken(row))}</title>"
        f'<text class="name" x="{name_x}" y="{text_y:g}" text-anchor="{anchor}">'
        f"{html(cut(row.name, layout.letters))}</text>"
        f'<text class="value" x="{layout.width - 4}" y="{text_y:g}">'
        f"{short(row.estimate, 4)}</text>"
        f"{_bar(row, y, scale, layout)}"
        f"{_mark(row, x, y, layout)}"
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:g}" r="{radius:g}"/></g>'
    )


def _mark(row: Coefficient, x: float, y: float, layout: PlotLayout) -> str:
    """Return the label of a coefficient that is not identified; empty for all others."""
    if row.identified:
        return ""
    to_left = 2 * x > layout.left + layout.width - layout.right
    anchor, beside = ("end", x - 8) if to_left else ("start", x + 8)
    return (
        f'<text class="mark" x="{beside:.1f}" y="{y + 4:g}" text-anchor="{anchor}">'
        f"{NOT_IDENTIFIED}</text>"
    )


def _bar(row: Coefficient, y: float, scale: Scale, layout: PlotLayout) -> str:
    if row.lower is None or row.upper is None or math.isnan(row.lower + row.upper):
        return ""
    left, right = layout.x(scale, row.lower), layout.x(scale, row.upper)
    ends = "".join(
        f"M{x:.1f} {y - 4:g}v8"
        for x, end in ((left, row.lower), (right, row.upper))
        if math.isfinite(end)
    )
    whole = f'<path class="bar" d="M{left:.1f} {y:g}H{right:.1f}{ends}"/>'
    half = (row.upper - row.lower) / 2
    if not row.sampling or not math.isfinite(half):
        return whole
    middle, inner = row.lower + half, min(row.sampling, half)
    left, right = (layout.x(scale, middle + side * inner) for side in (-1, 1))
    return f'<path class="core" d="M{left:.1f} {y:g}H{right:.1f}"/>{whole}'


def _spoken(row: Coefficient) -> str:
    said = f"{row.name}: {short(row.estimate)}"
    if not row.identified:
        return f"{said}, {NOT_IDENTIFIED}"
    if row.lower is None or row.upper is None:
        return said
    cause = f", widened mainly by {row.widened_by}" if row.widened_by else ""
    return f"{said}, from {short(row.lower)} to {short(row.upper)}{cause}"
