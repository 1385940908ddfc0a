"""Tables that differ in one record, as every kind of source, and what is read from them.

A table without the record is read, then with it, at any place. Either may be refused. If
both are read, all other rows must be the same to the last bit.
"""

import csv
import io
import itertools
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import partial
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
    LogisticRegression,
    Number,
    Schema,
    Target,
)
from confide.data import BatchSource, CaseWeights, EntryBounds, open_table
from confide.estimators._bounding import Bounding
from support.bounded_rows import Given, read

BUDGET = Approx(1, "1e-6")
COLUMNS = (
    Number("age", 0, 100),
    Number("score", -1, 1),
    Boolean("smokes"),
    Category("town", ("a", "b", "1", "True")),
    Category("grade", (0, 1, 2.5), other=True),
    Date("seen", "2000-01-01", "2020-01-01"),
)
NAMES = (*(column.name for column in COLUMNS), "target")
TARGETS = {
    "words": Target("target", labels=("no", "yes", "1"), missing="drop"),
    "digits": Target("target", labels=(0, 1), missing="drop"),
    "amount": Target("target", lower=-5, upper=5, missing="drop"),
}
AGE, SCORE, *OTHERS = COLUMNS
SCHEMAS = {
    "words": Schema(COLUMNS, TARGETS["words"]),
    "digits": Schema(
        tuple(OTHERS),
        TARGETS["digits"],
        terms=("bs(seen, df=4)", "town:grade", "grade:smokes", "smokes:poly(seen, 2)"),
        case_weights=CaseWeights("age", 50, classes={"1": 2}, missing="drop"),
        offset=SCORE,
    ),
    "amount": Schema(
        COLUMNS,
        TARGETS["amount"],
        terms=("bs(age, df=4)", "poly(score, 3)", "town:age", "town:grade:smokes", "seen"),
    ),
}
BOUNDS = (
    Bounding(1.0, 0.3),
    Bounding(3.0, 0.1, most=0.5),
    Bounding(0.1, 0.0),
    Bounding(1.0, 0.0, EntryBounds(0.7)),
    Bounding(1.0, 0.5, EntryBounds.scaled(2, 0.3)),
)
WEST, EAST = timezone(timedelta(hours=-5)), timezone(timedelta(hours=9))

NUMBERS = (0, 1, -1, 0.1, 0.5, 37, 99.9, 1e-300, 1e300, 2**53 + 1, -(2**62), None, np.nan)
ODD_NUMBERS = (
    *(True, False, 10**20, -(10**400), 2**64, "1.5", " 2 ", "1e3", Decimal("0.1")),
    *(np.float32(0.1), np.int8(3), np.uint64(2**63), Fraction(1, 3), np.inf, "", "word"),
)
TRUTHS = (True, False, True, False, None)
ODD_TRUTHS = (1, 0, 1.0, "yes", "No", "TRUE", "0", "1.0", np.True_, 10**20, np.nan)
WORDS = ("a", "b", "1", "z", None)
ODD_WORDS = (1, True, 1.0, 10**20, 2**70, np.str_("a"), "a ", "True", 0.5, np.nan, b"a")
DIGITS = (0, 1, 2.5, 7, None)
ODD_DIGITS = ("1", "1.0", True, "z", 10**20, Decimal("2.5"), np.float32(2.5), 2**53, b"1")
DAYS = (date(2005, 5, 5), pd.Timestamp("2010-01-01 23:00"), date.min, None)
ODD_DAYS = (
    *("2005-05-05", "2005-05-05T23:30:00-05:00", "20050505", pd.NaT, "yesterday", 7),
    datetime(2010, 1, 1, 23, tzinfo=WEST),
    datetime(2010, 1, 2, 4, tzinfo=UTC),
    datetime(2010, 1, 2, 13, tzinfo=EAST),
    date(1500, 1, 1),
)
LABELS = {
    "words": (("no", "yes", "1", "no\0"), (1, 10**20, True, None, np.str_("yes"))),
    "digits": ((0, 1, 1, 0, 5), ("1", 1.0, True, None, 10**20, "x", np.int8(1))),
    "amount": ((0.5, -4, 3, 7.25), ("1.5", 10**20, None, Decimal("2.5"), True, 1e300)),
}


def cells(rng: random.Random, target: str, *, odd: bool) -> tuple[Any, ...]:
    """Return a record with a cell of every kind, plain ones or some odd ones."""
    pools = (
        (NUMBERS, ODD_NUMBERS),
        (NUMBERS, ODD_NUMBERS),
        (TRUTHS, ODD_TRUTHS),
        (WORDS, ODD_WORDS),
        (DIGITS, ODD_DIGITS),
        (DAYS, ODD_DAYS),
        LABELS[target],
    )
    picked = rng.randrange(len(pools)) if odd else -1
    return tuple(
        rng.choice(strange if place == picked or (odd and rng.random() < 0.1) else plain)
        for place, (plain, strange) in enumerate(pools)
    )


@dataclass(frozen=True)
class Source:
    """A kind of table: how a record is made, and how records become what is passed."""

    record: Callable[..., Any]
    given: Callable[[list[Any], str, Path], Given]
    targets: tuple[str, ...] = tuple(TARGETS)


def with_schema(target: str) -> Any:
    kind = LinearRegression if target == "amount" else LogisticRegression
    return kind(BUDGET, schema=SCHEMAS[target])


def bare(target: str) -> Any:
    if target == "amount":
        return LinearRegression(BUDGET, target_bound=5, row_norm=1.0)
    return LogisticRegression(BUDGET, classes=list(TARGETS[target].labels), row_norm=1.0)


def objects(records: list[Any]) -> pd.DataFrame:
    """Return a table of objects: a column has no type but that of each cell."""
    frame = pd.DataFrame(index=range(len(records)), columns=NAMES, dtype=object)
    for name, values in zip(NAMES, zip(*records, strict=True), strict=True):
        column = np.empty(len(records), dtype=object)
        column[:] = values
        frame[name] = pd.Series(column, dtype=object)
    return frame


def as_objects(records: list[Any], target: str, folder: Path) -> Given:
    return with_schema(target), objects(records), None


def as_inferred(records: list[Any], target: str, folder: Path) -> Given:
    return with_schema(target), pd.DataFrame(records, columns=NAMES), None


# ---------------------------------------------------------------------- numbers in arrays

SIZES = (0.0, 1.0, -0.3, 0.2, 1e-8, 0.7, -0.69999999, 3.0)
ODD_SIZES = (1e30, -1e-30, 1e-160, 5e-324, 0.1, 1e19)


def entries(rng: random.Random, target: str, *, odd: bool) -> tuple[Any, ...]:
    """Return a record of numbers and a label."""
    pool = (*SIZES, *ODD_SIZES) if odd else SIZES
    values = tuple(rng.choice(pool) for _ in range(6))
    plain, strange = LABELS[target]
    return *values, rng.choice((*plain, *strange) if odd else plain)


def split(records: list[Any]) -> tuple[list[list[Any]], list[Any]]:
    return [list(record[:-1]) for record in records], [record[-1] for record in records]


def as_lists(records: list[Any], target: str, folder: Path) -> Given:
    X, y = split(records)
    return bare(target), X, y


def mixed(rng: random.Random, target: str, *, odd: bool) -> tuple[Any, ...]:
    """Return a record of numbers of which some are texts, truth values or huge."""
    values = entries(rng, target, odd=False)
    if not odd:
        return values
    return *(rng.choice((v, str(v), True, 10**20, Decimal(1))) for v in values[:-1]), (
        entries(rng, target, odd=True)[-1]
    )


def typed(dtype: Any, order: Any) -> Callable[[list[Any], str, Path], Given]:
    def given(records: list[Any], target: str, folder: Path) -> Given:
        X, y = split(records)
        labels = np.empty(len(y), dtype=object)
        labels[:] = y
        with np.errstate(over="ignore"):
            return bare(target), np.array(X, dtype=dtype, order=order), labels

    return given


def as_csr(dtype: Any) -> Callable[[list[Any], str, Path], Given]:
    def given(records: list[Any], target: str, folder: Path) -> Given:
        X, y = split(records)
        places: list[int] = []
        values: list[float] = []
        ends = [0]
        for row in X:
            held = [j for j, value in enumerate(row) if value]
            own = [row[j] for j in held]
            if 3.0 in row and held:
                # Entries stand at one place many times; their sum depends on the order.
                held += held[:1] * 30
                own += [1e17, -1e17, 1.0] * 10
            if row[0] == 1.0:
                held, own = held[::-1], own[::-1]
            places += held
            values += own
            ends.append(len(places))
        with np.errstate(over="ignore"):
            data = np.array(values, np.float64).astype(dtype)
        matrix = sparse.csr_array((data, places, ends), shape=(len(X), len(X[0])))
        return bare(target), matrix, y

    return given


# ------------------------------------------------------------------------------- in files

SPELLED = {
    "age": ("37", "0", " 5", "12.50", "1e1", "9007199254740993", "", "NA", "200"),
    "score": ("0.1", "-0.30000000000000004", "1", "00012345678901234567e-19", ""),
    "smokes": ("yes", "No", "TRUE", "0", "1", ""),
    "town": ("a", "b", "1", "01", "True", "z", "", '"a"', "a,b", "two\nlines", " a"),
    "grade": ("0", "1", "2.5", "1.0", "01", "x", "", "True", "2.50000000000000001"),
    "seen": ("2005-05-05", "2001-02-03T04:05", "20100101", ""),
    "words": ("no", "yes", "1", "1.0", "x", ""),
    "digits": ("0", "1", "1.0", "01", "x", "", "True"),
    "amount": ("0.5", "-4", "3e0", "7", "", "0.1000000000000000055511151231257827"),
}
ODD_SPELLED = ("100000000000000000000", "True", "word", "1_0", "0x1", "inf", "nan", "1\x00")
RAW = (
    *('37,"a\n', '37,0.1,yes,a"b,1,2005-05-05,no\n', '"\n', '""\n', "37\n", "\n"),
    *("1,2,3,4,5,6,7,8,9\n", '37,0.1,yes,"a"b,1,2005-05-05,no\n', '37,"0.1,yes\n"\n'),
    *('37,0.1,yes,"a""",1,2005-05-05,no\n', '1,2," ""\n', 'a,"b\n"","c\n'),
    *("\t37,0.1,yes,a,1,2005-05-05,no\n", "  \t\n", "37,0.1,yes,\ta,1,2005-05-05,no\n"),
)


def line(rng: random.Random, target: str, *, odd: bool) -> str:
    """Return a line of text, now and then one that is not well formed."""
    if odd and rng.random() < 0.3:
        return rng.choice(RAW)
    kinds = (*NAMES[:-1], target)
    fields = [rng.choice(SPELLED[kind]) for kind in kinds]
    if odd:
        fields[rng.randrange(len(fields))] = rng.choice(ODD_SPELLED)
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerow(fields)
    return written.getvalue()


def text(records: list[str], folder: Path) -> Path:
    path = folder / "table.csv"
    path.write_text(",".join(NAMES) + "\n" + "".join(records), encoding="utf-8")
    return path


def as_text(records: list[str], target: str, folder: Path) -> Given:
    return with_schema(target), text(records, folder), None


def as_text_in_pieces(records: list[str], target: str, folder: Path) -> Given:
    return with_schema(target), open_table(text(records, folder)), None


def plain_line(rng: random.Random, target: str, *, odd: bool) -> str:
    """Return a line of numbers and a label."""
    numbers = ["0.1", "3", "-0.30000000000000004", "9007199254740993", "1e-5", "+2"]
    fields = [rng.choice(numbers) for _ in NAMES[:-1]]
    fields.append(rng.choice(SPELLED[target][:4]))
    if odd:
        extra = ("100000000000000000000", "True", "0.5", "123456789012345678901e-20")
        fields[rng.randrange(len(fields))] = rng.choice(extra)
    return ",".join(fields) + "\n"


def as_bare_text(records: list[str], target: str, folder: Path) -> Given:
    return bare(target), text(records, folder), "target"


# ------------------------------------------------------------------- tables that have types


def fitting(rng: random.Random, target: str, *, odd: bool) -> tuple[Any, ...]:
    """Return a record whose cells are of the types that a typed table has."""
    ages = (None, 0.5, 37.0, 1e300, float("nan"), -0.0, float("inf"))
    scores = (None, 0, 1, 2**53 + 1, -(2**63))
    days = (None, date(2005, 5, 5), date(1700, 1, 1), date(2030, 1, 1))
    labels = {
        "words": ("no", "yes", "1", "x", None),
        "digits": (0, 1, 5, None, 2**62),
        "amount": (0.5, -4.0, None, 1e300, float("nan")),
    }
    return (
        rng.choice(ages if odd else ages[:3]),
        rng.choice(scores if odd else scores[:3]),
        rng.choice((True, False, None)),
        rng.choice(("a", "b", "1", "z", "", None)),
        rng.choice((0.0, 1.0, 2.5, 7.0, None)),
        rng.choice(days if odd else days[:3]),
        rng.choice(labels[target]),
    )


def arrow(records: list[Any], target: str) -> Any:
    import pyarrow as pa

    goal = {"words": pa.string(), "digits": pa.int64(), "amount": pa.float64()}[target]
    types = (pa.float64(), pa.int64(), pa.bool_(), pa.string(), pa.float32(), pa.date32())
    columns = [
        pa.array(values, kind)
        for values, kind in zip(zip(*records, strict=True), (*types, goal), strict=True)
    ]
    return pa.table(columns, names=list(NAMES))


def as_arrow(records: list[Any], target: str, folder: Path) -> Given:
    return with_schema(target), arrow(records, target), None


def as_polars(records: list[Any], target: str, folder: Path) -> Given:
    import polars as pl

    return with_schema(target), pl.from_arrow(arrow(records, target)), None


def parquet(records: list[Any], target: str, folder: Path) -> Path:
    from pyarrow import parquet as files

    path = folder / "table.parquet"
    files.write_table(arrow(records, target), path, row_group_size=3)
    return path


def as_parquet(records: list[Any], target: str, folder: Path) -> Given:
    return with_schema(target), parquet(records, target, folder), None


def as_row_groups(records: list[Any], target: str, folder: Path) -> Given:
    return with_schema(target), open_table(parquet(records, target, folder)), None


def as_dask_frame(records: list[Any], target: str, folder: Path) -> Given:
    import dask
    import dask.dataframe as dd

    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_pandas(objects(records), npartitions=2, sort=False)
    return with_schema(target), frame, None


def as_batches(records: list[Any], target: str, folder: Path) -> Given:
    cuts = range(0, max(1, len(records)), 2)
    frames = [objects(records[cut : cut + 2]) for cut in cuts]
    half = len(frames) // 2
    parts = tuple(partial(iter, some) for some in (frames[:half], frames[half:]))
    return with_schema(target), BatchSource(NAMES, parts, batch_rows=1), None


def as_dask_array(records: list[Any], target: str, folder: Path) -> Given:
    import dask.array as da

    model, X, y = typed(np.float32, "C")(records, target, folder)
    return model, da.from_array(X, chunks=(3, 6)), da.from_array(y, chunks=3)


SOURCES = {
    "lists": Source(mixed, as_lists),
    "array": Source(entries, typed(np.float64, "C")),
    "array, single precision": Source(entries, typed(np.float32, "C")),
    "array, by columns": Source(entries, typed(np.float32, "F")),
    "array of objects": Source(mixed, typed(object, "C")),
    "csr": Source(entries, as_csr(np.float64)),
    "csr, single precision": Source(entries, as_csr(np.float32)),
    "frame": Source(cells, as_objects),
    "frame, inferred": Source(cells, as_inferred),
    "csv": Source(line, as_text),
    "csv in pieces": Source(line, as_text_in_pieces),
    "csv without a schema": Source(plain_line, as_bare_text),
    "arrow": Source(fitting, as_arrow),
    "polars": Source(fitting, as_polars),
    "parquet": Source(fitting, as_parquet),
    "parquet in pieces": Source(fitting, as_row_groups),
    "dask frame": Source(cells, as_dask_frame),
    "dask array": Source(entries, as_dask_array),
    "batches": Source(cells, as_batches),
}


def is_one_more(without: list[bytes], with_it: list[bytes]) -> bool:
    """Whether one list is the other, or the other with one entry put in somewhere."""
    if len(with_it) - len(without) not in (0, 1):
        return False
    if without == with_it:
        return True
    place = sum(1 for _ in itertools.takewhile(bool, map(bytes.__eq__, without, with_it)))
    return len(with_it) > len(without) and without[place:] == with_it[place + 1 :]


def fuzz(source: Source, pairs: int, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield "read", "refused" or "changed" for so many pairs, with what was changed."""
    rng, done = random.Random(seed), 0  # noqa: S311
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while done < pairs:
            target, bounding = rng.choice(source.targets), rng.choice(BOUNDS)
            odd, swept = rng.random() < 0.2, rng.random() < 0.1
            base = [source.record(rng, target, odd=odd) for _ in range(rng.randint(1, 7))]
            without = read(source.given(base, target, folder), bounding, swept=swept)
            if without is None:
                done += 1
                yield "refused", None
                continue
            for _ in range(min(8, pairs - done)):
                record = source.record(rng, target, odd=rng.random() < 0.7)
                place = rng.randint(0, len(base))
                longer = [*base[:place], record, *base[place:]]
                with_it = read(source.given(longer, target, folder), bounding, swept=swept)
                done += 1
                if with_it is None:
                    yield "refused", None
                elif is_one_more(without, with_it):
                    yield "read", None
                else:
                    yield "changed", (target, base, record, place)


def tally(name: str, pairs: int, seed: int) -> Counter[str]:
    """Count what becomes of pairs, and raise for the first that is not local."""
    counts: Counter[str] = Counter()
    for outcome, found in fuzz(SOURCES[name], pairs, seed):
        counts[outcome] += 1
        assert outcome != "changed", found
    return counts
