"""Encoding of a table as a design matrix, dense or with categories stored as codes."""

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from confide._types import AnyArray, Array
from confide.data.matrix.category_tables import (
    IndicatorBlock,
    JointTable,
    Places,
    as_places,
    joined,
)
from confide.data.matrix.coded_design import CodedDesign
from confide.data.matrix.sums import rows_per_sum
from confide.data.schema.columns import COLUMNS, Column, refuse_missing
from confide.data.schema.terms.term import Effect, Term, Units

ROWS_PER_THREAD = 2**15
"""Smallest number of rows per task. Smaller tasks use the processor's cache better, but
threads then wait for each other more often."""
COLUMNS_AT_ONCE = 20
MOST_NUDGES = 4
"""Largest number of times that a scale factor may be rounded up, so that the ends of a
range are scaled to the full height. For ranges far from zero, a rounding error may
remain."""


@dataclass(frozen=True, slots=True)
class RangeScaler:
    """Linear scaling of public ranges to ± a height; use `RangeScaler.of` to create one."""

    middle: Array
    factor: Array
    height: Array

    @classmethod
    def of(cls, ends: Sequence[tuple[float, float]], heights: Array) -> "RangeScaler":
        """Return the linear map that scales every range to ± its height."""
        lower, upper = np.array(ends, dtype=np.float64).reshape(-1, 2, 1).swapaxes(0, 1)
        middle, height = lower / 2 + upper / 2, np.reshape(heights, (-1, 1))
        factor = height / ((upper - lower) / 2)
        for _ in range(MOST_NUDGES):
            short = np.minimum(upper - middle, middle - lower) * factor < height
            factor = np.where(short, np.nextafter(factor, np.inf), factor)
        return cls(middle, factor, height)

    def write(
        self, raw: Sequence[AnyArray], out: Array, missing: Callable[[int], float]
    ) -> None:
        """Write scaled columns into the rows of ``out``.

        ``missing`` returns the replacement for missing values of the column with a given
        index, or raises an error.
        """
        for first in range(0, len(raw), COLUMNS_AT_ONCE):
            some = slice(first, first + COLUMNS_AT_ONCE)
            part = out[some]
            for line, values in zip(part, raw[some], strict=True):
                line[:] = values
            middle, height = self.middle[some], self.height[some]
            with np.errstate(over="ignore"):
                if middle.any():
                    part -= middle
                part *= self.factor[some]
            np.clip(part, -height, height, out=part)
            if np.isnan(part.max(initial=0.0)):
                for place, line in enumerate(part, first):
                    absent = np.isnan(line)
                    if absent.any():
                        line[absent] = missing(place)


def pieces(count: int) -> list[slice]:
    """Divide rows into slices of nearly equal length for parallel encoding."""
    edges = np.linspace(0, count, max(1, count // ROWS_PER_THREAD) + 1).astype(int).tolist()
    return [slice(*pair) for pair in pairwise(edges)]


ROWS_AT_ONCE = 4096
"""Number of rows of the design matrix that are written at a time, to fit the cache."""
THREAD_THRESHOLD_ROWS = 2**17
"""Smallest number of rows for which all cores are used."""

Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """Encoder from tables to design matrices; use `Encoder.of` to create one.

    Numeric features are written to an array with one row per feature. ``places`` are the
    indices of these features in the design matrix. ``lines`` are the rows of the array that
    belong to plain columns, not to terms. ``reach`` bounds the norm of a row of the design
    matrix.
    """

    columns: tuple[Column, ...]
    numbers: tuple[Column, ...]
    categories: tuple[Column, ...]
    terms: "TermEncoder | None"
    places: Places
    lines: AnyArray
    ranges: RangeScaler
    indicators: tuple[IndicatorBlock, ...]
    joints: tuple[JointTable, ...]
    width: int
    reach: float

    @classmethod
    def of(
        cls, columns: Sequence[Column], effects: Sequence[Effect], weights: Array
    ) -> "Encoder":
        """Return an encoder for effects, given the weights of their features."""
        sizes = [len(effect.features) for effect in effects]
        starts = (np.cumsum(sizes) - sizes).tolist()
        laid: list[tuple[Any, int, int]] = list(zip(effects, starts, sizes, strict=True))
        whole = [one for one in laid if isinstance(one[0], tuple(COLUMNS.values()))]
        made = [one for one in laid if one not in whole]
        plain = np.array([s for one, s, _ in whole if not one.coded], dtype=np.intp)
        dense = [np.arange(s, s + k) for one, s, k in made if not one.coded]
        places = np.sort(np.concatenate([plain, *dense]))
        coded = [one for one in (*whole, *made) if one[0].coded]
        indicators = tuple(
            IndicatorBlock(start, size, float(weights[start])) for _, start, size in coded
        )
        width = len(weights)
        length = float(np.linalg.norm(weights[starts]))
        numbers = tuple(one for one, _, _ in whole if not one.coded)
        return cls(
            tuple(columns),
            numbers,
            tuple(one for one, _, _ in whole if one.coded),
            TermEncoder.of(made, weights, places) if made else None,
            as_places(places),
            np.searchsorted(places, plain),
            RangeScaler.of([column.ends for column in numbers], weights[plain]),
            indicators,
            joined(indicators, rows_per_sum(width) // 2),
            width,
            length * (1 + len(effects) * np.finfo(float).eps),
        )

    def dense(self, values: list[Any]) -> Array:
        """Return the design matrix as a dense array, which is filled in blocks of rows."""
        numbers, codes = self._read(values)
        matrix = np.zeros((len(values[0]), self.width))

        def write(low: int) -> None:
            rows = slice(low, low + ROWS_AT_ONCE)
            out = matrix[rows]
            out[:, self.places] = numbers[:, rows].T
            for code, own in zip(codes, self.indicators, strict=True):
                known = np.flatnonzero(code[rows] >= 0)
                out[known, own.start + code[rows][known].astype(np.intp)] = own.height

        _all(write, range(0, len(matrix), ROWS_AT_ONCE), len(matrix))
        return matrix

    def compact(self, values: list[Any]) -> CodedDesign:
        """Return the design matrix with categories stored as codes."""
        numbers, codes = self._read(values)
        groups = tuple(joint.group(codes) for joint in self.joints)
        shape = (len(values[0]), self.width)
        return CodedDesign(numbers, self.places, groups, shape, self.reach)

    def _read(self, values: list[Any]) -> tuple[Array, list[AnyArray]]:
        """Return the weighted numeric features, one per row, and codes of categories."""
        count = len(values[0])
        pairs = zip(self.columns, values, strict=True)
        read = _all(lambda pair: pair[0].read(pair[1]), pairs, count)
        found = {c.name: one for c, one in zip(self.columns, read, strict=True)}
        raw = [found[column.name] for column in self.numbers]
        codes = [found[column.name] for column in self.categories]
        terms = self.terms
        lines = len(raw) + (0 if terms is None else terms.lines)
        numbers = _buffer((lines, count))

        def write(rows: slice) -> None:
            cut, out = [column[rows] for column in raw], numbers[:, rows]
            missing = partial(_middle, self.numbers)
            if terms is None:
                self.ranges.write(cut, out, missing)
                return
            alone = np.empty((len(raw), out.shape[1]))
            self.ranges.write(cut, alone, missing)
            out[self.lines] = alone
            terms.write({name: values[rows] for name, values in found.items()}, out)

        _all(write, pieces(count), count)
        if terms is not None:
            codes += terms.codes(found)
        return numbers, codes


def _middle(columns: Sequence[Column], place: int) -> float:
    """Return 0, which encodes a missing value; raise an error if the column allows none."""
    column = columns[place]
    if column.missing == "refuse":
        raise refuse_missing(column.name, "midpoint")
    return 0.0


@dataclass(frozen=True, slots=True, eq=False)
class TermEncoder:
    """Encoder of terms other than columns: splines, polynomials and interactions.

    ``dense`` contains the numeric terms, each with the weight of its features and the row
    of its first feature. ``coded`` contains the interactions of categories.
    """

    dense: tuple[tuple[Term, float, int], ...]
    coded: tuple[Term, ...]
    numbers: tuple[Column, ...]
    ranges: RangeScaler
    lines: int

    @classmethod
    def of(
        cls, laid: Sequence[tuple[Any, int, int]], weights: Array, places: AnyArray
    ) -> "TermEncoder":
        """Return an encoder for terms, given the weights of all features.

        ``laid`` contains every term, the index of its first feature, and the number of its
        features. ``places`` are the sorted indices of all numeric features.
        """
        dense = tuple(
            (one, float(weights[s]), int(np.searchsorted(places, s)))
            for one, s, _ in laid
            if not one.coded
        )
        used = {c.name: c for one, *_ in dense for c in one.columns if not c.coded}
        numbers = tuple(used.values())
        ends = [column.ends for column in numbers]
        return cls(
            dense,
            tuple(one for one, _, _ in laid if one.coded),
            numbers,
            RangeScaler.of(ends, np.ones(len(ends))),
            sum(len(one.features) for one, *_ in dense),
        )

    def write(self, found: Mapping[str, AnyArray], out: Array) -> None:
        """Write the weighted features of a block of records into the rows of ``out``."""
        raw = [found[column.name] for column in self.numbers]
        places = np.empty((len(raw), out.shape[1]))
        self.ranges.write(raw, places, partial(_middle, self.numbers))
        named = {c.name: one for c, one in zip(self.numbers, places, strict=True)}
        units = Units(named, dict(found))
        for term, weight, start in self.dense:
            made = term.encode(units)
            np.multiply(made, weight, out=out[start : start + len(made)])

    def codes(self, found: Mapping[str, AnyArray]) -> list[AnyArray]:
        """Return, per coded term, the index of the feature that is 1; −1 if all are 0."""
        units = Units({}, dict(found))
        return [term.encode(units) for term in self.coded]


class _Memory(threading.local):
    free: bool = False
    last: Array = np.empty(0)


_memory = _Memory()


@contextmanager
def reuse_buffer() -> Iterator[None]:
    """Let this thread write its next design into the memory of its previous one.

    A block of a stream is no longer used when the next block is read. Allocating new memory
    for every block would take as long as the arithmetic.
    """
    _memory.free = True
    try:
        yield
    finally:
        _memory.free = False


def _buffer(shape: tuple[int, int]) -> Array:
    """Return an uninitialised array, in the memory of the previous one if allowed."""
    if not _memory.free:
        return np.empty(shape)
    _memory.free, size = False, math.prod(shape)
    if len(_memory.last) < size:
        _memory.last = np.empty(size)
    return _memory.last[:size].reshape(shape)


def _all(job: Callable[[Given], Made], given: Iterable[Given], count: int) -> list[Made]:
    """Apply a function to every item, on all cores if there are many rows."""
    if count < THREAD_THRESHOLD_ROWS:
        return list(map(job, given))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(job, given))
