"""The reproduction book: pages that compare our results with those of the papers.

``python -m confide.studies.book`` writes the pages from the committed results, that is,
from the results of the studies that are kept in the source tree.
"""
