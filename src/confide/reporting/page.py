"""The report: one HTML page that needs nothing but itself.

It holds no script and fetches nothing; a content policy in its head forbids both.
"""

import math
from collections.abc import Iterable, Sequence

from confide.inference import Coefficient, Summary
from confide.privacy import Budget, Guarantee, Neighbours
from confide.reporting.card import Item, Section, card_sections, caution_text
from confide.reporting.coefficient_svg import MOST_SHOWN, picture
from confide.reporting.format import html, short
from confide.reporting.released_plot import ReleasedPlot, plot_svg
from confide.reporting.stylesheet import STYLE
from confide.reporting.text import (
    Share,
    Spending,
    about_intervals,
    describe,
    effective_budget,
    not_in_intervals,
    spending,
)

POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report_page(
    summary: Summary,
    *,
    title: str = "",
    dataset: str = "",
    spent: Budget | None = None,
    limit: Budget | None = None,
    counted_for: Neighbours | None = None,
    card: bool = True,
    version: str = "",
    paid_plots: tuple[ReleasedPlot, ...] = (),
) -> str:
    """Return a self-contained HTML page about a released model.

    Parameters
    ----------
    summary : Summary
        The released model; the page holds nothing about the data beyond it.
    title : str
        The heading; by default the summary's own.
    dataset : str
        The public name of the table.
    spent, limit : Budget, optional
        What all releases from this dataset have spent together, and what they may; of
        one kind.
    counted_for : Neighbours, optional
        The relation for which these are; None if it is not recorded.
    card : bool
        Whether to fold the model card in at the end.
    version : str
        The version of confide that made the release.
    paid_plots : tuple of PaidPlot
        Plots that need the data, such as a ROC curve or residuals. Each must come from a
        private release of its own and is printed with that release's guarantee.

    Returns
    -------
    str
        HTML text, to be written as UTF-8.
    """
    heading, budget = title or summary.title, spending(spent, limit, counted_for)
    parts = [
        _header(heading, dataset, summary.about),
        _promise(summary.guarantee),
        _coefficients(summary),
        *(_paid(plot, number) for number, plot in enumerate(paid_plots)),
        _facts(summary.facts),
        _budget(budget),
        _card(card_sections(summary, dataset, budget, version)) if card else "",
        _footer(version),
    ]
    full_title = " – ".join(filter(None, (heading, dataset)))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html(full_title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        "<body>\n<main>\n"
        + "\n".join(filter(None, parts))
        + "\n</main>\n</body>\n</html>\n"
    )


def _header(heading: str, dataset: str, about: tuple[tuple[str, str], ...]) -> str:
    table = f"Dataset: {dataset}" if dataset else ""
    kicker = " · ".join(filter(None, ("Private model report", table)))
    lines = "".join(f"<dt>{html(name)}</dt><dd>{html(value)}</dd>" for name, value in about)
    return (
        f'<header><p class="kicker">{html(kicker)}</p><h1>{html(heading)}</h1>'
        + (f'<dl class="about">{lines}</dl>' if lines else "")
        + "</header>"
    )


def _footer(version: str) -> str:
    software = html(f"confide {version}")
    holds = "This page holds the released numbers and public facts about them, and no data."
    return f"<footer>Made with {software}. {holds}</footer>"


def _promise(guarantee: Guarantee) -> str:
    words = describe(guarantee)
    warning = f'<p class="warning">{html(words.warning)}</p>' if words.warning else ""
    said = filter(None, (words.relation, *words.promise, words.trust))
    listed = "".join(f"<li>{html(text)}</li>" for text in words.assumptions)
    assumed = f"<p>It assumes:</p><ul>{listed}</ul>" if listed else ""
    kind = str(guarantee.status).lower() + ("" if guarantee.private else " seeded")
    return (
        f'<section class="promise {kind}" aria-labelledby="promise"><div class="head">'
        f'<h2 id="promise">What is guaranteed</h2>{_badges(guarantee)}</div>'
        f'{warning}<p class="budget">{html(_in_short(guarantee))}</p>'
        + "".join(f"<p>{html(text)}</p>" for text in said)
        + f"{assumed}</section>"
    )


def _badges(guarantee: Guarantee) -> str:
    status = str(guarantee.status)
    if guarantee.private:
        return f'<span class="badge {status.lower()}">{status}</span>'
    return (
        '<span class="badge seeded">NOT PRIVATE</span> '
        f'<span class="badge moot">{status} without the seed</span>'
    )


def _in_short(guarantee: Guarantee) -> str:
    budget = effective_budget(guarantee)
    if budget is None:
        return "No guarantee"
    start = "" if guarantee.private else "With fresh noise it would be "
    return f"{start}{budget}, {guarantee.neighbours} neighbours"


def _coefficients(summary: Summary) -> str:
    rows, drawn = summary.rows, picture(summary.rows)
    figure = ""
    if drawn is not None:
        notes = "".join(f"<p>{html(note)}</p>" for note in drawn.notes)
        figure = (
            f'<figure>{drawn.svg}<figcaption class="note">{drawn.key}{notes}'
            "</figcaption></figure>"
        )
    table = _table(summary)
    if len(rows) > MOST_SHOWN:
        count = f"Table of all {len(rows)} coefficients"
        table = f"<details><summary>{count}</summary>{table}</details>"
    else:
        table = f"<h3>Table</h3>{table}"
    return (
        '<section aria-labelledby="coefficients"><h2 id="coefficients">Coefficients</h2>'
        f"{_caution(summary)}{figure}{table}{_meaning(summary)}</section>"
    )


def _caution(summary: Summary) -> str:
    text = caution_text(summary.caution)
    return f'<p class="warning">{html(text)}</p>' if text else ""


def _meaning(summary: Summary) -> str:
    """Say how to read intervals; without any there is nothing to say."""
    if summary.level is None:
        return ""
    said = "".join(f"<p>{html(text)}</p>" for text in about_intervals(summary.level))
    bounds = "".join(
        _item(Item(text, lead)) for lead, text in not_in_intervals(summary.level)
    )
    return (
        f"<h3>What an interval means</h3>{said}<p>What it does not cover:</p>"
        f"<ul>{bounds}</ul>"
    )


def _table(summary: Summary) -> str:
    rows, keys, digits, kind = summary.rows, ["estimate"], 5, ""
    bounded = any(row.lower is not None or row.upper is not None for row in rows)
    caption = "Released coefficients, privacy noise included"
    if bounded:
        keys, digits = ["estimate", "lower", "upper"], 4
        kind = ' class="bounded"'
        level = "" if summary.level is None else f" {100 * summary.level:g} %"
        caption += f", with{level} intervals; * marks those that leave out zero"
    columns = [_aligned([getattr(row, key) for row in rows], digits) for key in keys]
    head = "".join(f'<th scope="col" class="number">{key}</th>' for key in keys)
    if any(row.widened_by for row in rows):
        head += '<th scope="col">widened by</th>'
        columns.append([f"<td>{row.widened_by or ''}</td>" for row in rows])
    body = "".join(
        f'<tr><th scope="row">{html(row.name)}{_mark(row)}</th>{"".join(cells)}</tr>'
        for row, *cells in zip(rows, *columns, strict=True)
    )
    return (
        f'<div class="scroll"><table{kind}><caption>{html(caption)}</caption>'
        f'<thead><tr><th scope="col">coefficient</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _mark(row: Coefficient) -> str:
    said = "its interval leaves out zero"
    return f' <abbr class="sure" title="{said}">*</abbr>' if row.reliable else ""


def _aligned(values: Sequence[float | None], digits: int) -> list[str]:
    """Return cells whose decimal points stand under each other."""
    split = ["" if value is None else short(value, digits) for value in values]
    parts = [text.partition(".") for text in split]
    widest = max((len(point + tail) for _, point, tail in parts), default=0)
    return [
        _cell(value, front, point + tail, widest)
        for value, (front, point, tail) in zip(values, parts, strict=True)
    ]


def _cell(value: float | None, front: str, tail: str, widest: int) -> str:
    if value is None or math.isnan(value):
        return f'<td class="number">{front}</td>'
    place = f'<span class="tail" style="width:{widest}ch">{tail}</span>' if widest else ""
    return f'<td class="number"><data value="{value!r}">{front}{place}</data></td>'


def _paid(plot: ReleasedPlot, number: int) -> str:
    guarantee = plot.guarantee
    trust = describe(guarantee).trust
    return (
        f'<section class="plot-paid"><h2>{html(plot.title)}</h2>'
        f"<figure>{plot_svg(plot, number)}"
        f'<figcaption class="note"><p>{_badges(guarantee)} This plot was released '
        f"separately and paid for: {html(_in_short(guarantee))}. {html(trust)}</p>"
        "</figcaption></figure></section>"
    )


def _facts(facts: tuple[tuple[str, str], ...]) -> str:
    if not facts:
        return ""
    lines = "".join(
        f'<tr><th scope="row">{html(name)}</th><td>{html(value)}</td></tr>'
        for name, value in facts
    )
    return (
        '<section aria-labelledby="facts"><h2 id="facts">How it was released</h2>'
        '<table class="facts"><caption>Public facts about noise and penalty</caption>'
        f"<tbody>{lines}</tbody></table></section>"
    )


def _budget(known: Spending | None) -> str:
    if known is None:
        return ""
    return (
        '<section aria-labelledby="budget"><h2 id="budget">Budget spent so far</h2>'
        f"<p>{html(known.sentence)}</p>{''.join(map(_meter, known.shares))}</section>"
    )


def _meter(share: Share) -> str:
    text, percent = html(str(share)), f"{share.percent:.2f}"
    kind = "meter over" if share.over else "meter"
    return (
        f'<p class="note">{text}</p><div class="{kind}" role="meter" aria-valuemin="0" '
        f'aria-valuemax="100" aria-valuenow="{percent}" aria-label="{text}">'
        f'<span style="width:{percent}%"></span></div>'
    )


def _card(sections: Iterable[Section]) -> str:
    inside = "".join(map(_section, sections))
    return f"<details><summary>Model card</summary>{inside}</details>"


def _section(section: Section) -> str:
    warning = f'<p class="warning">{html(section.warning)}</p>' if section.warning else ""
    paragraphs = "".join(f"<p>{html(text)}</p>" for text in section.paragraphs)
    items = "".join(map(_item, section.items))
    listed = f"<ul>{items}</ul>" if items else ""
    return f"<h3>{html(section.heading)}</h3>{warning}{paragraphs}{listed}"


def _item(item: Item) -> str:
    lead = f"<b>{html(item.lead)}</b> " if item.lead else ""
    return f"<li>{lead}{html(item.text)}</li>"
