"""From what a user passes to bounded rows: at once where it is in memory, else in parts."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from confide._types import AnyArray
from confide.data import HeldRows, PartedRows, Schema, read_table
from confide.data.files import FileTable, is_in_parts, open_table
from confide.data.dask_tables import DaskTable, dask_table, is_dask
from confide.data.on_cluster import ClusterParts
from confide.data.parted import Parts
from confide.data.stream import Prepare, Stream
from confide.errors import InvalidData, InvalidParameter
from confide.estimators._bounding import Bounding
from confide.estimators._intake import found_labels, read_features, read_matrix
from confide.estimators._targets import Found, ReadTarget
from confide.estimators._task import Task


class Reading(Protocol):
    """A table whose target is understood; its rows are still to be bounded."""

    task: Task
    width: int

    def enclose(self, bounding: Bounding) -> HeldRows | PartedRows:
        """Bound every row and close the box; the target is as it was read."""
        ...
