"""Every kind of column keeps the contract of columns, and the contract notices faults."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from confide.data import (
    COLUMNS,
    Boolean,
    Category,
    Date,
    LevelColumn,
    Number,
    RangeColumn,
    Schema,
    Target,
)
from confide.data.schema.columns import Faults, Lines
from confide.errors import InvalidParameter
from confide.testing import check_column

AGES = [0, 3.5, 120, 130, -4]
CASES = {
    "number": (Number("age", 0, 120, "year"), AGES),
    "number without missing values": (Number("age", 0, 120, missing="refuse"), AGES),
    "narrow number": (Number("share", 0.1, 0.1000001), [0.1, 0.10000005, 1]),
    "category": (Category("region", ("north", "south")), ["north", "south", "west"]),
    "category with a reference": (
        Category("region", ("north", "south", "west"), reference="south"),
        ["north", "south", "east"],
    ),
    "category with shares": (
        Category("region", ("north", "south"), share=[0.9, 0.05], missing="refuse"),
        ["north", "south"],
    ),
    "category with others": (Category("region", ("n", "s"), other=True), ["n", "s", "w"]),
    "category of numbers": (Category("grade", (1, 2, 3), missing="refuse"), [1, 3, 7]),
    "category of one level": (Category("region", ("north",)), ["north", "south"]),
    "boolean": (Boolean("ill"), [True, False, 1, "no", "YES"]),
    "date": (
        Date("seen", "2001-01-01", "2005-06-07"),
        ["2001-02-03", "2004-01-01", "1999-01-01"],
    ),
}


def test_the_registry_did_not_shrink_and_every_kind_is_tried():
    assert list(COLUMNS)[:4] == ["number", "category", "boolean", "date"]
    assert {type(column) for column, _ in CASES.values()} == set(COLUMNS.values())


@pytest.mark.parametrize("name", CASES)
def test_every_kind_keeps_its_contract(name):
    check_column(*CASES[name])


@pytest.fixture
def registry(monkeypatch):
    """Let a test register kinds that are forgotten after it."""
    monkeypatch.setattr(COLUMNS, "_entered", dict(COLUMNS))


def by_rank(self, values):
    """Read a number relative to the others: the mistake of scaling by the data."""
    numbers = Number.read(self, values).astype(float)
    return numbers / (1 + np.nanmax(np.abs(numbers)))


def zero_for_missing(self, values):
    return np.nan_to_num(Number.read(self, values).astype(float), nan=60.0)


def never_outside(self, values):
    found = Number.faults(self, values)
    return Faults(found.unreadable, np.zeros_like(found.outside), found.undeclared)


def twice(self):
    return Lines(self.features, 2 * np.eye(1), np.zeros(1))


NUMBER_FAULTS = {
    "two features of one name": ({"features": ("age", "age")}, "different names"),
    "features of another name": ({"features": ("x",)}, "contain the name of its column"),
    "two numbers": ({"features": ("age", "age squared")}, "exactly one feature"),
    "scaled by the other rows": ({"read": by_rank}, "whatever the other rows hold"),
    "one number for all": (
        {"read": lambda _, values: np.full(len(values), 7.0)},
        "different values",
    ),
    "missing values guessed": ({"read": zero_for_missing}, "read as −1 .* or NaN"),
    "no end": ({"ends": (0.0, np.inf)}, "two finite numbers"),
    "negative unit": ({"units": lambda _: (np.array([-1.0]), 0.0)}, "positive factor"),
    "no unit in words": ({"per": ""}, "per must name"),
    "nothing is outside": ({"faults": never_outside}, "exactly the values outside"),
    "coefficients doubled": ({"lines": twice}, "add up to the coefficient"),
    "shares of nothing": ({"shares": (0.5, 0.5)}, "one share per possible value"),
    "typical beyond": ({"typical_ends": (-9.0, 9e9)}, "typical range must lie"),
    "mean out of range": (
        {"moments": lambda _: (np.ones(1), np.eye(1) / 3)},
        "must be attainable",
    ),
    "cells too far out": (
        {"centres": lambda *_: np.full((5, 1), 2.0)},
        "norm is at most the height",
    ),
    "possible values alike": ({"possible": (1, 1.0)}, "as a different number"),
    "no hint": ({"hint": ""}, "hint must be"),
}


@pytest.mark.usefixtures("registry")
def test_the_contract_asks_for_examples_of_what_must_be_given():
    changes = {"__slots__": (), "kind": "faulty", "hint": "levels", "examples": {}}
    faulty = type("Faulty", (Category,), changes)
    COLUMNS.register("faulty")(faulty)
    with pytest.raises(AssertionError, match="examples must hold"):
        check_column(faulty("town", ("north", "south")), ["north", "south"])


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("changes", "complaint"), NUMBER_FAULTS.values(), ids=NUMBER_FAULTS
)
def test_the_contract_notices_every_fault(changes, complaint):
    changes = {"__slots__": (), "kind": "faulty", "hint": "a faulty number", **changes}
    faulty = type("Faulty", (Number,), changes)
    COLUMNS.register("faulty")(faulty)
    with pytest.raises(AssertionError, match=complaint):
        check_column(faulty("age", 0, 120), AGES)


LEVEL_FAULTS = {
    "read as numbers": ({"dtype": float}, "readable as text"),
    "other places": (
        {"read": lambda self, values: Category.read(self, values) + 1},
        "indices of features|read as −1",
    ),
    "levels hidden": ({"possible": ()}, "must be its levels"),
    "levels not centred": (
        {"lines": lambda self: Lines(self.features, np.eye(2) - 0.5, np.zeros(2))},
        "add up to the coefficient",
    ),
    "every level declared": (
        {"faults": lambda self, values: Faults(*np.zeros((3, len(values)), dtype=bool))},
        "or outside the levels",
    ),
}


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(("changes", "complaint"), LEVEL_FAULTS.values(), ids=LEVEL_FAULTS)
def test_the_contract_notices_faults_of_levels(changes, complaint):
    changes = {"__slots__": (), "kind": "faulty", "hint": "a faulty level", **changes}
    faulty = type("Faulty", (Category,), changes)
    COLUMNS.register("faulty")(faulty)
    with pytest.raises(AssertionError, match=complaint):
        check_column(faulty("region", ("north", "south")), ["north", "south", "west"])


@pytest.mark.usefixtures("registry")
def test_an_honest_kind_of_levels_from_elsewhere_passes():
    @COLUMNS.register("weekend")
    @dataclass(frozen=True, slots=True)
    class Weekend(LevelColumn):
        name: str
        missing: str = "category"
        kind: ClassVar[str] = "weekend"
        levels: ClassVar[tuple[str, ...]] = (
            "mon",
            "tue",
            "wed",
            "thu",
            "fri",
            "sat",
            "sun",
        )
        hint: ClassVar[str] = "nothing else: fri, sat or sun"

    check_column(Weekend("day"), ["fri", "sun", "holiday"])
    check_column(Weekend("day", missing="refuse"), ["fri", "sun", "holiday"])


def test_a_kind_that_nobody_registered_is_refused():
    stranger = type("Stranger", (Number,), {"__slots__": (), "kind": "stranger"})
    with pytest.raises(AssertionError, match="registered under the name"):
        check_column(stranger("age", 0, 120), AGES)


@pytest.mark.usefixtures("registry")
def test_a_field_that_changes_when_it_is_written_is_noticed():
    @COLUMNS.register("growing")
    @dataclass(frozen=True, slots=True)
    class Growing(RangeColumn):
        name: str
        upper: float
        missing: str = "midpoint"
        kind: ClassVar[str] = "growing"
        hint: ClassVar[str] = "a range that grows"
        examples: ClassVar[dict[str, str]] = {"upper": "1"}

        def __post_init__(self):
            object.__setattr__(self, "upper", 2 * self.upper)

        @property
        def ends(self):
            return 0.0, self.upper

    with pytest.raises(AssertionError, match="must not change when it is written"):
        check_column(Growing("age", 60), AGES)


@pytest.mark.usefixtures("registry")
def test_a_column_that_can_be_changed_is_noticed():
    @COLUMNS.register("open")
    @dataclass(unsafe_hash=True)
    class Open(RangeColumn):
        name: str
        kind: ClassVar[str] = "open"

    with pytest.raises(AssertionError, match="must be frozen, but name"):
        check_column(Open("age"), AGES)


def test_a_schema_takes_registered_kinds_only(registry):
    stranger = type("Stranger", (), {"name": "age", "kind": "number"})()
    with pytest.raises(
        InvalidParameter, match="instances of Number, Category, Boolean or Date"
    ):
        Schema((stranger,), Target("y", bound=1))
