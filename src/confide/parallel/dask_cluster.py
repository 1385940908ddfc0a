"""Dask clusters: processes on this machine, or a cluster that is running elsewhere.

How private rows are protected:

- If a task raises an error, the worker logs "Compute Failed" with the key of the task, up
  to a thousand characters of the function and its arguments, the error and its traceback.
  A function of private rows must therefore never raise on a worker. Send
  `non_raising(function)`, which returns a `RemoteError` instead of raising and is displayed
  as "<private>", and call `unwrap` on its result.
- A value that cannot be pickled is logged as text, so results should be arrays and numbers.
- A key that Dask generates contains a digest of the arguments, and schedulers show keys to
  anyone. Choose the key yourself: `client.submit(..., key=..., pure=False)`.
- Workers that are started here log nothing, print nothing, write no rows to disk when
  memory is short, and serve no web page. A cluster that runs elsewhere behaves as its owner
  configured it, also with respect to encryption (`tls://`).
- The ports of a local cluster listen on this machine only, but every account of the machine
  can reach them, and a connected client can read the rows and run programs. They therefore
  accept only TLS connections, with a certificate made for this cluster that both ends must
  present.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Final, TypeAlias

from confide.errors import ConfideError, Described, InvalidParameter, restored
from confide.parallel.cluster_keys import cluster_keys
from confide.parallel.workers import (
    THREAD_LIMITS,
    cannot_start,
    preserve_environment,
    single_threaded,
)

Client: TypeAlias = Any
"""A `distributed.Client`; Dask has no type annotations."""

MOST_WORKERS: Final = 1024
CONNECT_TIMEOUT_S: Final = 10.0
"""Seconds to wait for a remote scheduler, and then again for its workers."""

_SPAWN_VARIABLES: Final = "distributed.nanny.pre-spawn-environ"
_KEPT_MEMORY: Final = {
    "MALLOC_TRIM_THRESHOLD_": str(2**28),
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
}
"""Allocator settings with which workers keep freed memory for reuse.

By default, Dask makes them return it to the system at once, which makes computations on
blocks of rows five times slower."""
_LEFT_BEHIND: Final = ("PYTHONHASHSEED", "__DASK_PARENT_PID")
"""Environment variables that Dask sets in the parent, too, when it starts a worker."""

_LOGGERS: Final = ("distributed", "distributed.client")
_SETTINGS: Final = {
    "distributed.worker.multiprocessing-method": "spawn",
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
}


@contextmanager
def connected(
    *, workers: int | None = None, address: str | None = None
) -> Iterator[Client | None]:
    """Yield a client of a cluster, or None if no cluster is requested.

    Parameters
    ----------
    workers : int or None, default None
        Number of processes to start on this machine, each with one thread. Lost processes
        are replaced, and all of them end when the context ends.
    address : str or None, default None
        Address of a scheduler, such as ``"tcp://host:8786"``. The scheduler and its
        workers keep running when the context ends.

    Yields
    ------
    distributed.Client or None
        The client.

    Raises
    ------
    InvalidParameter
        Both parameters are given, one of them is invalid, no scheduler answers at the
        address, or Dask is not installed.

    Examples
    --------
    Without workers and address there is no cluster, and rows are summed in this process:

    >>> from confide.parallel.dask_cluster import connected
    >>> with connected() as client:
    ...     print(client)
    None
    """
    if workers is not None and address is not None:
        raise InvalidParameter(
            "workers", "left out if an address is given", workers, "Choose one of them."
        )
    if workers is not None:
        with _local(_checked_number(workers)) as client:
            yield client
    elif address is not None:
        with _remote(_checked_address(address)) as client:
            yield client
    else:
        yield None


def current_client() -> Client | None:
    """Return the client that is active in this process, without importing Dask for it.

    Returns
    -------
    distributed.Client or None
        The client, or None if there is none.

    Examples
    --------
    >>> from confide.parallel.dask_cluster import current_client
    >>> current_client() is None
    True
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


# --------------------------------------------------------------------- non-raising tasks


@dataclass(frozen=True, slots=True)
class RemoteError:
    """An error on a worker, returned instead of raised, and stripped of data values.

    Parameters
    ----------
    kind : type
        The class of the error.
    message : str
        The message of the error.

    Examples
    --------
    >>> from confide.parallel.dask_cluster import non_raising
    >>> non_raising(lambda x: 1 / x)(0).message
    'a block could not be computed on a worker: ZeroDivisionError'
    """

    kind: type[ConfideError]
    message: str


@dataclass(frozen=True, slots=True, repr=False)
class NonRaising:
    """A function that returns errors instead of raising them.

    An error raised on a worker would be logged there, together with the arguments.

    Parameters
    ----------
    function : callable
        The function to call.

    Examples
    --------
    Its representation does not show the function or its data:

    >>> from confide.parallel.dask_cluster import NonRaising
    >>> NonRaising(abs)
    <private>
    """

    function: Callable[..., Any]

    def __call__(self, *values: Any) -> Any:
        """Return the function's result, or a `RemoteError` if it raises an error."""
        try:
            return self.function(*values)
        except ConfideError as error:
            return RemoteError(type(error), str(error))
        except (Exception, SystemExit) as error:  # noqa: BLE001
            name = type(error).__name__
            return RemoteError(
                ConfideError, f"a block could not be computed on a worker: {name}"
            )

    def __repr__(self) -> str:
        return "<private>"


def non_raising(function: Callable[..., Any]) -> NonRaising:
    """Wrap a function so that it can be sent to workers; call `unwrap` on its results.

    Parameters
    ----------
    function : callable
        A function of private rows.

    Returns
    -------
    NonRaising
        A function that returns a `RemoteError` instead of raising an error.

    Examples
    --------
    >>> from confide.parallel.dask_cluster import non_raising, unwrap
    >>> unwrap(non_raising(abs)(-2))
    2
    """
    return NonRaising(function)


def unwrap(result: Any) -> Any:
    """Return the result of a `NonRaising` function, or raise the error that it returned.

    Parameters
    ----------
    result : object
        The value that the function returned.

    Returns
    -------
    object
        The result.

    Examples
    --------
    >>> from confide.errors import ConfideError
    >>> from confide.parallel.dask_cluster import non_raising, unwrap
    >>> try:
    ...     unwrap(non_raising(lambda x: 1 / x)(0))
    ... except ConfideError as error:
    ...     print(error)
    a block could not be computed on a worker: ZeroDivisionError
    """
    if isinstance(result, RemoteError):
        raise restored(result.kind, result.message)
    return result


# ------------------------------------------------------------------------- the clusters


@contextmanager
def _local(workers: int) -> Iterator[Client]:
    distributed = _distributed()
    dask = import_module("dask")
    own = {**dict.fromkeys(THREAD_LIMITS, "1"), **_KEPT_MEMORY}
    variables = {**dask.config.get(_SPAWN_VARIABLES), **own}
    with ExitStack() as stack:
        stack.enter_context(_without_logging())
        stack.enter_context(preserve_environment([*variables, *_LEFT_BEHIND]))
        with (
            single_threaded(),
            dask.config.set({**_SETTINGS, _SPAWN_VARIABLES: variables}),
        ):
            cluster = _started(distributed, workers)
            stack.callback(cluster.close)
            client = distributed.Client(cluster, security=cluster.security)
            stack.callback(client.close)
        client.run_on_scheduler(_serve_no_page)
        client.register_plugin(_silence())
        yield client


def _started(distributed: ModuleType, workers: int) -> Any:
    try:
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,
            protocol="tls://",
            security=cluster_keys(distributed),
        )
    except RuntimeError as error:
        raise cannot_start("start them") from error


@contextmanager
def _remote(address: str) -> Iterator[Client]:
    distributed = _distributed()
    with _without_logging():
        client = _answering(distributed, address)
        try:
            _check_that_workers_are_there(client, address)
            yield client
        finally:
            client.close()


def _answering(distributed: ModuleType, address: str) -> Client:
    try:
        import_module("distributed.utils").LoopRunner().run_sync(
            _visit, distributed, address
        )
        return distributed.Client(address, timeout=CONNECT_TIMEOUT_S)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise InvalidParameter(
            "address",
            f"that of a Dask scheduler that answers within {CONNECT_TIMEOUT_S:g} seconds",
            address,
            "Start one with `dask scheduler`, or check the name, the port and the "
            "firewall; for tls:// set distributed.comm.tls in Dask's configuration. "
            f"({type(error).__name__})",
        ) from None


async def _visit(distributed: ModuleType, address: str) -> None:
    """Test the connection with a temporary client.

    A client that cannot connect would remain the default client, and Dask would close it
    only at garbage collection, on an arbitrary thread. The temporary client is closed by
    its own event loop.
    """
    client = distributed.Client(
        address, timeout=CONNECT_TIMEOUT_S, asynchronous=True, set_as_default=False
    )
    try:
        await client
    finally:
        await client.close()


def _check_that_workers_are_there(client: Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=CONNECT_TIMEOUT_S)
    except TimeoutError:
        raise InvalidParameter(
            "address",
            "that of a scheduler with workers",
            address,
            "On machines where confide is installed, start workers with "
            f"`dask worker {address}`.",
        ) from None
    if not all(found is True for found in client.run(_ready, on_error="return").values()):
        raise InvalidParameter(
            "address",
            "that of a scheduler whose workers can import confide",
            address,
            "Install the same version of confide on the workers.",
        )


@contextmanager
def _without_logging() -> Iterator[None]:
    """Disable Dask's logging here, because it logs values that could not be sent."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _distributed() -> ModuleType:
    try:
        return import_module("distributed")
    except ImportError:
        raise InvalidParameter(
            "workers or address",
            "left out unless Dask is installed",
            Described("one of them, but Python finds no module 'distributed'"),
            "Install it with: pip install 'confide[dask]'",
        ) from None


def _checked_number(workers: int) -> int:
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise InvalidParameter("workers", "a whole number", workers)
    if not 1 <= workers <= MOST_WORKERS:
        raise InvalidParameter("workers", f"between 1 and {MOST_WORKERS}", workers)
    return workers


def _checked_address(address: str) -> str:
    if not isinstance(address, str) or not address.startswith(("tcp://", "tls://")):
        raise InvalidParameter(
            "address", "a string tcp://host:port or tls://host:port", address
        )
    return address


# -------------------------------------------------------------- on scheduler and workers


def _ready() -> bool:
    """Return True; only workers that can import confide can run this function."""
    return True


def _serve_no_page(dask_scheduler: Any) -> None:
    _close_web_server(dask_scheduler)


def _close_web_server(server: Any) -> None:
    """Stop the web server, which Dask starts even without a dashboard."""
    server.http_server.stop()
    del server.services["dashboard"]


def _silence() -> Any:
    """Return a worker plugin that disables logging, printing and the web server."""
    kind = _distributed().WorkerPlugin
    return type("Silence", (kind,), {"name": "confide-silence", "setup": _be_silent})()


def _be_silent(_plugin: Any, worker: Any) -> None:
    logging.disable(logging.CRITICAL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    _close_web_server(worker)
