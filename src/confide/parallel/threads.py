"""The threads of this process: as many as are asked for, each with one core's products."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """Return the threads of this process; one pool for every number of them."""
    return ThreadPoolExecutor(threads, thread_name_prefix="confide")


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let products of matrices use one thread each: blocks are worked on side by side."""
    limit: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return limit


def threads_to_use() -> int:
    """Return how many threads to use: as OMP_NUM_THREADS says, or one for every core."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return os.cpu_count() or 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)
