"""What a reader is told about a release: plain words, a model card, a page.

Everything here is computed from a ``Summary``, which holds no data.
"""

from confide.reporting.about_intervals import about_intervals
from confide.reporting.card import model_card
from confide.reporting.page import report_page
from confide.reporting.paid import PaidPlot
from confide.reporting.plain_words import plain_words

__all__ = ["PaidPlot", "about_intervals", "model_card", "plain_words", "report_page"]
