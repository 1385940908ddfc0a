"""What is not PROVED is said before it is paid for, and wherever it is shown."""

import json
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from confide import (
    Approx,
    ClaimedGuarantee,
    Guarantee,
    Ledger,
    LinearRegression,
    LogisticRegression,
    MultiResponseRegression,
    Neighbours,
    Pure,
    Status,
    cli,
    load_model,
)
from confide.estimators import release_hash
from confide.inference import Coefficient, Summary
from confide.mechanisms import (
    MECHANISMS,
    OutputPerturbation,
    ProjectedHistogram,
    Release,
)
from confide.mechanisms.published import Napp
from confide.mechanisms.release import NoiseRecord
from confide.privacy import COMPOSED, DOWNGRADED, weakest
from confide.reporting import model_card, plain_words, report_page
from confide.selection import SelectThenFit
from confide.tuning import PrivateSearch, RandomStopping
from support.claimed import DoubleOutput

BUDGET = Approx(1, 1e-6)
OUTPUT = "output-perturbation.md#output-gaussian"
REASON = DOWNGRADED[OUTPUT]
ADD = Neighbours.ADD_REMOVE
DOUBLES = DoubleOutput()
CLAIMED = Guarantee(BUDGET, ADD, Status.PROVED, OUTPUT)
PROVED = Guarantee(BUDGET, ADD, Status.PROVED, "objective-perturbation.md#objective-pure")
SCHEMA = """
name = "people"

[target]
column = "ill"
labels = ["no", "yes"]

[columns.age]
kind = "number"
lower = 0
upper = 100
"""


@pytest.fixture
def book(tmp_path):
    ledger = Ledger.open(tmp_path / "book.db").for_dataset("people")
    ledger.set_limit("people", BUDGET)
    yield ledger
    ledger.close()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) / 3
    return X, (X[:, 0] > 0).astype(int)


def model(**settings):
    return LogisticRegression(BUDGET, classes=[0, 1], row_norm=1.0, **settings)


def search(ledger=None, method="chunks", mechanism=DOUBLES):
    inner = LogisticRegression(
        classes=[0, 1], ledger=ledger, mechanism=mechanism, row_norm=1.0
    )
    return PrivateSearch(inner, {"l2": [5.0, 80.0]}, BUDGET, method=method)


def paying(book, kind):
    if kind == "search":
        return search(book)
    return model(ledger=book)


@pytest.mark.usefixtures("system_words")
@pytest.mark.parametrize("kind", ["output", "search"])
def test_the_warning_comes_before_the_charge_and_the_draw(book, rows, kind, monkeypatch):
    private = paying(book, kind)
    if kind == "output":
        private.set_params(mechanism=DOUBLES)
    order = []
    charge, words = Ledger.charge, np.frombuffer

    def charged(*args, **settings):
        order.append("charge")
        return charge(*args, **settings)

    def drawn(*args, **settings):
        order.append("draw")
        return words(*args, **settings)

    def said(message, category, *where):
        order.append(category.__name__)

    monkeypatch.setattr(Ledger, "charge", charged)
    monkeypatch.setattr("confide.noise.entropy.np.frombuffer", drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("always", ClaimedGuarantee)
        monkeypatch.setattr(warnings, "showwarning", said)
        private.fit(*rows)
    assert order[:3] == ["ClaimedGuarantee", "charge", "draw"]
    assert order.count("ClaimedGuarantee") == order.count("charge") == 1
    assert [entry.status for entry in book.entries()][1] is Status.CLAIMED


@pytest.mark.parametrize("kind", ["output", "search"])
def test_turned_into_an_error_it_stops_the_fit_in_time(book, rows, kind, monkeypatch):
    private = paying(book, kind)
    if kind == "output":
        private.set_params(mechanism=DOUBLES)
    seed = np.random.RandomState(3)
    private.set_params(random_state=seed)
    before = str(seed.get_state())
    monkeypatch.setattr("confide.noise.entropy._system_words", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClaimedGuarantee)
        with pytest.raises(ClaimedGuarantee, match=r"CLAIMED, not PROVED.*last digits"):
            private.fit(*rows)
    assert [entry.kind for entry in book.entries()] == ["limit"]
    assert str(seed.get_state()) == before
    assert not hasattr(private, "release_") or kind == "search"


def test_it_points_at_the_line_of_the_fit(rows):
    for private in (model(mechanism=DOUBLES), search()):
        with pytest.warns(ClaimedGuarantee, match="mechanism='objective'") as seen:
            private.fit(*rows)
        assert [one.filename for one in seen] == [__file__]


@pytest.mark.slow
def test_what_is_proved_says_nothing(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClaimedGuarantee)
        found = model().fit(*rows).release_.guarantee
        assert (found.status, found.reason) == (Status.PROVED, "")
        for quiet in (model(mechanism="adaptive", l1=1.0), model(mechanism="frank-wolfe")):
            assert quiet.fit(*rows).release_.guarantee.status is Status.PROVED
        assert model(mechanism=DOUBLES).rehearse(*rows).guarantee.status is Status.CLAIMED


def test_several_targets_are_proved_by_default(rows):
    X, _ = rows
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClaimedGuarantee)
        found = MultiResponseRegression(BUDGET, target_bound=1.0, row_norm=1.0).fit(
            X, X[:, :2]
        )
    assert found.release_.guarantee.status is Status.PROVED


def test_a_claim_that_was_accepted_says_why(rows):
    napp = Napp(moor=False, accept_unproved=True)
    with pytest.warns(ClaimedGuarantee, match="reweighting step"):
        found = model(mechanism=napp).fit(*rows).release_.guarantee
    assert found.status is Status.CLAIMED
    assert found.reason == napp.verdict.why


@pytest.mark.parametrize(
    ("method", "mechanism", "status"),
    [
        ("chunks", "objective", Status.PROVED),
        ("chunks", "output", Status.PROVED),
        (RandomStopping(runs=2), "objective", Status.PROVED),
        ("chunks", DOUBLES, Status.CLAIMED),
        (RandomStopping(runs=2), DOUBLES, Status.CLAIMED),
    ],
    ids=str,
)
def test_a_search_is_worth_its_weakest_part(rows, method, mechanism, status):
    tried = search(method=method, mechanism=mechanism).set_params(budget=Pure(1))
    found = tried.fit(*rows).release_.guarantee
    assert found.status is status
    assert bool(found.reason) is (status is Status.CLAIMED)


@pytest.mark.parametrize("order", [1, -1])
def test_a_loser_lowers_the_winner_too(rows, order):
    grid = {"mechanism": ["objective", DOUBLES][::order]}
    inner = LogisticRegression(classes=[0, 1], row_norm=1.0)
    for seed in range(4):
        found = PrivateSearch(inner, grid, Pure(1), random_state=seed).fit(*rows)
        assert found.release_.guarantee.status is Status.CLAIMED


def test_random_stopping_is_worth_its_candidates(rows):
    inner = LogisticRegression(classes=[0, 1], row_norm=1.0)
    grid = {"l2": [5.0, 80.0]}
    stopped = PrivateSearch(inner, grid, Pure(1), method="random-stopping")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClaimedGuarantee)
        stopped.fit(*rows)
    assert stopped.release_.guarantee.status is Status.PROVED


def test_the_weakest_guarantee_and_lowering():
    refuted = Guarantee(None, ADD, Status.REFUTED, "x")
    assert weakest(PROVED, CLAIMED, refuted) is refuted
    assert weakest(PROVED, CLAIMED) is CLAIMED
    assert PROVED.claimed("why").reason == "why"
    assert CLAIMED.claimed("why") is CLAIMED
    assert refuted.claimed("why") is refuted


def as_written_before(path):
    """Write a file as it was before any theorem was found wanting."""
    record = json.loads(path.read_text("utf-8"))
    promise = record["release"]["guarantee"]
    promise["status"] = "PROVED"
    promise["theorem"] = promise["theorem"].removesuffix("-exact")
    promise.pop("reason", None)
    path.write_text(json.dumps(record), "utf-8")


def histogram():
    cells = ((-0.5,), (0.5,))
    blocks = (cells, cells, cells, ((0.3,),))
    return LinearRegression(
        Pure(1), mechanism=ProjectedHistogram(blocks, 2), target_bound=1.0, row_norm=1.0
    )


OLD = {
    "output": lambda: model(mechanism="output"),
    "doubles": lambda: model(mechanism=DOUBLES),
    "ssp": lambda: LinearRegression(
        BUDGET, mechanism="ssp", target_bound=1.0, row_norm=1.0
    ),
    "histogram": histogram,
    "intervals": lambda: model(intervals=True),
    "momentum": lambda: model(mechanism="momentum"),
    "select": lambda: model(mechanism=SelectThenFit(mechanism=OutputPerturbation())),
    "chunks": search,
    "stopping": lambda: search(method=RandomStopping(runs=2), mechanism="objective"),
}


@pytest.mark.parametrize("name", OLD)
def test_an_old_file_is_worth_what_its_theorem_is_today(tmp_path, rows, name):
    X, y = rows
    wide = np.tile(X, 4) if name == "select" else X
    fitted = OLD[name]().fit(wide, y)
    fitted = getattr(fitted, "best_estimator_", fitted)
    path = tmp_path / "model.json"
    fitted.save(path)
    assert release_hash(load_model(path).release_) == release_hash(fitted.release_)
    assert load_model(path).release_.guarantee == fitted.release_.guarantee
    as_written_before(path)
    loaded = load_model(path)
    assert loaded.release_.guarantee.status is Status.CLAIMED
    assert "last digits" in loaded.release_.guarantee.reason
    assert "Status       CLAIMED" in str(loaded.summary())
    np.testing.assert_array_equal(loaded.predict(wide), fitted.predict(wide))


@pytest.mark.parametrize("name", ["objective", "select", "chunks", "frank-wolfe"])
def test_an_old_file_that_is_proved_stays_proved(tmp_path, rows, name):
    X, y = rows
    wide = np.tile(X, 4)
    fitted = search(mechanism="objective") if name == "chunks" else model(mechanism=name)
    fitted.fit(wide, y)
    fitted = getattr(fitted, "best_estimator_", fitted)
    path = tmp_path / "model.json"
    fitted.save(path)
    assert "reason" not in json.loads(path.read_text("utf-8"))["release"]["guarantee"]
    as_written_before(path)
    assert load_model(path).release_.guarantee.status is Status.PROVED


def test_a_file_is_never_raised(tmp_path, rows):
    path = tmp_path / "model.json"
    model().fit(*rows).save(path)
    record = json.loads(path.read_text("utf-8"))
    record["release"]["guarantee"].update(status="CLAIMED", reason="as it was found")
    path.write_text(json.dumps(record), "utf-8")
    found = load_model(path).release_.guarantee
    assert (found.status, found.reason) == (Status.CLAIMED, "as it was found")


def test_a_pickled_guarantee_is_worth_what_its_theorem_is_today():
    for one in (CLAIMED, PROVED, PROVED.claimed("why")):
        assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301
    old = Guarantee.__new__(Guarantee)
    old.__setstate__([BUDGET, ADD, Status.PROVED, OUTPUT, CLAIMED.assumptions, True])
    assert old == CLAIMED


@pytest.mark.parametrize("theorem", sorted(COMPOSED))
def test_a_pickled_release_is_worth_what_its_parts_are_today(theorem):
    said = replace(PROVED, theorem=theorem)
    for added_to, status in (("coefficients", "CLAIMED"), ("linear term", "PROVED")):
        noise = (NoiseRecord("gaussian", 1.0, added_to),)
        old = Release(np.zeros(1), said, noise, 0.0, ())
        assert str(pickle.loads(pickle.dumps(old)).guarantee.status) == status  # noqa: S301


def test_the_reason_is_printed_everywhere():
    shown = Summary("Fit", CLAIMED, (Coefficient("a", 1.0),), ())
    flat = " ".join(str(shown).split())
    assert f"Status CLAIMED ({OUTPUT}) Reason {REASON} Assuming" in flat
    assert max(map(len, str(CLAIMED).splitlines())) <= 88
    assert "last digits" in shown._repr_html_()
    for text in (plain_words(CLAIMED), report_page(shown), model_card(shown)):
        assert REASON in " ".join(text.replace("\\", "").split())
    assert "holds only if the guarantee does" in model_card(shown)
    assert "Reason" not in str(PROVED)
    assert "holds only if" not in model_card(Summary("Fit", PROVED, shown.rows, ()))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    age = rng.uniform(0, 100, 300).round(1)
    ill = np.where(age + rng.normal(0, 15, 300) > 55, "yes", "no")
    pd.DataFrame({"age": age, "ill": ill}).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(cli.app, list(words))


FIT = ("fit", "t.csv", "--schema", "s.toml", "--epsilon", "1", "--delta", "1e-6")


@pytest.mark.slow
def test_the_command_line_says_it_before_it_pays(folder, monkeypatch):
    limit = ("--dataset", "people", "--epsilon", "3", "--delta", "1e-5")
    assert run("budget", "book.db", *limit).exit_code == 0
    paid = (*FIT, "--mechanism", "mpadmm-published", "--ledger", "book.db")
    with warnings.catch_warnings():
        warnings.resetwarnings()
        result = run(*paid, "--json")
        assert result.exit_code == 0
        assert "warning: The guarantee will be CLAIMED, not PROVED." in result.stderr
        assert "(--mechanism objective), publish exactly rounded numbers" in result.stderr
        content = json.loads(result.stdout)["guarantee"]
        assert (content["status"], content["reason"]) == (
            "CLAIMED",
            DOWNGRADED["gradient-mechanisms.md#mpadmm-sensitivity"],
        )
        assert "Reason" in run(*paid).stdout
        assert run(*FIT).stderr.count("warning") == 0
        monkeypatch.setattr(Ledger, "charge", _refuse)
        refused = run(*paid)
        assert "CLAIMED, not PROVED" in refused.stderr
        assert isinstance(refused.exception, RuntimeError)
    entries = json.loads(run("budget", "book.db", "--entries", "--json").stdout)["entries"]
    assert [one["status_then"] for one in entries if one["kind"] == "charge"] == [
        *("CLAIMED", "CLAIMED")
    ]
    assert "status when charged" in run("budget", "book.db", "--entries").stdout


def _refuse(*_, **__):
    raise RuntimeError("charged")


def test_the_command_line_stops_where_it_is_told_to(folder, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["confide", *FIT, "--mechanism", "mpadmm-published"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClaimedGuarantee)
        with pytest.raises(SystemExit) as stop:
            cli.main()
    assert stop.value.code == 2
    assert "CLAIMED, not PROVED" in capsys.readouterr().err


def test_plans_and_lists_show_the_status():
    words = (
        "plan",
        "--rows",
        "1000",
        "--columns",
        "3",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
    )
    shown = run(*words).stdout
    lines = [line.split()[::2] for line in shown.splitlines() if line]
    assert [line for line in lines if line[-1] in ("PROVED", "CLAIMED")] == [
        ["objective", "PROVED"],
        ["output", "PROVED"],
    ]
    plans = json.loads(run(*words, "--json").stdout)
    assert {one["status"] for one in plans["guarantees"]} == {"PROVED"}
    assert "Status       PROVED" in run(*words, "--intervals", "auto").stdout
    steps = ("plan", "--steps", "10", "--epsilon", "1", "--delta", "1e-6")
    assert "Status       PROVED" in run(*steps).stdout
    assert json.loads(run(*steps, "--json").stdout)["guarantee"]["status"] == "PROVED"
    listed = run("list", "mechanisms")
    lines = [line.split() for line in listed.stdout.splitlines()]
    claimed = [line[0] for line in lines if line[1:2] == ["CLAIMED"]]
    assert claimed == ["mpadmm-published"]
    assert sum(line[1:2] == ["PROVED"] for line in lines) == len(MECHANISMS) - 1
    assert "docs/proofs/finite-precision.md" in " ".join(listed.stdout.split())
