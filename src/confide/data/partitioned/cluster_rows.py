"""Rows held in memory by the workers of a Dask cluster during a fit.

Functions of a block of rows are sent to the workers, and the results are added up in a tree
of tasks. Rows stay on the workers, except for a sample and for rows that a mechanism
selects. If a worker is lost, other workers read its partitions again. Tasks return errors
instead of raising them, for the reasons given in `confide.parallel.dask_cluster`.
"""

from asyncio import CancelledError
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any, TypeVar
from uuid import uuid4

from confide._types import AnyArray
from confide.data.matrix.matrix import Matrix
from confide.data.matrix.sums import Partial, pairwise_sum
from confide.data.partitioned.dask_collections import DaskPart, as_piece
from confide.data.partitioned.division import ChosenRows, ChosenSource
from confide.data.partitioned.progress import PassCounter
from confide.data.partitioned.rows import PartFunction, PartSummary, RowView, joined
from confide.data.partitioned.stream import Prepare, Source
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import ConfideError
from confide.parallel.dask_cluster import non_raising, unwrap

RESULT_TIMEOUT_S = 0.5
"""Seconds until the first check for lost workers; the wait doubles after every check."""
GATHERED = 60
"""Time allowed for the transfer of results, as a multiple of the time between checks."""
MOST_LOSSES = 10
"""Largest number of checks during one sum that may find lost workers before an error is
raised. The sum itself may be the cause of the losses, for example if it needs too much
memory."""


@dataclass(slots=True, repr=False, eq=False)
class PinnedParts:
    """Dask futures for the parts of a table, with the worker of each part, if known."""

    client: Any
    held: tuple[Any, ...]
    workers: tuple[str | None, ...] = ()

    def map(self, name: str, work: Callable[..., Any], *given: Sequence[Any]) -> list[Any]:
        """Submit ``work`` for every part to the worker that holds it; return the futures.

        Every sequence in ``given`` provides one further argument per part.
        """
        if None in self.workers or not self.workers:
            self.find()
        token = uuid4().hex
        found: list[Any] = [None] * len(self.held)
        for worker in dict.fromkeys(self.workers):
            places = [i for i, holder in enumerate(self.workers) if holder == worker]
            futures = self.client.map(
                non_raising(work),
                *([values[i] for i in places] for values in (self.held, *given)),
                key=[f"confide-{name}-{token}-{i}" for i in places],
                workers=None if worker is None else [worker],
                pure=False,
            )
            for place, future in zip(places, futures, strict=True):
                found[place] = future
        return found

    def find(self) -> None:
        """Wait until all parts are in memory, and record which worker holds each part."""
        import_module("distributed").wait(self.held)
        known = self.client.who_has(self.held)
        self.workers = tuple(next(iter(known.get(f.key, ())), None) for f in self.held)

    def results(self, submit: Callable[[], Sequence[Any]]) -> list[Any]:
        """Submit tasks, and return their results; raise any error from a worker."""
        try:
            gathered = self._gathered(submit)
        except ConfideError:
            raise
        except (Exception, CancelledError) as error:  # noqa: BLE001
            raise ConfideError(
                "the cluster could not finish a sum over the rows "
                f"({type(error).__name__}). Rows are lost with their worker if they cannot "
                "be read again. Fit on files, or on a collection that can be recomputed."
            ) from None
        return [unwrap(result) for result in gathered]

    def _gathered(self, submit: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        wait, patience = import_module("distributed").wait, RESULT_TIMEOUT_S
        futures, losses = list(submit()), 0
        while True:
            try:
                wait(futures, timeout=patience)
                found: Sequence[Any] = self.client.sync(
                    self.client.gather, futures, callback_timeout=GATHERED * patience
                )
            except TimeoutError:
                patience *= 2
                if self._lost():
                    losses += 1
                    if losses > MOST_LOSSES:
                        raise ConfideError(
                            "workers must survive a sum over the rows that they hold, "
                            "but they were lost repeatedly. Give them more memory, or "
                            "split the table into more and smaller parts."
                        ) from None
                    self.find()
                    futures = list(submit())
            else:
                return found

    def _lost(self) -> bool:
        """Whether a worker that held a part is no longer in the cluster."""
        return not {*self.workers} <= {None, *self.client.nthreads()}

    def __repr__(self) -> str:
        return "<private rows>"


T = TypeVar("T")
FAN_IN = 8
"""Largest number of partial sums that one task, or this process at the end, adds up."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SendableRows:
    """Bounded rows on a worker, which unlike `InMemoryRows` can be serialised.

    ``beside`` is an additional result computed from the same part, to be summed later.
    """

    features: Matrix
    target: AnyArray
    factor: AnyArray | None
    height: float
    listed: int | None
    weight: AnyArray | None
    offset: AnyArray | None
    beside: Partial = ()

    @classmethod
    def of(cls, rows: InMemoryRows, beside: Partial = ()) -> "SendableRows":
        """Convert `InMemoryRows` to the form that can be serialised."""
        own = (rows.factor, rows.height, rows.listed, rows.weight, rows.offset)
        return cls(rows.features, rows.target, *own, beside)

    def rows(self) -> InMemoryRows:
        """Convert back to `InMemoryRows`."""
        own = (self.factor, self.height, self.listed, self.weight, self.offset)
        return InMemoryRows(self.features, self.target, *own)

    def __sizeof__(self) -> int:
        """Return the size in memory, which Dask uses for scheduling."""
        own = (self.factor, self.weight, self.offset, *self.beside)
        more = (one for one in own if one is not None)
        return self.features.nbytes + self.target.nbytes + sum(one.nbytes for one in more)

    def __repr__(self) -> str:
        return "<private rows>"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ClusterParts:
    """A table whose parts are held in memory by Dask workers.

    ``seen`` lists the number of rows of every part once it is known, for progress displays.
    """

    pinned: PinnedParts
    seen: list[int] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        client: Any,
        sources: Sequence[Source],
        prepare: Prepare,
        beside: Callable[[Any], Partial] | None = None,
    ) -> "ClusterParts":
        """Have the workers read all parts, bound the rows, and keep them in memory.

        If the function ``beside`` is given, workers also apply it to every part as read,
        and keep the result for `sum_beside`.
        """
        held = _on_parts(client, "hold", sources, partial(_held, prepare, beside))
        return cls(PinnedParts(client, held))

    @property
    def pickable(self) -> bool:
        """True, because workers can read individual rows."""
        return True

    @property
    def expected(self) -> int:
        """Number of rows, which the workers count."""
        return sum(self.pinned.results(lambda: self.pinned.map("count", _counted)))

    def sum(self, work: PartFunction | Sequence[PartFunction]) -> Partial:
        """Apply ``work`` to every part, and add up the results in a tree of tasks."""
        known = sum(self.seen) if callable(work) else 0
        meter = PassCounter.start(known or None)
        result = pairwise_sum(self.pinned.results(lambda: self._branches(work)))
        meter.add(known)
        meter.stop()
        return result

    def _branches(self, work: PartFunction | Sequence[PartFunction]) -> list[Any]:
        if callable(work):
            return self._tree(self.pinned.map("sum", partial(_worked, work)))
        return self._tree(self.pinned.map("sum", _worked_alone, work))

    def _tree(self, partials: list[Any]) -> list[Any]:
        while len(partials) > FAN_IN:
            groups = [partials[i : i + FAN_IN] for i in range(0, len(partials), FAN_IN)]
            partials = self._map("add", _added, groups)
        return partials

    def sum_beside(self) -> Partial:
        """Sum the results of ``beside`` over all parts."""
        found = self.pinned.results(lambda: self._tree(self.pinned.map("beside", _beside)))
        return pairwise_sum(found)

    def survey(self, stride: int) -> Sequence[PartSummary]:
        """Return a summary of every part, from one pass over its rows."""
        found = self.pinned.results(
            lambda: self.pinned.map("look", partial(_surveyed, stride))
        )
        self.seen[:] = [one.listed for one, _ in found]
        return [replace(one, sample=tuple(s.rows() for s in own)) for one, own in found]

    def gather(self, picks: Sequence[RowView]) -> InMemoryRows:
        """Copy the selected rows of all parts to this process, in table order."""
        meter = PassCounter.start(None)
        found = self.pinned.results(lambda: self.pinned.map("pick", _picked, picks))
        meter.stop()
        return joined([piece.rows() for piece in found])

    def map_subsets(
        self, picks: Sequence[Sequence[RowView]], fn: Callable[[InMemoryRows], T]
    ) -> list[T]:
        """Apply ``fn`` to subsets of the rows, which may combine rows of several parts."""

        def submit() -> list[Any]:
            groups = [self.pinned.map("pick", _picked, views) for views in picks]
            return self._map("subset", partial(_on_picked, fn), groups)

        return self.pinned.results(submit)

    def _map(self, name: str, work: Callable[..., Any], given: Sequence[Any]) -> list[Any]:
        """Apply a function to earlier results on any worker; return the futures."""
        token = uuid4().hex
        keys = [f"confide-{name}-{token}-{place}" for place in range(len(given))]
        client = self.pinned.client
        found: list[Any] = client.map(non_raising(work), given, key=keys, pure=False)
        return found

    def __repr__(self) -> str:
        return "<private rows>"


def collected(client: Any, sources: Sequence[Source], fn: Callable[[Any], T]) -> list[T]:
    """Apply a function to every part of a table on workers, without keeping parts there."""
    futures = _on_parts(client, "read", sources, fn)
    return PinnedParts(client, futures).results(lambda: futures)


def _on_parts(
    client: Any, name: str, sources: Sequence[Source], fn: Callable[[Any], Any]
) -> tuple[Any, ...]:
    """Have the workers read every part and apply a function to it; return the futures."""
    from dask.delayed import delayed

    token, tasks = uuid4().hex, []
    for place, source in enumerate(sources):
        key = f"confide-{name}-{token}-{place}"
        given: tuple[Any, ...] = ()
        work: Callable[..., Any] = partial(_of_source, fn, source)
        chosen, part = None, source
        if isinstance(source, ChosenSource):
            chosen, part = source.chosen, source.source
        if isinstance(part, DaskPart):
            work, given = partial(_of_piece, fn, chosen), (part.features, part.target)
        task = delayed(non_raising(work), pure=False, traverse=False)
        tasks.append(task(*given, dask_key_name=key))
    return tuple(client.compute(tasks))


# ------------------------------------------------------- functions that run on a worker


def _of_source(fn: Callable[[Any], T], source: Source) -> T:
    return fn(source.whole())


def _of_piece(
    fn: Callable[[Any], T], chosen: ChosenRows | None, features: Any, target: Any
) -> T:
    piece = as_piece(features, target)
    return fn(piece if chosen is None else chosen(piece))


def _held(
    prepare: Prepare, beside: Callable[[Any], Partial] | None, piece: Any
) -> SendableRows:
    return SendableRows.of(prepare(piece), () if beside is None else beside(piece))


def _beside(held: SendableRows) -> Partial:
    found: Partial = _whole(held).beside
    return found


def _counted(held: SendableRows) -> int:
    count: int = _whole(held).rows().count
    return count


def _worked(work: PartFunction, held: SendableRows) -> Partial:
    return work(_whole(held).rows())


def _worked_alone(held: SendableRows, work: PartFunction) -> Partial:
    return _worked(work, held)


def _added(partials: Sequence[Partial]) -> Partial:
    return pairwise_sum(map(_whole, partials))


def _surveyed(stride: int, held: SendableRows) -> tuple[PartSummary, list[SendableRows]]:
    found = PartSummary.of(_whole(held).rows(), stride)
    return replace(found, sample=()), [SendableRows.of(rows) for rows in found.sample]


def _picked(held: SendableRows, view: RowView) -> SendableRows:
    return SendableRows.of(view(_whole(held).rows()))


def _on_picked(fn: Callable[[InMemoryRows], T], pieces: Sequence[SendableRows]) -> T:
    return fn(joined([_whole(piece).rows() for piece in pieces]))


def _whole(value: Any) -> Any:
    """Return the result of a task; raise its error if the task has failed."""
    return unwrap(value)
