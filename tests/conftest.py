import os
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from confide.noise import entropy
from support.examples import some

settings.register_profile(
    "confide",
    max_examples=some(100),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("confide")


class WordsByName:
    """In place of the operating system's words: the same ones whenever a test is run."""

    def __init__(self):
        self.restart("")

    def restart(self, name):
        self._generator = np.random.default_rng(zlib.crc32(name.encode()))

    def __call__(self, count):
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)


SYSTEM_WORDS = entropy._system_words
WORDS = WordsByName()


@pytest.fixture(scope="session", autouse=True)
def words_by_name():
    entropy._system_words = WORDS
    yield
    entropy._system_words = SYSTEM_WORDS


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef, request):
    WORDS.restart(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    WORDS.restart(item.nodeid)


@pytest.fixture
def system_words(monkeypatch):
    """The operating system's words after all, for tests about where words come from."""
    monkeypatch.setattr(entropy, "_system_words", SYSTEM_WORDS)


@pytest.fixture(scope="session")
def data_folder():
    """The folder with the real datasets, or a visible reason why there is none."""
    named = os.environ.get("CONFIDE_DATA")
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(named) if named else beside
    if not folder.is_dir():
        pytest.skip("no real data here: set CONFIDE_DATA to the folder that holds it")
    os.environ["CONFIDE_DATA"] = str(folder)
    return folder
