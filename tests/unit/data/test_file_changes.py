"""A table that changes while a model is fitted stops the fit; it is never half of two."""

import os

import numpy as np
import pandas as pd
import pytest

from confide import Approx, LogisticRegression, Number, Schema, Target
from confide.data.partitioned.progress import watching
from confide.data.tables import parsed_text
from confide.data.tables.files import open_table
from confide.errors import ConfideError

SCHEMA = Schema((Number("a", -1, 1),), Target("y", labels=(0, 1)), name="t")


def table(count):
    rng = np.random.default_rng(3)
    return pd.DataFrame({"a": rng.normal(size=count), "y": rng.integers(0, 2, count)})


def fit_while(path, spoil):
    def watch(sweep):
        if sweep.over and sweep.number == 2:
            spoil()

    model = LogisticRegression(Approx(1, "1e-6"), schema=SCHEMA, random_state=0)
    with watching(watch):
        return model.fit(open_table(path))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_that_somebody_writes_to_stops_the_fit(tmp_path, kind):
    path = tmp_path / f"t.{kind}"

    def write(count):
        frame = table(count)
        frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, index=False)

    write(4000)
    with pytest.raises(ConfideError, match="must not change"):
        fit_while(path, lambda: write(4001))
    write(4000)
    assert fit_while(path, lambda: None).release_ is not None


def test_rows_that_come_and_go_are_noticed_by_their_number(tmp_path, monkeypatch):
    """A file that is exchanged for another with the same stamp, as by a careless copy.

    A disk without room makes every sweep parse it again.
    """
    monkeypatch.setattr(parsed_text, "FREE_BYTES", 2**80)
    path = tmp_path / "t.csv"
    table(4000).to_csv(path, index=False)
    before = path.stat()

    def spoil():
        lines = path.read_text().splitlines()
        lines[1] = lines[1] + " " * (len(lines[-1]) + 1)
        path.write_text("\n".join([*lines[:-1], ""]))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size

    with pytest.raises(ConfideError, match="different number"):
        fit_while(path, spoil)
