"""Descriptions as HTML: a self-contained page, and a table for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.description.text import (
    ABOUT_INTERVALS,
    ABOUT_NUMBERS,
    groups,
    rows_line,
    shown_pair,
)
from confide.reporting.markup import render
from confide.reporting.text import Promise

if TYPE_CHECKING:
    from confide.description.value import Description

TEMPLATE = "description.html.jinja"


def description_page(found: Description, version: str = "") -> str:
    """Return a self-contained HTML page, with the guarantee followed by every column."""
    return render(TEMPLATE, {**_content(found), "whole": True, "version": version})


def notebook_table(found: Description) -> str:
    """Return HTML with the estimates only, for a notebook."""
    return render(TEMPLATE, {**_content(found), "whole": False, "version": ""})


def _content(found: Description) -> dict[str, object]:
    return {
        "dataset": found.schema.name,
        "promise": Promise.of(found.guarantee),
        "rows": rows_line(found),
        "groups": list(groups(found)),
        "pairs": [shown_pair(pair) for pair in found.pairs],
        "level": f"{found.level:.0%}",
        "hidden": ", ".join(found.hidden),
        "noise": f"{found.noise.kind} {found.noise.scale:.4g} on every count",
        "notes": (ABOUT_INTERVALS, ABOUT_NUMBERS),
    }
