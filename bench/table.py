"""Markdown paragraphs, and tables that are also aligned in the source text."""

import textwrap

MISSING = "not available"
SKIPPED = "Skipped: the data sets were not found. Set `CONFIDE_DATA` to their folder."


def table(head, rows):
    """Return a table with columns as wide as their widest cell and aligned numbers."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [head, *cells]) for i in range(len(head))]
    right = [all(_numeric(row[i]) for row in cells) for i in range(len(head))]
    rule = ["-" * (w - 1) + (":" if r else "-") for w, r in zip(widths, right, strict=True)]
    return "\n".join(_line(row, widths, right) for row in [head, rule, *cells])


def prose(text):
    """Return a paragraph, wrapped to the usual line length."""
    return textwrap.fill(
        " ".join(text.split()), 92, break_on_hyphens=False, break_long_words=False
    )


def verdict(value, target, *, at_least=False):
    """Return whether a measured value meets its target, as text."""
    met = value >= target if at_least else value <= target
    return "met" if met else "**missed**"


def _line(row, widths, right):
    padded = [
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(row, widths, right, strict=True)
    ]
    return f"| {' | '.join(padded)} |"


def _numeric(cell):
    return bool(cell) and (cell[0].isdigit() or cell[0] in "-–<≤≥" or cell == MISSING)
