"""From the columns of a table to a design, dense or with categories kept as codes."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from confide._types import Array
from confide.data.columns import Category, Column
from confide.data.design import Design, Indicators, as_places, grouped

ROWS_AT_ONCE = 4096
"""So many rows of the design matrix stay in the processor's cache while written."""
MANY_ROWS = 16 * ROWS_AT_ONCE
"""From so many rows on all cores work."""

Given = TypeVar("Given")
Made = TypeVar("Made")


def dense_design(columns: Sequence[Column], values: list[Any], weights: Array) -> Array:
    """Read column by column, then write some rows at a time into one matrix."""
    count = len(values[0])
    read = _all(
        lambda pair: pair[0].read(pair[1]), zip(columns, values, strict=True), count
    )
    matrix = np.zeros((count, len(weights)))
    starts = _starts(columns)

    def write(low: int) -> None:
        rows = slice(low, low + ROWS_AT_ONCE)
        for column, numbers, start in zip(columns, read, starts, strict=True):
            out = matrix[rows, start : start + len(column.features)]
            column.write(numbers[rows], out, float(weights[start]))

    _all(write, range(0, count, ROWS_AT_ONCE), count)
    return matrix


def compact_design(
    columns: Sequence[Column], values: list[Any], weights: Array
) -> Array | Design:
    """Return the same rows with categories kept as codes, where there are any."""
    coded = [isinstance(column, Category) for column in columns]
    if not any(coded):
        return dense_design(columns, values, weights)
    count, starts = len(values[0]), _starts(columns)
    lines = np.cumsum([not flag for flag in coded]) - 1
    numbers = np.empty((len(columns) - sum(coded), count))

    def read(place: int) -> Any:
        found = columns[place].read(values[place])
        if coded[place]:
            return found
        return np.multiply(found, weights[starts[place]], out=numbers[lines[place]])

    found = _all(read, range(len(columns)), count)
    codes = [found[place] for place, flag in enumerate(coded) if flag]
    indicators = [
        Indicators(start, len(column.features), float(weights[start]))
        for column, start, flag in zip(columns, starts, coded, strict=True)
        if flag
    ]
    heights = weights[starts]
    reach = float(np.linalg.norm(heights)) * (1 + len(columns) * np.finfo(float).eps)
    plain = [start for start, flag in zip(starts, coded, strict=True) if not flag]
    return Design(
        numbers,
        as_places(np.array(plain, np.intp)),
        grouped(codes, indicators, len(weights)),
        (count, len(weights)),
        reach,
    )


def _starts(columns: Sequence[Column]) -> list[int]:
    sizes = [len(column.features) for column in columns]
    return [sum(sizes[:place]) for place in range(len(sizes))]


def _all(job: Callable[[Given], Made], given: Iterable[Given], count: int) -> list[Made]:
    """Do a job for everything given, on all cores where there are many rows."""
    if count < MANY_ROWS:
        return list(map(job, given))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(job, given))
