"""Public schemas, private rows, tables and datasets."""

from confide.data.block import Block
from confide.data.columns import Boolean, Category, Column, Date, Number
from confide.data.compare import Comparison, Finding, Undeclared, compare_table
from confide.data.datasets import DATASETS, Dataset, load, load_a9a
from confide.data.declare import UNKNOWN
from confide.data.display import INTERCEPT, INTERCEPT_HEIGHT, Display
from confide.data.entries import EntryBounds, enclose_entries
from confide.data.files import open_table
from confide.data.parted import PartedRows
from confide.data.rows import HeldRows, Rows, enclose
from confide.data.schema import UNNAMED, Schema
from confide.data.tables import read_table
from confide.data.target import Target
from confide.data.template import schema_template
from confide.data.warfarin import load_warfarin

__all__ = [
    "DATASETS",
    "INTERCEPT",
    "INTERCEPT_HEIGHT",
    "UNKNOWN",
    "UNNAMED",
    "Block",
    "Boolean",
    "Category",
    "Column",
    "Comparison",
    "Dataset",
    "Date",
    "Display",
    "EntryBounds",
    "Finding",
    "HeldRows",
    "Number",
    "PartedRows",
    "Rows",
    "Schema",
    "Target",
    "Undeclared",
    "compare_table",
    "enclose",
    "enclose_entries",
    "load",
    "load_a9a",
    "load_warfarin",
    "open_table",
    "read_table",
    "schema_template",
]
