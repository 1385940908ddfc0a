"""Columns: how one value becomes bounded numbers, by public knowledge alone."""

from confide.data.schema.columns.column import (
    COLUMNS,
    Column,
    Faults,
    LevelColumn,
    Lines,
    Part,
    RangeColumn,
    check_name,
    check_rule,
    refuse_missing,
)
from confide.data.schema.columns.kinds import Boolean, Category, Date, Number

__all__ = [
    "COLUMNS",
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Faults",
    "LevelColumn",
    "Lines",
    "Number",
    "Part",
    "RangeColumn",
    "check_name",
    "check_rule",
    "refuse_missing",
]
