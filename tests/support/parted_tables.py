"""Small tables in every shape in which they may come, and models that try mechanisms."""

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from confide import (
    Approx,
    Boolean,
    Category,
    Date,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MultiResponseRegression,
    Number,
    PoissonRegression,
    Pure,
    Schema,
    SparseLinearRegression,
    Target,
)
from confide.data import BatchSource, CaseWeights
from confide.data.tables.files import open_table
from confide.mechanisms import DpAdmm, MomentumDescent, MpAdmm, ProximalSgd, SsAdmm
from confide.mechanisms.published import PublishedMpAdmm
from confide.selection import (
    FrankWolfe,
    HardThresholding,
    SampleAggregateSelector,
    ScreeningSelector,
    SelectThenFit,
)

ROWS = 230
NAMES = ["a", "b", "c"]
BUDGET = Approx(1, "1e-6")
SCHEMA = Schema(
    (
        Number("age", 0, 100),
        Category("sex", ("f", "m"), other=True),
        Date("seen", date(2000, 1, 1), date(2020, 1, 1)),
        Boolean("smokes"),
    ),
    Target("ill", labels=("no", "yes"), missing="drop"),
    name="people",
)


TERMS = Schema(
    (
        *SCHEMA.columns,
        Number("weight", 30, 120, range="private"),
    ),
    SCHEMA.target,
    name="people",
    terms=("bs(age, df=4)", "sex:smokes", "poly(weight, 2)", "sex:age", "seen"),
    case_weights=CaseWeights("counts", 5, classes={"yes": 2}, missing="drop"),
    offset=Number("months", 1, 24, transform="log"),
)
"""Terms of every kind, weights and an offset; one range is bought."""


def numbers(seed=0, rows=ROWS):
    """Return a table of numbers with a target of every kind."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(rows, 3)) * 0.6, columns=NAMES)
    line = table.to_numpy() @ [1.0, -1.0, 0.3] + 0.3 * rng.normal(size=rows)
    table["signs"] = (line > 0).astype(np.int64)
    table["thirds"] = np.digitize(line, [-0.4, 0.4])
    table["line"] = np.clip(line, -2, 2)
    table["counts"] = rng.poisson(np.exp(np.clip(line, -2, 1)))
    return table


def people(seed=0, rows=ROWS):
    """Return a table with columns of every kind, in which anything may be missing."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.uniform(-10, 120, rows).round(2),
            "sex": rng.choice(["f", "m", "x"], rows),
            "seen": pd.to_datetime("2005-05-05") + pd.to_timedelta(np.arange(rows), "D"),
            "smokes": rng.random(rows) < 0.4,
            "note": "not declared",
        }
    )
    table["ill"] = np.where(table["age"] + 20 * table["smokes"] > 60, "yes", "no")
    for name in ("age", "sex", "seen", "ill"):
        table.loc[rng.random(rows) < 0.1, name] = None
    table["weight"] = rng.normal(75, 15, rows).round(1)
    table["counts"] = rng.choice([-1, 0, 0.5, 1, 3, 9, np.nan], rows)
    table["months"] = rng.choice([0, 1, 6, 24, 99, np.nan], rows)
    return table


@dataclass(frozen=True)
class Case:
    """A model with the column that it fits; ``picks`` says that it needs single rows.

    ``within`` is how far releases may lie apart, relative to their largest number: where
    a solver walks another way, as far as the tolerance of 1e-9 that noise pays for.
    """

    model: Any
    target: str
    picks: bool = False
    within: float = 1e-10


def _case(
    kind: Any, target: str, *, picks: bool = False, within: float = 1e-10, **settings: Any
) -> Case:
    if kind is not SparseLinearRegression:
        settings["row_norm"] = 1.0
    model = kind(settings.pop("budget", BUDGET), random_state=7, **settings)
    return Case(model, target, picks, within)


def _signs(mechanism: Any, **settings: Any) -> Case:
    settings.setdefault("classes", [0, 1])
    return _case(LogisticRegression, "signs", mechanism=mechanism, **settings)


def _line(mechanism: Any, **settings: Any) -> Case:
    return _case(LinearRegression, "line", mechanism=mechanism, target_bound=2, **settings)


BATCHES = ProximalSgd(2, Fraction(1, 5), accounting="renyi")
VOTES = SelectThenFit(SampleAggregateSelector(2, 5))
BY_MECHANISM = {
    "adaptive": _signs("adaptive", l1=0.5),
    "adassp": _line("adassp"),
    "admm-objective": _signs("admm-objective"),
    "dp-admm": _signs(DpAdmm(steps=3), picks=True),
    "frank-wolfe": _signs(FrankWolfe(0.1, steps=3)),
    "functional": _signs("functional", budget=Pure(1)),
    "momentum": _signs(MomentumDescent(4)),
    "mpadmm": _line(MpAdmm(steps=3)),
    "mpadmm-published": _line(PublishedMpAdmm(steps=3)),
    "objective": _signs("objective"),
    "output": _signs("output"),
    "select": _line(SelectThenFit(ScreeningSelector(2)), within=1e-9),
    "sgd": _signs(BATCHES, picks=True),
    "ssadmm": _line(SsAdmm(2, Fraction(1, 5), accounting="renyi"), picks=True),
    "ssp": _line("ssp"),
    "thresholding": _line(HardThresholding(2)),
}
"""One case for every registered mechanism."""
OTHERS = {
    "support vectors": _case(LinearSVC, "signs", classes=[0, 1]),
    "hinge": _case(LinearSVC, "signs", classes=[0, 1], loss="hinge", mechanism="output"),
    "counts": _case(PoissonRegression, "counts", target_bound=8, coef_norm=2.0),
    "three classes": _case(LogisticRegression, "thirds", classes=[0, 1, 2]),
    "three classes that are read": _case(LogisticRegression, "thirds"),
    "intervals": _line("objective", intervals=True),
    "intervals, several classes": _case(LogisticRegression, "thirds", intervals=True),
    "no intercept, few columns": _signs("objective", fit_intercept=False, l1=0.3),
    "sparse, screening": _case(SparseLinearRegression, "line", size=2, within=1e-9),
    "sparse, votes": _case(
        SparseLinearRegression, "line", size=2, mechanism="sample-aggregate", picks=True
    ),
    "sparse, published": _case(
        SparseLinearRegression,
        "line",
        size=2,
        mechanism="published",
        fit_intercept=False,
        picks=True,
    ),
    "sparse, thresholding": _case(
        SparseLinearRegression, "line", size=2, mechanism="thresholding"
    ),
    "batches of equal size": _signs(BATCHES, neighbours="replace-one", picks=True),
}
CASES = BY_MECHANISM | OTHERS
MULTI = MultiResponseRegression(
    BUDGET, mechanism=MpAdmm(steps=3), target_bound=2, random_state=7, row_norm=1.0
)
FILES = ("parquet file", "parquet folder", "parquet pattern", "csv file", "csv pattern")
FILES += ("batches",)
COLLECTIONS = ("frame", "frame and column", "array", "csr array", "uneven array")
SOURCES = (*FILES, *COLLECTIONS)
EDGES = (0, 90, 90, 91, 200, ROWS)
"""Cuts of a table into parts: one without rows, one of a single row."""


def written(table: pd.DataFrame, folder: Path) -> Path:
    """Write a table as files of every kind."""
    for name in ("some", "hive"):
        (folder / name).mkdir(parents=True)
    table.to_parquet(folder / "whole.parquet", row_group_size=60, index=False)
    table.to_csv(folder / "whole.csv", index=False)
    for place, (low, high) in enumerate(pairwise(EDGES)):
        some = table.iloc[low:high]
        some.to_csv(folder / f"some-{place}.csv", index=False)
        some.to_parquet(folder / "some" / f"{place}.parquet", index=False)
        (folder / "hive" / f"place={place}").mkdir()
        some.to_parquet(folder / "hive" / f"place={place}" / "0.parquet", index=False)
    return folder


def batches_of(path: Path) -> Any:
    """Yield a file in batches of forty rows, of Arrow and of pandas by turns."""
    from pyarrow import parquet

    for place, batch in enumerate(parquet.ParquetFile(path).iter_batches(40)):
        yield batch if place % 2 else batch.to_pandas()


def opened(source: str, folder: Path, cluster: Any = None) -> Any:
    """Open files of some kind."""
    if source == "batches":
        paths = sorted((folder / "some").iterdir())
        names = tuple(pd.read_parquet(paths[0]).columns)
        parts = tuple(partial(batches_of, path) for path in paths)
        return BatchSource(names, parts, cluster=cluster, batch_rows=30)
    name = {
        "parquet file": "whole.parquet",
        "parquet folder": "some",
        "parquet pattern": "some/*.parquet",
        "hive folder": "hive",
        "csv file": "whole.csv",
        "csv pattern": "some-*.csv",
    }[source]
    return open_table(str(folder / name), cluster=cluster)


def collection(source: str, table: pd.DataFrame, target: str | list[str]) -> Any:
    """Return a table as Dask's collections: features and target."""
    import dask.array as da
    import dask.dataframe as dd

    if source.startswith("frame"):
        cuts = pairwise(EDGES)
        pieces = [dd.from_pandas(table.iloc[a:b], npartitions=1) for a, b in cuts if a < b]
        frame = dd.concat(pieces, interleave_partitions=False)
        return (frame, target) if source == "frame" else (frame[NAMES], frame[target])
    cuts = tuple(np.diff(EDGES).tolist())
    features = da.from_array(table[NAMES].to_numpy(), chunks=(cuts, 2))
    beside = da.from_array(table[target].to_numpy(), chunks=100)
    if source == "csr array":
        features = features.rechunk({1: -1}).map_blocks(sparse.csr_matrix)
    if source == "uneven array":
        features = features.rechunk({0: (200, 30)})
    return features, beside


def fitted_in_memory(case: Case, table: pd.DataFrame) -> Any:
    """Fit on arrays."""
    return case.model.fit(table[NAMES].to_numpy(), table[case.target].to_numpy())


def given(source: str, table: pd.DataFrame, folder: Path, case: Case, client: Any) -> Any:
    """Return what to pass to fit: files of three features and a target, or collections."""
    target = case.target
    if source in FILES:
        if not (folder / target).exists():
            written(table[[*NAMES, target]], folder / target)
        return opened(source, folder / target, client), target
    return collection(source, table[[*NAMES, target]], target)


def numbers_of(model: Any) -> np.ndarray:
    """Return everything that a model published."""
    published = [model.coef_, model.intercept_, model.release_.value]
    if model.intervals is not None:
        published.append([law.shift for law in model.release_.intervals.plain])
        lines = [line for line in model.summary().rows if line.identified]
        published.append([[line.lower, line.upper] for line in lines])
    return np.concatenate([np.ravel(part) for part in published])


def assert_same(model: Any, other: Any, within: float = 1e-10) -> None:
    """Assert that two fits with one seed published the same."""
    ours, theirs = numbers_of(model), numbers_of(other)
    scale = np.abs(theirs).max()
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=within * scale)
    assert model.release_.guarantee == other.release_.guarantee
    for ours, theirs in zip(model.release_.noise, other.release_.noise, strict=True):
        assert (ours.kind, ours.added_to) == (theirs.kind, theirs.added_to)
        assert abs(ours.scale - theirs.scale) <= 1e-9 * theirs.scale
