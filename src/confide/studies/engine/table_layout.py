"""A data frame as lines of text, for a page and for the terminal alike."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

ABSENT = "–"


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Heads and lines; ``numeric`` says which columns hold numbers and go to the right."""

    heads: tuple[str, ...]
    numeric: tuple[bool, ...]
    lines: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, table: pd.DataFrame) -> "TableLayout":
        """Lay out a frame: numbers to four digits or whole, heads in one line each."""
        flat = flattened(table)
        return cls(
            tuple(str(name) for name in flat.columns),
            tuple(pd.api.types.is_numeric_dtype(kind) for kind in flat.dtypes),
            tuple(
                tuple(_shown(value) for value in line)
                for line in flat.itertuples(index=False, name=None)
            ),
        )

    def markdown(self) -> str:
        """Return a table of GitHub's Markdown."""
        rule = ["---:" if number else "---" for number in self.numeric]
        lines = [self.heads, rule, *self.lines]
        return "".join(f"| {' | '.join(map(_escaped, line))} |\n" for line in lines)


def flattened(table: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose index, where it says something, is made of columns."""
    flat = table if isinstance(table.index, pd.RangeIndex) else table.reset_index()
    return flat.set_axis([_one_line(name) for name in flat.columns], axis="columns")


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return plain values for JSON, which has no word for what is not a finite number."""
    lines = flattened(table).to_dict("records")
    return [{str(name): _finite(value) for name, value in line.items()} for line in lines]


def _finite(value: Any) -> Any:
    bare = value.item() if isinstance(value, np.generic) else value
    if bare is pd.NA or (isinstance(bare, float) and not math.isfinite(bare)):
        return None
    return bare


def _one_line(name: Any) -> str:
    parts = name if isinstance(name, tuple) else (name,)
    return " ".join(str(part) for part in parts if str(part))


def _shown(value: Any) -> str:
    if isinstance(value, float | np.floating):
        number = float(value)
        if math.isnan(number):
            return ABSENT
        return f"{number:.0f}" if 1e4 <= abs(number) < 1e9 else f"{number:.4g}"
    return ABSENT if value is None or value is pd.NA else str(value)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
