"""Commands with one thing wrong in them, or nothing: every third must release.

Each case is a folder's files and the words of a command, all from one seed.
"""

import json
import re
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from confide import Ledger, Pure, cli
from confide.errors import BudgetExceeded, ConfideError

SCHEMA = """name = "fuzz"
[target]
column = "y"
labels = ["no", "yes"]
[columns.a]
kind = "number"
lower = 0
upper = 1
[columns.b]
kind = "category"
levels = ["p", "q"]
"""
NUMBER_SCHEMA = SCHEMA.replace('labels = ["no", "yes"]', "lower = 0\nupper = 1")
TABLE = "a,b,y\n0.1,p,no\n0.9,q,yes\n0.5,p,yes\n0.3,q,no\n"
NUMBER_TABLE = "a,b,y\n0.1,p,0.2\n0.9,q,0.8\n0.5,p,0.4\n0.3,q,0.1\n"
JUNK = (
    *("", "\0", "\n", ",", '"', "'", "=", "[", "]", "{", "}", "1e999", "-1e100", "nan"),
    *("1e1000000000", "9" * 400, "\x1b[31m", "\u202e", "[red]", "\ud800", "é", "null"),
    *("true", "-0", "0x10", "1_000", "inf", "[[", "]]", "a.b", "# ", "\t", "\r", "\ufeff"),
)
NUMBERS = (
    *("0", "-1", "nan", "inf", "1e12", "1e-12", "1e-200", "1e400", "1/3", "1e1000000000"),
    *("0x1", "", " 1 ", "1,5", "١", "1e-300", "99999999999999999999", "0.1e1"),
)
LIMIT_S = 20


class TooSlow(BaseException):
    """A command took longer than anybody waits."""


@contextmanager
def alarm():
    def ring(*_):
        raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def spoiled(text, rng):
    """Cut, repeat, swap or overwrite a piece, one to three times."""
    for _ in range(rng.integers(1, 4)):
        start = int(rng.integers(0, len(text) + 1))
        stop = min(len(text), start + int(rng.integers(0, 12)))
        piece = rng.choice(JUNK) if rng.random() < 0.7 else text[start:stop] * 3
        text = text[:start] + str(piece) + text[stop:]
    return text


def write(path, text):
    Path(path).write_bytes(text.encode("utf-8", "surrogatepass"))


class Fuzz:
    """A folder in which case after case is tried, and a count of what came of them."""

    def __init__(self, folder, seed):
        self.folder, self.rng = folder, np.random.default_rng(seed)
        self.seen = dict.fromkeys(("valid", "released", "refused"), 0)
        self.book = Ledger.open(folder / "book.db")
        self.book.set_limit("fuzz", Pure(10**6))
        write(folder / "t.csv", TABLE)
        write(folder / "s.toml", SCHEMA)
        self.run(*self.fit(), "--out", str(folder / "good.json"))
        self.model = (folder / "good.json").read_text()
        self.book.close()
        self.pristine = (folder / "book.db").read_bytes()

    def fit(self, table="t.csv", schema="s.toml", budget=("--epsilon", "1")):
        words = (str(self.folder / table), "--schema", str(self.folder / schema))
        return ("fit", *words, *budget, "--ledger", str(self.folder / "book.db"))

    def run(self, *words):
        """Run a command; anything but a word is a defect."""
        with alarm():
            result = CliRunner().invoke(cli.app, list(words))
        error = result.exception
        fine = error is None or isinstance(error, ConfideError | SystemExit | OSError)
        assert fine, f"{error!r} of {words}"
        return result

    def case(self):
        """Try one case."""
        kinds = ("valid", "table", "schema", "options", "model", "ledger")
        chosen = str(
            self.rng.choice(kinds, p=(1 / 3, 2 / 15, 2 / 15, 2 / 15, 2 / 15, 2 / 15))
        )
        return getattr(self, f"_{chosen}")()

    def _valid(self):
        """A fit that nothing is wrong with must release."""
        rng = self.rng
        numeric = rng.random() < 0.3
        write(self.folder / "v.csv", NUMBER_TABLE if numeric else TABLE)
        write(self.folder / "v.toml", NUMBER_SCHEMA if numeric else SCHEMA)
        epsilon = f"{rng.uniform(0.1, 5):.3f}"
        words = [*self.fit("v.csv", "v.toml", ("--epsilon", epsilon))]
        words += ["--delta", "1e-6"] if rng.random() < 0.5 else []
        words += ["--json"] if rng.random() < 0.3 else []
        words += ["--seed", "1"] if rng.random() < 0.2 else []
        words += ["--neighbours", "add-remove"] if rng.random() < 0.3 else []
        limit = "--delta" not in words
        if not limit:
            del words[words.index("--ledger") : words.index("--ledger") + 2]
        out = self.folder / "v.json"
        out.unlink(missing_ok=True)
        result = self.run(*words, "--out", str(out))
        assert result.exit_code == 0, (words, result.output, result.stderr)
        assert out.exists()
        self.seen["valid"] += 1

    def _table(self):
        write(self.folder / "b.csv", spoiled(TABLE, self.rng))
        self._paid(*self.fit("b.csv"))

    def _schema(self):
        write(self.folder / "b.toml", spoiled(SCHEMA, self.rng))
        self._paid(*self.fit(schema="b.toml"))

    def _options(self):
        rng = self.rng
        names = ("--epsilon", "--delta", "--rho", "--l2", "--l1", "--intervals", "--level")
        more = ("--seed", "--model", "--mechanism", "--neighbours", "--ranges", "--plot")
        words = list(self.fit())
        for name in rng.choice((*names, *more), rng.integers(1, 4), replace=False):
            words += [str(name), str(rng.choice((*NUMBERS, *JUNK[:20])))]
        # No command line holds a zero, or half of a pair that UTF-16 needs.
        argument = str.maketrans({"\0": "", "\ud800": "\udcff"})
        self._paid(*(word.translate(argument) for word in words))

    def _model(self):
        rng = self.rng
        text = self.model
        if rng.random() < 0.5:
            record = json.loads(text)
            place, keys = record, list(record)
            while keys and rng.random() < 0.7:
                key = keys[rng.integers(len(keys))]
                if isinstance(place[key], dict) and place[key]:
                    place, keys = place[key], list(place[key])
                    continue
                odd = (None, [], {}, "x", -1, 1e308, [[1, 2], [3]], True, "1e1000000000")
                place[key] = odd[rng.integers(len(odd))]
                break
            text = json.dumps(record)
        else:
            text = spoiled(text, rng)
        path = self.folder / "b.json"
        write(path, text)
        page = str(self.folder / "page.html")
        self.run("predict", str(path), str(self.folder / "t.csv"))
        self.run("report", str(path), "--out", page)
        told = self.run("report", str(path), "--out", page, "--ledger", self.book.place)
        if told.exit_code == 0:
            assert json.loads(text) == json.loads(self.model), (
                "an edited model was believed"
            )
        self.seen["refused"] += 1

    def _ledger(self):
        rng = self.rng
        content = bytearray(self.pristine)
        for _ in range(rng.integers(1, 6)):
            start = int(rng.integers(0, len(content)))
            piece = rng.bytes(int(rng.integers(1, 32)))
            content[start : start + len(piece)] = piece
        path = self.folder / "bad.db"
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
        path.write_bytes(content)
        words = [*self.fit()[:-1], str(path)]
        for command in (words, ("budget", str(path), "--verify"), ("recover", str(path))):
            self.run(*command)
        Ledger(str(path)).close()
        self.seen["refused"] += 1

    def _paid(self, *words):
        """A fit that may be refused: what it spends, it releases or speaks of."""
        before = len(self.book.entries())
        result = self.run(*words)
        added = [entry.kind for entry in self.book.entries()[before:]]
        if result.exit_code == 0:
            assert added in ([], ["charge", "release"]), (words, added)
            self.seen["released"] += 1
            return
        said = re.search(r"Charge \d+ remains", result.stderr + result.output)
        assert not added or said, (words, added, result.output)
        if isinstance(result.exception, BudgetExceeded):
            assert not added, "a refused charge is none"
        self.seen["refused"] += 1
