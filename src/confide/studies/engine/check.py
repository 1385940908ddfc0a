"""Check the committed results of a study against a fresh quick run.

Both runs use the same seeds, so their numbers agree to all committed digits as long as
neither the code nor the arithmetic has changed. If numbers differ, the difference is
compared with the variation between committed repetitions of the same setting. Each number
is tested by a t statistic, and each column by combining the statistics over the settings,
with a Bonferroni correction.
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
repetitions are independent and normally distributed."""
DIGITS: Final = 2e-5
"""Largest relative difference of numbers treated as equal; files hold six digits."""
LEAST_OTHERS: Final = 2
"""Smallest number of other repetitions that is enough to estimate the noise.

With fewer repetitions, fresh and committed numbers must be equal."""
SMALLEST_DEVIATION: Final = 0.2
"""Lower bound on the standard deviation of a setting, as a multiple of the median standard
deviation in the same column."""

Cells = Mapping[int, pd.DataFrame]
Columns = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A discrepancy between fresh and committed results that noise does not explain.

    Parameters
    ----------
    cell : str
        The parameters of the grid cell, as text.
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
    """Result of a check: the number of results compared, and the disagreements.

    Parameters
    ----------
    study : Study
        The study.
    cells : int
        Number of cells (combinations of parameter values) in the quick run.
    numbers : int
        Number of results that were compared.
    exact : int
        Number of results that are equal to the committed ones.
    disagreements : tuple of Disagreement
        Results that differ by more than noise, cells that raised an error, and cells
        without a committed result.

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
    """Repeat the quick run of a study, and compare it with the committed results.

    Parameters
    ----------
    study : Study
        The study.
    book : Path, optional
        Folder with the committed results.
    jobs : int, optional
        Number of processes; by default one per CPU.
    progress : callable, optional
        Called with a `Progress` whenever a cell of the grid starts or ends.

    Returns
    -------
    CheckReport
        Numbers of compared and of equal results, and the disagreements.

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
    """A number from the fresh run, and the committed numbers to compare it with.

    ``committed`` is from the same cell of the grid, and ``others`` are from the other
    repetitions of its setting.
    """

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
        """Standard deviation over the other repetitions; NaN if there are too few."""
        if len(self.others) < LEAST_OTHERS:
            return float("nan")
        return float(np.std(self.others, ddof=1))

    def scores(self, least: float) -> tuple[float, float]:
        """Return two z scores of the fresh number.

        The first compares it with the committed number of the same cell, the second with
        the mean of all committed repetitions. Both are standard normal if all numbers are
        independent draws from one normal distribution. ``least`` is a lower bound on the
        standard deviation.
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
    """Compare the results of a fresh quick run with the committed results, cell by cell."""
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
    """Return a key for the setting of a cell: its parameters without repetition numbers."""
    kept = {
        name: value for name, value in task.cell.items() if name not in study.repetition
    }
    return json.dumps(kept, sort_keys=True)


def _peers(study: Study) -> dict[str, list[int]]:
    """Return the seeds of all repetitions of each setting."""
    found: dict[str, list[int]] = {}
    for task in cell_tasks(study, quick=False):
        found.setdefault(_setting(study, task), []).append(task.seed)
    return found


def _lists(frame: pd.DataFrame) -> Columns:
    """Return the columns of one cell's results as lists, without the columns in `FACTS`."""
    return {str(name): frame[name].to_list() for name in frame if name not in FACTS}


def _numbers(
    task: CellTask, committed: Columns, fresh: Columns, others: list[Columns]
) -> Iterator[_Number]:
    """Pair each fresh number of a cell with the committed ones.

    Raise ValueError if the number of rows or an entry of text differs.
    """
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
    """Return one entry of a column, as text or as a number; NaN if it is missing."""
    values = columns.get(name, ())
    value = values[row] if row < len(values) else None
    if isinstance(value, str):
        return value
    return math.nan if value is None else float(value)
