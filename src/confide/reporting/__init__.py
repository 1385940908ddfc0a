"""What a reader is told about a release: plain words, a model card, a page.

Everything here is computed from a ``Summary``, which holds no data.
"""

from confide.reporting.card import model_card
from confide.reporting.page import report_page
from confide.reporting.released_plot import ReleasedPlot
from confide.reporting.text import about_intervals, plain_words

__all__ = ["ReleasedPlot", "about_intervals", "model_card", "plain_words", "report_page"]
