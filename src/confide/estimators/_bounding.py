"""Public bounds on the norm of rows, or on the entries of rows."""

from dataclasses import dataclass

from confide._types import AnyArray
from confide.data import (
    INTERCEPT_HEIGHT,
    EntryBounds,
    InMemoryRows,
    Schema,
    bound_entries,
    bound_rows,
)
from confide.data.matrix.matrix import Matrix
from confide.data.matrix.sums import length_beside
from confide.data.schema.case_weights import NO_CASES, Cases
from confide.errors import MissingPublicBound
from confide.mechanisms import (
    Mechanism,
    Release,
)
from confide.mechanisms.base import EntryMechanism

NO_ROW_NORM = (
    "an array needs row_norm, a public bound on the Euclidean norm of its rows. Rows with "
    "a larger norm are scaled down to this bound; the larger the bound, the more noise is "
    "added. The bound must not be computed from the rows. If every column lies between -1 "
    "and 1, use the square root of the number of columns: row_norm=3 for 9 columns. It is "
    "best to declare raw columns, such as an age or an income, in a schema "
    "(schema=Schema(...)): fit then takes a DataFrame and scales every column by its "
    "public range."
)


@dataclass(frozen=True, slots=True)
class Bounding:
    """Public bounds on rows, and the value of the constant column.

    The entries of rows are bounded by ``entries`` or, if this is None, the Euclidean norm
    of rows is bounded by ``row_norm``. In the latter case, ``few`` may hold further bounds
    on entries. ``height`` is the value of the constant column. If records are weighted by
    norm, ``most`` is the norm (including the constant column) at which the weight is 1;
    otherwise ``most`` is None.
    """

    row_norm: float
    height: float
    entries: EntryBounds | None = None
    few: EntryBounds | None = None
    most: float | None = None

    def enclose(
        self,
        features: Matrix,
        target: AnyArray,
        cases: Cases = NO_CASES,
        *,
        constant: bool = True,
    ) -> InMemoryRows:
        """Return bounded rows, wrapped in an object that only mechanisms may read."""
        height = self.height if constant else 0.0
        if self.entries is not None:
            return bound_entries(features, target, self.entries, height).with_cases(cases)
        rows = bound_rows(features, target, self.row_norm, height)
        if self.most is not None and constant:
            rows = rows.weighed(self.most)
        return rows.with_cases(cases)

    def norm(self, columns: int) -> float:
        """Return the largest possible norm of a row, including the constant column."""
        longest = self.row_norm if self.entries is None else self.entries.norm(columns)
        return length_beside(longest, self.height)

    @property
    def known(self) -> EntryBounds | None:
        """Bounds on the entries of rows, or None."""
        return self.entries or self.few


def bounding_for(
    mechanism: Mechanism,
    schema: Schema | None,
    row_norm: float | None,
    *,
    fit_intercept: bool,
    weighs: bool = False,
) -> Bounding:
    """Return the bounds on rows for a mechanism, from public settings alone.

    ``weighs`` states whether records are weighted by norm. It is ignored without a schema.
    """
    kept = mechanism.row_bounds if isinstance(mechanism, EntryMechanism) else None
    if schema is not None:
        few = None if kept is None else EntryBounds(float(schema.weights.max()))
        height = INTERCEPT_HEIGHT if fit_intercept else 0.0
        most = schema.record_norm(height) if weighs else None
        return Bounding(1.0, height, few=few, most=most)
    if kept is not None:
        return Bounding(1.0, kept.height if fit_intercept else 0.0, kept.entries)
    if row_norm is None:
        raise MissingPublicBound(NO_ROW_NORM)
    norm = float(row_norm)
    return Bounding(norm, INTERCEPT_HEIGHT * norm if fit_intercept else 0.0)


def bounding_of(
    release: Release, schema: Schema | None, row_norm: float | None, *, fit_intercept: bool
) -> Bounding:
    """Return the bounds on the rows that a release was computed from."""
    norm = 1.0 if schema is not None or row_norm is None else float(row_norm)
    kept = release.row_bounds
    if kept is None or schema is not None:
        return Bounding(norm, INTERCEPT_HEIGHT * norm if fit_intercept else 0.0)
    return Bounding(norm, kept.height, kept.entries)
