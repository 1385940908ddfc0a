"""Text is parsed once, and its pieces are kept where nobody else can read them."""

import os
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from confide import Approx, Category, Date, LogisticRegression, Number, Schema, Target
from confide.data import open_table
from confide.data.tables import files, parsed_text
from confide.data.tables.parsed_text import ParsedText
from confide.errors import PrivacyLeak
from support.parted_tables import SCHEMA, people

MODEL = LogisticRegression(Approx(1, "1e-6"), schema=SCHEMA, random_state=1)


@pytest.fixture
def folder(tmp_path):
    table = people()
    for place, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[part].to_csv(tmp_path / f"{place}.csv", index=False)
    return tmp_path


@pytest.fixture
def parses(monkeypatch):
    """Count how often a file is parsed."""
    found = []

    def counted(path, *given, **settings):
        found.append(path)
        yield from read_pieces(path, *given, **settings)

    read_pieces = files.read_pieces
    monkeypatch.setattr(files, "read_pieces", counted)
    return found


def fitted(folder, model=MODEL):
    return clone(model).fit(open_table(str(folder / "*.csv")))


def test_every_file_is_parsed_once(folder, parses):
    there = fitted(folder)
    assert len(parses) == len(set(parses)) == 3
    here = clone(MODEL).fit(pd.concat(map(pd.read_csv, sorted(folder.iterdir()))))
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-10)


def test_ranges_that_are_bought_need_no_other_parse(folder, parses):
    wide = Schema((Number("age"), *SCHEMA.columns[1:]), SCHEMA.target, rows=230)
    model = clone(MODEL).set_params(schema=wide, ranges="private", budget=Approx(5, "1e-6"))
    fitted(folder, model)
    assert len(parses) == 3


def test_other_levels_give_text_another_meaning(folder, parses):
    table = open_table(str(folder / "*.csv")).keep_parsed()
    for levels in (("f", "m"), ("f", "m", "x")):
        schema = Schema((Category("sex", levels),), SCHEMA.target)
        for _ in range(2):
            for source in table.sources(schema):
                assert all("sex" in piece for piece in source.read())
    assert len(parses) == 6


@pytest.mark.slow
def test_a_disk_without_room_costs_time_and_nothing_else(folder, parses, monkeypatch):
    plain = fitted(folder)
    once = len(parses)
    monkeypatch.setattr(parsed_text, "FREE_BYTES", 2**80)
    np.testing.assert_array_equal(fitted(folder).coef_, plain.coef_)
    assert len(parses) > 2 * once


@pytest.mark.slow
def test_a_disk_that_fills_up_costs_time_and_nothing_else(folder, parses, monkeypatch):
    plain = fitted(folder)
    written = []

    def write(file, buffer, start):
        written.append(len(buffer))
        if len(written) > 4:
            raise OSError(28, "No space left on device")
        return pwrite(file, buffer, start)

    pwrite = os.pwrite
    monkeypatch.setattr(parsed_text.os, "pwrite", write)
    np.testing.assert_array_equal(fitted(folder).coef_, plain.coef_)
    assert len(written) == 5, "nothing more is written to a full disk"


def test_nothing_is_left_in_the_folder_for_temporary_files(folder, tmp_path, monkeypatch):
    own = tmp_path / "temporary"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    kept = ParsedText()
    pieces = kept.pieces("key", iter([pd.DataFrame({"age": [1.0, 2.0]})]))
    for _ in pieces:
        assert not list(own.iterdir()), "the file has no name while it is written"
    found = os.fstat(kept._file.fileno())
    assert (found.st_nlink, found.st_mode & 0o777) == (0, 0o600)
    assert found.st_size > 0


def test_pieces_come_back_as_they_were(tmp_path):
    frames = [
        pd.DataFrame(
            {
                "number": np.arange(5.0),
                "text": pd.Categorical(["a", None, "b", "a", "c"]),
                "mixed": pd.Series([True, 1, "x", None, 2.5], dtype=object),
            }
        ),
        pd.DataFrame({"number": [], "text": [], "mixed": []}),
        pd.DataFrame(),
    ]
    kept = ParsedText()
    first = list(kept.pieces("key", iter(frames)))
    for _ in range(2):
        again = list(kept.pieces("key", iter(())))
        for old, new, given in zip(first, again, frames, strict=True):
            pd.testing.assert_frame_equal(old, given)
            pd.testing.assert_frame_equal(new, given)


def test_a_sweep_that_was_broken_off_is_not_taken_for_the_whole():
    kept = ParsedText()
    frames = [pd.DataFrame({"age": [float(i)]}) for i in range(4)]
    next(kept.pieces("key", iter(frames)))
    assert len(list(kept.pieces("key", iter(frames)))) == 4


def test_what_was_parsed_cannot_be_stored_or_sent():
    with pytest.raises(PrivacyLeak):
        pickle.dumps(ParsedText())


def test_workers_read_files_and_are_sent_nothing(folder):
    table = open_table(folder / "0.csv", cluster=object())
    assert table.keep_parsed() is table


def test_dates_are_kept_as_text(tmp_path):
    path = Path(tmp_path, "days.csv")
    path.write_text("day,ill\n2001-01-01,no\n2003-01-01,yes\n,no\n")
    schema = Schema((Date("day", "2000-01-01", "2010-01-01"),), SCHEMA.target)
    source = open_table(path).keep_parsed().sources(schema)[0]
    first, second = (pd.concat(source.read()) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


def test_target_of_another_fit_is_another_meaning(folder, parses):
    table = open_table(folder / "0.csv").keep_parsed()
    for labels in (("no", "yes"), ("yes", "no")):
        schema = Schema((Number("age", 0, 100),), Target("ill", labels=labels))
        list(table.sources(schema)[0].read())
    assert len(parses) == 2
