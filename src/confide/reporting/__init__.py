"""Summaries of releases, and their presentation as text, HTML, Markdown and JSON.

Reports are computed from a ``Summary``, which holds released values but no data. A summary
formats itself as text. HTML comes from ``templates``, Markdown from ``card``, records for
JSON from ``summary``, and terminal output from ``terminal``, which is imported only when
needed.
"""

from typing import TYPE_CHECKING

from confide._lazy import lazy
from confide.reporting.card import model_card
from confide.reporting.coefficients import Coefficient
from confide.reporting.effect_scale import EffectScale
from confide.reporting.page import report_page
from confide.reporting.released_plot import ReleasedPlot
from confide.reporting.score_section import ScoreSection, score_page
from confide.reporting.summary import (
    CoefficientTable,
    Summary,
    guarantee_record,
    summary_record,
)
from confide.reporting.text import about_intervals, plain_words
from confide.reporting.wald import WaldTest

if TYPE_CHECKING:
    from confide.reporting import terminal

__all__ = [
    "Coefficient",
    "CoefficientTable",
    "EffectScale",
    "ReleasedPlot",
    "ScoreSection",
    "Summary",
    "WaldTest",
    "about_intervals",
    "guarantee_record",
    "model_card",
    "plain_words",
    "report_page",
    "score_page",
    "summary_record",
    "terminal",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(__name__, {"terminal": ()})
