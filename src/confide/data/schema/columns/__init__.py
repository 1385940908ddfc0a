"""Declared columns, which convert values to bounded numbers using public facts only."""

from confide.data.schema.columns.column import (
    COLUMNS,
    Column,
    Faults,
    LevelColumn,
    Part,
    RangeColumn,
    check_name,
    check_rule,
    refuse_missing,
)
from confide.data.schema.columns.kinds import Boolean, Category, Number
from confide.data.schema.columns.lines import Lines
from confide.data.schema.columns.time_kinds import Date

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
