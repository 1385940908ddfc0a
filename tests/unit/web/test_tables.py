"""Files, schemas and plans: what is wrong is said in a sentence on the page."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest

from confide.planning import FitPlan
from confide.web.schema_form import MOST_COLUMNS
from support.pages import DECLARED, PLANNED, Visitor, book_of, words, write_table

HOSTILE = "a<script>alert(1)</script>\u202egnp\u0007\"'&"
PLAIN = "a<script>alert(1)</script>"


@pytest.fixture
def visitor(tmp_path):
    return Visitor(tmp_path)


@pytest.fixture
def table(tmp_path):
    write_table(tmp_path / "t.csv", 60)
    return tmp_path / "t.csv"


def complaint(answer):
    assert answer.status_code == 422, words(answer)
    assert 'role="alert"' in answer.text
    return words(answer)


def test_a_table_is_chosen_by_its_name_or_its_whole_path(visitor, table):
    place = visitor.project("t.csv")
    assert visitor.project(str(table)) == place
    assert len(visitor.workspace.projects()) == 1


def test_a_table_that_is_chosen_many_times_at_once_is_one_project(visitor, table):
    with ThreadPoolExecutor(20) as clicks:
        places = {*clicks.map(visitor.project, [table.name] * 60)}
    assert len(places) == len(visitor.workspace.projects()) == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("absent.csv", None, "a file that can be read"),
        ("t.xlsx", b"PK", "Save a spreadsheet as CSV first"),
        ("empty.csv", b"", "must hold the column names"),
        ("bars.csv", b"a|b|c\n1|2|3\n", "its only name contains '|'"),
        ("record.csv", b"1,2,3\n4,5,6\n", "like a record"),
        ("twice.csv", b"a,a\n1,2\n", "distinct column names"),
        ("bytes.csv", bytes(range(256)), "must"),
        ("\0.csv", None, "must be"),
        ("break.csv", b'a,"b\nc",d\n1,2,3\n', "without line breaks"),
        ("blanks.csv", b"a b c\n1 2 3\n", "its only name contains a blank"),
        ("one.csv", b"age\n1\n", "must have at least two columns"),
        ("", None, "must be filled in"),
        ("~nobody9/t.csv", None, "no user account of that name"),
    ],
)
def test_a_file_that_is_no_table_is_refused_in_a_sentence(
    visitor, tmp_path, name, content, said
):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert said in complaint(visitor.post("/tables", {"path": name}))
    assert not visitor.workspace.projects()


@pytest.mark.parametrize("path", ["/dev/zero", "pipe.csv", "/proc/self/mem", "~x/y.csv"])
def test_devices_and_pipes_are_refused_at_once(visitor, tmp_path, path):
    os.mkfifo(tmp_path / "pipe.csv")
    assert "must" in complaint(visitor.post("/tables", {"path": path}))


def test_a_file_that_may_not_be_read_is_refused(visitor, table):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    table.chmod(0)
    assert "Permission denied" in complaint(visitor.post("/tables", {"path": "t.csv"}))


def test_the_form_shows_names_and_never_a_value(visitor, table):
    page = visitor.get(f"{visitor.project(table)}/schema").text
    for name in ("age", "region", "income", "defaulted"):
        assert f"<legend>{name}</legend>" in page
    values = set(re.split(r"[,\n]", table.read_text().partition("\n")[2]))
    assert not (values - {"yes", "no", ""}) & set(re.split(r"[^\w.]+", page))


def test_a_schema_is_kept_and_shown_again(visitor, table):
    project = visitor.declare(table)
    page = visitor.get(f"{project}/schema").text
    assert 'value="no, yes"' in page
    assert "north, south, east, west</textarea>" in page
    declared = visitor.get(f"{project}/declared").text
    assert "# age: loans are given to adults" in declared
    found = visitor.workspace.projects()[0].schema
    assert found.name == "loans"
    assert found.rows == 800
    assert [column.name for column in found.columns] == ["age", "region"]


DATE = {"kind-0": "date", "lower-0": "", "upper-0": ""}
NUMBER = {"target-kind": "number", "target-labels": ""}


def field_of(page, name):
    """Return the tag of a field in a page."""
    return re.search(rf'<[^>]* id="{name}"[^>]*>', page)[0]


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"target": ""}, "target", "Choose the column to predict"),
        ({"kind-0": "", "kind-1": ""}, "kind-0", "at least one column to predict from"),
        ({"lower-0": "90", "upper-0": "18"}, "upper-0", "age: its highest value must be"),
        ({"lower-0": "young"}, "lower-0", "age: its lowest value must be a number"),
        ({"upper-0": "nan"}, "upper-0", "age: its highest value must be a number"),
        ({"kind-0": "colour"}, "kind-0", "age: choose number, category"),
        (
            {"levels-1": ""},
            "levels-1",
            "region: fill in its levels, without repeating any,",
        ),
        ({"levels-1": "a, b, a"}, "levels-1", "region: fill in its levels, without"),
        ({"reference-1": "up"}, "reference-1", "region: the level to compare with must"),
        ({"share-1": "0.5, 0.7"}, "share-1", "region: write one number from 0 to 1"),
        ({"low-0": "30"}, "high-0", "age: fill in both ends of its typical range"),
        ({"low-0": "30", "high-0": "99"}, "high-0", "age: its typical range must lie"),
        ({"missing-0": "guess"}, "missing-0", "age: choose one of the two"),
        (
            {"target-labels": "yes"},
            "target-labels",
            "defaulted: fill in two or more different",
        ),
        ({"target-share": "2"}, "target-share", "defaulted: write one number from 0 to 1"),
        ({**NUMBER, "target-lower": "3"}, "target-upper", "defaulted: fill in both the"),
        ({"name": ""}, "name", "give the dataset a name"),
        ({"rows_per_person": "none"}, "rows_per_person", "write a whole number"),
        ({"rows": "-3"}, "rows", "write a whole number"),
        ({**DATE, "first-0": "1.1.2020"}, "first-0", "age: fill in its earliest day as"),
        (
            {**DATE, "first-0": "2020-01-01", "last-0": "2019-01-01"},
            "last-0",
            "age: its latest day must be after",
        ),
    ],
)
def test_a_bad_schema_is_refused_at_its_field_and_what_was_typed_is_kept(
    visitor, table, changed, field, said
):
    project = visitor.project(table)
    answer = visitor.post(f"{project}/schema", {**DECLARED, **changed})
    assert said in complaint(answer)
    assert f'href="#{field}">' in answer.text
    assert f'id="{field}-fault"' in answer.text
    assert f'aria-describedby="{field}-fault' in field_of(answer.text, field)
    assert "loans are given to adults" in answer.text
    assert visitor.workspace.projects()[0].schema is None


def test_all_faults_of_a_form_are_told_at_once_in_plain_words(visitor, table):
    wrong = {"levels-1": "", "upper-0": "old", "target-labels": "", "name": ""}
    answer = visitor.post(f"{visitor.project(table)}/schema", {**DECLARED, **wrong})
    assert "4 fields must be changed" in complaint(answer)
    assert answer.text.count('aria-invalid="true"') == len(wrong)
    assert not re.search(r"\[(columns|target|kind)|= \[|\('", words(answer))
    assert 'value="old"' in answer.text


def test_every_field_of_the_form_reaches_the_schema(visitor, table):
    more = {"kind-2": "number", "lower-2": "0", "upper-2": "100,000", "rows": "20,000"}
    more |= {"low-2": "10,000", "high-2": "60,000", "missing-2": "refuse"}
    more |= {"reference-1": "north", "share-1": "north = 0.4, south = 0.2"}
    more |= {"target-missing": "drop", "target-share": "0.7, 0.3"}
    project = visitor.declare(table, **more)
    found = visitor.workspace.projects()[0].schema
    region, income = found.parts["region"], found.parts["income"]
    assert (income.lower, income.upper, income.typical) == (0, 100_000, (10_000, 60_000))
    assert (income.missing, found.target.missing) == ("refuse", "drop")
    assert (region.reference, region.share) == (
        "north",
        pytest.approx((0.4, 0.2, 0.2, 0.2)),
    )
    assert found.target.share == (0.7, 0.3)
    assert found.rows == 20_000
    assert 'value="north"' in visitor.get(f"{project}/schema").text


def columns_of(visitor, project):
    """Return the names of the columns, as the fields of their form carry them."""
    page = visitor.get(f"{project}/schema").text
    found = re.findall(r'name="(column-\d+)" value="([^"]*)"', page)
    assert [int(field.removeprefix("column-")) for field, _ in found] == [
        *range(len(found))
    ]
    return dict(found)


def test_what_was_filled_in_stays_with_its_column_when_the_table_changes(visitor, table):
    project = visitor.project(table)
    project = visitor.declare(table, **columns_of(visitor, project))
    table.write_text("id,region,defaulted,age\n")
    page = visitor.get(f"{project}/schema").text
    assert 'value="90"' in field_of(page, "upper-3")
    assert 'value=""' in field_of(page, "upper-0")
    assert "north, south, east, west</textarea>" in page
    assert '<option value="2" selected>defaulted</option>' in page
    assert 'name="kind-0" value="" checked' in page
    # a page that was open before the table changed is understood by the names it carries
    before = {"column-0": "age", "column-1": "region", "column-2": "income"}
    visitor.to(
        visitor.post(f"{project}/schema", {**DECLARED, **before, "column-3": "defaulted"})
    )
    found = visitor.workspace.projects()[0].schema
    assert [column.name for column in found.columns] == ["region", "age"]
    assert (found.target.column, found.parts["age"].upper) == ("defaulted", 90)


def test_a_target_that_is_gone_is_to_be_chosen_again(visitor, table):
    project = visitor.declare(table, **columns_of(visitor, visitor.project(table)))
    table.write_text("age,region,income,paid\n")
    page = visitor.get(f"{project}/schema").text
    assert (
        "selected" not in re.search(r'<select id="target".*?</select>', page, re.DOTALL)[0]
    )
    assert 'value="90"' in field_of(page, "upper-0")


def test_without_a_schema_its_form_comes_first(visitor, table):
    project = visitor.project(table)
    assert visitor.to(visitor.post(f"{project}/check")) == f"{project}/schema"
    for answer in (
        visitor.post(f"{project}/orders", PLANNED),
        visitor.get(f"{project}/width?rows=3"),
    ):
        assert "t.csv has no schema yet" in words(answer)


def test_days_and_shares_of_yes_reach_the_schema(visitor, table):
    days = {**DATE, "first-0": "2019-01-01", "last-0": "2020-12-31"}
    number = {"target-kind": "number", "target-low": "−1", "target-high": "4"}
    visitor.declare(table, **days, **number, **{"kind-2": "boolean", "share-2": "0.2"})
    found = visitor.workspace.projects()[0].schema
    assert found.parts["age"].upper.isoformat() == "2020-12-31"
    assert found.parts["income"].share == 0.2
    assert (found.target.typical, found.target.range) == ((-1, 4), "private")


def test_a_schema_that_matches_nothing_is_told_to_the_holder_alone(visitor, table):
    wrong = {"levels-1": "Nord, Süd", "lower-0": "180", "upper-0": "190"}
    project = visitor.declare(table, **wrong)
    page = words(visitor.post(f"{project}/check"))
    assert "Confidential" in page
    assert "which no noise protects" in page
    assert "No value in age matches its range" in page
    assert "No value in region matches Nord, Süd" in page
    assert "north" not in visitor.get(f"{project}/declared").text
    kept = [
        p.read_text("utf-8") for p in visitor.workspace.home.rglob("*.*") if p.is_file()
    ]
    assert not any("north" in text for text in kept)


def test_a_table_that_lost_a_column_is_told_to_the_holder(visitor, table):
    project = visitor.declare(table)
    table.write_text("ages,region,defaulted\n20,north,no\n")
    page = words(visitor.post(f"{project}/check"))
    assert "The table lacks the declared column “age”. Is it “ages”?" in page
    assert "A fit would reject this table" in page


@pytest.mark.slow
def test_ten_thousand_columns_are_asked_for_by_name(visitor, tmp_path):
    names = [f"c{k}" for k in range(10_000)]
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(names) + "\n" + ",".join(["7"] * 10_000) + "\n")
    project = visitor.project(wide)
    page = visitor.get(f"{project}/schema")
    assert f"10,000 columns, and the form shows at most {MOST_COLUMNS}" in words(page)
    assert len(page.text) < 10_000
    asked = {"columns": "c1\nc9999\nc5"}
    page = visitor.get(f"{project}/schema?{urlencode(asked)}")
    assert page.text.count('<fieldset class="column">') == 3
    wrong = urlencode({"columns": "c1\nd1"})
    answer = visitor.get(f"{project}/schema?{wrong}")
    assert "it has no ['d1']" in complaint(answer)
    fields = {
        **asked,
        "name": "wide",
        "rows_per_person": "1",
        "target": "0",
        "target-kind": "number",
        "kind-1": "number",
        "kind-2": "boolean",
    }
    visitor.to(visitor.post(f"{project}/schema", fields))
    found = visitor.workspace.projects()[0].schema
    assert [column.name for column in found.columns] == ["c9999", "c5"]
    page = words(visitor.post(f"{project}/check"))
    assert "c19, c20, c21 and 9,977 more" in page


def test_hostile_names_become_no_markup(visitor, tmp_path):
    table = tmp_path / "a<b>&'\"\u202e.csv"
    quoted = HOSTILE.replace('"', '""')
    table.write_text(f'"{quoted}","b","defaulted"\n1,2,no\n', encoding="utf-8")
    home = visitor.get().text
    assert "\u202e" not in home
    assert "<b>&" not in home
    project = visitor.project(table)
    answers = {"target": "2", "kind-0": "number", "kind-1": "number", "reason-0": HOSTILE}
    answers |= {"name": PLAIN, "target-kind": "labels", "target-labels": "no, yes"}
    answer = visitor.post(f"{project}/schema", answers)
    pages = [visitor.get(f"{project}/schema").text, answer.text]
    assert answer.status_code == 303
    pages += [visitor.get(f"{project}/{p}").text for p in ("declared", "plan")]
    pages += [visitor.get().text, visitor.post(f"{project}/check").text]
    for page in pages:
        assert "<script>" not in page
        assert not {"\u0007", "\u202e"} & set(page)
    answers["name"] = HOSTILE
    assert "give the dataset a name" in complaint(
        visitor.post(f"{project}/schema", answers)
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rows": ""}, "number of rows must be"),
        ({"rows": "many"}, "number of rows must be"),
        ({"rows": "1000000001"}, "a whole number from 1 to 1,000,000,000"),
        ({"epsilon": "0"}, "epsilon"),
        ({"epsilon": ""}, "epsilon must be given"),
        ({"epsilon": "1e999999999"}, "epsilon"),
        ({"delta": "2"}, "delta"),
        ({"model": "linear"}, "model must be one of"),
        ({"level": "95"}, "level of the intervals"),
        ({"holdout": "1.5"}, "held-out share"),
    ],
)
def test_a_bad_plan_is_refused(visitor, table, changed, said):
    project = visitor.declare(table)
    answer = visitor.get(f"{project}/plan?{urlencode({**PLANNED, **changed})}")
    assert said in complaint(answer)
    answer = visitor.post(f"{project}/orders", {**PLANNED, **changed})
    assert said in complaint(answer)
    assert not visitor.inner.orders.all()


@pytest.mark.slow
def test_a_plan_reads_nothing_from_the_table(visitor, table):
    project = visitor.declare(table)
    table.unlink()
    page = words(visitor.get(f"{project}/plan?{urlencode(PLANNED)}"))
    assert "What to expect for each column, from 640 rows" in page
    assert "from 50% likely to at most 73.2% likely" in page
    assert "loans has no limit yet" in page


def test_a_plan_says_what_it_supposes_and_what_brings_it_closer(visitor, table):
    project = visitor.declare(table)
    page = words(visitor.get(f"{project}/plan?{urlencode(PLANNED)}"))
    assert "The plan assumes: numbers, levels and labels like those of seven" in page
    assert "randomly correlated columns" in page
    assert "give them in the schema" in page


def test_a_width_is_searched_after_the_plan_is_shown(visitor, table, monkeypatch):
    project = visitor.declare(table)
    wanted = urlencode({**PLANNED, "column": "0", "width": "0.1"})
    page = visitor.get(f"{project}/plan?{wanted}")
    assert "give age an interval of width 0.1" in words(page)
    assert f'hx-get="{visitor.entry.path}{project}/width?' in page.text
    monkeypatch.setattr(FitPlan, "smallest_rows", lambda plan, name, width: 4321)
    monkeypatch.setattr(FitPlan, "smallest_budget", lambda plan, name, width: None)
    told = words(visitor.get(f"{project}/width?{wanted}"))
    # a fifth of the rows is held out
    assert "A width of 0.1 for the interval of age probably needs about 5,402 rows" in told
    assert "with the present number of rows, no budget is enough" in told
    for width in ("wide", "-1"):
        wrong = urlencode({**PLANNED, "column": "0", "width": width})
        answer = visitor.get(f"{project}/plan?{wrong}")
        assert "desired width must be a positive number" in complaint(answer)


def test_where_nothing_forbids_it_the_check_leads_on_to_the_plan(visitor, table):
    table.write_text(table.read_text() + ",north,3,no\n")
    project = visitor.declare(table)
    page = visitor.post(f"{project}/check")
    assert "age: missing values are replaced by the middle of the range." in words(page)
    assert re.search(r'class="button" href="[^"]*/plan">Go on', page.text)
    project = visitor.declare(table, **{"levels-1": "Nord"})
    page = visitor.post(f"{project}/check").text
    assert re.search(r'class="button" href="[^"]*/schema">Change', page)


@pytest.mark.slow
def test_a_limit_is_set_from_the_plan_and_the_plan_shows_what_would_be_left(visitor, table):
    project = visitor.declare(table)
    fields = {"project": project.rsplit("/", 1)[1], "dataset": "loans"}
    fields |= {"epsilon": "3", "delta": "1e-5"}
    asked = urlencode(PLANNED)
    place = visitor.to(visitor.post(f"/ledger/limit?{asked}", fields))
    assert place == f"{project}/plan?{asked}"
    page = words(visitor.get(place))
    assert "Left before ε = 3, δ = 1e-05 Left after this fit ε = 2, δ = 9e-06" in page
    refused = visitor.get(f"{project}/plan?{urlencode({**PLANNED, 'epsilon': '4'})}")
    assert "The ledger would refuse this fit" in refused.text
    assert "Go on to confirm" not in refused.text


def test_the_ledger_is_shown_verified_and_copied(visitor, tmp_path):
    assert "The ledger is empty" in visitor.get("/ledger").text
    answer = visitor.post("/ledger/limit", {"dataset": "loans", "epsilon": "much"})
    assert "epsilon" in complaint(answer)
    fields = {"dataset": "loans", "epsilon": "2", "project": "https://evil.example"}
    assert visitor.to(visitor.post("/ledger/limit", fields)) == "/ledger"
    page = words(visitor.get("/ledger"))
    assert "loans ε = 2" in page
    assert book_of(tmp_path).anchor() in page
    assert "1 entry verified" in words(visitor.post("/ledger/verify"))
    assert "Copied to" in words(visitor.post("/ledger/backup"))
    assert len([*visitor.workspace.home.glob("ledger-copy-*.db")]) == 1
    assert visitor.post("/ledger/burn").status_code == 404
