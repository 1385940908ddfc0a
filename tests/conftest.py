import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.examples import some

settings.register_profile(
    "confide",
    max_examples=some(100),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("confide")


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
