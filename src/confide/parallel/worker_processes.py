"""Worker processes are born with one thread each, and leave Ctrl-C to their parent."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from confide.errors import ConfideError

THREAD_LIMITS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""Read when NumPy is imported, so they are set when a worker is born."""


def cannot_start(what: str) -> ConfideError:
    """Say why worker processes die at birth, as they do below no guard in a script."""
    return ConfideError(
        f"worker processes must be able to start, and die at once. In a script, {what} "
        'below `if __name__ == "__main__":`, for workers import the script.'
    )


@contextmanager
def single_threaded() -> Iterator[None]:
    """Let processes that start here use one thread, and leave Ctrl-C to the parent.

    Threads that start here pass the second on: what they start never feels Ctrl-C.
    """
    masks = hasattr(signal, "pthread_sigmask")
    with environment_kept(THREAD_LIMITS):
        os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))
        if masks:
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            if masks:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def environment_kept(names: Iterable[str]) -> Iterator[None]:
    """Give these variables back the values that they have now."""
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
