"""Delayed handling of signals during work that must not be interrupted."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
)
_waiting: list[int] | None = None


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay interrupts until the body of a ``with`` statement has ended.

    Python delivers signals only to the main thread, so in other threads nothing needs to be
    delayed. Nested uses are allowed.
    """
    global _waiting  # noqa: PLW0603 - signals belong to the process
    if _waiting is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    before: dict[int, Any] = {}
    try:
        _waiting = caught
        for number in SIGNALS:
            if signal.getsignal(number) is not None:
                before[number] = signal.signal(number, lambda seen, _: caught.append(seen))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _waiting = None
        if caught:
            signal.raise_signal(caught[0])


def stop_if_interrupted() -> None:
    """Raise `KeyboardInterrupt` if an interrupt is pending.

    Call this within `uninterrupted` only while stopping is still safe, for example while
    waiting for a lock.
    """
    if _waiting:
        raise KeyboardInterrupt
