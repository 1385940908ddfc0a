"""Memory that is used again for piece after piece, by the thread that asks for it.

A piece of a stream lives until the next one is read. Fresh memory for each would be given
back to the system and fetched again: it costs as much as the arithmetic.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from confide._types import Array


class _Own(threading.local):
    free: bool = False
    held: Array = np.empty(0)


_own = _Own()


@contextmanager
def reuse_buffer() -> Iterator[None]:
    """Let the next array that this thread asks for be where the last one was."""
    _own.free = True
    try:
        yield
    finally:
        _own.free = False


def buffer(shape: tuple[int, int]) -> Array:
    """Return an array to be filled: fresh, unless the thread said that it may be reused."""
    if not _own.free:
        return np.empty(shape)
    _own.free, size = False, math.prod(shape)
    if len(_own.held) < size:
        _own.held = np.empty(size)
    return _own.held[:size].reshape(shape)
