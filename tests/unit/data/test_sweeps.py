"""How often a fit reads a table that is not in memory."""

import numpy as np
import pandas as pd
import pytest

from confide import (
    Approx,
    LinearRegression,
    LogisticRegression,
    Number,
    PoissonRegression,
    Schema,
    Target,
)
from confide.data import open_table
from confide.data.partitioned.progress import watching

COLUMNS, COUNT, MOST = 20, 150_000, 8


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(COUNT, COLUMNS)).astype(np.float32)
    chance = 1 / (1 + np.exp(-numbers @ rng.normal(size=COLUMNS) / 2))
    table = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(COLUMNS)])
    table["y"] = (rng.random(COUNT) < chance).astype(np.int8)
    place = tmp_path_factory.mktemp("sweeps") / "t.parquet"
    table.to_parquet(place, row_group_size=2**14)
    return place


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "target", "settings"),
    [
        (LogisticRegression, Target("y", labels=(0, 1)), {}),
        (LinearRegression, Target("y", lower=0, upper=1), {}),
        (PoissonRegression, Target("y", lower=0, upper=1), {"slope_bound": 2.0}),
    ],
)
def test_smooth_models_need_few_sweeps(path, kind, target, settings):
    numbers = tuple(Number(f"x{j}", -4, 4) for j in range(COLUMNS))
    model = kind(Approx(1, "1e-6"), schema=Schema(numbers, target), **settings)
    seen = []
    with watching(lambda sweep: seen.append((sweep.number, sweep.rows, sweep.over))):
        model.fit(open_table(path))
    ended = [rows for _, rows, over in seen if over]
    bought = model.release_.ranges is not None
    assert max(number for number, _, _ in seen) == len(ended) <= MOST + bought
    assert set(ended) == {COUNT}
