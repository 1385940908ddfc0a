"""Rows on disk, read from the beginning to the end in every sweep.

A part is read by one thread, piece by piece: decoded, bounded and summed before the next
one. Where there are fewer parts than threads one thread reads and the others do the rest.
Sums are added in the order of the rows, so they do not depend on threads.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

from confide.data.matrix.sums import Partial, pairwise_sum
from confide.data.partitioned.progress import PassCounter
from confide.data.partitioned.rows import PartFunction, PartSummary, RowView
from confide.data.rows.in_memory import InMemoryRows
from confide.data.schema.encoder import reuse_buffer
from confide.parallel.workers import one_blas_thread, threads_to_use

T = TypeVar("T")
Prepare: TypeAlias = Callable[[Any], InMemoryRows]
"""From a piece of a table, as it is read, to bounded rows."""


class Source(Protocol):
    """A part of a table, as a description that can travel."""

    def read(self) -> Iterator[Any]:
        """Yield its rows in pieces: at least one, which may be empty."""
        ...

    def whole(self) -> Any:
        """Return its rows as one piece."""
        ...


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Stream:
    """Parts of a table that are read again in every sweep."""

    sources: tuple[Source, ...]
    prepare: Prepare
    about: int | None

    @property
    def expected(self) -> int:
        """About how many rows there are; if unknown they are counted first."""
        if self.about is not None:
            return self.about
        return int(pairwise_sum(self._sweep(_counted))[0])

    @property
    def pickable(self) -> bool:
        """Rows are read in order, never singly."""
        return False

    def sum(self, work: PartFunction | Sequence[PartFunction]) -> Partial:
        """Add up the results of all pieces."""
        assert callable(work), "a stream does the same to all parts"  # noqa: S101
        return pairwise_sum(self._sweep(work))

    def survey(self, stride: int) -> Sequence[PartSummary]:
        """Look at every piece once."""
        return [part[0] for part in self._sweep(partial(_surveyed, stride))]

    def gather(self, picks: Sequence[RowView]) -> InMemoryRows:
        """Reject: rows would be needed in another order."""
        raise AssertionError("rows of a stream cannot be selected")

    def map_subsets(
        self, picks: Sequence[Sequence[RowView]], fn: Callable[[InMemoryRows], T]
    ) -> list[T]:
        """Reject: rows would be needed in another order."""
        raise AssertionError("rows of a stream cannot be selected")

    def _sweep(self, work: PartFunction) -> list[Partial]:
        """Return the sum of every part, in their order."""
        meter = PassCounter.start(self.about)

        def done(piece: Any) -> Partial:
            with reuse_buffer():
                rows = self.prepare(piece)
                result = work(rows)
            meter.add(rows.table_count)
            return result

        threads = threads_to_use()
        with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
            if len(self.sources) >= 2 * threads:
                found = list(
                    pool.map(
                        lambda part: pairwise_sum(map(done, part.read())), self.sources
                    )
                )
            else:
                found = [
                    pairwise_sum(ahead(pool, done, part.read(), 2 * threads))
                    for part in self.sources
                ]
        meter.stop()
        return found

    def __repr__(self) -> str:
        return "<private rows>"


def _counted(rows: InMemoryRows) -> Partial:
    return (rows.count,)


def _surveyed(stride: int, rows: InMemoryRows) -> Partial:
    return (PartSummary.of(rows, stride),)


def ahead(
    pool: ThreadPoolExecutor, done: Callable[[Any], T], pieces: Iterable[Any], most: int
) -> Iterator[T]:
    """Yield results in order, with few pieces in progress at a time."""
    waiting: deque[Future[T]] = deque()
    for piece in pieces:
        waiting.append(pool.submit(done, piece))
        if len(waiting) >= most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
