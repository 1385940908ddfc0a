"""Public schemas, private rows, and datasets."""

from confide.data.columns import Category, Column, Number
from confide.data.datasets import DATASETS, Dataset, load, load_a9a
from confide.data.rows import Block, Rows, enclose
from confide.data.schema import Schema, Target

__all__ = [
    "DATASETS",
    "Block",
    "Category",
    "Column",
    "Dataset",
    "Number",
    "Rows",
    "Schema",
    "Target",
    "enclose",
    "load",
    "load_a9a",
]
