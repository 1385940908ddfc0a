"""Studies: the tables and figures of papers, computed again; see docs/studies.md.

Every module of studies is imported here, which registers what it declares.
"""

import confide.studies.admm.figures
import confide.studies.intervals.figures
import confide.studies.intervals.tables
import confide.studies.intervals.when_to_trust
import confide.studies.kst.table1
import confide.studies.kst.table2
import confide.studies.kst.theorem8
import confide.studies.napp.figure3
import confide.studies.napp.figure6
import confide.studies.napp.figure8
import confide.studies.napp.figures457
import confide.studies.regression.figures  # noqa: F401
from confide.studies.engine.outcome import Failure, Progress, Reproduction
from confide.studies.engine.publish import TableLayout, records
from confide.studies.engine.runner import FOLDER, reproduce
from confide.studies.engine.study import STUDIES, Cell, Row, Scalar, Study, register

__all__ = [
    "FOLDER",
    "STUDIES",
    "Cell",
    "Failure",
    "Progress",
    "Reproduction",
    "Row",
    "Scalar",
    "Study",
    "TableLayout",
    "records",
    "register",
    "reproduce",
]
