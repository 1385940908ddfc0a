"""Studies for tests; workers import this module by its name."""

import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from threadpoolctl import threadpool_info

from confide.noise import generator
from confide.studies import Study, register


def small_grid(quick):
    return [{"rows": n, "kind": k} for n in ((2, 3) if quick else (2, 3, 50)) for k in "ab"]


def draw(cell, seed):
    table = generator(seed).normal(size=(cell["rows"] * 40, 30))
    gram = table.T @ table
    odd = None if cell["kind"] == "a" else float("nan")
    return [
        {"part": part, "value": value, "odd": odd, "third": 1 / 3, "whole": cell["rows"]}
        for part, value in (("first", gram[0, 1]), ("trace", gram.trace()))
    ]


def threads(cell, seed):
    pools = [entry["num_threads"] for entry in threadpool_info()]
    return [{"threads": max(pools), "asked": os.environ["OMP_NUM_THREADS"]}]


def by_kind(rows):
    return rows.pivot_table(index="rows", columns=["kind", "part"], values="value")


def a_line(rows):
    from matplotlib.figure import Figure

    drawing = Figure()
    drawing.subplots().plot(rows["rows"], rows["value"])
    return drawing


def same(rows):
    return rows


SMALL = Study(
    "small", "A small [study]", "Nobody (2000)", small_grid, draw, by_kind, a_line
)


def trouble_grid(quick):
    return [{"act": act} for act in ("well", "raise", "print", "exit", "wrong")]


def trouble(cell, seed):
    match cell["act"]:
        case "raise":
            raise OSError("no [luck] today")
        case "exit":
            raise SystemExit(0)
        case "wrong":
            return [{"act": "named like the parameter"}]
        case "print":
            sys.stdout.write("noise on standard output")
    return [{"value": 1.0}]


TROUBLE = register(Study("trouble", "Trouble", "Nobody", trouble_grid, trouble, same))


def die(cell, seed):
    marker = Path(cell["marker"])
    if cell["dies"] and not marker.exists():
        if not cell["always"]:
            marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return [{"value": seed}]


def one_cell(quick):
    return [{"number": 1}]


def broad(cell, seed):
    return [{f"a column named {k}": k / 7 for k in range(16)}]


BROAD = register(Study("broad", "Broad " * 30, "Nobody", one_cell, broad, same))


def dying(cells):
    return Study("dying", "Dying", "Nobody", lambda quick: cells, die, same)


def slow_grid(quick):
    return [{"number": number} for number in range(30)]


def slow(cell, seed):
    time.sleep(0.08)
    with Path(os.environ["COMPUTED"]).open("a") as log:
        log.write(f"{cell['number']}\n")
    return [{"value": generator(seed).normal()}]


def hurry(cell, seed):
    return [{"value": generator(seed).normal()}]


SLOW = register(Study("slow", "Slow", "Nobody", slow_grid, slow, same))
HURRIED = replace(SLOW, run=hurry)


def parts_grid(quick):
    means = (0, 10, 20) if quick else range(0, 60, 10)
    return [{"mean": m, "part": p} for m in means for p in range(1 if quick else 10)]


def parted(cell, seed):
    drawn = generator(seed).normal(cell["mean"], 3.0, size=(2, 100)).mean(axis=1)
    return [
        {"kind": kind, "value": value, "tenth": value / 10}
        for kind, value in zip(("first", "second"), drawn, strict=True)
    ]


PARTS = register(
    Study("parts", "Parts", "Nobody", parts_grid, parted, same, repetition=("part",))
)
