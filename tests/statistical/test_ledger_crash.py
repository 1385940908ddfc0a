"""Two hundred times ``kill -9`` in the middle of a ledger's work."""

import json
import subprocess
import sys

import pytest

STORY = """
import json, os, random, signal, sys, time
from fractions import Fraction
from pathlib import Path
from confide.accounting import Ledger
from confide.privacy import Pure

folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
chance = random.Random(7)
PRICE = Pure(0.1)


def work(place, outlet):
    '''Pay, release, record, for ever; a release is shown to the world through a pipe.'''
    ledger = Ledger.open(place)
    if "adult" not in ledger.datasets():
        ledger.set_limit("adult", Pure(1000))
    while True:
        charge = ledger.charge("adult", PRICE)
        os.write(outlet, b"r%d\\n" % charge.number)
        ledger.record(charge, "hash of %d" % charge.number)
        os.write(outlet, b"h%d\\n" % charge.number)


def check(place, shown):
    '''Return what is on disk after a crash, having checked that it fits together.'''
    ledger = Ledger.open(place)
    entries = ledger.entries()
    assert ledger.verify() == len(entries)
    charges = {e.number: e for e in entries if e.kind == "charge"}
    hashes = {e.charge: e.release_hash for e in entries if e.kind == "release"}
    assert set(hashes) <= set(charges), "a release entry without its charge"
    for number in (int(line[1:]) for line in shown if line[0] == "r"):
        assert number in charges, "a release in the world without its charge"
    for number in (int(line[1:]) for line in shown if line[0] == "h"):
        assert hashes[number] == "hash of %d" % number, "a recorded release was lost"
    total = sum((e.budget.epsilon for e in charges.values()), Fraction(0))
    if "adult" in ledger.datasets():
        account = ledger.account("adult")
        assert account.spent.epsilon == total == Fraction(len(charges), 10)
        assert account.charges == len(charges)
    ledger.close()
    return len(entries), len(charges) - len(hashes)


seen = {"kills": 0, "entries": 0, "unborn": 0, "charges_without_release": 0}
shown, torn_before = [], 0
start = time.monotonic()
trial = Ledger.open(folder / "trial.db")
trial.set_limit("adult", Pure(1000))
for _ in range(4):
    trial.record(trial.charge("adult", PRICE), "hash")
trial.close()
pace = 2 * (time.monotonic() - start)
for turn in range(rounds):
    if turn % 8 == 0:
        place, shown, torn_before = folder / f"budget{turn}.db", [], 0
    inlet, outlet = os.pipe()
    child = os.fork()
    if child == 0:
        work(place, outlet)
    os.close(outlet)
    time.sleep(chance.uniform(0, pace))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    with os.fdopen(inlet) as reader:
        shown += reader.read().split()
    seen["kills"] += 1
    if not place.exists():
        seen["unborn"] += 1
        continue
    entries, torn = check(place, shown)
    seen["charges_without_release"] += torn > torn_before
    seen["entries"] += entries if turn % 8 == 7 else 0
    torn_before = torn
print(json.dumps(seen))
"""


@pytest.mark.slow
def test_no_kill_tears_the_book_or_leaves_a_release_unpaid(tmp_path):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", STORY, tmp_path, "200"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["kills"] == 200
    assert seen["entries"] > 300, "the children were killed before they did anything"
    assert seen["charges_without_release"] > 10, "no kill hit between charge and release"
