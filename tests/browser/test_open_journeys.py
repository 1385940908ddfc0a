"""Whole journeys through `confide open` in a real browser, without any network."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from confide import Ledger
from confide.web.orders import OrderBook, State
from confide.web.workspace import Workspace
from support.journeys import (
    CHROMIUM,
    DESKTOP,
    FLAGS,
    PHONE,
    choose_and_declare,
    confirm,
    fill_schema,
    pay,
    plan,
    served,
)
from support.pages import write_table

sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright here")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not Path(CHROMIUM).exists(), reason="no real browser here: apt-get install chromium"
    ),
]


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        own = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield own
        own.close()


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "t.csv", 3000)
    return tmp_path


@pytest.fixture
def server(folder):
    with served(folder) as running:
        yield running


class Watch:
    """What a page said to its console, and what it asked for."""

    def __init__(self, page, origin):
        self.said, self.elsewhere = [], []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda asked: self._take(asked.url, origin))

    def _take(self, url, origin):
        if not url.startswith(f"{origin}/"):
            self.elsewhere.append(url)


@pytest.fixture
def context(browser):
    own = browser.new_context(viewport={"width": DESKTOP, "height": 900})
    yield own
    own.close()


@pytest.fixture
def page(context, server):
    own = context.new_page()
    watch = Watch(own, server.origin)
    own.goto(server.address)
    own.get_by_role("heading", name="Tables", exact=True).wait_for()
    yield own
    assert watch.elsewhere == []
    assert [text for text in watch.said if "status of 4" not in text] == []


def charges(folder):
    book = Ledger.open(str(Workspace.at(folder).ledger))
    found = [entry for entry in book.entries() if entry.kind == "charge"]
    book.verify()
    book.close()
    return found


def overflow(page):
    page.wait_for_load_state()
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def to_confirmation(page, epsilon="1"):
    choose_and_declare(page)
    plan(page, epsilon)
    confirm(page)


def test_from_a_table_to_a_paid_and_scored_model(page, folder):
    """A fit with a ledger: what the page says was paid is what the ledger has."""
    choose_and_declare(page)
    plan(page)
    assert page.get_by_text("loans has no limit yet").is_visible()
    confirm(page)
    assert page.get_by_role("row", name="Left after this fit ε = 2, δ = 9e-06").is_visible()
    assert charges(folder) == []
    pay(page)
    (paid,) = charges(folder)
    assert page.get_by_text(f"charge {paid.number} of the ledger").is_visible()
    assert page.get_by_role("row", name="age (per year)").is_visible()
    assert page.get_by_role("row", name="accuracy").is_visible()
    assert page.get_by_role("heading", name="ROC curve").is_visible()
    page.get_by_role("link", name="Ledger").click()
    assert page.get_by_role("row", name="loans ε = 3, δ = 1e-05 ε = 1").is_visible()
    page.get_by_role("button", name="Verify every entry").click()
    assert page.get_by_text("3 entries verified").is_visible()
    page.get_by_role("button", name="Back the ledger up").click()
    assert page.get_by_text("Never charge a copy").is_visible()


def test_a_budget_above_what_is_left_is_refused_before_it_is_asked_for(page, folder):
    choose_and_declare(page)
    plan(page)
    page.get_by_role("button", name="Set this limit").click()
    page.get_by_label("Epsilon", exact=True).first.fill("4")
    page.get_by_role("button", name="Show the plan").click()
    assert page.get_by_text("The ledger would refuse this fit").is_visible()
    assert page.get_by_role("button", name="Go on to confirm").count() == 0
    page.get_by_label("Epsilon", exact=True).first.fill("0.5")
    page.get_by_role("button", name="Show the plan").click()
    assert page.get_by_role("button", name="Go on to confirm").is_visible()
    assert charges(folder) == []


def test_a_bad_schema_is_mended_where_it_was_typed(page):
    page.get_by_role("button", name="t.csv").click()
    page.get_by_role("group", name="age", exact=True).get_by_label("number").check()
    page.get_by_role("button", name="Save and check").click()
    assert "column to predict" in page.get_by_role("alert").inner_text()
    fill_schema(page)
    page.get_by_role("link", name="Change the schema").click()
    page.get_by_role("group", name="age", exact=True).get_by_label("Highest").fill("1")
    page.get_by_role("button", name="Save and check").click()
    assert "lower below upper" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("Labels, with commas").input_value() == "no, yes"


def test_a_schema_that_matches_nothing_is_told_on_a_confidential_page(page):
    page.get_by_role("button", name="t.csv").click()
    page.get_by_role("group", name="region").get_by_label("category").check()
    fill_schema(page)
    page.get_by_role("link", name="Change the schema").click()
    page.get_by_role("group", name="region").get_by_label("Levels").fill("Nord, Ost")
    page.get_by_role("button", name="Save and check").click()
    page.get_by_role("button", name="Compare with the table").click()
    assert page.get_by_text("NOT PRIVATE").is_visible()
    assert page.get_by_text("Nothing in region matches Nord, Ost").is_visible()


def test_two_hundred_submissions_pay_once(page, folder):
    to_confirmation(page)
    form = page.locator("form[action$='/pay']")
    action, anchor = form.get_attribute("action"), form.locator("[name=anchor]")
    page.evaluate(
        """([action, anchor]) => Promise.all(Array.from({length: 200}, () =>
            fetch(action, {method: "POST", body: new URLSearchParams({anchor})})))""",
        [action, anchor.input_value()],
    )
    page.get_by_role("button", name="Pay ").dblclick()
    page.get_by_role("heading", name="Coefficients").wait_for(timeout=120_000)
    assert len(charges(folder)) == 1


def test_reloads_and_the_back_button_pay_nothing(page, folder):
    to_confirmation(page)
    pay(page)
    result = page.url
    for _ in range(3):
        page.reload()
    page.go_back()
    if page.get_by_role("button", name="Pay ").count():
        page.get_by_role("button", name="Pay ").click()
    page.goto(result)
    page.get_by_role("heading", name="Coefficients").wait_for()
    page.go_back()
    page.go_forward()
    assert len(charges(folder)) == 1


def test_two_tabs_with_one_order_pay_once(page, context, folder):
    to_confirmation(page)
    other = context.new_page()
    other.goto(page.url)
    pay(page)
    other.get_by_role("button", name="Pay ").click()
    other.get_by_role("heading", name="Coefficients").wait_for()
    assert other.url == page.url
    assert len(charges(folder)) == 1


def test_a_tab_that_shows_an_older_ledger_is_asked_to_look_again(page, context, folder):
    to_confirmation(page)
    other = context.new_page()
    other.goto(page.url)
    other.get_by_role("link", name="Back to the plan").click()
    other.get_by_label("Epsilon", exact=True).first.fill("0.5")
    other.get_by_role("button", name="Show the plan").click()
    confirm(other)
    pay(page)
    other.get_by_role("button", name="Pay ").click()
    assert "The ledger has changed" in other.get_by_role("alert").inner_text()
    assert other.get_by_role("row", name="Left before ε = 2, δ = 9e-06").is_visible()
    assert len(charges(folder)) == 1
    pay(other)
    assert len(charges(folder)) == 2


def children_of(process):
    listed = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for file in listed for child in file.read_text().split()]


@pytest.mark.parametrize("moment", ["server", "before", "charged"])
def test_a_killed_server_and_a_killed_fit_leave_page_and_ledger_agreed(
    browser, folder, moment
):
    """Killed: the server alone; both before anything is paid; both at the charge."""
    with served(folder) as server:
        page = browser.new_page()
        page.goto(server.address)
        page.get_by_role("heading", name="Tables", exact=True).wait_for()
        to_confirmation(page)
        page.get_by_role("button", name="Pay ").click()
        page.get_by_role("heading", name="under way").wait_for()
        (fit,) = children_of(server.process.pid)
        while moment == "charged" and not charges(folder):
            pass
        server.kill()
        if moment != "server":
            os.kill(fit, 9)
        page.close()
    with served(folder) as server:
        page = browser.new_page()
        page.goto(server.address)
        page.get_by_role("link", name="loans: logistic").click()
        ends = page.get_by_role("heading", name="Coefficients").or_(
            page.get_by_role("heading", name="The fit failed")
        )
        ends.wait_for(timeout=120_000)
        paid = charges(folder)
        orders = OrderBook(Workspace.at(folder))
        (order,) = orders.all()
        standing = orders.standing(order)
        if standing.state is State.RELEASED:
            assert page.get_by_text(f"charge {paid[0].number} of the ledger").is_visible()
            assert page.get_by_role("row", name="age (per year)").is_visible()
        elif paid:
            assert page.get_by_text(f"Charge {paid[0].number} stands").is_visible()
        else:
            assert page.get_by_text("Nothing was charged").is_visible()
        assert len(paid) == {"server": 1, "before": 0, "charged": 1}[moment]
        assert (moment == "server") <= (standing.state is State.RELEASED)
        page.close()


def test_a_model_file_that_was_lost_comes_back_from_the_ledger(page, folder):
    to_confirmation(page)
    pay(page)
    (model,) = (folder / "confide-files" / "orders").glob("*/model.json")
    before = model.read_bytes()
    model.unlink()
    page.reload()
    page.get_by_role("heading", name="Coefficients").wait_for()
    assert model.read_bytes() == before
    record = json.loads(before)
    record["release"]["value"] = [0.0 for _ in record["release"]["value"]]
    model.write_text(json.dumps(record))
    page.reload()
    assert "as entry 3 of this ledger booked it" in page.get_by_role("alert").inner_text()
    assert len(charges(folder)) == 1


def test_predictions_for_a_row_and_for_a_table(page, folder):
    to_confirmation(page)
    pay(page)
    page.get_by_role("textbox", name="age").fill("85")
    page.get_by_label("region", exact=True).select_option("south")
    page.get_by_role("button", name="Predict", exact=True).click()
    page.get_by_text("defaulted: yes").wait_for()
    page.get_by_role("textbox", name="age").fill("old")
    page.get_by_role("button", name="Predict", exact=True).click()
    page.get_by_role("alert").wait_for()
    page.get_by_label("Path of the file").fill("t.csv")
    page.get_by_role("button", name="Predict for this table").click()
    page.get_by_text("Written to").wait_for(timeout=60_000)
    (file,) = (folder / "confide-files" / "orders").glob("*/predictions-*.csv")
    assert len(file.read_text().splitlines()) == 3001
    assert file.stat().st_mode & 0o077 == 0
    page.get_by_role("link", name="The whole report").click()
    page.go_back()
    page.get_by_role("heading", name="Coefficients").wait_for()
    assert len(charges(folder)) == 1


def test_what_is_taken_along_works(page, folder):
    """Downloads; the script and the command do the same fit, and pay for it."""
    to_confirmation(page)
    pay(page)
    names = ("model.json", "report.html", "coefficients.csv", "command.sh", "script.py")
    taken = folder / "taken"
    taken.mkdir()
    for name in names:
        with page.expect_download() as coming:
            page.get_by_role("link", name=name).click()
        coming.value.save_as(taken / name)
    assert "(intercept)" in (taken / "coefficients.csv").read_text()
    assert "<script" not in (taken / "report.html").read_text()
    again = folder / "again"
    again.mkdir()
    words = shlex.split((taken / "command.sh").read_text(), comments=True)
    command = [sys.executable, "-m", *words]
    script = [sys.executable, str(taken / "script.py")]
    for count, one in enumerate((command, script), start=2):
        shutil.rmtree(again)
        again.mkdir()
        subprocess.run(one, cwd=again, check=True, capture_output=True)  # noqa: S603
        assert (again / "model.json").exists()
        assert len(charges(folder)) == count


def test_the_whole_way_in_a_narrow_dark_window(page, folder):
    page.set_viewport_size({"width": PHONE, "height": 800})
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert overflow(page) <= 0
    page.get_by_role("button", name="t.csv").click()
    assert overflow(page) <= 0
    fill_schema(page)
    assert overflow(page) <= 0
    plan(page)
    assert overflow(page) <= 0
    confirm(page)
    assert overflow(page) <= 0
    pay(page)
    assert overflow(page) <= 0
    page.get_by_role("link", name="Ledger").click()
    assert overflow(page) <= 0
    assert len(charges(folder)) == 1


def reach(page, role, name, most=80):
    """Press Tab until something has the focus, and is seen to have it."""
    for _ in range(most):
        page.keyboard.press("Tab")
        wanted = page.get_by_role(role, name=name, exact=True).and_(page.locator(":focus"))
        if wanted.count():
            width = wanted.evaluate("e => getComputedStyle(e).outlineWidth")
            assert width != "0px"
            return
    raise AssertionError(f"no {role} {name} within {most} steps")


def test_the_whole_way_by_keyboard_alone(page, folder):
    keys = page.keyboard
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    keys.press("Enter")
    reach(page, "textbox", "Path of the file")
    keys.type("t.csv")
    keys.press("Enter")
    reach(page, "textbox", "Name")
    keys.press("Control+a")
    keys.type("loans")
    reach(page, "textbox", "Number of rows, about (if publicly known)")
    keys.type("3000")
    reach(page, "combobox", "Column")
    keys.type("defaulted")
    reach(page, "textbox", "Labels, with commas between them")
    keys.type("no, yes")
    reach(page, "radio", "leave out")
    keys.press("ArrowRight")
    reach(page, "textbox", "Lowest")
    keys.type("18")
    reach(page, "textbox", "Highest")
    keys.type("90")
    keys.press("Enter")
    page.get_by_role("heading", name="What a model will see").wait_for()
    reach(page, "link", "Go on to the plan")
    keys.press("Enter")
    page.get_by_role("heading", name="Plan", exact=True).wait_for()
    reach(page, "button", "Show the plan")
    keys.press("Enter")
    page.get_by_role("heading", name="What to expect").wait_for()
    reach(page, "button", "Set this limit")
    keys.press("Enter")
    page.get_by_role("heading", name="What to expect").wait_for()
    reach(page, "button", "Go on to confirm")
    keys.press("Enter")
    page.get_by_role("heading", name="Confirm the fit").wait_for()
    reach(page, "button", "Pay ε = 1, δ = 1e-06 and fit")
    keys.press("Enter")
    page.get_by_role("heading", name="Coefficients").wait_for(timeout=120_000)
    assert len(charges(folder)) == 1


def test_the_whole_way_without_scripts(browser, server, folder):
    page = browser.new_page(java_script_enabled=False)
    page.goto(server.address)
    page.get_by_role("heading", name="Tables", exact=True).wait_for()
    to_confirmation(page)
    pay(page)
    page.get_by_role("textbox", name="age").fill("85")
    page.get_by_role("button", name="Predict", exact=True).click()
    page.get_by_text("defaulted: yes").wait_for()
    assert len(charges(folder)) == 1
    page.close()


def test_another_site_in_the_same_browser_spends_and_sees_nothing(page, context, folder):
    """Even one on another port, which browsers call the same site, that knows the path."""
    import http.server
    import threading

    to_confirmation(page)
    order = page.url
    anchor = page.locator("[name=anchor]").input_value()
    seen = []

    class Foreign(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers.get("Cookie"))
            body = (
                f'<form method="post" action="{order}/pay">'
                f'<input name="anchor" value="{anchor}"><button>Win</button></form>'
                f'<iframe src="{order}"></iframe><img src="{order}">'
            )
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *words):
            pass

    foreign = http.server.HTTPServer(("127.0.0.1", 0), Foreign)
    threading.Thread(target=foreign.serve_forever, daemon=True).start()
    other = context.new_page()
    other.goto(f"http://127.0.0.1:{foreign.server_port}/")
    other.get_by_role("button", name="Win").click()
    assert "Not for this browser" in other.content()
    other.goto(f"http://127.0.0.1:{foreign.server_port}/")
    read = other.evaluate("url => fetch(url).then(r => r.text(), () => 'nothing')", order)
    assert read == "nothing"
    assert not any(
        frame.url == order for frame in other.frames if "loans" in frame.content()
    )
    foreign.shutdown()
    assert {*seen} == {None}
    assert charges(folder) == []


def test_another_browser_is_not_let_in(page, browser, server, folder):
    page.get_by_role("button", name="t.csv").click()
    stranger = browser.new_context().new_page()
    for address in (page.url, server.address, f"{server.origin}/"):
        stranger.goto(address)
        assert "Not for this browser" in stranger.content()
        assert "t.csv" not in stranger.content()
    stranger.context.close()


def test_no_page_has_a_serious_fault_of_accessibility(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def check():
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            for width in (DESKTOP, PHONE):
                page.set_viewport_size({"width": width, "height": 900})
                assert overflow(page) <= 0
                found = axe.run(page).response["violations"]
                grave = [
                    (one["id"], [node["html"] for node in one["nodes"]])
                    for one in found
                    if one["impact"] in ("serious", "critical")
                ]
                assert grave == [], page.url

    check()
    page.get_by_label("Path of the file").fill("nothing.csv")
    page.get_by_role("button", name="Choose this file").click()
    check()
    page.get_by_role("button", name="t.csv").click()
    check()
    fill_schema(page)
    check()
    page.get_by_role("link", name="Change the schema").click()
    check()
    page.get_by_role("button", name="Save and check").click()
    page.get_by_role("button", name="Compare with the table").click()
    check()
    plan(page)
    check()
    confirm(page)
    check()
    page.get_by_role("button", name="Pay ").click()
    page.get_by_role("heading", name="under way").wait_for()
    check()
    page.get_by_role("heading", name="Coefficients").wait_for(timeout=120_000)
    check()
    page.get_by_role("link", name="Ledger").click()
    check()
    page.get_by_role("link", name="Tables").click()
    check()
