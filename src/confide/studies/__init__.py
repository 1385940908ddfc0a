"""Studies: the tables and figures of papers, computed again; see docs/studies.md.

Every module of studies is imported here, which registers what it declares.
"""

from confide.studies import (
    admm_figures,
    ci_figures,
    ci_summary,
    ci_tables,
    ci_trust,
    kst_table1,
    kst_table2,
    kst_theorem8,
    napp_adult,
    napp_figures,
    napp_moor,
    napp_recycling,
    reg_figures,
)
from confide.studies.layout import Layout, records
from confide.studies.outcome import Failure, Progress, Reproduction
from confide.studies.runner import FOLDER, reproduce
from confide.studies.study import STUDIES, Cell, Row, Scalar, Study, register

__all__ = [
    "FOLDER",
    "STUDIES",
    "Cell",
    "Failure",
    "Layout",
    "Progress",
    "Reproduction",
    "Row",
    "Scalar",
    "Study",
    "admm_figures",
    "ci_figures",
    "ci_summary",
    "ci_tables",
    "ci_trust",
    "kst_table1",
    "kst_table2",
    "kst_theorem8",
    "napp_adult",
    "napp_figures",
    "napp_moor",
    "napp_recycling",
    "records",
    "reg_figures",
    "register",
    "reproduce",
]
