"""Rows in parts are the rows: however they are cut, and whatever is asked of them."""

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from confide import Category, Date, Number, Schema, Target
from confide.data.matrix.dense import Dense
from confide.data.matrix.sums import pairwise_sum
from confide.data.partitioned import cluster_rows
from confide.data.partitioned import rows as parted
from confide.data.partitioned.cluster_rows import ClusterParts, SendableRows
from confide.data.partitioned.rows import PartitionedRows, PartSummary, joined
from confide.data.partitioned.stream import Stream
from confide.data.rows.in_memory import InMemoryRows, bound_rows
from confide.errors import ConfideError, PrivacyLeak
from support.examples import some

SCHEMA = Schema(
    (
        Number("n", 0, 1),
        Category("c", tuple("abc")),
        Date("d", date(2000, 1, 1), date(2000, 12, 31)),
    ),
    Target("y", bound=1.0),
)
HEIGHT = 0.5


def matrix(kind, count):
    rng = np.random.default_rng(count)
    if kind == "design":
        table = {
            "n": rng.random(count),
            "c": rng.choice([*"abc"], count),
            "d": pd.Timestamp("2000-01-01") + pd.to_timedelta(np.arange(count) % 366, "D"),
        }
        return SCHEMA.compact_design(pd.DataFrame(table))
    dense = rng.normal(size=(count, 4)) * (rng.random((count, 4)) < 0.7)
    return sparse.csr_array(dense) if kind == "csr" else dense


def whole_of(kind, count):
    return bound_rows(matrix(kind, count), np.arange(count) / max(1, count), 1.0, HEIGHT)


@dataclass(frozen=True)
class Pieces:
    """A part that is read in pieces, from memory."""

    pieces: tuple

    def read(self):
        yield from self.pieces

    def whole(self):
        return joined(self.pieces)


@dataclass(frozen=True)
class Near:
    """Parts of which rows can be picked, in this process: what workers do, without them."""

    held: tuple
    pickable: bool = True

    @property
    def expected(self):
        return sum(rows.count for rows in self.held)

    def sum(self, work):
        works = [work] * len(self.held) if callable(work) else work
        return pairwise_sum(each(rows) for each, rows in zip(works, self.held, strict=True))

    def survey(self, stride):
        return [PartSummary.of(rows, stride) for rows in self.held]

    def map_subsets(self, picks, fn):
        return [
            fn(joined([view(rows) for view, rows in zip(views, self.held, strict=True)]))
            for views in picks
        ]


def pieces_of(rows, cuts):
    edges = [0, *sorted(cuts), rows.count]
    return tuple(rows.take(np.arange(low, high)) for low, high in pairwise(edges))


def streamed(rows, cuts, inner):
    """Return rows as a stream of parts, each of which is read in pieces."""
    parts = pieces_of(rows, cuts)
    sources = tuple(
        Pieces(pieces_of(part, [c for c in inner if c <= part.count])) for part in parts
    )
    return PartitionedRows.over(Stream(sources, lambda piece: piece, None), HEIGHT, 4)


def near(rows, cuts):
    return PartitionedRows.over(Near(pieces_of(rows, cuts)), HEIGHT, 4)


def figures(block):
    ones = np.ones(len(block.target))
    theta = np.linspace(-1, 1, block.features.shape[1] + 1)
    margin = block.margin(theta)
    return (
        float((margin * block.target).sum()),
        block.weighted_sum(block.target),
        block.gram(ones, double=True),
        block.gram_diagonal(ones),
        len(block.target),
    )


def close(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


kinds = st.sampled_from(["dense", "csr", "design"])
counts = st.integers(1, 40)


@st.composite
def cuttings(draw):
    kind, count = draw(kinds), draw(counts)
    places = st.lists(st.integers(0, count), max_size=5)
    return kind, count, draw(places), draw(places)


@settings(max_examples=some(40))
@given(cuttings(), st.booleans())
def test_any_cutting_gives_the_same_sums(cutting, on_disk):
    kind, count, cuts, inner = cutting
    rows = whole_of(kind, count)
    cut = streamed(rows, cuts, inner) if on_disk else near(rows, cuts)
    close(cut.sum(figures), rows.sum(figures))
    assert (cut.count, cut.table_count) == (count, count)
    assert cut.dimension == rows.dimension
    assert cut.sum_shape.max_entries == rows.sum_shape.max_entries
    assert cut.sum_shape.entries == rows.sum_shape.entries
    assert cut.shortened == rows.shortened
    assert type(cut.layout) is type(rows.layout)
    assert cut.pickable is not on_disk
    assert cut.subsample(1).count == count, "a small table is sampled whole"


@settings(max_examples=some(40))
@given(cuttings(), st.data())
def test_picked_rows_and_columns_are_those_of_memory(cutting, data):
    kind, count, cuts, _ = cutting
    rows = whole_of(kind, count)
    cut = near(rows, cuts)
    width = rows.dimension - 1
    support = data.draw(st.lists(st.integers(0, width - 1), min_size=1, unique=True))
    close(cut.columns(support).sum(figures), rows.columns(support).sum(figures))
    assert cut.columns(support).dimension == len(support) + 1
    twice = cut.columns(range(width)).columns(support)
    close(twice.sum(figures), rows.columns(support).sum(figures))
    chosen = st.lists(st.integers(0, count - 1), unique=True)
    lots = [np.array(data.draw(chosen), dtype=np.int64) for _ in range(2)]
    close(cut.take(lots[0]).sum(figures), rows.take(lots[0]).sum(figures))
    assert cut.take(lots[0]).count == len(lots[0])
    found = cut.map_subsets(lots, lambda some: some.sum(figures))
    for places, sums in zip(lots, found, strict=True):
        close(sums, rows.take(places).sum(figures))
    signs = cut.with_target(np.sign)
    expected = rows.with_target(np.sign).take(lots[1]).sum(figures)
    close(signs.take(lots[1]).sum(figures), expected)


def test_a_sample_is_some_of_the_rows_and_no_more_than_asked(monkeypatch):
    monkeypatch.setattr(parted, "SAMPLE_ROWS", 1024)
    count = 20_000
    rows = bound_rows(np.ones((count, 4)), np.arange(count, dtype=float), 9.0, HEIGHT)
    found = PartitionedRows.over(Near(pieces_of(rows, [9_000, 9_001, 15_000])), HEIGHT, 4)
    sample = found.subsample(1)
    assert 900 <= sample.count <= 1200
    assert sample.features.array.dtype == np.float32
    assert set(sample.target.tolist()) <= set(range(count))
    assert len(set(sample.target.tolist())) == sample.count
    assert 350 <= found.subsample(50).count <= 600


# --------------------------------------------------------------- how sums are added up


class Steps:
    """A number that knows how many additions, one after the other, it went through."""

    def __init__(self, made):
        self.made = made

    def __add__(self, other):
        return Steps(max(self.made, other.made) + 1)


COUNT = 5_000


def steps(block):
    return (Steps(len(block.target)),)


@pytest.mark.parametrize("width", [3, 100, 1000])
@pytest.mark.parametrize("cuts", [[], [100, 101], [1_000] * 3], ids=str)
@pytest.mark.parametrize("on_disk", [False, True])
def test_no_more_additions_follow_one_another_than_the_rows_say(width, cuts, on_disk):
    rows = InMemoryRows(Dense(np.zeros((COUNT, width))), np.zeros(COUNT), None, HEIGHT)
    cut = streamed(rows, cuts, [500, 3_000]) if on_disk else near(rows, cuts)
    for seen in (cut, cut.columns([0]), cut.columns(range(3))):
        assert seen.sum(steps)[0].made <= seen.sum_shape.terms
        assert seen.sum_shape.terms <= COUNT + 100, "a bound that says something"


def test_parts_are_walked_in_the_order_of_memory():
    features = Dense(np.random.default_rng(1).random((9_000, 300)))
    rows = InMemoryRows(features, np.ones(9_000), None, 0)
    one = PartitionedRows.over(Near((rows,)), 0.0, 300)
    for ours, theirs in zip(one.sum(figures_flat), rows.sum(figures_flat), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def figures_flat(block):
    return block.weighted_sum(block.target), float(block.features.array.sum())


# ------------------------------------------------------------------- what must not leave


def test_rows_in_parts_do_not_show_or_copy_themselves():
    cut = near(whole_of("dense", 10), [3])
    assert repr(cut) == "<private rows>"
    with pytest.raises(PrivacyLeak):
        pickle.dumps(cut)


def test_dask_is_told_how_much_a_part_weighs():
    for kind in ("dense", "csr", "design"):
        rows = whole_of(kind, 1000)
        carried = SendableRows.of(rows)
        weight = sys.getsizeof(carried)
        assert 1000 * 8 <= weight <= 1000 * 80
        same = SendableRows.rows(carried)
        close(same.sum(figures), rows.sum(figures))
        assert repr(carried) == "<private rows>"


class Dying:
    """A client all of whose workers die under every task."""

    submitted = 0

    def nthreads(self):
        return {"tcp://survivor": 1}

    def who_has(self, held):
        return {future.key: ("tcp://gone",) for future in held}

    def map(self, work, held, **settings):
        assert settings["workers"] == ["tcp://gone"], "tied to who holds the part"
        assert repr(work) == "<private>"
        self.submitted += 1
        return list(held)


def test_a_sum_that_kills_its_workers_comes_to_an_end(monkeypatch):
    def wait(_futures, timeout=None):
        if timeout is not None:
            raise TimeoutError

    monkeypatch.setattr(
        cluster_rows, "import_module", lambda _name: SimpleNamespace(wait=wait)
    )
    client = Dying()
    client.sync = client.gather = None
    parts = ClusterParts(cluster_rows.PinnedParts(client, (SimpleNamespace(key="a"),)))
    with pytest.raises(ConfideError, match="were lost repeatedly"):
        parts.sum(figures)
    assert client.submitted == cluster_rows.MOST_LOSSES + 1


# ------------------------------------------------------------------------------ memory

STREAMED = """
import sys
from pathlib import Path
from confide import Approx, LogisticRegression
from confide.data.tables.files import open_table

def peak():  # of this program alone: what getrusage tells began with the parent's
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

model = LogisticRegression(Approx(1, "1e-6"), classes=[0, 1], random_state=1, row_norm=1.0)
model.fit(open_table(sys.argv[1]), "y")
before = peak()
model.fit(open_table(sys.argv[2]), "y")
print(peak() - before)
"""


SIZES = ("small", "large")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_a_stream_holds_a_few_pieces_and_a_sample(tmp_path):
    """Both tables are sampled to some 300,000 rows; one has 336 MB more than the other."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(20)]
    table = pd.DataFrame(rng.normal(size=(4_000_000, 20)) / 5, columns=names)
    table["y"] = (table["x0"] > 0).astype(int)
    table.head(2_000_000).to_parquet(tmp_path / "small.parquet", row_group_size=2**17)
    table.to_parquet(tmp_path / "large.parquet", row_group_size=2**17)
    del table
    found = subprocess.run(  # noqa: S603
        [
            sys.executable,
            "-c",
            STREAMED,
            tmp_path / "small.parquet",
            tmp_path / "large.parquet",
        ],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    grown = int(found.stdout)
    assert grown < 120e6, f"{grown / 1e6:.0f} MB"


@pytest.mark.parametrize("kind", ["dense", "coded", "csr"])
def test_a_layout_keeps_no_rows_alive(kind):
    values = np.random.default_rng(0).normal(size=(50, 3))
    features = {
        "dense": values,
        "csr": sparse.csr_array(values),
        "coded": Schema(
            tuple(Number(f"x{j}", -1, 1) for j in range(3)), Target("y", labels=(0, 1))
        ).compact_design(pd.DataFrame(values, columns=["x0", "x1", "x2"])),
    }[kind]
    layout = bound_rows(features, np.zeros(50), 1.0, 0.3).layout
    held = {"dense": "array", "csr": "matrix", "coded": "numbers"}[kind]
    held = getattr(layout, held)
    held = held.data if kind == "csr" else held
    assert layout.shape == (0, 3)
    assert held.base is None or held.base.size == 0
