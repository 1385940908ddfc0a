"""Real datasets: found, downloaded, checked and read as their papers describe them."""

import gzip
import hashlib
import io
import lzma
import os
import threading
import tomllib
import zipfile
from collections import Counter
from dataclasses import FrozenInstanceError, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from confide.data.datasets import _fetch
from confide.data.datasets import catalogue as datasets
from confide.data.datasets._fetch import DataFile
from confide.data.datasets.catalogue import DATASETS, Dataset, load, load_a9a
from confide.errors import DataNotFound, InvalidData, InvalidParameter

CONTENT = b"x,y\n1,2\n3,4\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
SCHEMAS = Path(datasets.__file__).parents[1] / "schemas"


def zipped(member, content):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(member, content)
    return archive.getvalue()


def dataset_at(url, path="toy/toy.csv.gz", member=None):
    file = DataFile(path, SHA256, url=url, member=member)
    return Dataset("toy", (file,), "the toy factory", pd.read_csv)


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """No data folder, an empty cache, and no proxy between us and the local server."""
    monkeypatch.delenv("CONFIDE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache" / "confide"


@pytest.fixture
def server():
    """Yield a web server on this machine: its address and how often it was asked."""
    asked = Counter()
    good = {
        "/toy.csv": CONTENT,
        "/toy.csv.gz": gzip.compress(CONTENT, mtime=0),
        "/toy.csv.xz": lzma.compress(CONTENT),
        "/toy.zip": zipped("inside.csv", CONTENT),
        "/other.csv": CONTENT + b"5,6\n",
        "/broken.csv.gz": gzip.compress(CONTENT, mtime=0)[:-9],
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked[self.path] += 1
            if self.path == "/elsewhere":
                self.send_response(302)
                self.send_header("Location", "ftp://127.0.0.1/toy.csv")
                self.end_headers()
            elif self.path == "/cut.csv":
                self.answer(CONTENT, length=len(CONTENT) + 100)
            elif self.path in good:
                self.answer(good[self.path], length=len(good[self.path]))
            else:
                self.send_error(404)

        def answer(self, body, length):
            self.send_response(200)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{web.server_port}", asked
    web.shutdown()
    thread.join()
    web.server_close()


# --------------------------------------------------------------------- downloading


@pytest.mark.parametrize("name", ["toy.csv", "toy.csv.gz", "toy.csv.xz", "toy.zip"])
def test_a_download_is_unpacked_checked_and_kept(server, cache, name):
    url, _ = server
    frame = load(dataset_at(f"{url}/{name}", member="inside.csv"))
    assert frame.to_dict("list") == {"x": [1, 3], "y": [2, 4]}
    assert files_below(cache) == [cache / "toy" / "toy.csv"]
    assert (cache / "toy" / "toy.csv").read_bytes() == CONTENT


def test_the_cache_is_used_the_second_time(server, cache):
    url, asked = server
    dataset = dataset_at(f"{url}/toy.csv.gz")
    assert load(dataset).equals(load(dataset))
    assert asked == {"/toy.csv.gz": 1}
    assert len(files_below(cache)) == 1


@pytest.mark.parametrize("name", ["other.csv", "broken.csv.gz", "toy.zip"])
def test_a_download_with_another_checksum_is_refused_and_not_kept(server, cache, name):
    url, _ = server
    with pytest.raises(InvalidData, match=f"{name} must deliver .*{SHA256}"):
        load(dataset_at(f"{url}/{name}", member="absent.csv"))
    assert not files_below(cache)


def test_an_interrupted_transfer_leaves_nothing_behind(server, cache):
    url, _ = server
    with pytest.raises(DataNotFound, match="IncompleteRead"):
        load(dataset_at(f"{url}/cut.csv"))
    assert not files_below(cache)


def test_a_failed_write_leaves_nothing_behind(server, cache, monkeypatch):
    def full_disk(*_):
        raise OSError(28, "No space left on device")

    url, _ = server
    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        load(dataset_at(f"{url}/toy.csv"))
    assert not files_below(cache)


def test_a_missing_page_says_what_to_do(server, cache):
    url, _ = server
    with pytest.raises(DataNotFound, match=r"404.*Set CONFIDE_DATA.*the toy factory"):
        load(dataset_at(f"{url}/absent.csv"))
    assert not files_below(cache)


def test_a_redirection_out_of_the_web_is_not_followed(server, cache):
    url, asked = server
    with pytest.raises(DataNotFound, match="ftp"):
        load(dataset_at(f"{url}/elsewhere"))
    assert asked == {"/elsewhere": 1}
    assert not files_below(cache)


@pytest.mark.usefixtures("cache")
def test_nobody_at_the_address_is_said():
    with pytest.raises(DataNotFound, match="Connection refused"):
        load(dataset_at("http://127.0.0.1:9/toy.csv"))


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://127.0.0.1/a", "toy.csv"])
def test_only_web_addresses_are_accepted(url):
    with pytest.raises(InvalidParameter, match="http or https"):
        DataFile("toy/toy.csv", SHA256, url=url)


# ------------------------------------------------------------------------- finding


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("toy.csv", CONTENT),
        ("toy.csv.gz", gzip.compress(CONTENT, mtime=0)),
        ("toy.csv.xz", lzma.compress(CONTENT)),
        ("toy.zip", zipped("inside.csv", CONTENT)),
    ],
)
@pytest.mark.usefixtures("cache")
def test_the_data_folder_comes_first(tmp_path, monkeypatch, name, packed):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / name).write_bytes(packed)
    monkeypatch.setenv("CONFIDE_DATA", str(tmp_path))
    nobody = "http://127.0.0.1:9/toy.csv"
    assert len(load(dataset_at(nobody, f"toy/{name}", member="inside.csv"))) == 2


def test_what_the_data_folder_lacks_is_sought_in_the_cache(
    server, cache, tmp_path, monkeypatch
):
    url, _ = server
    monkeypatch.setenv("CONFIDE_DATA", str(tmp_path / "nowhere"))
    dataset = dataset_at(f"{url}/toy.csv")
    load(dataset)
    assert _fetch.find(dataset.file(), dataset.source) == cache / "toy" / "toy.csv"


@pytest.mark.usefixtures("cache")
def test_a_file_changed_after_it_was_verified_is_verified_again(tmp_path, monkeypatch):
    path = tmp_path / "toy.csv"
    path.write_bytes(CONTENT)
    monkeypatch.setenv("CONFIDE_DATA", str(tmp_path))
    dataset = dataset_at(None, "toy.csv")
    load(dataset)
    path.write_bytes(CONTENT.replace(b"4", b"5"))
    os.utime(path, ns=(0, 0))
    with pytest.raises(InvalidData, match=f"toy.csv must have .*{SHA256}"):
        load(dataset)
    assert path.exists(), "files of the user are never removed"


@pytest.mark.usefixtures("cache")
def test_a_file_is_verified_once(tmp_path, monkeypatch):
    (tmp_path / "toy.csv").write_bytes(CONTENT)
    monkeypatch.setenv("CONFIDE_DATA", str(tmp_path))
    before = _fetch._verify.cache_info()
    for _ in range(3):
        load(dataset_at(None, "toy.csv"))
    after = _fetch._verify.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 2)


def test_data_without_an_address_say_where_they_come_from(cache):
    with pytest.raises(DataNotFound) as caught:
        load("warfarin")
    message = str(caught.value)
    for part in ("warfarin/warfarin.csv.xz", str(cache), "CONFIDE_DATA", "PharmGKB"):
        assert part in message


def test_the_cache_is_in_the_home_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _fetch.cache_folder() == tmp_path / ".cache" / "confide"


# ---------------------------------------------------------------- the registry


def test_the_registry_is_complete_and_cannot_change():
    assert sorted(DATASETS) == [
        "a9a",
        "acs",
        "adult",
        "bank",
        "california_housing",
        "kddcup99",
        "randhie",
        "warfarin",
    ]
    with pytest.raises(TypeError):
        DATASETS["new"] = DATASETS["adult"]
    with pytest.raises(FrozenInstanceError):
        DATASETS["adult"].name = "new"


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=lambda d: d.name)
def test_every_dataset_is_named_pinned_and_cited(dataset):
    assert DATASETS[dataset.name] is dataset
    assert len(set(dataset.splits)) == len(dataset.files) > 0
    assert len(dataset.source) > 40
    assert "\n" not in dataset.source
    for file in dataset.files:
        assert file.path.startswith(f"{dataset.name}/")
        assert len(bytes.fromhex(file.sha256)) == 32


def test_wrong_names_and_splits_say_what_is_right():
    with pytest.raises(InvalidParameter, match="one of adult, a9a, bank"):
        load("adults")
    with pytest.raises(InvalidParameter, match="'train' or 'test' for adult; got None"):
        load("adult")
    with pytest.raises(InvalidParameter, match="None for bank; got 'train'"):
        load("bank", split="train")
    with pytest.raises(InvalidParameter, match="Use load_a9a"):
        load("a9a", split="train")
    with pytest.raises(InvalidParameter, match="'train' or 'test' for a9a"):
        load_a9a("both")


# ----------------------------------------------------------------- the real files


@pytest.fixture
def data_folder(monkeypatch):
    """Point CONFIDE_DATA at the real files, or skip."""
    beside = Path(__file__).parents[3].parent / "shared" / "data"
    folder = Path(os.environ.get("CONFIDE_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}: set CONFIDE_DATA to their folder")
    monkeypatch.setenv("CONFIDE_DATA", str(folder))
    return folder


@pytest.mark.parametrize(
    ("split", "rows", "complete", "positive"),
    [("train", 32_561, 30_162, 0.241), ("test", 16_281, 15_060, 0.236)],
)
@pytest.mark.usefixtures("data_folder")
def test_adult(split, rows, complete, positive):
    frame = load("adult", split=split)
    assert frame.shape == (rows, 15)
    assert len(frame.dropna()) == complete
    assert set(frame["income"]) == {"<=50K", ">50K"}
    assert (frame["income"] == ">50K").mean() == pytest.approx(positive, abs=5e-4)
    incomplete = frame.columns[frame.isna().any()]
    assert list(incomplete) == ["workclass", "occupation", "native-country"]


@pytest.mark.parametrize(("split", "rows"), [("train", 32_561), ("test", 16_281)])
@pytest.mark.usefixtures("data_folder")
def test_a9a_has_the_labels_of_adult(split, rows):
    features, labels = load_a9a(split)
    assert features.shape == (rows, 123)
    assert set(np.unique(features.data)) == {1.0}
    assert set(labels) == {-1.0, 1.0}
    income = load("adult", split=split)["income"]
    assert np.array_equal(labels == 1, income == ">50K")


@pytest.mark.usefixtures("data_folder")
def test_bank():
    frame = load("bank")
    assert frame.shape == (45_211, 17)
    assert (frame["y"] == "yes").mean() == pytest.approx(0.117, abs=5e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
def test_kddcup99():
    frame = load("kddcup99")
    assert frame.shape == (494_021, 42)
    assert (frame["label"] == "normal").mean() == pytest.approx(0.197, abs=5e-4)
    words = frame.columns[[not pd.api.types.is_numeric_dtype(t) for t in frame.dtypes]]
    assert list(words) == ["protocol_type", "service", "flag", "label"]
    rates = frame.filter(like="_rate")
    assert rates.shape[1] == 15
    assert ((rates >= 0) & (rates <= 1)).all(axis=None)


@pytest.mark.usefixtures("data_folder")
def test_california_housing():
    frame = load("california_housing")
    assert frame.shape == (20_640, 9)
    assert frame["MedHouseVal"].between(0, 5.1).all()


@pytest.mark.usefixtures("data_folder")
def test_randhie():
    frame = load("randhie")
    assert frame.shape == (20_190, 10)
    assert frame["mdvis"].between(0, 77).all()


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
def test_acs():
    frame = load("acs")
    assert frame.shape == (173_916, 39)
    adults = frame.query("AGEP > 16 and PINCP > 100 and WKHP > 0 and PWGTP >= 1")
    assert len(adults) == 90_636
    assert (adults["PINCP"] > 50_000).mean() == pytest.approx(0.333, abs=5e-4)
    assert load("acs", split="sample").shape == (1_000, 6)


@pytest.mark.usefixtures("data_folder")
def test_warfarin():
    frame = load("warfarin")
    assert frame.shape == (5_700, 63)
    dose = frame["Therapeutic Dose of Warfarin"]
    assert dose.dtype == np.float64
    assert dose.notna().sum() == 5_528
    assert frame["Height (cm)"].dtype == np.float64
    assert not frame.isin(["NA", ""]).to_numpy().any()


def test_a_packed_copy_with_other_content_is_refused(data_folder, tmp_path, monkeypatch):
    train = DATASETS["adult"].file("train")
    (tmp_path / "adult").mkdir()
    (tmp_path / train.path).write_bytes((data_folder / train.path).read_bytes()[:-100])
    monkeypatch.setenv("CONFIDE_DATA", str(tmp_path))
    with pytest.raises(InvalidData, match="must have"):
        load("adult", split="train")
    with pytest.raises(InvalidData, match="must have"):
        load(replace(DATASETS["adult"], name="copy"), split="train")


# --------------------------------------------------------------------- the schemas


@pytest.mark.parametrize(
    ("name", "split"), [("adult", "train"), ("adult", "test"), ("randhie", None)]
)
@pytest.mark.usefixtures("data_folder")
def test_a_schema_admits_every_record(name, split):
    schema = tomllib.loads((SCHEMAS / f"{name}.toml").read_text())
    frame = load(name, split=split)
    target = frame.pop(schema["target"]["column"])
    assert schema["name"] == name
    assert list(schema["columns"]) == list(frame.columns)
    for column, fact in schema["columns"].items():
        values = frame[column].dropna()
        if fact["kind"] == "number":
            assert values.between(fact["lower"], fact["upper"]).all(), column
        else:
            assert len(set(fact["levels"])) == len(fact["levels"]), column
            assert values.isin(fact["levels"]).all(), column
    if "labels" in schema["target"]:
        assert target.isin(schema["target"]["labels"]).all()
    else:
        assert target.between(0, schema["target"]["bound"]).all()
