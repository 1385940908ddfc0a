"""Tables of which two columns decide, and objectives with bounded entries."""

import numpy as np

from confide.data import EntryBounds, bound_entries
from confide.objectives import Logistic, Objective


def objective(columns=20, loss=None, **more):
    more = {"target_bound": 1.0, "entries": EntryBounds(1.0), **more}
    return Objective(loss or Logistic(), columns, np.sqrt(columns), **more)


def signal(rows=4000, columns=20, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (rows, columns))
    target = np.where(features[:, 3] - features[:, 11] > 0, 1.0, -1.0)
    return bound_entries(features, target, EntryBounds(1.0), 0.0)
