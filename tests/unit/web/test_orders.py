"""Orders: written down, confirmed once, paid for once, read in the ledger."""

import fcntl
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from confide import Pure
from confide.errors import ConfideError
from confide.web.orders import OrderBook, State
from confide.web.results import score_command, script_text, shell_text
from confide.web.workspace import Workspace
from support.pages import Visitor, book_of, words, write_table

FAILING = (sys.executable, "-S", "-c", "import sys; sys.exit('error: no such luck')")
IDLE = ("/bin/sh", "-c", "echo once >> ../starts; sleep 0.2", "sh")


@pytest.fixture
def table(tmp_path):
    write_table(tmp_path / "t.csv", 60)
    return tmp_path / "t.csv"


def visitor_of(folder, command):
    orders = OrderBook(Workspace.at(folder), command)
    return Visitor(folder, orders=orders)


def starts(folder):
    file = folder / "confide-files" / "orders" / "starts"
    return file.read_text().count("once") if file.exists() else 0


def files_of(folder):
    return [path for path in (folder / "confide-files").rglob("*") if path.is_file()]


@pytest.mark.slow
def test_an_order_is_written_down_before_anything_is_spent(table, tmp_path):
    visitor = visitor_of(tmp_path, IDLE)
    book = book_of(tmp_path)
    order = visitor.draft(visitor.declare(table))
    known = visitor.inner.orders.all()
    assert [visitor.inner.orders.standing(one).state for one in known] == [State.DRAFT]
    page = words(visitor.get(order))
    assert "Left after this fit ε = 2" in page
    assert "Predicts defaulted (no, yes) From age (number), region (category)" in page
    assert len(book.entries()) == 1
    assert starts(tmp_path) == 0
    for path in files_of(tmp_path):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert stat.S_IMODE((tmp_path / "confide-files").stat().st_mode) == 0o700


@pytest.mark.slow
def test_an_order_is_started_once_even_where_its_fit_is_over(table, tmp_path):
    """A click may have been let in before the fit of another began and ended."""
    visitor = visitor_of(tmp_path, IDLE)
    book_of(tmp_path)
    place, orders = visitor.draft(visitor.declare(table)), visitor.inner.orders
    (order,) = orders.all()
    assert orders.start(order)
    assert not orders.start(order)
    visitor.wait(place)
    assert not orders.start(order)
    assert not OrderBook(visitor.workspace, IDLE).start(order)
    assert starts(tmp_path) == 1


@pytest.mark.slow
def test_two_hundred_clicks_start_one_fit(table, tmp_path):
    visitor = visitor_of(tmp_path, IDLE)
    book_of(tmp_path)
    order = visitor.draft(visitor.declare(table))
    anchor = {"anchor": book_of(tmp_path).anchor()}

    def click(_):
        return visitor.post(f"{order}/pay", anchor)

    with ThreadPoolExecutor(20) as clicks:
        answers = [*clicks.map(click, range(200))]
    assert {visitor.to(answer) for answer in answers} == {order}
    assert visitor.wait(order).state is State.FAILED
    assert starts(tmp_path) == 1
    for _ in range(20):
        assert visitor.get(order).status_code == 200
        assert visitor.to(visitor.pay(order)) == order
    assert starts(tmp_path) == 1


def test_two_tabs_with_the_same_plan_have_one_order(table, tmp_path):
    visitor = visitor_of(tmp_path, IDLE)
    book_of(tmp_path)
    project = visitor.declare(table)
    orders = {visitor.draft(project) for _ in range(5)}
    assert len(orders) == 1
    assert visitor.draft(project, epsilon="0.5") not in orders


@pytest.mark.slow
def test_the_same_fit_again_needs_a_word(table, tmp_path):
    visitor = visitor_of(tmp_path, IDLE)
    book_of(tmp_path)
    project = visitor.declare(table)
    first = visitor.draft(project)
    visitor.to(visitor.pay(first))
    visitor.wait(first)
    second = visitor.draft(project)
    assert second != first
    answer = visitor.pay(second)
    assert answer.status_code == 409
    assert "Tick the box" in answer.text
    assert starts(tmp_path) == 1
    assert visitor.to(visitor.pay(second, again="yes")) == second
    visitor.wait(second)
    assert starts(tmp_path) == 2


@pytest.mark.slow
def test_a_page_that_shows_an_older_ledger_charges_nothing(table, tmp_path):
    visitor = visitor_of(tmp_path, IDLE)
    book = book_of(tmp_path)
    order = visitor.draft(visitor.declare(table))
    before = book.anchor()
    book.charge("loans", Pure("0.5"), neighbours="add-remove")
    answer = visitor.post(f"{order}/pay", {"anchor": before})
    assert answer.status_code == 409
    assert "The ledger has changed" in answer.text
    assert "ε = 1.5" in words(answer)
    assert starts(tmp_path) == 0
    assert visitor.to(visitor.pay(order)) == order
    visitor.wait(order)


def test_a_budget_above_what_is_left_has_no_button(table, tmp_path):
    visitor = visitor_of(tmp_path, IDLE)
    book = book_of(tmp_path)
    order = visitor.draft(visitor.declare(table), epsilon="4")
    page = visitor.get(order)
    assert "The ledger would refuse this fit" in page.text
    assert "<button" not in page.text
    answer = visitor.post(f"{order}/pay", {"anchor": book.anchor()})
    assert answer.status_code == 409
    assert starts(tmp_path) == 0


def test_what_a_fit_says_at_its_end_is_shown(table, tmp_path):
    visitor = visitor_of(tmp_path, FAILING)
    book_of(tmp_path)
    order = visitor.draft(visitor.declare(table))
    visitor.pay(order)
    standing = visitor.wait(order)
    assert (standing.state, standing.charge) == (State.FAILED, None)
    page = visitor.get(order).text
    public, _, confidential = page.partition('<section class="confidential"')
    assert "Nothing was charged" in public
    assert "no such luck" in confidential
    assert "no such luck" not in public


def test_a_fit_whose_server_is_gone_is_known_by_its_lock(table, tmp_path):
    visitor = visitor_of(tmp_path, IDLE)
    book = book_of(tmp_path)
    place = visitor.draft(visitor.declare(table))
    orders = visitor.inner.orders
    order = orders.all()[0]
    (order.folder / "confirmed").touch()
    lock = os.open(order.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert orders.standing(order).state is State.PENDING
    note = book.with_note(str(order.model))
    paid = note.charge("loans", Pure("0.5"), what="LogisticRegression")
    standing = orders.standing(order)
    assert (standing.state, standing.charge) == (State.CHARGED, paid.number)
    assert standing.anchor == paid.anchor
    os.close(lock)
    standing = orders.standing(order)
    assert (standing.state, standing.charge) == (State.FAILED, paid.number)
    page = words(visitor.get(place))
    assert f"Charge {paid.number} remains" in page
    assert "ended before it could report a reason" in page


def test_a_folder_is_open_in_one_server_at_a_time(tmp_path):
    workspace = Workspace.at(tmp_path)
    lock = workspace.lock()
    with pytest.raises(ConfideError, match="already open in another confide page"):
        workspace.lock()
    os.close(lock)
    os.close(workspace.lock())


def test_what_is_shown_and_taken_along_holds_no_password(table, tmp_path):
    visitor = visitor_of(tmp_path, IDLE)
    book_of(tmp_path)
    visitor.draft(visitor.declare(table))
    place = "postgresql://nurse:secret@example.org/books"
    order = replace(visitor.inner.orders.all()[0], ledger=place)
    assert place in order.words()
    for text in (shell_text(order), script_text(order), score_command(order)):
        assert "secret" not in text
        assert "example.org/books" in text
