"""What is paid for reaches its owner, and what cannot be written is refused in time."""

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from confide import Approx, Ledger, LogisticRegression, Pure, Schema, _files, load_model
from confide.cli import delivery
from confide.errors import ConfideError, UnrecordedRelease
from support.commands import run

WORDS = ("fit", "loans.csv", "--schema", "loans.toml", "--epsilon", "1")
PAID = (*WORDS, "--ledger", "book.db")


@pytest.fixture
def book(folder):
    ledger = Ledger.open("book.db")
    ledger.set_limit("loans", Approx(100, 1e-3))
    return ledger


@pytest.mark.parametrize(
    ("words", "must"),
    [
        (("--out", "loans.csv"), "a new file"),
        (("--out", "none/model.json"), "in a folder that can be written to"),
        (("--out", "m" * 300), "a file name that the disk accepts"),
        (("--out", "dangling.json"), "a new file"),
        (("--out", "one.png", "--plot", "one.png"), "a file other than --out"),
        (("--out", "book.db-wal"), "a file other than the ledger-wal"),
        (("--plot", "x.pgf"), "a picture"),
        (("--plot", "x"), "a picture"),
    ],
)
def test_what_could_not_be_written_is_refused_before_the_charge(book, words, must):
    Path("dangling.json").symlink_to("nowhere")
    told = run(*PAID, *words)
    assert told.exit_code != 0
    assert must in str(told.exception)
    assert len(book.entries()) == 1


def test_the_log_of_a_ledger_is_known_by_every_name_of_it(book):
    Path("alias.db").symlink_to("book.db")
    told = run(*WORDS, "--ledger", "alias.db", "--out", "book.db-wal")
    assert "a file other than the ledger-wal" in str(told.exception)
    assert len(book.entries()) == 1


def test_an_error_after_the_announcement_says_that_nothing_was_charged(book):
    table = Path("loans.csv").read_text("utf-8")
    head, _, body = table.partition("\n")
    Path("loans.csv").write_text(f"{head[:-1]}\n{body}", encoding="utf-8")
    told = run(*PAID, "--out", "model.json")
    assert told.exit_code != 0
    assert "About to charge" in told.stderr
    assert "Nothing was charged, and nothing was released." in told.stderr
    assert len(book.entries()) == 1


def test_a_disk_without_room_is_noticed_before_the_charge(book, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_files, "_reserve", full)
    told = run(*PAID, "--out", "model.json")
    assert "on a disk with" in str(told.exception)
    assert len(book.entries()) == 1
    assert not Path("model.json").exists()


@pytest.mark.slow
def test_a_name_of_248_bytes_is_taken_and_files_are_for_their_owner(book, monkeypatch):
    name = "m" * 243 + ".json"
    told = run(*PAID, "--out", name, "--plot", "p.svg")
    assert told.exit_code == 0, told.output
    for path in (name, "p.svg", "book.db"):
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    monkeypatch.setenv(_files.MODE_VARIABLE, "640")
    assert run(*PAID, "--out", "shared.json").exit_code == 0
    assert stat.S_IMODE(Path("shared.json").stat().st_mode) == 0o640
    monkeypatch.setenv(_files.MODE_VARIABLE, "999")
    assert "such as 600 or 640" in str(run(*PAID, "--out", "other.json").exception)


def test_a_model_that_cannot_be_written_is_rescued_and_its_charge_named(book, monkeypatch):
    def taken(self):
        if "rescue" not in self.path.name:
            raise OSError(errno.EEXIST, "somebody was faster")
        publish(self)

    publish = _files.ReservedFile._publish
    monkeypatch.setattr(_files.ReservedFile, "_publish", taken)
    told = run(*PAID, "--out", "model.json")
    assert told.exit_code == delivery.ELSEWHERE
    assert "Charge 2 remains" in told.stderr
    assert "confide recover book.db --charge 2" in told.stderr
    (rescued,) = Path().glob("confide-rescue-*.json")
    assert rescued.name in told.stderr
    assert load_model(rescued).anchor_ == anchor_of(book, 2)


def anchor_of(book, number):
    return f"{number}:{book.entry(number).digest[:32]}"


def test_a_release_that_no_folder_takes_is_printed(book, monkeypatch):
    def full(self):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_files.ReservedFile, "_publish", full)
    told = run(*PAID, "--out", "model.json")
    assert told.exit_code == delivery.ELSEWHERE
    assert "standard output" in told.stderr
    text = told.stdout
    record, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
    assert record["format"] == "confide-model"


@pytest.mark.parametrize("out", [(), ("--out", "model.json")])
def test_a_screen_that_takes_nothing_loses_nothing(book, monkeypatch, out):
    def broken(*_, **__):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("confide.cli.fit._print_release", broken)
    monkeypatch.setattr(delivery, "silence", lambda _: None)
    told = run(*PAID, *out)
    assert told.exit_code == delivery.ELSEWHERE
    assert "could not be printed" in told.stderr
    found = list(Path().glob("confide-rescue-*.json")) or [Path("model.json")]
    assert load_model(found[0]).release_ is not None


@pytest.fixture
def unread():
    """Yield the end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def fitted(*words, **streams):
    """Run a fit in a process of its own, whose streams fail."""
    command = [sys.executable, "-m", "confide", *WORDS, *words]
    return subprocess.run(command, check=False, **streams)  # noqa: S603


@pytest.mark.slow
def test_a_reader_of_messages_who_leaves_does_not_end_what_is_paid(book, unread):
    told = fitted(
        "--ledger", "book.db", "--out", "m.json", stdout=subprocess.DEVNULL, stderr=unread
    )
    assert told.returncode == 0
    assert load_model("m.json").release_ is not None
    assert book.account("loans").charges == 1


@pytest.mark.slow
def test_a_reader_of_the_summary_who_leaves_finds_it_in_a_file(folder, unread):
    told = fitted(stdout=unread, stderr=subprocess.PIPE)
    assert told.returncode == delivery.ELSEWHERE
    assert b"could not be printed" in told.stderr
    (rescued,) = Path().glob("confide-rescue-*.json")
    assert load_model(rescued).release_ is not None


@pytest.mark.slow
def test_a_program_without_standard_output_saves_its_release(folder):
    told = fitted(preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE)
    assert told.returncode == delivery.ELSEWHERE
    assert b"standard output is closed" in told.stderr
    assert len(list(Path().glob("confide-rescue-*.json"))) == 1


def test_a_file_name_of_two_lines_is_noted_in_one(book):
    assert run(*PAID, "--out", "one\ntwo.json").exit_code == 0
    assert book.entry(2).what == "LogisticRegression for one\\x0atwo.json"


def test_a_lost_file_comes_back_as_it_was(book):
    assert run(*PAID, "--out", "model.json", "--intervals", "auto").exit_code == 0
    before = Path("model.json").read_bytes()
    Path("model.json").unlink()
    assert "LogisticRegression for model.json" in run("recover", "book.db").output
    assert run("recover", "book.db", "--charge", "2", "--out", "again.json").exit_code == 0
    assert Path("again.json").read_bytes() == before
    assert run("recover", "book.db", "--charge", "2").stdout.encode() == before
    wrong = run("recover", "book.db", "--charge", "7", "--out", "more.json")
    assert "whose release is recorded" in str(wrong.exception)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("predict", "model.json", "loans.csv", "--out", "model.json"), "the model"),
        (("predict", "model.json", "loans.csv", "--out", "loans.csv"), "the table"),
        (("predict", "model.json", "l*.csv", "--out", "loans.csv"), "the table"),
        (("predict", "model.json", "parts", "--out", "parts/a.csv"), "belong to the table"),
        (("predict", "link.json", "loans.csv", "--out", "model.json"), "the model"),
        (("report", "model.json", "--out", "model.json"), "the model"),
        (("report", "model.json", "--card", "model.json"), "the model"),
        (("report", "model.json", "--ledger", "book.db", "--out", "book.db"), "the ledger"),
        (
            ("report", "model.json", "--ledger", "book.db", "--card", "book.db"),
            "the ledger",
        ),
    ],
)
def test_nothing_is_written_over_what_is_read(book, words, name):
    assert run(*PAID, "--out", "model.json").exit_code == 0
    Path("link.json").symlink_to("model.json")
    Path("parts").mkdir()
    shutil.copy("loans.csv", "parts/a.csv")
    read = ("model.json", "loans.csv", "parts/a.csv", "book.db")
    before = [Path(place).read_bytes() for place in read]
    told = run(*words)
    assert told.exit_code != 0
    assert name in str(told.exception)
    assert [Path(place).read_bytes() for place in read] == before


@pytest.mark.parametrize("place", ["loans.csv", "loans.toml", "book.db", "link.toml"])
@pytest.mark.parametrize(
    ("command", "option"),
    [("fit", "--out"), ("ranges", "--out"), ("describe", "--schema-out")],
)
def test_nothing_paid_is_written_over_what_is_read(book, command, option, place):
    Path("link.toml").symlink_to("loans.toml")
    before = [Path(one).read_bytes() for one in ("loans.csv", "loans.toml")]
    words = ("loans.csv", "--schema", "loans.toml", "--epsilon", "0.5")
    told = run(command, *words, "--ledger", "book.db", option, place)
    assert told.exit_code != 0
    assert "new file" in str(told.exception) or "a file other than" in str(told.exception)
    assert [Path(one).read_bytes() for one in ("loans.csv", "loans.toml")] == before
    assert [entry.kind for entry in book.entries()] == ["limit"]


def test_bought_ranges_come_back_as_they_were(book):
    words = ("loans.csv", "--schema", "loans.toml", "--epsilon", "0.5")
    paid = ("ranges", *words, "--ledger", "book.db", "--out", "narrow.toml")
    assert run(*paid).exit_code == 0
    before = Path("narrow.toml").read_bytes()
    assert run("recover", "book.db", "--charge", "2", "--out", "again.toml").exit_code == 0
    assert Path("again.toml").read_bytes() == before


def test_a_ledger_that_cannot_enter_a_release_costs_nobody_the_model(book, monkeypatch):
    def locked(*_):
        raise ConfideError("somebody holds it.")

    monkeypatch.setattr("confide.ledger.ledger.keep_content", locked)
    told = run(*PAID, "--out", "model.json")
    assert told.exit_code == 0, told.output
    assert "charge 2 is recorded" in told.stderr
    assert load_model("model.json").release_ is not None
    schema = Schema.from_toml("loans.toml")
    model = LogisticRegression(Pure(1), schema=schema, ledger=book)
    with pytest.warns(UnrecordedRelease, match="charge 3 is recorded"):
        model.fit("loans.csv")
    assert [entry.kind for entry in book.entries()] == ["limit", "charge", "charge"]


def test_whatever_ends_a_fit_after_its_charge_is_told_with_the_charge(book, monkeypatch):
    def broken(*_):
        raise MemoryError

    monkeypatch.setattr("confide.estimators._prepare.PreparedFit.release", broken)
    told = run(*PAID, "--out", "model.json")
    assert isinstance(told.exception, MemoryError)
    assert "Charge 2 remains" in told.stderr
    assert "Nothing was released for it" in told.stderr
    assert not Path("model.json").exists()


def test_an_error_after_the_release_waits_until_the_model_is_written(book, monkeypatch):
    def broken(self, *rest, **settings):
        fit(self, *rest, **settings)
        raise RuntimeError("workers are gone")

    fit = LogisticRegression.fit
    monkeypatch.setattr(LogisticRegression, "fit", broken)
    told = run(*PAID, "--out", "model.json")
    assert isinstance(told.exception, RuntimeError)
    assert load_model("model.json").release_ is not None


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ("confide.estimators._base.PrivateLinearModel._prepare", "Nothing was charged"),
        ("confide.estimators._prepare.PreparedFit.release", "Nothing was released for it"),
        ("confide.estimators._model_file.model_record", "Its release is in the ledger"),
    ],
)
def test_ctrl_c_is_answered_by_what_is_true(book, monkeypatch, moment, words):
    def stop(*_):
        raise KeyboardInterrupt

    if "model_record" in moment:
        monkeypatch.setattr(delivery.Delivery, "write", stop)
    else:
        monkeypatch.setattr(moment, stop)
    told = run(*PAID, "--out", "model.json")
    assert told.exit_code == 130
    assert words in told.stderr
    kinds = [entry.kind for entry in book.entries()][1:]
    assert kinds == {"Nothing was c": [], "Nothing was r": ["charge"]}.get(
        words[:13], ["charge", "release"]
    )


@pytest.mark.slow
def test_a_model_file_that_was_edited_is_not_reported_beside_its_ledger(book):
    assert run(*PAID, "--out", "model.json").exit_code == 0
    assert run("report", "model.json", "--ledger", "book.db").exit_code == 0
    record = json.loads(Path("model.json").read_text("utf-8"))
    forged = json.loads(json.dumps(record))
    forged["release"]["guarantee"]["budget"]["epsilon"] = "1/100"
    for anchor in (record["anchor"], None, "2:" + "0" * 32):
        Path("forged.json").write_text(json.dumps({**forged, "anchor": anchor}))
        told = run("report", "forged.json", "--ledger", "book.db")
        assert told.exit_code != 0, anchor
        assert "recorded in" in str(told.exception)
    stretched = json.loads(json.dumps(record))
    stretched["schema"]["columns"]["age"]["upper"] = 900
    Path("stretched.json").write_text(json.dumps(stretched))
    told = run("report", "stretched.json", "--ledger", "book.db")
    assert "as recorded in entry" in str(told.exception)


def test_files_are_written_past_links_and_never_through_them(book, tmp_path):
    assert run(*PAID, "--out", "model.json").exit_code == 0
    Path("victim").write_text("mine")
    for name in ("p.csv", "page.html"):
        Path(name).symlink_to("victim")
    Path(".p2.csv.unfinished").symlink_to("victim")
    assert run("predict", "model.json", "loans.csv", "--out", "p.csv").exit_code != 0
    assert run("report", "model.json", "--out", "page.html").exit_code != 0
    assert run("predict", "model.json", "loans.csv", "--out", "p2.csv").exit_code == 0
    assert Path("victim").read_text() == "mine"
    long = "p" * 244 + ".csv"
    assert run("predict", "model.json", "loans.csv", "--out", long).exit_code == 0
    assert stat.S_IMODE(Path(long).stat().st_mode) == 0o600
