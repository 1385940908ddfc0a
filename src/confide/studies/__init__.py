"""Studies that recompute tables and figures of published papers; see docs/studies.md.

Every module that defines studies is imported here, which registers these studies.
"""

import confide.studies.admm.figures
import confide.studies.intervals.figures
import confide.studies.intervals.tables
import confide.studies.intervals.when_to_trust
import confide.studies.kst.table1
import confide.studies.kst.table2
import confide.studies.kst.theorem8
import confide.studies.napp.figure1
import confide.studies.napp.figure3
import confide.studies.napp.figure6
import confide.studies.napp.figure8
import confide.studies.napp.figures457
import confide.studies.napp.row_lengths
import confide.studies.regression.figures
import confide.studies.regression.sampler  # noqa: F401
from confide.studies.book.pages import write_book
from confide.studies.engine.book import StudyEstimate, estimates, reproduce_book
from confide.studies.engine.check import FALSE_ALARMS, CheckReport, Disagreement, check
from confide.studies.engine.committed import BOOK, commit, committed_rows, committed_seconds
from confide.studies.engine.outcome import Failure, Progress, Reproduction
from confide.studies.engine.publish import TableLayout, records
from confide.studies.engine.runner import FOLDER, job_count, reproduce
from confide.studies.engine.study import (
    COMMANDS,
    STUDIES,
    Cell,
    Row,
    Scalar,
    Study,
    register,
)

__all__ = [
    "BOOK",
    "COMMANDS",
    "FALSE_ALARMS",
    "FOLDER",
    "STUDIES",
    "Cell",
    "CheckReport",
    "Disagreement",
    "Failure",
    "Progress",
    "Reproduction",
    "Row",
    "Scalar",
    "Study",
    "StudyEstimate",
    "TableLayout",
    "check",
    "commit",
    "committed_rows",
    "committed_seconds",
    "estimates",
    "job_count",
    "records",
    "register",
    "reproduce",
    "reproduce_book",
    "write_book",
]
