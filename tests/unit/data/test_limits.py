"""Files without an end, files that grow, and tables too wide for a square."""

import gzip
import json
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from confide import (
    Approx,
    LinearRegression,
    LogisticRegression,
    PoissonRegression,
    Pure,
    Schema,
    load_model,
    planning,
)
from confide._files import SIZE_VARIABLE, ReservedFile, read_limited, same_place
from confide.data import read_table
from confide.errors import InvalidParameter


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    return tmp_path / "pipe.csv"


def test_devices_and_pipes_are_refused_at_once(pipe):
    for path in (pipe, Path("/dev/zero")):
        for use in (load_model, Schema.from_toml, read_table):
            with pytest.raises(InvalidParameter, match="an ordinary file"):
                use(path)


def test_a_file_beyond_the_limit_is_refused_and_the_limit_can_be_raised(
    tmp_path, monkeypatch
):
    path = tmp_path / "large.json"
    path.write_bytes(b"x" * 1001)
    monkeypatch.setenv(SIZE_VARIABLE, "1000")
    with pytest.raises(InvalidParameter, match=f"at most 1,000 bytes.*{SIZE_VARIABLE}"):
        read_limited(path, "model file")
    monkeypatch.setenv(SIZE_VARIABLE, "1001")
    assert len(read_limited(path, "model file")) == 1001
    monkeypatch.setenv(SIZE_VARIABLE, "lots")
    with pytest.raises(InvalidParameter, match="whole number of bytes"):
        read_limited(path, "model file")


def test_a_packed_table_that_grows_beyond_measure_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wt") as stream:
        stream.write("a,b\n" + "1,2\n" * 500_000)
    monkeypatch.setattr("confide._files.MOST_UNPACKED", 2**19)
    monkeypatch.setattr("confide._files.MOST_RATIO", 10)
    with pytest.raises(InvalidParameter, match="bytes long after decompression"):
        read_table(path)
    monkeypatch.setenv(SIZE_VARIABLE, str(2**22))
    assert len(read_table(path)) == 500_000


def test_a_small_parquet_file_of_very_many_rows_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": np.zeros(10_000)}).to_parquet(path)
    monkeypatch.setenv(SIZE_VARIABLE, "79999")
    with pytest.raises(InvalidParameter, match="at most 79,999 bytes"):
        read_table(path)
    monkeypatch.setenv(SIZE_VARIABLE, "80000")
    assert len(read_table(path)) == 10_000


def wide_schema(levels):
    named = [f"v{k}" for k in range(levels)]
    target = {"column": "y", "labels": ["a", "b"]}
    return named, Schema.from_mapping(
        {
            "name": "t",
            "target": target,
            "columns": {"c": {"kind": "category", "levels": named}},
        }
    )


def test_twenty_thousand_levels_are_fitted_and_shown_without_their_square(monkeypatch):
    named, schema = wide_schema(20_000)
    frame = pd.DataFrame({"c": named[:2000], "y": ["a", "b"] * 1000})

    def square(*_, **__):
        raise MemoryError

    for maker in ("eye", "outer", "diag"):
        monkeypatch.setattr(np, maker, square)
    model = LogisticRegression(Pure(1), schema=schema).fit(frame)
    assert len(model.summary().rows) == 20_002
    assert len(model.file_content()) > 20_000


def test_what_is_shown_is_what_the_square_would_show():
    _, schema = wide_schema(7)
    display, rng = schema.display_map(), np.random.default_rng(1)
    value = rng.normal(size=len(schema.features) + 1)
    whole = display.matrix
    assert whole.shape == (9, 8)
    np.testing.assert_allclose(display.show(value), whole @ value, rtol=1e-12, atol=1e-15)
    levels = value[:-1] * schema.weights
    expected = [*(levels - levels.mean()), -levels.mean(), value[-1] + levels.mean()]
    np.testing.assert_allclose(display.show(value), expected, rtol=1e-12)


def test_intervals_of_too_many_coefficients_are_refused_before_a_charge():
    named, schema = wide_schema(5000)
    frame = pd.DataFrame({"c": named[:100], "y": ["a", "b"] * 50})
    model = LogisticRegression(Approx(1, 1e-6), schema=schema, intervals=True)
    with pytest.raises(InvalidParameter, match="at most 4,096 coefficients"):
        model.fit(frame)


def test_plans_of_very_many_columns_end():
    assert planning.make_plan(10**6, 100_000, Approx(1, 1e-6)).total_error > 0
    with pytest.raises(InvalidParameter, match="at most 1,000,000 in a plan"):
        planning.make_plan(10**6, 10**9, Approx(1, 1e-6))
    with pytest.raises(InvalidParameter, match="in a plan with intervals"):
        planning.make_plan(10**6, 100_000, Approx(1, 1e-6), intervals=True)
    _, schema = wide_schema(100_000)
    with pytest.raises(InvalidParameter, match="--columns 100000"):
        planning.plan_fit(LogisticRegression(Approx(1, 1e-6), schema=schema), 10**6)


@pytest.mark.parametrize(
    "budget", [Approx(10**12, 1e-6), Approx(1, "1e-200"), Pure(10**12)]
)
def test_budgets_at_the_ends_of_what_is_sensible_are_calibrated_or_refused(budget):
    _, schema = wide_schema(3)
    frame = pd.DataFrame({"c": ["v0", "v1"] * 50, "y": ["a", "b"] * 50})
    with suppress(InvalidParameter):
        assert LogisticRegression(budget, schema=schema).fit(frame).release_ is not None


@pytest.mark.parametrize(
    ("place", "odd"),
    [
        (("release", "value"), [[[1.0]]]),
        (("release", "value"), [1.0, [2.0]]),
        (("release", "value"), "1e1000000000"),
        (("budget", "epsilon"), "1e1000000000"),
        (("release", "guarantee"), []),
        (("features",), 10**12),
        (("features",), "x"),
        (("schema",), [1]),
        (("anchor",), 5),
        (("feature_names",), "x"),
        (("feature_names",), ["x"]),
        (("release", "l2"), {}),
        (("classes", "values"), [[1, 2]]),
        (("classes", "dtype"), "O" * 99),
    ],
)
def test_model_files_with_odd_shapes_are_told_plainly(tmp_path, place, odd):
    _, schema = wide_schema(3)
    frame = pd.DataFrame({"c": ["v0", "v1"] * 50, "y": ["a", "b"] * 50})
    LogisticRegression(Pure(1), schema=schema).fit(frame).save(tmp_path / "m.json")
    record = json.loads((tmp_path / "m.json").read_text("utf-8"))
    inner = record
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = odd
    (tmp_path / "m.json").write_text(json.dumps(record))
    with pytest.raises(InvalidParameter, match="model file"):
        load_model(tmp_path / "m.json")


def test_a_place_is_one_whatever_it_is_called(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert same_place(tmp_path / "a" / "x", tmp_path / "b" / "X")
    assert not same_place(tmp_path / "a" / "x", tmp_path / "x")


@pytest.mark.parametrize("nameless", [True, False])
def test_an_unfinished_file_leaves_nothing(tmp_path, monkeypatch, nameless):
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    kept = ReservedFile(tmp_path / "x", name="out", room=10_000)
    kept.discard()
    assert not list(tmp_path.iterdir())
    ReservedFile(tmp_path / "x", name="out", room=10_000).write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_bytes() == b"whole"
    late = ReservedFile(tmp_path / "y", name="out")
    (tmp_path / "y").write_text("somebody was faster")
    with pytest.raises(InvalidParameter, match="a file that can be written"):
        late.write(b"mine")
    assert (tmp_path / "y").read_text() == "somebody was faster"
    ReservedFile(tmp_path / "y", name="out", replaces=True).write(b"mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y"]


@pytest.mark.parametrize("intervals", [None, True])
@pytest.mark.parametrize("kind", [LinearRegression, PoissonRegression])
def test_a_target_of_a_googol_below_nothing_ends_in_a_release(kind, intervals):
    """Ranges are bought with so large a budget that they reach as far as the target."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(size=300), "y": rng.uniform(size=300)})
    frame.loc[::3, "y"] = -1e100
    schema = Schema.from_mapping(
        {
            "name": "t",
            "target": {"column": "y", "range": "private"},
            "columns": {"x": {"kind": "number"}},
        }
    )
    model = kind(Pure(100), schema=schema, intervals=intervals, ranges="auto").fit(frame)
    assert np.isfinite(model.release_.value).all()
    assert len(model.summary().rows) >= 1
    assert model.file_content()
