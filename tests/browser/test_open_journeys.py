"""Whole journeys through `confide open` in a real browser, without any network."""

import shlex
import shutil
import subprocess
import sys

import pytest

import confide
from support.journeys import (
    DESKTOP,
    PHONE,
    charges,
    choose_and_declare,
    confirm,
    fill_schema,
    gate_of,
    new_page,
    overflow,
    pay,
    plan,
    to_confirmation,
)

pytestmark = pytest.mark.slow


def test_from_a_table_to_a_paid_and_scored_model(page, folder):
    """A fit with a ledger: what the page says was paid is what the ledger has."""
    choose_and_declare(page)
    plan(page)
    page.get_by_text("loans has no limit yet").wait_for()
    confirm(page)
    page.get_by_role("row", name="Left after this fit ε = 2, δ = 9e-06").wait_for()
    assert charges(folder) == []
    pay(page)
    (paid,) = charges(folder)
    page.get_by_text(f"charge {paid.number} of the ledger").wait_for()
    page.get_by_role("row", name="age (per year)").wait_for()
    page.get_by_role("table", name="Odds ratios over the range").wait_for()
    page.get_by_text("each level compared with the average of").wait_for()
    page.get_by_text("confide score /").wait_for()
    page.get_by_role("row", name="accuracy").wait_for()
    page.get_by_role("heading", name="ROC curve").wait_for()
    page.get_by_role("link", name="Ledger").click()
    page.get_by_role("row", name="loans ε = 3, δ = 1e-05 ε = 1").wait_for()
    page.get_by_role("button", name="Verify every entry").click()
    page.get_by_text("3 entries verified").wait_for()
    page.get_by_role("button", name="Back up the ledger").click()
    page.get_by_text("Never charge a copy").wait_for()


def test_a_budget_above_what_is_left_is_refused_before_it_is_asked_for(page, folder):
    choose_and_declare(page)
    plan(page)
    page.get_by_role("button", name="Set this limit").click()
    page.get_by_label("Epsilon", exact=True).first.fill("4")
    page.get_by_role("button", name="Show the plan").click()
    page.get_by_text("The ledger would refuse this fit").wait_for()
    assert page.get_by_role("button", name="Go on to confirm").count() == 0
    page.get_by_label("Epsilon", exact=True).first.fill("0.5")
    page.get_by_role("button", name="Show the plan").click()
    page.get_by_role("button", name="Go on to confirm").wait_for()
    assert charges(folder) == []


def test_a_bad_schema_is_mended_where_it_was_typed(page):
    page.get_by_role("button", name="t.csv").click()
    page.get_by_role("group", name="age", exact=True).get_by_label("number").check()
    page.get_by_role("button", name="Save and check").click()
    assert "Choose the column to predict" in page.get_by_role("alert").inner_text()
    fill_schema(page)
    page.get_by_role("link", name="Change the schema").click()
    page.get_by_role("group", name="age", exact=True).get_by_label("Highest").fill("1")
    page.get_by_role("button", name="Save and check").click()
    page.get_by_role("link", name="age: its highest value must be above").click()
    marked = page.get_by_role("textbox", name="Highest").and_(page.locator(":focus"))
    assert marked.get_attribute("aria-invalid") == "true"
    assert page.get_by_label("Labels, separated by commas").input_value() == "no, yes"


def test_a_schema_that_matches_nothing_is_told_on_a_confidential_page(page):
    page.get_by_role("button", name="t.csv").click()
    page.get_by_role("group", name="region").get_by_label("category").check()
    fill_schema(page)
    page.get_by_role("link", name="Change the schema").click()
    page.get_by_role("group", name="region").get_by_label("Levels").fill("Nord, Ost")
    page.get_by_role("button", name="Save and check").click()
    page.get_by_role("button", name="Compare with the table").click()
    page.get_by_text("no noise protects").wait_for()
    page.get_by_text("No value in region matches Nord, Ost").wait_for()


def test_predictions_for_a_row_and_for_a_table(page, folder):
    to_confirmation(page)
    pay(page)
    page.get_by_role("textbox", name="age").fill("85")
    page.get_by_label("region", exact=True).select_option("south")
    page.get_by_role("button", name="Predict", exact=True).click()
    page.get_by_text("defaulted: yes").wait_for()
    page.get_by_role("textbox", name="age").fill("99")
    page.get_by_role("button", name="Predict", exact=True).click()
    page.get_by_text("age: 99 is outside").wait_for()
    page.get_by_role("textbox", name="age").fill("old")
    page.get_by_role("button", name="Predict", exact=True).click()
    page.get_by_role("alert").wait_for()
    page.get_by_label("Path of the file").fill("t.csv")
    page.get_by_role("button", name="Predict for this table").click()
    with page.expect_download() as coming:
        page.get_by_role("link", name="predictions-").click()
    assert len(coming.value.path().read_text().splitlines()) == 3001
    (file,) = (folder / "confide-files" / "orders").glob("*/predictions-*.csv")
    assert len(file.read_text().splitlines()) == 3001
    assert file.stat().st_mode & 0o077 == 0
    page.get_by_role("link", name="Full report").click()
    page.go_back()
    page.get_by_role("heading", name="Coefficients").wait_for()
    assert len(charges(folder)) == 1


def test_what_is_taken_along_works(page, folder):
    """Downloads; the script and the command do the same fit, and pay for it."""
    to_confirmation(page)
    pay(page)
    names = ("model.json", "report.html", "score.json", "coefficients.csv")
    names += ("command.sh", "script.py")
    taken = folder / "taken"
    taken.mkdir()
    for name in names:
        with page.expect_download() as coming:
            page.get_by_role("link", name=name).click()
        coming.value.save_as(taken / name)
    assert confide.load_score(taken / "score.json").guarantee.private
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
        assert confide.load_score(again / "model.score.json").guarantee.private
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
    page.get_by_role("heading", name="Schema of t.csv").wait_for()
    reach(page, "textbox", "Name")
    keys.press("Control+a")
    keys.type("loans")
    reach(page, "textbox", "Approximate number of rows (if publicly known)")
    keys.type("3000")
    reach(page, "combobox", "Column")
    keys.type("defaulted")
    reach(page, "textbox", "Labels, separated by commas")
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
    page.get_by_role("heading", name="Coefficients").wait_for()
    assert len(charges(folder)) == 1


def test_the_whole_way_without_scripts(browser, server, folder):
    page = new_page(browser, java_script_enabled=False)
    page.goto(server.address)
    page.get_by_role("heading", name="Tables", exact=True).wait_for()
    to_confirmation(page)
    pay(page)
    page.get_by_role("textbox", name="age").fill("85")
    page.get_by_role("button", name="Predict", exact=True).click()
    page.get_by_text("defaulted: yes").wait_for()
    assert len(charges(folder)) == 1
    page.close()


def test_no_page_has_a_serious_fault_of_accessibility(page, folder):
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
    page.get_by_role("group", name="age", exact=True).get_by_label("date").check()
    page.get_by_role("group", name="age", exact=True).get_by_text("Details").click()
    page.get_by_role("button", name="Save and check").click()
    page.get_by_text("3 fields must be changed").wait_for()
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
    gate_of(folder).touch()
    page.get_by_role("button", name="Pay ").click()
    page.get_by_role("heading", name="under way").wait_for()
    check()
    gate_of(folder).unlink()
    page.get_by_role("heading", name="Coefficients").wait_for()
    check()
    page.get_by_role("link", name="Ledger").click()
    check()
    page.get_by_role("link", name="Tables").click()
    check()
