import asyncio
import gc
import logging
import operator
import os
import pickle
import sys
import threading
import time
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from types import ModuleType

import pytest

from confide.errors import ConfideError, DataNotFound, InvalidParameter, UnmetNeeds
from confide.parallel import dask_cluster as cluster
from confide.parallel.cluster_keys import cluster_keys
from confide.parallel.dask_cluster import (
    RemoteError,
    connected,
    current_client,
    non_raising,
    unwrap,
)
from confide.parallel.workers import THREAD_LIMITS
from support.cluster_access import keys_of

distributed = pytest.importorskip("distributed")

SECRET = 418_273_645


def logs_here(name):
    return logging.getLogger(name).isEnabledFor(logging.CRITICAL)


def environment():
    return {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}


@pytest.fixture(scope="module")
def client():
    """A cluster that ends by an error, and must leave nothing behind."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    before, children = environment(), set(active_children())

    def go_wrong():
        with connected(workers=2) as client:
            yield client
            raise ZeroDivisionError

    story = go_wrong()
    client = next(story)
    assert os.environ["OMP_NUM_THREADS"] == "3"
    yield client
    with pytest.raises(ZeroDivisionError):
        next(story)
    assert environment() == before
    assert set(active_children()) == children
    assert client.status == "closed"
    assert current_client() is None
    assert all(map(logs_here, ("distributed.protocol.pickle", "distributed.client")))
    monkeypatch.undo()


def fail(value):
    def refuse(value):
        if value == SECRET:
            raise OSError(f"a private value: {value}")
        raise InvalidParameter("rows", "at least 10", 3, "Give more.")

    return refuse(value)


def listening(places):
    """Return the ports on which processes wait for callers."""
    import psutil

    return {
        one.laddr.port
        for place in places
        for one in psutil.Process(place).net_connections()
        if one.status == psutil.CONN_LISTEN
    }


# ------------------------------------------------------------------- the local cluster


def test_workers_are_processes_with_one_thread_each_and_the_parent_keeps_its_own(client):
    assert len(set(client.run(os.getpid).values()) - {os.getpid()}) == 2
    assert client.nthreads().keys() == client.run(os.getpid).keys()
    assert set(client.nthreads().values()) == {1}

    def limits():
        return [os.environ[name] for name in THREAD_LIMITS]

    assert all(found == ["1"] * len(THREAD_LIMITS) for found in client.run(limits).values())
    assert current_client() is client


def test_nobody_serves_pages_and_nothing_listens_to_other_machines(client):
    workers = set(client.run(os.getpid).values())
    own = {int(address.rpartition(":")[2]) for address in client.run(os.getpid)}
    assert listening(workers) == own

    def served(dask_scheduler):
        sockets = dask_scheduler.http_server._sockets.values()
        return dict(dask_scheduler.services), {socket.fileno() for socket in sockets}

    assert client.run_on_scheduler(served) == ({}, {-1}), "none but closed sockets"
    assert all(
        "//127.0.0.1:" in place for place in [*client.nthreads(), client.scheduler.address]
    )


def test_rows_are_never_written_to_a_disk(client):
    def spills(dask_worker):
        return dask_worker.memory_manager.memory_spill_fraction

    assert set(client.run(spills).values()) == {False}


def test_a_task_that_fails_leaves_no_arguments_in_logs(client):
    def tell(value):
        logging.getLogger("distributed.worker").critical("%s", value)
        raise OSError(f"a private value: {value}")

    assert isinstance(client.submit(tell, SECRET, pure=False).exception(), OSError)
    logs = f"{client.get_worker_logs()} {client.cluster.get_logs(cluster=True)}"
    assert "Starting Worker plugin confide-silence" in logs, "logs are read"
    assert str(SECRET) not in logs


def test_what_workers_print_goes_nowhere(client):
    def silent():
        nowhere = Path(os.devnull).stat()
        return [os.path.samestat(os.fstat(stream), nowhere) for stream in (1, 2)]

    assert all(found == [True, True] for found in client.run(silent).values())


def test_what_cannot_be_sent_is_not_shown_here(client, caplog, capfd):
    held = non_raising(partial(max, SECRET, threading.Lock()))
    with pytest.raises(TypeError) as caught:
        client.submit(held, pure=False)
    assert not any(map(logs_here, ("distributed.protocol.pickle", "distributed.client")))
    assert str(SECRET) not in str(caught.value)
    assert str(SECRET) not in caplog.text + "".join(capfd.readouterr())


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_and_the_new_one_is_as_silent(client):
    before = client.run(os.getpid)
    os.kill(next(iter(before.values())), 9)
    deadline = time.monotonic() + 20
    while (
        set(after := client.run(os.getpid, on_error="ignore").values())
        <= set(before.values())
        or len(after) < 2
    ):
        assert time.monotonic() < deadline, "no new worker"
        time.sleep(0.02)
    assert list(client.gather(client.map(abs, [-1, 2], pure=False))) == [1, 2]
    levels = client.run(lambda: logging.root.manager.disable)
    assert set(levels.values()) == {logging.CRITICAL}


def test_a_client_of_a_running_cluster_leaves_it_as_it_was(client, monkeypatch):
    place = client.scheduler.address
    with keys_of(client), connected(address=place) as other:
        assert other is not client
        assert other.submit(operator.add, 1, 2).result() == 3
    assert client.submit(operator.add, 2, 2).result() == 4
    absent = ModuleType("absent_from_workers")
    exec("def ready(): return True", vars(absent))  # noqa: S102
    monkeypatch.setitem(sys.modules, absent.__name__, absent)
    monkeypatch.setattr(cluster, "_ready", absent.ready)
    with (
        pytest.raises(InvalidParameter, match="workers can import"),
        keys_of(client),
        connected(address=place),
    ):
        pass


def test_nobody_gets_in_without_the_keys(client):
    distributed = sys.modules["distributed"]
    assert client.scheduler.address.startswith("tls://")

    async def knock(address, keys, patience):
        settings = keys.get_connection_args("client") if keys else {}
        comm = await distributed.comm.connect(address, timeout=patience, **settings)
        await comm.close()

    stranger = cluster_keys(distributed)
    for place in [client.scheduler.address, *client.nthreads()][:2]:
        asyncio.run(knock(place, client.security, 60))
        for address, keys in (
            (place, None),
            (place.replace("tls://", "tcp://"), None),
            (place, stranger),
        ):
            with pytest.raises((OSError, TypeError, RuntimeError)):
                asyncio.run(knock(address, keys, 2))
    assert client.submit(operator.add, 2, 2).result() == 4


@pytest.mark.slow
def test_a_client_that_is_refused_is_closed(client):
    with (
        pytest.raises(InvalidParameter, match="Dask scheduler that answers"),
        connected(address=client.scheduler.address),
    ):
        pass
    clients = [one for one in gc.get_objects() if type(one) is distributed.Client]
    assert {one.status for one in clients if one is not client} <= {"closed"}
    assert client.submit(operator.add, 2, 2).result() == 4


def test_without_a_way_to_make_keys_no_worker_starts(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with (
        pytest.raises(ConfideError, match="pip install cryptography"),
        connected(workers=1),
    ):
        pass


# ------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("workers", [0, -1, 1025, 2.0, True, "2"])
def test_numbers_of_workers_are_checked(workers):
    with (
        pytest.raises(InvalidParameter, match="workers must be"),
        connected(workers=workers),
    ):
        pass


@pytest.mark.parametrize("address", ["localhost:8786", "http://host:1", "", 8786])
def test_addresses_are_checked(address):
    with (
        pytest.raises(InvalidParameter, match="address must be a string tcp"),
        connected(address=address),
    ):
        pass


@pytest.mark.parametrize("error", [OSError, TimeoutError, ValueError])
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tls://127.0.0.1:1", "tcp://x:y"])
def test_an_address_where_nobody_answers(address, error, monkeypatch):
    def no_answer(*given, **settings):
        raise error("nobody is there")

    monkeypatch.setattr(distributed, "Client", no_answer)
    with (
        pytest.raises(InvalidParameter, match="dask scheduler"),
        connected(address=address),
    ):
        pass


def test_both_are_refused_and_neither_is_no_cluster():
    both = connected(workers=2, address="tcp://h:1")
    with pytest.raises(InvalidParameter, match="Choose one"), both:
        pass
    with connected() as nothing:
        assert nothing is None


def test_without_dask_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    for asked in ({"workers": 1}, {"address": "tcp://h:1"}):
        with (
            pytest.raises(InvalidParameter, match=r"pip install 'confide\[dask\]'"),
            connected(**asked),
        ):
            pass
    assert current_client() is None


# -------------------------------------------------------------------- tasks that keep quiet


def test_errors_come_back_as_values_that_name_no_value(client):
    task = pickle.loads(pickle.dumps(non_raising(fail)))  # noqa: S301
    assert repr(task) == "<private>"
    assert task(SECRET) == RemoteError(
        ConfideError, "a block could not be computed on a worker: OSError"
    )
    for value, kind in ((SECRET, ConfideError), (1, InvalidParameter)):
        future = client.submit(
            non_raising(fail), value, key=f"block-{value == 1}", pure=False
        )
        result = future.result()
        with pytest.raises(ConfideError) as caught:
            unwrap(result)
        assert type(caught.value) is kind
        assert str(SECRET) not in str(caught.value)
    assert str(caught.value) == "rows must be at least 10; got 3. Give more."
    assert unwrap(client.submit(non_raising(max), 3, 4).result()) == 4


@pytest.mark.parametrize(
    "error",
    [
        ConfideError("a"),
        DataNotFound("it is not here"),
        InvalidParameter("n", "whole", 1.5, "Round it."),
        UnmetNeeds("sgd", (("a bound", "declare one"),)),
    ],
)
def test_errors_of_confide_keep_class_and_words_on_the_way(error):
    def fall():
        raise error

    with pytest.raises(type(error)) as caught:
        unwrap(pickle.loads(pickle.dumps(non_raising(fall)())))  # noqa: S301
    assert str(caught.value) == str(error)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (type(again), str(again)) == (type(error), str(error))
    whole = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert vars(whole) == vars(error)
    assert str(whole) == str(error)


def test_an_exit_in_a_task_is_a_failure_too():
    assert non_raising(sys.exit)(3).message.endswith("SystemExit")
