"""Rows on disk, which are read again in every pass over the table.

Each part is read by one thread, which decodes, bounds and sums one block before it reads
the next. If there are fewer than two parts per thread, one thread reads and the others
process blocks. The sums of blocks are added in the order of the table, so results do not
depend on the number of threads.
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
"""Function that converts a raw block of a table to bounded rows."""


class Source(Protocol):
    """A part of a table, given by a picklable description of how to read it."""

    def read(self) -> Iterator[Any]:
        """Yield the rows in blocks: at least one block, which may be empty."""
        ...

    def whole(self) -> Any:
        """Return all rows as one block."""
        ...


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Stream:
    """A table whose parts are read again in every pass over the rows."""

    sources: tuple[Source, ...]
    prepare: Prepare
    about: int | None

    @property
    def expected(self) -> int:
        """Approximate number of rows; if this is unknown, an extra pass counts the rows."""
        if self.about is not None:
            return self.about
        return int(pairwise_sum(self._sweep(_counted))[0])

    @property
    def pickable(self) -> bool:
        """False, because rows can only be read in order."""
        return False

    def sum(self, work: PartFunction | Sequence[PartFunction]) -> Partial:
        """Apply ``work`` to every block, and add up the results."""
        assert callable(work), "a stream must apply one function to all parts"  # noqa: S101
        return pairwise_sum(self._sweep(work))

    def survey(self, stride: int) -> Sequence[PartSummary]:
        """Return a summary of every part, from one pass over its rows."""
        return [part[0] for part in self._sweep(partial(_surveyed, stride))]

    def gather(self, picks: Sequence[RowView]) -> InMemoryRows:
        """Raise an error, because rows of a stream cannot be selected."""
        raise AssertionError("rows of a stream cannot be selected")

    def map_subsets(
        self, picks: Sequence[Sequence[RowView]], fn: Callable[[InMemoryRows], T]
    ) -> list[T]:
        """Raise an error, because rows of a stream cannot be selected."""
        raise AssertionError("rows of a stream cannot be selected")

    def _sweep(self, work: PartFunction) -> list[Partial]:
        """Sweep the table; return, for every part, the sum of the results of ``work``."""
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
    """Yield the results of ``done`` for blocks in order, with ``most`` blocks at a time."""
    waiting: deque[Future[T]] = deque()
    for piece in pieces:
        waiting.append(pool.submit(done, piece))
        if len(waiting) >= most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
