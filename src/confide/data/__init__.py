"""Public schemas, confidential rows, tables in files and public datasets."""

from confide.data.datasets.catalogue import DATASETS, Dataset, load, load_a9a
from confide.data.datasets.loaders import load_acs, load_kddcup99, load_warfarin
from confide.data.partitioned.progress import Pass, watching
from confide.data.partitioned.rows import PartitionedRows
from confide.data.rows.block import Block
from confide.data.rows.entry_bounds import EntryBounds, bound_entries
from confide.data.rows.in_memory import InMemoryRows, Rows, bound_rows
from confide.data.schema.case_weights import CaseWeights
from confide.data.schema.columns import (
    COLUMNS,
    Boolean,
    Category,
    Column,
    Date,
    LevelColumn,
    Number,
    RangeColumn,
)
from confide.data.schema.effects import INTERCEPT, Display
from confide.data.schema.formula import schema_of_formula
from confide.data.schema.parse_values import one_by_one
from confide.data.schema.schema import INTERCEPT_HEIGHT, UNNAMED, Schema
from confide.data.schema.sections import UNKNOWN
from confide.data.schema.target import Target
from confide.data.tables.batches import BatchSource
from confide.data.tables.check_table import Comparison, Finding, Undeclared, compare_table
from confide.data.tables.files import is_in_parts, open_table, read_files
from confide.data.tables.read import local_path, read_table
from confide.data.tables.schema_template import schema_template
from confide.data.tables.write import table_writer

__all__ = [
    "COLUMNS",
    "DATASETS",
    "INTERCEPT",
    "INTERCEPT_HEIGHT",
    "UNKNOWN",
    "UNNAMED",
    "BatchSource",
    "Block",
    "Boolean",
    "CaseWeights",
    "Category",
    "Column",
    "Comparison",
    "Dataset",
    "Date",
    "Display",
    "EntryBounds",
    "Finding",
    "InMemoryRows",
    "LevelColumn",
    "Number",
    "PartitionedRows",
    "Pass",
    "RangeColumn",
    "Rows",
    "Schema",
    "Target",
    "Undeclared",
    "bound_entries",
    "bound_rows",
    "compare_table",
    "is_in_parts",
    "load",
    "load_a9a",
    "load_acs",
    "load_kddcup99",
    "load_warfarin",
    "local_path",
    "one_by_one",
    "open_table",
    "read_files",
    "read_table",
    "schema_of_formula",
    "schema_template",
    "table_writer",
    "watching",
]
