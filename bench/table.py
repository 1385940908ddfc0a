"""Markdown prose and tables that line up in a plain editor as well."""

import textwrap

MISSING = "not available"
SKIPPED = "Skipped: the data were not there. Set `CONFIDE_DATA` to their folder."


def table(head, rows):
    """Return a table; columns are as wide as their widest cell, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [head, *cells]) for i in range(len(head))]
    right = [all(_numeric(row[i]) for row in cells) for i in range(len(head))]
    rule = ["-" * (w - 1) + (":" if r else "-") for w, r in zip(widths, right, strict=True)]
    return "\n".join(_line(row, widths, right) for row in [head, rule, *cells])


def prose(text):
    """Return a paragraph with lines of the usual length."""
    return textwrap.fill(
        " ".join(text.split()), 92, break_on_hyphens=False, break_long_words=False
    )


def verdict(value, target, *, at_least=False):
    """Say whether a measured value meets its target."""
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
