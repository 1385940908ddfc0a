"""Threads of this process, and single-threaded worker processes."""

import os
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, Final

from threadpoolctl import ThreadpoolController

from confide.errors import ConfideError


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """Return this process's pool of ``threads`` threads, which is created on first use."""
    return ThreadPoolExecutor(threads, thread_name_prefix="confide")


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread in a context, because blocks are processed in parallel."""
    limit: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return limit


def threads_to_use() -> int:
    """Return the number of threads to use: OMP_NUM_THREADS, or one per core."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return os.cpu_count() or 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)


THREAD_LIMITS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""Environment variables that limit NumPy's threads and are read when it is imported."""


def cannot_start(what: str) -> ConfideError:
    """Return the error for worker processes that exit at once.

    This happens in a script without ``if __name__ == "__main__":``.
    """
    return ConfideError(
        f"worker processes exited right after starting. In a script, {what} "
        'below `if __name__ == "__main__":`, because workers import the script.'
    )


@contextmanager
def single_threaded() -> Iterator[None]:
    """Start processes in this context single-threaded, and leave Ctrl-C to the parent.

    Threads started in this context inherit the blocked signal, so processes that they
    start ignore Ctrl-C, too.
    """
    masks = hasattr(signal, "pthread_sigmask")
    with preserve_environment(THREAD_LIMITS):
        os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))
        if masks:
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            if masks:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def preserve_environment(names: Iterable[str]) -> Iterator[None]:
    """Restore the current values of these environment variables on leaving the context."""
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
