"""Private choices: few columns of many, and one of several candidate models."""

from confide.selection.base import SELECTORS, Selector, SelectorCalibration
from confide.selection.exponential import ExponentialSelector
from confide.selection.finders import FINDERS, CoefficientFinder, Finder, LassoPath
from confide.selection.frank_wolfe import FrankWolfe
from confide.selection.screening import ScreeningSelector
from confide.selection.search import PrivateSearch
from confide.selection.search_chunks import ChunkedSearch
from confide.selection.search_scores import SCORES
from confide.selection.search_stopping import RandomStopping
from confide.selection.then_fit import SelectThenFit
from confide.selection.thresholding import HardThresholding
from confide.selection.votes import SampleAggregateSelector

__all__ = [
    "FINDERS",
    "SCORES",
    "SELECTORS",
    "ChunkedSearch",
    "CoefficientFinder",
    "ExponentialSelector",
    "Finder",
    "FrankWolfe",
    "HardThresholding",
    "LassoPath",
    "PrivateSearch",
    "RandomStopping",
    "SampleAggregateSelector",
    "ScreeningSelector",
    "SelectThenFit",
    "Selector",
    "SelectorCalibration",
]
