"""Nothing is spent twice, nor by another: clicks, tabs, killed servers, other sites."""

import http.server
import json
import os
import threading
from pathlib import Path

import pytest

from confide.web.orders import OrderBook, State
from confide.web.workspace import Workspace
from support.journeys import (
    charges,
    confirm,
    gate_of,
    new_page,
    pay,
    served,
    to_confirmation,
)

pytestmark = pytest.mark.slow


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
    page.get_by_role("heading", name="Coefficients").wait_for()
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
    other.get_by_role("row", name="Left before ε = 2, δ = 9e-06").wait_for()
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
        page = new_page(browser)
        page.goto(server.address)
        page.get_by_role("heading", name="Tables", exact=True).wait_for()
        to_confirmation(page)
        gate_of(folder).touch()
        page.get_by_role("button", name="Pay ").click()
        page.get_by_role("heading", name="under way").wait_for()
        page.wait_for_load_state()  # the scripts too, which tell that nothing answers
        (fit,) = children_of(server.process.pid)
        if moment != "before":
            gate_of(folder).unlink()
        while moment == "charged" and not charges(folder):
            pass
        server.kill()
        if moment != "server":
            os.kill(fit, 9)
        page.get_by_text("confide does not answer").wait_for()
        page.close()
    with served(folder) as server:
        page = new_page(browser)
        page.goto(server.address)
        page.get_by_role("link", name="loans: logistic").click()
        ends = page.get_by_role("heading", name="Coefficients").or_(
            page.get_by_role("heading", name="The fit failed")
        )
        ends.wait_for()
        paid = charges(folder)
        orders = OrderBook(Workspace.at(folder))
        (order,) = orders.all()
        standing = orders.standing(order)
        if standing.state is State.RELEASED:
            page.get_by_text(f"charge {paid[0].number} of the ledger").wait_for()
            page.get_by_role("row", name="age (per year)").wait_for()
        elif paid:
            page.get_by_text(f"Charge {paid[0].number} remains").wait_for()
        else:
            page.get_by_text("Nothing was charged").wait_for()
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
    page.get_by_role("button", name="Predict", exact=True).click()
    page.get_by_text("differs from the ledger").wait_for()
    page.reload()
    assert "differs from the ledger" in page.get_by_role("alert").inner_text()
    model.unlink()
    page.reload()
    page.get_by_role("heading", name="Coefficients").wait_for()
    assert model.read_bytes() == before
    assert len(charges(folder)) == 1


def test_another_site_in_the_same_browser_spends_and_sees_nothing(page, context, folder):
    """Even one on another port, which browsers call the same site, that knows the path."""
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
    other.get_by_role("heading", name="Access refused").wait_for()
    other.goto(f"http://127.0.0.1:{foreign.server_port}/")
    read = other.evaluate("url => fetch(url).then(r => r.text(), () => 'nothing')", order)
    assert read == "nothing"
    assert not any(
        frame.url == order for frame in other.frames if "loans" in frame.content()
    )
    foreign.shutdown()
    foreign.server_close()
    assert {*seen} == {None}
    assert charges(folder) == []


def test_the_file_that_a_browser_is_handed_leads_in(browser, server, folder):
    """Browsers send a strict cookie to no redirect that began elsewhere; we have none."""
    first = folder / "first.html"
    first.write_text(f'<meta http-equiv="refresh" content="0; url={server.address}">')
    page = new_page(browser)
    page.goto(first.as_uri())
    page.get_by_role("heading", name="Tables", exact=True).wait_for()
    assert "token" not in page.url
    assert page.evaluate("document.referrer") == ""
    page.close()


def test_another_browser_is_not_let_in(page, browser, server, folder):
    page.get_by_role("button", name="t.csv").click()
    stranger = new_page(browser)
    for address in (page.url, server.address, f"{server.origin}/"):
        stranger.goto(address)
        assert "Access refused" in stranger.content()
        assert "t.csv" not in stranger.content()
    stranger.context.close()
