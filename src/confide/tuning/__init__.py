"""Private search among candidate models, charged to the ledger once."""

from confide.tuning.chunks import ChunkedSearch
from confide.tuning.random_stopping import RandomStopping
from confide.tuning.scores import SCORES
from confide.tuning.search import PrivateSearch

__all__ = ["SCORES", "ChunkedSearch", "PrivateSearch", "RandomStopping"]
