"""Whole fits that are ended by a signal or by a full disk, and what they leave behind.

Run as a script: it imports confide once and forks a child for every fit.
"""

import json
import os
import random
import re
import resource
import signal
import sys
import time
from pathlib import Path

import confide
from confide import Ledger, LogisticRegression, Pure, Schema, cli, load_model
from confide.errors import ConfideError

SCHEMA = """name = "loans"
[target]
column = "defaulted"
labels = ["no", "yes"]
[columns.age]
kind = "number"
lower = 18
upper = 90
[columns.region]
kind = "category"
levels = ["north", "south"]
"""
CHARGED = re.compile(r"Charge (\d+) remains")
NEVER_ASKED = 700
"""Bytes of a file within which no ledger and no model can be written."""


class Story:
    """A folder with a table, a book, and every fit that was tried on it."""

    def __init__(self, folder, seed):
        self.folder, self.chance = folder, random.Random(seed)  # noqa: S311
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        os.environ["TMPDIR"] = os.environ["HOME"] = str(self.temporary)
        os.chdir(folder)
        lines = [
            f"{18 + 72 * self.chance.random():.1f},"
            f"{self.chance.choice(('north', 'south'))},{self.chance.choice(('no', 'yes'))}"
            for _ in range(3000)
        ]
        Path("t.csv").write_text("age,region,defaulted\n" + "\n".join(lines) + "\n")
        Path("s.toml").write_text(SCHEMA)
        schema = Schema.from_toml("s.toml")
        LogisticRegression(Pure(1), schema=schema).fit(confide.data.open_table("t.csv"))
        self.book = Ledger.open("book.db")
        self.book.set_limit("loans", Pure(10**6))
        self.known = {"t.csv", "s.toml", "book.db", "tmp", "said"}
        self.seen = {"done": 0, "before": 0, "between": 0, "after": 0, "rescued": 0}

    def start(self, out, limit=None):
        """Fork a fit; return the child."""
        self.book.close()
        child = os.fork()
        if child:
            return child
        try:
            said = os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            words = "fit t.csv --schema s.toml --epsilon 1 --stream --ledger book.db"
            sys.argv = ["confide", *words.split(), "--out", out]
            cli.main()
        except SystemExit as stop:
            os._exit(stop.code if isinstance(stop.code, int) else 0)
        except BaseException:  # noqa: BLE001 - the parent fails on its code
            os._exit(99)
        os._exit(0)

    def pace(self):
        """Return how long a fit takes."""
        start = time.monotonic()
        os.waitpid(self.start("pace.json"), 0)
        self.known.add("pace.json")
        return time.monotonic() - start

    def interrupt(self, number, wait):
        """Run a fit and send it a signal after a while; return how far it came."""
        out = f"m{len(self.known)}.json"
        before = len(self.book.entries())
        child = self.start(out)
        time.sleep(wait)
        os.kill(child, number)
        _, status = os.waitpid(child, 0)
        return self.check(out, before, status, silent=number == signal.SIGKILL)

    def fill(self, limit):
        """Run a fit none of whose files may be longer than a limit."""
        out = f"m{len(self.known)}.json"
        before = len(self.book.entries())
        _, status = os.waitpid(self.start(out, limit), 0)
        self.check(out, before, status, silent=limit <= NEVER_ASKED)

    def check(self, out, before, status, *, silent):
        """Hold what was said against what is on the disk; return how far the fit came."""
        said = Path("said").read_text("utf-8", "replace")
        added = self.book.entries()[before:]
        assert self.book.verify() == before + len(added)
        paid = [entry for entry in added if entry.kind == "charge"]
        made = [entry for entry in added if entry.kind == "release"]
        assert len(paid) <= 1
        assert len(made) <= len(paid), "a release without its charge"
        rescued = self.leftovers(out)
        if Path(out).exists():
            assert paid, "a model without a charge"
            model = load_model(out)
            assert model.anchor_.startswith(f"{paid[0].number}:")
            if made:
                kept = json.loads(self.book.content(paid[0].number))
                assert kept == json.loads(Path(out).read_text("utf-8"))
        over = f"Written to {out}" in said and Path(out).exists()
        if os.WIFSIGNALED(status):
            told = silent or over or not paid
            assert told, f"ended without a word after a charge: {said}"
        elif not (silent or over):
            self.check_words(said, os.WEXITSTATUS(status), paid, made, out, rescued)
        stage = "before" if not paid else "between" if not made else "after"
        self.seen["done" if status == 0 else stage] += 1
        return "done" if status == 0 else stage

    def check_words(self, said, code, paid, made, out, rescued):
        """Check that the message is true."""
        assert code != 99 or not paid, said
        assert "Traceback" not in said, said
        if code == 0:
            assert made
            assert Path(out).exists()
            return
        named = CHARGED.search(said)
        if not paid:
            assert named is None, said
            assert not Path(out).exists()
            return
        assert named is not None or "Stopped; the release that was charged" in said, said
        if named is not None:
            assert int(named[1]) == paid[0].number, said
        if "Stopped; the release that was charged" in said:
            assert Path(out).exists(), said
        elif "Its release is in the ledger" in said:
            assert self.book.content(paid[0].number), said
        elif "The release is in" in said:
            assert rescued or Path(out).exists(), said
        else:
            assert "Nothing was released for it" in said, said
            assert not made, said
            assert not Path(out).exists(), said

    def leftovers(self, out):
        """Return rescued files; nothing else may be left, rows least of all."""
        here = {path.name for path in self.folder.iterdir()}
        fresh = here - self.known - {out, "book.db-wal", "book.db-shm"}
        fresh |= {f"tmp/{path.name}" for path in self.temporary.iterdir()}
        rescued = [name for name in fresh if "confide-rescue" in name]
        assert len(rescued) == len(fresh), f"left behind: {fresh}"
        for name in rescued:
            load_model(name)
            Path(name).unlink()
            self.seen["rescued"] += 1
        self.known.add(out)
        return rescued


def main():
    """Tell a story: folder, kind of end, how many times, seed."""
    folder, kind, count, seed = Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:5])
    story = Story(folder, seed)
    if kind == "disk":
        for turn in range(count):
            story.fill(int(200_000 * (turn / count) ** 2))
    else:
        story.pace()
        pace = story.pace()
        for turn in range(count):
            # every other one late, where a charge and its release are
            wait = story.chance.uniform(0.6 * (turn % 2), 1.3) * pace
            stage = story.interrupt(signal.Signals[kind], wait)
            if turn % 2:  # the machine may be slower or faster now than before
                pace *= {"before": 1.5, "done": 0.8}.get(stage, 1)
    try:
        story.book.verify()
    except ConfideError as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(json.dumps(story.seen))


if __name__ == "__main__":
    # whoever starts this in the background may have them ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    main()
