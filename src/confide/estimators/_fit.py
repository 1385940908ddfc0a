"""A fit up to the moment when it is paid for: read, bounded and calibrated."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from confide.accounting import group_events
from confide.data import UNNAMED, InMemoryRows, PartitionedRows, Rows, Schema
from confide.errors import InvalidParameter
from confide.estimators._read import Reading
from confide.estimators._spec import FitSpec
from confide.estimators._target import Code, TargetSpec
from confide.estimators._validate import check_count_is_public
from confide.ledger import Charge, Ledger
from confide.mechanisms import Calibration, Release
from confide.noise import Entropy
from confide.privacy import Guarantee, row_budget

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Reiterable(Generic[Item]):
    """Items that are made each time they are iterated over, so that none is kept."""

    make: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.make()


@dataclass(frozen=True, slots=True, repr=False)
class PreparedFit:
    """A fit that only has to be paid for and released."""

    spec: FitSpec
    task: TargetSpec
    calibration: Calibration
    tasks: Iterable[Rows]

    def charge(self, ledger: Ledger, what: str, *, secret: bool) -> Charge:
        """Pay before anything is drawn; nothing after this may fail because of the data."""
        return ledger.charge(
            self.spec.dataset or UNNAMED,
            self.spec.budget,
            group_events(self.calibration.events, self.spec.rows_per_person),
            neighbours=self.calibration.guarantee.neighbours,
            what=what,
            status=self.calibration.guarantee.status,
            private=secret,
        )

    def release(self, entropy: Entropy) -> Release:
        """Release the coefficients, stated for a person with all their rows."""
        found = self.calibration.release(self.tasks, entropy)
        return found.per_person(self.spec.budget, self.spec.rows_per_person)


@dataclass(frozen=True, slots=True)
class DryRun:
    """The guarantee of a fit, the name it books under, and the labels it read off y.

    ``dataset`` is None without a ledger; ``labels`` where they were declared, or where
    the target is a number.
    """

    guarantee: Guarantee
    dataset: str | None
    labels: list[Any] | None


def prepare(spec: FitSpec, reading: Reading, *, target_in_table: bool) -> PreparedFit:
    """Calibrate and bound the rows: whatever can be refused is refused here.

    With intervals the number of rows is a public fact that their budget depends on, so rows
    are bounded first; otherwise the calibration comes first.
    """
    task = reading.task
    objective = spec.objective(task, reading.width)
    rows = None if spec.intervals is None else reading.enclose(spec.bounding)
    mechanism = spec.mechanism_for(0 if rows is None else rows.table_count)
    calibration = mechanism.calibrate(
        objective,
        row_budget(spec.budget, spec.rows_per_person),
        spec.neighbours,
        copies=len(task.codings),
    )
    if target_in_table and calibration.takes_count_as_public:
        check_count_is_public(spec.schema)
    rows = reading.enclose(spec.bounding) if rows is None else rows
    calibration.check_rows(rows)
    return PreparedFit(spec, task, calibration, coded_rows(rows, task.codings))


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
            "the same in the schema and in the ledger's for_dataset",
            sorted(names),
        )
    raise InvalidParameter(
        "name of the dataset",
        "given where a ledger is: all unnamed tables would share one budget",
        declared,
        'Begin the schema with name = "people" (in Python Schema(..., name="people")); '
        'without a schema pass ledger=Ledger.open("book.db").for_dataset("people"). '
        "Nothing was spent.",
    )
