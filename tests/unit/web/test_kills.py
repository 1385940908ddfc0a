"""Fits that are killed at any moment: what the page says was paid is what was paid."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from confide.errors import ConfideError
from confide.web.orders import OrderBook, State
from support.pages import Visitor, book_of, words, write_table

pytestmark = pytest.mark.slow
KILLS = 12


def fits():
    """Return the children of this process that hold a fit."""
    listed = Path("/proc/self/task").glob("*/children")
    found = [int(child) for file in listed for child in file.read_text().split()]
    return [one for one in found if b"fit" in Path(f"/proc/{one}/cmdline").read_bytes()]


def test_page_and_ledger_agree_whenever_a_fit_is_killed(tmp_path):
    write_table(tmp_path / "t.csv", 3000)
    visitor, book = Visitor(tmp_path), book_of(tmp_path)
    project, chance = visitor.declare(tmp_path / "t.csv"), random.Random(4)  # noqa: S311
    seen = []
    for turn in range(KILLS):
        order = visitor.draft(project, epsilon=f"{0.011 + turn / 1000:.3f}")
        before = len(book.entries())
        visitor.to(visitor.pay(order))
        # every other one late, where a charge and its release are
        while turn % 2 and len(book.entries()) == before:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.2) * (turn > 1))
        for fit in fits():
            os.kill(fit, signal.SIGKILL)
        visitor.wait(order)
        orders = OrderBook(visitor.workspace)
        found = orders.order(order.rsplit("/", 1)[1])
        standing = orders.standing(found)
        added = book.entries()[before:]
        kinds = [entry.kind for entry in added]
        assert kinds in ([], ["charge"], ["charge", "release"])
        assert standing.charge == (added[0].number if added else None)
        assert (standing.state is State.RELEASED) == ("release" in kinds)
        page = words(visitor.get(order))
        if standing.state is State.RELEASED:
            assert f"charge {standing.charge} of the ledger" in page
        else:
            with pytest.raises(ConfideError):
                orders.released(found)
            said = f"Charge {standing.charge} remains" if added else "Nothing was charged"
            assert said in page
        assert not orders.start(found)
        seen.append(len(kinds))
    assert book.verify() == len(book.entries())
    assert 0 in seen
    assert {1, 2} & {*seen}, seen
