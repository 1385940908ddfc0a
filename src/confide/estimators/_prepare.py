"""Preparation of a fit: bound the rows and calibrate, before the charge."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from confide._types import Array
from confide.accounting import Event, group_events
from confide.data import UNNAMED, InMemoryRows, PartitionedRows, Rows, Schema
from confide.errors import InvalidParameter
from confide.estimators._readings import Reading
from confide.estimators._spec import FitSpec
from confide.estimators._target import Code, TargetSpec
from confide.estimators._validate import check_count_is_public, refuse_empty
from confide.ledger import Charge, Ledger
from confide.mechanisms import Calibration, Release
from confide.mechanisms.ranges.mechanism import RangesCalibration
from confide.noise import Entropy
from confide.privacy import Guarantee, Neighbours

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Reiterable(Generic[Item]):
    """Items that are created anew in each iteration, so that none is stored."""

    make: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.make()


@dataclass(frozen=True, slots=True, repr=False)
class PreparedFit:
    """A prepared fit, ready to be charged and released.

    ``counts`` are those that ranges are bought from, None where none are; ``row_count`` is
    how many rows were read.
    """

    spec: FitSpec
    reading: Reading
    calibration: Calibration
    tasks: Iterable[Rows]
    counts: Sequence[Array] | None = None
    row_count: int = 0

    @property
    def task(self) -> TargetSpec:
        """What the target asks for."""
        return self.reading.task

    @property
    def public_rows(self) -> int | None:
        """How many rows the table has, where that is public."""
        public = self.spec.neighbours is Neighbours.REPLACE_ONE
        return self.row_count if public else None

    @property
    def known_rows(self) -> int | None:
        """How many rows there are; where that is private, about how many are declared."""
        declared = None if self.spec.schema is None else self.spec.schema.rows
        return declared if self.public_rows is None else self.public_rows

    def charge(
        self,
        ledger: Ledger,
        what: str,
        *,
        secret: bool,
        events: tuple[Event, ...] | None = None,
    ) -> Charge:
        """Charge before anything is drawn; nothing after this may fail because of the data.

        ``events`` are those of a person, where they are not the fit's alone.
        """
        own = group_events(self.calibration.events, self.spec.rows_per_person)
        return ledger.charge(
            self.spec.dataset or UNNAMED,
            self.spec.budget,
            own if events is None else events,
            neighbours=self.calibration.guarantee.neighbours,
            what=what,
            status=self.calibration.guarantee.status,
            private=secret,
        )

    def release(self, entropy: Entropy) -> Release:
        """Release the coefficients, stated for a person with all their rows."""
        if isinstance(self.calibration, RangesCalibration):
            found = self._release_with_ranges(self.calibration, entropy)
        else:
            found = self.calibration.release(self.tasks, entropy)
        return found.per_person(self.spec.budget, self.spec.rows_per_person)

    def _release_with_ranges(
        self, calibration: RangesCalibration, entropy: Entropy
    ) -> Release:
        """Buy ranges, read the rows once more with them, and fit."""
        bought = calibration.buy(self.counts or (), entropy)
        spec = self.spec.with_ranges(bought.ranges)
        again = self.reading.reread(spec, self.row_count)
        rows = again.enclose(spec.bounding)
        tasks = coded_rows(rows, again.task.codings)
        return calibration.release_after(bought, tasks, entropy)


@dataclass(frozen=True, slots=True)
class CalibratedFit:
    """A fit as far as public facts determine it, before any table is read.

    Parameters
    ----------
    spec : FitSpec
        Settings of the fit.
    task : TargetSpec
        How the target is read.
    calibration : Calibration
        Noise, ridge, tolerance and guarantee.

    Examples
    --------
    >>> from confide import LogisticRegression, Number, Pure, Schema, Target
    >>> schema = Schema([Number("age", 18, 90)], Target("ill", labels=("no", "yes")))
    >>> model = LogisticRegression(Pure(1), schema=schema, ranges="public")
    >>> str(model.calibrated(rows=1000).calibration.guarantee.budget)
    'ε = 1'

    All of the budget goes into one release, whatever the rows will be.
    """

    spec: FitSpec
    task: TargetSpec
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class DryRun:
    """The guarantee of a fit, the dataset to charge, and the labels read off the target.

    ``dataset`` is None without a ledger; ``labels`` where they were declared, or where
    the target is a number.
    """

    guarantee: Guarantee
    dataset: str | None
    labels: list[Any] | None


def prepare(spec: FitSpec, reading: Reading, *, target_in_table: bool) -> PreparedFit:
    """Calibrate and bound the rows; all checks are made here.

    With intervals the number of rows is a public fact that their budget depends on, so rows
    are bounded first; otherwise the calibration comes first. A table may be empty where the
    number of rows is private, and without a target in any row: noise is released.
    """
    task = reading.task
    public = spec.neighbours is Neighbours.REPLACE_ONE
    rows: InMemoryRows | PartitionedRows | None = None
    counts: list[Array] = []
    if spec.intervals is not None or (public and spec.schema is not None):
        rows, counts = _enclose(spec, reading)
    known = 0 if rows is None else rows.table_count
    calibration = spec.calibrate(task, reading.width, known)
    if target_in_table and calibration.takes_count_as_public:
        check_count_is_public(spec.schema)
    if rows is None:
        rows, counts = _enclose(spec, reading)
    if public:
        refuse_empty(rows.table_count)
    calibration.check_rows(rows)
    if not isinstance(calibration, RangesCalibration):
        tasks = coded_rows(rows, task.codings)
        count = rows.table_count
        return PreparedFit(spec, reading, calibration, tasks, row_count=count)
    # Rows are read again with what is bought: those of now are let go.
    names = [query.name for query in spec.possible_queries()]
    by_name = dict(zip(names, counts, strict=True))
    own = [by_name[query.name] for query in calibration.queries]
    return PreparedFit(spec, reading, calibration, (), own, rows.table_count)


def _enclose(
    spec: FitSpec, reading: Reading
) -> tuple[InMemoryRows | PartitionedRows, list[Array]]:
    """Bound the rows, and count values where ranges may be bought."""
    queries = spec.possible_queries()
    if not queries:
        return reading.enclose(spec.bounding), []
    return reading.enclose_and_count(spec.bounding, queries)


def coded_rows(
    rows: InMemoryRows | PartitionedRows, codings: Sequence[Code]
) -> Iterable[Rows]:
    """Return the rows with every coding in turn; they can be iterated over repeatedly."""
    return Reiterable(lambda: (rows.with_target(code) for code in codings))


def dataset_name(schema: Schema | None, ledger: Any) -> str:
    """Return the name under which a ledger books; the fit must have one of its own.

    It is the schema's, or for data without a schema that of `Ledger.for_dataset`.
    """
    declared = UNNAMED if schema is None else schema.name
    chosen = ledger.dataset if isinstance(ledger, Ledger) else ""
    names = {name for name in (declared, chosen) if name and name != UNNAMED}
    if len(names) == 1:
        return names.pop()
    if names:
        raise InvalidParameter(
            "name of the dataset",
            "the same in the schema and in for_dataset of the ledger",
            sorted(names),
        )
    raise InvalidParameter(
        "name of the dataset",
        "given when a ledger is used, because all unnamed tables would share one budget",
        declared,
        'Begin the schema with name = "people" (in Python Schema(..., name="people")); '
        'without a schema pass ledger=Ledger.open("book.db").for_dataset("people"). '
        "Nothing was spent.",
    )
