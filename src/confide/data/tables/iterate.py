"""A table in files, walked once and in order; no piece is kept."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pandas as pd

from confide.data.partitioned.progress import PassCounter
from confide.data.partitioned.stream import Source, ahead
from confide.data.schema.arrow_columns import ARROW_FAULTS, CANNOT_HAND_OVER
from confide.errors import InvalidData
from confide.parallel.threads import one_blas_thread, threads_to_use

T = TypeVar("T")


def walk(
    sources: Sequence[Source], work: Callable[[Any], T], about: int | None
) -> Iterator[T]:
    """Yield what is made of every piece, in their order, while threads work ahead.

    ``about`` so many rows are expected, for whoever watches.
    """
    meter = PassCounter.start(about)

    def done(piece: Any) -> tuple[T, int]:
        return work(piece), int(piece.shape[0])

    threads = threads_to_use()
    with ThreadPoolExecutor(threads) as pool:
        for source in sources:
            with one_blas_thread():
                for result, rows in ahead(pool, done, source.read(), 2 * threads):
                    meter.add(rows)
                    yield result
    meter.stop()


def as_frame(piece: Any) -> pd.DataFrame:
    """Return a piece of a table as a data frame, in the types of a file read whole."""
    if isinstance(piece, pd.DataFrame):
        return piece
    try:
        frame: pd.DataFrame = piece.to_pandas(ignore_metadata=True)
    except ARROW_FAULTS:
        raise InvalidData(CANNOT_HAND_OVER) from None
    return frame
