"""Work on parts that workers hold, done where they are held.

A scheduler that balances load moves work together with the rows that it needs, and mere
preferences do not keep it from doing so. So every task on a part is tied to the worker
that holds it. A tied task whose worker dies would wait for ever: whoever waits for results
looks now and then whether all workers are there, and if not submits the work again, when
Dask has made the lost parts anew elsewhere. Work draws nothing and pays for nothing, so
doing it again changes only the time that it takes.
"""

from asyncio import CancelledError
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from uuid import uuid4

from confide.errors import ConfideError
from confide.parallel.dask_cluster import non_raising, unwrap

PATIENCE = 0.5
"""Seconds before the first look for lost workers; every look doubles them."""
GATHERED = 60
"""So many times as long results may be on their way."""
MOST_LOSSES = 10
"""So often workers may die under one sum: what kills them may be the sum itself."""


@dataclass(slots=True, repr=False, eq=False)
class PinnedParts:
    """Parts as futures, each with the worker that holds it; None for one that is lost."""

    client: Any
    held: tuple[Any, ...]
    workers: tuple[str | None, ...] = ()

    def map(self, name: str, work: Callable[..., Any], *given: Sequence[Any]) -> list[Any]:
        """Do work on every part, and on what is given for each, where it is held."""
        if None in self.workers or not self.workers:
            self.find()
        token = uuid4().hex
        found: list[Any] = [None] * len(self.held)
        for worker in dict.fromkeys(self.workers):
            places = [i for i, home in enumerate(self.workers) if home == worker]
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
        """Wait until all parts are there, lost ones made again, and see where they are."""
        import_module("distributed").wait(self.held)
        known = self.client.who_has(self.held)
        self.workers = tuple(next(iter(known.get(f.key, ())), None) for f in self.held)

    def results(self, submit: Callable[[], Sequence[Any]]) -> list[Any]:
        """Submit work and wait for its results; raise here what went wrong there."""
        try:
            gathered = self._gathered(submit)
        except ConfideError:
            raise
        except (Exception, CancelledError) as error:  # noqa: BLE001
            raise ConfideError(
                "the cluster could not finish a sum over the rows "
                f"({type(error).__name__}). Rows that only one worker had are lost with "
                "it: fit on files or on a collection that can be computed again."
            ) from None
        return [unwrap(result) for result in gathered]

    def _gathered(self, submit: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        wait, patience = import_module("distributed").wait, PATIENCE
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
                            "workers must outlive a sum over the rows that they hold; they "
                            "die again and again. Give them more memory, or cut the table "
                            "into more and smaller parts."
                        ) from None
                    self.find()
                    futures = list(submit())
            else:
                return found

    def _lost(self) -> bool:
        """Whether a worker that held a part is gone."""
        return not {*self.workers} <= {None, *self.client.nthreads()}

    def __repr__(self) -> str:
        return "<private rows>"
