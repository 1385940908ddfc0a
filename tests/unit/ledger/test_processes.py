"""One book for all handles, threads and processes."""

import copy
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from sklearn.base import BaseEstimator, clone

from confide.errors import (
    BudgetExceeded,
)
from confide.ledger import Amount, Ledger
from confide.privacy import Pure


def test_handles_are_one_however_they_are_copied(ledger):
    class Model(BaseEstimator):
        def __init__(self, ledger=None):
            self.ledger = ledger

    ledger.set_limit("adult", Pure(1))
    assert copy.copy(ledger) is ledger
    assert copy.deepcopy([ledger])[0] is ledger
    assert clone(Model(ledger)).ledger is ledger
    twin = pickle.loads(pickle.dumps(ledger))  # noqa: S301
    assert twin == ledger
    assert hash(twin) == hash(ledger)
    assert ledger.place.encode() in pickle.dumps(ledger)
    twin.charge("adult", Pure(1))
    with pytest.raises(BudgetExceeded):
        ledger.charge("adult", Pure(1))
    with pytest.raises(AttributeError):
        ledger.place = "elsewhere"


def test_a_closed_ledger_opens_again_and_a_closed_file_stands_alone(ledger, tmp_path):
    ledger.set_limit("adult", Pure(1))
    ledger.close()
    ledger.close()
    if not ledger.place.startswith("postgresql://"):
        assert [path.name for path in tmp_path.iterdir()] == ["budget.db"]
    assert ledger.charge("adult", Pure(1)).left == Amount.nothing(Pure)


@pytest.mark.slow
def test_threads_share_one_limit(ledger):
    ledger.set_limit("adult", Pure(4))
    start = threading.Barrier(8)

    def spend(_):
        start.wait()
        admitted = 0
        for _ in range(10):
            with suppress(BudgetExceeded):
                ledger.charge("adult", Pure(0.1))
                admitted += 1
        return admitted

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(8))) == 40
    assert ledger.account("adult").spent == Amount.of(Pure(4))
    assert ledger.verify() == 41


EIGHT_PROCESSES = """
import os, sys
from confide.accounting import Ledger
from confide.errors import BudgetExceeded
from confide.privacy import Pure

ledger = Ledger.open(sys.argv[1])
each = int(sys.argv[2])
ledger.set_limit("adult", Pure(0.4 * each))
ends = []
for _ in range(8):
    inlet, outlet = os.pipe()
    if os.fork() == 0:
        admitted = 0
        for _ in range(each):
            try:
                ledger.charge("adult", Pure(0.1))
                admitted += 1
            except BudgetExceeded:
                pass
        os.write(outlet, str(admitted).encode())
        os._exit(0)
    os.close(outlet)
    ends.append(inlet)
print(sum(int(os.read(end, 9)) for end in ends))
"""


FORKS_BESIDE_A_THREAD = """
import os, sys, threading
from confide.accounting import Ledger
from confide.privacy import Pure

ledger = Ledger.open(sys.argv[1])
ledger.set_limit("adult", Pure(1000))
over = threading.Event()


def spend():
    while not over.is_set():
        ledger.charge("adult", Pure(0.1))


thread = threading.Thread(target=spend)
thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        ledger.charge("adult", Pure(0.1), what="child")
        os._exit(0)
    ledger.close()
    assert os.waitpid(child, 0)[1] == 0
assert thread.is_alive()
over.set()
thread.join()
print(sum(entry.what == "child" for entry in ledger.entries()))
"""

ALL_AT_ONCE = """
import os, sys
from confide.accounting import Ledger
from confide.privacy import Pure

children = []
for name in "abcdefgh":
    children.append(os.fork())
    if children[-1] == 0:
        Ledger.open(sys.argv[1]).set_limit(name, Pure(1))
        os._exit(0)
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
print(*Ledger.open(sys.argv[1]).datasets())
"""


def told(story, place, *words):
    """Run a script that forks, in a process of its own; return what it printed."""
    quiet = ("-W", "ignore::DeprecationWarning")
    done = subprocess.run(  # noqa: S603
        [sys.executable, *quiet, "-c", story, place, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("each", [10, pytest.param(1250, marks=pytest.mark.slow)])
def test_eight_processes_forked_from_an_open_ledger_get_exactly_the_limit(ledger, each):
    """8 x 1,250 charges, of which half are admitted: none is lost and none is doubled."""
    admitted = 4 * each
    assert told(EIGHT_PROCESSES, ledger.place, str(each)) == str(admitted)
    account = ledger.account("adult")
    assert account.spent == Amount.of(account.limit)
    assert account.charges == admitted
    assert ledger.verify() == admitted + 1
    numbers = [entry.number for entry in ledger.entries()]
    assert numbers == list(range(1, admitted + 2))


@pytest.mark.slow
def test_a_fork_in_the_middle_of_charges_harms_neither_side(ledger):
    assert told(FORKS_BESIDE_A_THREAD, ledger.place) == "20"
    assert ledger.verify() == ledger.account("adult").charges + 1


@pytest.mark.slow
def test_a_new_place_opened_by_many_at_once_becomes_one_book(place):
    assert told(ALL_AT_ONCE, place) == "a b c d e f g h"
    assert Ledger.open(place).verify() == 8
