"""Ledgers on both databases."""

import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from confide.ledger import Ledger
from confide.ledger.storage import store_at

fresh = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    """A real server on a socket in a temporary folder, run by an unprivileged user."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if not found:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("no psycopg here: pip install 'confide[postgres]'")
    folder = Path(tempfile.mkdtemp(prefix="confide-pg-"))
    user = None
    if os.geteuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = "postgres" if "postgres" in names else "nobody"
        shutil.chown(folder, user)

    def tool(name, *arguments):
        subprocess.run(  # noqa: S603
            [found[-1].with_name(name), "-D", folder / "data", *arguments],
            check=True,
            cwd=folder,
            user=user,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    tool("initdb", "-A", "trust", "-U", "confide", "-N")
    setting = f"-c listen_addresses='' -c unix_socket_directories={folder}"
    tool("pg_ctl", "-w", "-o", setting, "-l", folder / "log", "start")
    yield (
        lambda schema: (
            f"postgresql://confide@/postgres?host={folder}&options=-csearch_path%3D{schema}"
        )
    )
    tool("pg_ctl", "-m", "immediate", "stop")
    shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "budget.db")
        store_at(str(tmp_path / "budget.db")).disconnect()
        return
    server = request.getfixturevalue("postgres")
    import psycopg

    name = f"ledger{next(fresh)}"
    with psycopg.connect(server("public")) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    yield server(name)
    store_at(server(name)).disconnect()


@pytest.fixture
def ledger(place):
    return Ledger.open(place)


@pytest.fixture
def file_ledger(tmp_path):
    ledger = Ledger.open(tmp_path / "budget.db")
    yield ledger
    ledger.close()
