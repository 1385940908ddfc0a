"""Private choices: among candidate models."""

from confide.selection.search import PrivateSearch
from confide.selection.search_chunks import ChunkedSearch
from confide.selection.search_scores import SCORES
from confide.selection.search_stopping import RandomStopping

__all__ = ["SCORES", "ChunkedSearch", "PrivateSearch", "RandomStopping"]
