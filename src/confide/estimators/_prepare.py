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
    """Iterable that creates its items again in each iteration, so that none is stored."""

    make: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.make()


@dataclass(frozen=True, slots=True, repr=False)
class PreparedFit:
    """Fit that has passed all checks and can be charged and released.

    ``counts`` holds the histograms from which ranges will be estimated, or is None.
    ``row_count`` is the number of rows that were read.
    """

    spec: FitSpec
    reading: Reading
    calibration: Calibration
    tasks: Iterable[Rows]
    counts: Sequence[Array] | None = None
    row_count: int = 0

    @property
    def task(self) -> TargetSpec:
        """Loss and coding of the target."""
        return self.reading.task

    @property
    def public_rows(self) -> int | None:
        """Number of rows of the table if it is public, otherwise None."""
        public = self.spec.neighbours is Neighbours.REPLACE_ONE
        return self.row_count if public else None

    @property
    def known_rows(self) -> int | None:
        """Number of rows if it is public, otherwise the declared approximate number."""
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
        """Charge the ledger, before any noise is drawn.

        After the charge, no error may depend on the data. If the charge covers more than
        the fit, ``events`` are the accounting events for one person.
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
        """Release the coefficients, with a guarantee that covers all rows of a person."""
        if isinstance(self.calibration, RangesCalibration):
            found = self._release_with_ranges(self.calibration, entropy)
        else:
            found = self.calibration.release(self.tasks, entropy)
        return found.per_person(self.spec.budget, self.spec.rows_per_person)

    def _release_with_ranges(
        self, calibration: RangesCalibration, entropy: Entropy
    ) -> Release:
        """Estimate ranges privately, read the rows again with them, and fit."""
        bought = calibration.buy(self.counts or (), entropy)
        spec = self.spec.with_ranges(bought.ranges)
        again = self.reading.reread(spec, self.row_count)
        rows = again.enclose(spec.bounding)
        tasks = coded_rows(rows, again.task.codings)
        return calibration.release_after(bought, tasks, entropy)


@dataclass(frozen=True, slots=True)
class CalibratedFit:
    """Calibration of a fit from public information, before any table is read.

    Parameters
    ----------
    spec : FitSpec
        Settings of the fit.
    task : TargetSpec
        Specification of the target, with its loss and coding.
    calibration : Calibration
        Noise, ridge, tolerance and guarantee.

    Examples
    --------
    >>> from confide import LogisticRegression, Number, Pure, Schema, Target
    >>> schema = Schema([Number("age", 18, 90)], Target("ill", labels=("no", "yes")))
    >>> model = LogisticRegression(Pure(1), schema=schema, ranges="public")
    >>> str(model.calibrated(rows=1000).calibration.guarantee.budget)
    'ε = 1'

    The whole budget is spent on one release, regardless of the rows.
    """

    spec: FitSpec
    task: TargetSpec
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class DryRun:
    """Result of a dry run of a fit: its guarantee, dataset name and labels.

    ``dataset`` is the name under which the fit would be recorded; None without a ledger.
    ``labels`` are the labels read from the target; None if the labels were declared or the
    target is numeric.
    """

    guarantee: Guarantee
    dataset: str | None
    labels: list[Any] | None


def prepare(spec: FitSpec, reading: Reading, *, target_in_table: bool) -> PreparedFit:
    """Bound the rows, calibrate the fit, and make all checks that depend on the rows.

    The calibration of intervals and ranges may depend on the number of rows, if this is
    public. Fits with intervals or with public row counts therefore bound the rows first;
    for other fits, the calibration comes first. If the number of rows is private, noise is
    released even if the table has no rows, or no row with a known target.
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
    # Rows are read again with the estimated ranges, so those read so far are not stored.
    names = [query.name for query in spec.possible_queries()]
    by_name = dict(zip(names, counts, strict=True))
    own = [by_name[query.name] for query in calibration.queries]
    return PreparedFit(spec, reading, calibration, (), own, rows.table_count)


def _enclose(
    spec: FitSpec, reading: Reading
) -> tuple[InMemoryRows | PartitionedRows, list[Array]]:
    """Bound the rows, and count the values of columns whose ranges may be estimated."""
    queries = spec.possible_queries()
    if not queries:
        return reading.enclose(spec.bounding), []
    return reading.enclose_and_count(spec.bounding, queries)


def coded_rows(
    rows: InMemoryRows | PartitionedRows, codings: Sequence[Code]
) -> Iterable[Rows]:
    """Return a reusable iterable of the rows, once for each coding of the target."""
    return Reiterable(lambda: (rows.with_target(code) for code in codings))


def dataset_name(schema: Schema | None, ledger: Any) -> str:
    """Return the dataset name for charges in a ledger; raise if it is absent or ambiguous.

    The dataset name is that of the schema or, for data without a schema, the one given to
    `Ledger.for_dataset`.
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
