"""Compare committed results with a fresh quick run.

Seeds are the same, so numbers agree to all committed digits as long as neither the code nor
the arithmetic has changed. If they differ, the difference is compared with the variation
between committed repetitions of the same setting. Every number is tested by a t statistic,
and every column by the combined statistics of its settings, with Bonferroni correction.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtr

from confide.studies.engine.cells import CellTask, cell_tasks, in_words
from confide.studies.engine.committed import BOOK, FACTS, committed_cells, finished_cells
from confide.studies.engine.outcome import Watch
from confide.studies.engine.runner import reproduce
from confide.studies.engine.study import Study

FALSE_ALARMS: Final = 1e-3
"""Probability of a false alarm for a study whose results differ by noise alone, if
repetitions are normal and independent."""
DIGITS: Final = 2e-5
"""Relative difference up to which numbers, written with six digits, count as equal."""
LEAST_OTHERS: Final = 2
"""Minimum number of other repetitions to estimate noise; with fewer, numbers must agree."""
SMALLEST_DEVIATION: Final = 0.2
"""Lower bound on the standard deviation of a setting, relative to its column's median."""

Cells = Mapping[int, pd.DataFrame]
Columns = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A cell, or one of its numbers, that differs from the committed result.

    Parameters
    ----------
    cell : str
        The parameters of the cell, as text.
    what : str
        Description of the difference.

    Examples
    --------
    >>> from confide.studies import Disagreement
    >>> Disagreement("rows 1000", "coverage is 0.91 instead of 0.95").cell
    'rows 1000'
    """

    cell: str
    what: str

    def __str__(self) -> str:
        return f"{self.cell}: {self.what}"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Result of a check: the number of comparisons, and the disagreements.

    Parameters
    ----------
    study : Study
        The study.
    cells : int
        Number of cells that were computed.
    numbers : int
        Number of results that were compared.
    exact : int
        Number of results that are equal to the committed ones.
    disagreements : tuple of Disagreement
        Results that differ by more than noise, and cells that failed or are not committed.

    Examples
    --------
    >>> from confide import studies
    >>> study = studies.STUDIES["ci-table3"]
    >>> studies.CheckReport(study, cells=2, numbers=10, exact=9, disagreements=()).exact
    9
    """

    study: Study
    cells: int
    numbers: int
    exact: int
    disagreements: tuple[Disagreement, ...]


def check(
    study: Study,
    *,
    book: Path = BOOK,
    jobs: int | None = None,
    progress: Watch | None = None,
) -> CheckReport:
    """Run the quick cells of a study again and compare them with the committed results.

    Parameters
    ----------
    study : Study
        The study.
    book : Path, optional
        Folder of committed results.
    jobs : int, optional
        Number of processes; by default one per CPU.
    progress : callable, optional
        Receives a `Progress` whenever a cell starts or ends.

    Returns
    -------
    CheckReport
        Number of equal results, and the disagreements.

    Examples
    --------
    >>> from confide.studies import STUDIES, check
    >>> report = check(STUDIES["ci-table3"])  # doctest: +SKIP
    """
    with TemporaryDirectory() as place:
        done = reproduce(study, quick=True, jobs=jobs, folder=place, progress=progress)
        fresh = finished_cells(study, Path(place))
    failed = [Disagreement(one.where, one.error) for one in done.failures]
    report = compare(study, committed_cells(study, book), fresh)
    return CheckReport(
        study,
        report.cells,
        report.numbers,
        report.exact,
        (*failed, *report.disagreements),
    )


@dataclass(frozen=True, slots=True)
class _Number:
    """A fresh number, the committed one, and the committed ones of other repetitions."""

    task: CellTask
    row: int
    column: str
    label: str
    fresh: float
    committed: float
    others: tuple[float, ...]

    @property
    def same(self) -> bool:
        if math.isnan(self.fresh) and math.isnan(self.committed):
            return True
        largest = max(abs(self.fresh), abs(self.committed))
        return abs(self.fresh - self.committed) <= DIGITS * largest

    @property
    def deviation(self) -> float:
        """Standard deviation of the other repetitions; NaN if there are too few."""
        if len(self.others) < LEAST_OTHERS:
            return float("nan")
        return float(np.std(self.others, ddof=1))

    def scores(self, least: float) -> tuple[float, float]:
        """Return z scores against the committed number and the mean of all repetitions.

        Both are standard normal if fresh and committed results have the same distribution.
        """
        deviation = max(self.deviation, least)
        if not deviation > 0 or math.isnan(self.fresh - self.committed):
            return math.inf, math.inf
        count = len(self.others) + 1
        mean = (sum(self.others) + self.committed) / count
        alone = (self.fresh - self.committed) / math.sqrt(2)
        beside = (self.fresh - mean) / math.sqrt(1 + 1 / count)
        return (
            _normal(alone / deviation, count - 2),
            _normal(beside / deviation, count - 2),
        )


def _normal(student: float, freedom: int) -> float:
    """Return the normal quantile with the same tail probability as a t statistic."""
    tail = float(stdtr(freedom, -abs(student)))
    return math.copysign(-float(ndtri(max(tail, 1e-300))), student)


def compare(study: Study, committed: Cells, fresh: Cells) -> CheckReport:
    """Compare the fresh cells of a quick run with the committed ones."""
    tasks = cell_tasks(study, quick=True)
    peers = _peers(study)
    lists = {seed: _lists(frame) for seed, frame in committed.items()}
    found: list[Disagreement] = []
    numbers: list[_Number] = []
    for task in tasks:
        if task.seed not in fresh:
            continue
        if task.seed not in committed:
            found.append(Disagreement(in_words(task.cell), "not committed"))
            continue
        seeds = [seed for seed in peers[_setting(study, task)] if seed != task.seed]
        others = [lists[seed] for seed in seeds if seed in lists]
        try:
            numbers += _numbers(task, lists[task.seed], _lists(fresh[task.seed]), others)
        except ValueError as error:
            found.append(Disagreement(in_words(task.cell), str(error)))
    different = [one for one in numbers if not one.same]
    found += _beyond_noise(different, numbers)
    return CheckReport(
        study, len(tasks), len(numbers), len(numbers) - len(different), tuple(found)
    )


def _beyond_noise(
    different: list[_Number], numbers: list[_Number]
) -> Iterator[Disagreement]:
    least = _usual_deviations(numbers)
    kinds: dict[tuple[int, str], list[float]] = {}
    limit = -ndtri(FALSE_ALARMS / 4 / max(1, len(numbers)))
    for one in different:
        alone, beside = one.scores(SMALLEST_DEVIATION * least.get(one.column, 0.0))
        kinds.setdefault((one.row, one.column), []).append(beside)
        if abs(alone) > limit:
            yield Disagreement(
                in_words(one.task.cell),
                f"{one.label}{one.column} is {one.fresh:.6g} instead of "
                f"{one.committed:.6g} (standard deviation {one.deviation:.2g})",
            )
    limit = -ndtri(FALSE_ALARMS / 4 / max(1, len(kinds)))
    for (row, column), scores in kinds.items():
        score = abs(sum(scores)) / np.sqrt(len(scores))
        if np.isfinite(score) and score > limit and len(scores) > 1:
            yield Disagreement(
                f"{len(scores)} cells together",
                f"{column} of row {row + 1} is off by {score:.1f} standard errors",
            )


def _usual_deviations(numbers: list[_Number]) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for one in numbers:
        if np.isfinite(one.deviation):
            columns.setdefault(one.column, []).append(one.deviation)
    return {name: float(np.median(values)) for name, values in columns.items()}


def _setting(study: Study, task: CellTask) -> str:
    """Return the parameters of a cell as a key, without those that number repetitions."""
    kept = {
        name: value for name, value in task.cell.items() if name not in study.repetition
    }
    return json.dumps(kept, sort_keys=True)


def _peers(study: Study) -> dict[str, list[int]]:
    """Return the seeds of all repetitions, by setting."""
    found: dict[str, list[int]] = {}
    for task in cell_tasks(study, quick=False):
        found.setdefault(_setting(study, task), []).append(task.seed)
    return found


def _lists(frame: pd.DataFrame) -> Columns:
    """Return the columns of a cell as lists, without the bookkeeping columns."""
    return {str(name): frame[name].to_list() for name in frame if name not in FACTS}


def _numbers(
    task: CellTask, committed: Columns, fresh: Columns, others: list[Columns]
) -> Iterator[_Number]:
    """Pair fresh and committed numbers; raise ValueError if row counts or texts differ."""
    count, before = (len(next(iter(one.values()))) for one in (fresh, committed))
    if count != before:
        raise ValueError(f"{count} rows instead of {before}")
    names = [name for name in fresh if name not in task.cell]
    for row in range(count):
        label = ""
        for name in names:
            new, old = _at(fresh, name, row), _at(committed, name, row)
            if isinstance(new, str) or isinstance(old, str):
                if new != old:
                    raise ValueError(f"{name} of row {row + 1} is {new} instead of {old}")
                label += f"{new}, "
                continue
            values = [_at(one, name, row) for one in others]
            known = [x for x in values if not isinstance(x, str) and math.isfinite(x)]
            yield _Number(task, row, name, label, new, old, tuple(known))


def _at(columns: Columns, name: str, row: int) -> str | float:
    """Return a text or a number; NaN if the value is absent."""
    values = columns.get(name, ())
    value = values[row] if row < len(values) else None
    if isinstance(value, str):
        return value
    return math.nan if value is None else float(value)
