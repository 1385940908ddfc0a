"""A folder with a table and its schema."""

import numpy as np
import pandas as pd
import pytest

from support.commands import SCHEMA


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table and its schema, and the working directory in it."""
    rng = np.random.default_rng(3)
    age = rng.uniform(18, 90, 600)
    table = pd.DataFrame(
        {
            "age": age.round(1),
            "region": rng.choice(["north", "south", "east", "west"], 600),
            "defaulted": np.where(age + rng.normal(0, 15, 600) > 55, "no", "yes"),
        }
    )
    table.to_csv(tmp_path / "loans.csv", index=False)
    (tmp_path / "loans.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path
