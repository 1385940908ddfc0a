"""Cost of a fit on a wide sparse table: memory, sweeps, and sweeps relative to SciPy."""

import itertools
import time

from bench.child import call
from bench.memory import highest_resident
from bench.section import Section
from bench.table import prose, table, verdict

ROWS, COLUMNS, CATEGORIES = 2_000_000, 5_000, 12
MOST_BYTES = 2e9
MOST_PAIRS = 3.0
CSR, SCHEMA = "CSR matrix", "schema of 12 categories"


def fit(kind, rows, columns):
    """Fit once; return the times of all sweeps and of two products by SciPy."""
    import numpy as np

    from confide import Approx, LogisticRegression

    features, labels = one_hot(rows, columns)
    pair = _pair(features)
    budget = Approx(1, 1e-6)
    if kind == CSR:
        given = (features, labels)
        model = LogisticRegression(budget, row_norm=float(np.sqrt(CATEGORIES)))
    else:
        given, schema = _as_table(features, labels)
        model = LogisticRegression(budget, schema=schema)
        del features
    with watched() as sweeps:
        start = time.process_time()
        model.fit(*given)
        total = time.process_time() - start
    peak = highest_resident()
    features, _ = one_hot(rows, columns)
    return {
        "peak": peak,
        "total": total,
        "pair": float(np.median([pair, _pair(features)])),
        "sweeps": {name: _told(taken) for name, taken in sweeps.items()},
    }


def one_hot(rows, columns, dtype="float64", seed=0):
    """Return indicators of twelve categories as a CSR matrix, and labels 0 or 1.

    Low levels are frequent and high levels are rare, as in real tables.
    """
    import numpy as np
    from scipy import sparse

    generator = np.random.default_rng(seed)
    edges = level_edges(columns)
    places = np.empty((rows, CATEGORIES), np.int32)
    for j, (low, high) in enumerate(itertools.pairwise(edges)):
        places[:, j] = low + (high - low) * generator.random(rows) ** 2
    slopes = 0.5 * generator.standard_normal(columns)
    labels = np.empty(rows, np.int64)
    for low in range(0, rows, 10_000):
        margin = slopes[places[low : low + 10_000]].sum(axis=1)
        chance = 1 / (1 + np.exp(-margin))
        labels[low : low + 10_000] = generator.random(len(chance)) < chance
    ends = np.arange(0, rows * CATEGORIES + 1, CATEGORIES, dtype=np.int32)
    values = np.ones(rows * CATEGORIES, dtype)
    parts = (values, places.ravel(), ends)
    return sparse.csr_array(parts, shape=(rows, columns)), labels


def level_edges(columns):
    """Return the first column of the indicators of each category, and the end."""
    return [round(j * columns / CATEGORIES) for j in range(CATEGORIES + 1)]


def _as_table(features, labels):
    """Return the same rows as a table of categories, with the schema."""
    import pandas as pd

    from confide import Category, Schema, Target

    edges = level_edges(features.shape[1])
    places = features.indices.reshape(-1, CATEGORIES)
    held, declared = {}, []
    for j, (low, high) in enumerate(itertools.pairwise(edges)):
        levels = tuple(f"level{k}" for k in range(high - low))
        held[f"c{j}"] = pd.Categorical.from_codes(places[:, j] - low, categories=levels)
        declared.append(Category(f"c{j}", levels))
    held["y"] = labels
    schema = Schema(tuple(declared), Target("y", labels=(0, 1)))
    return (pd.DataFrame(held),), schema


def _pair(features, repeats=5):
    """Return the smallest processor time of X @ theta and X.T @ w together."""
    import numpy as np

    theta, weights = np.ones(features.shape[1]), np.ones(features.shape[0])
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        features @ theta
        features.T @ weights
        taken.append(time.process_time() - start)
    return min(taken)


class watched:  # noqa: N801
    """Context that times the sweeps of a solver by type, separately for samples."""

    def __enter__(self):
        from confide.solvers import problem as sums
        from confide.solvers import smooth as descent

        self.found = {}
        self.honest = [
            (sums.Problem, "gradient", "gradient"),
            (sums.Problem, "diagonal", "diagonal"),
            (descent, "precise_gradient", "split gradient"),
        ]
        self.honest = [(*entry, getattr(*entry[:2])) for entry in self.honest]
        for place, name, title, function in self.honest:
            setattr(place, name, self._timed(title, function))
        return self.found

    def __exit__(self, *_):
        for place, name, _, function in self.honest:
            setattr(place, name, function)

    def _timed(self, title, function):
        def timed(problem, theta, *more):
            start = time.process_time()
            result = function(problem, theta, *more)
            taken = time.process_time() - start
            kind = title if problem.weight == 1 else f"sample: {title}"
            if getattr(theta, "dtype", None) != "float64":
                kind = f"{kind}, extended"
            self.found.setdefault(kind, []).append(taken)
            return result

        return timed


def _told(taken):
    from statistics import median

    return {"count": len(taken), "median": median(taken), "total": sum(taken)}


def jobs(quick):
    rows = ROWS // 10 if quick else ROWS
    return {
        kind: lambda kind=kind: call(
            "bench.wide:fit", threads=1, kind=kind, rows=rows, columns=COLUMNS
        )
        for kind in (CSR, SCHEMA)
    }


TEXT = f"""
    `LogisticRegression(Approx(1, 1e-6), row_norm=12**0.5).fit(X, y)` runs on one thread.
    The {COLUMNS:,} columns are the indicators of {CATEGORIES} categories, for {ROWS:,}
    rows. They are given as a CSR matrix in double precision, and as a table with a schema.
    A *pair* is the time of `X @ theta` and `X.T @ w` for the CSR matrix with SciPy in the
    same process. *Peak* is the peak memory of the whole process, including the table. The
    times of all sweeps are given in units of one pair on the whole table, even for sweeps
    over a sample only. (A sweep is a pass over the rows.)
"""


def page(results):
    rows = []
    for name, found in results.items():
        slowest = _slowest_pairs(found)
        rows.append(
            (
                name,
                f"{found['peak'] / 1e9:.2f}",
                f"≤ {MOST_BYTES / 1e9:.0f}",
                verdict(found["peak"], MOST_BYTES),
                f"{1e3 * found['pair']:.0f}",
                f"{slowest:.1f}",
                f"≤ {MOST_PAIRS:.0f}",
                verdict(slowest, MOST_PAIRS),
                f"{found['total'] / found['pair']:.0f}",
            )
        )
    head = ["table", "peak GB", "target", "result", "pair ms"]
    head += ["slowest sweep", "target", "result", "pairs in total"]
    parts = [prose(TEXT), table(head, rows)]
    parts += [_divided(name, found) for name, found in results.items()]
    return "\n\n".join(parts)


def _slowest_pairs(found):
    return max(told["median"] for told in found["sweeps"].values()) / found["pair"]


def _divided(name, found):
    head = [name, "sweeps", "pairs each", "share of the fit"]
    rows = [
        (
            kind,
            told["count"],
            f"{told['median'] / found['pair']:.2f}",
            f"{100 * told['total'] / found['total']:.0f} %",
        )
        for kind, told in found["sweeps"].items()
    ]
    left = found["total"] - sum(told["total"] for told in found["sweeps"].values())
    share = f"{100 * left / found['total']:.0f} %"
    return table(head, [*rows, ("other", "–", "–", share)])


SECTION = Section("wide", "Wide sparse tables", jobs, page)
