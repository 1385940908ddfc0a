"""Private selection of a few columns out of many, for sparse models."""

from confide._lazy import moved
from confide.selection.base import SELECTORS, Selector, SelectorCalibration
from confide.selection.exponential import ExponentialSelector
from confide.selection.frank_wolfe import FrankWolfe
from confide.selection.sample_aggregate import (
    FINDERS,
    CoefficientFinder,
    Finder,
    LassoPath,
    SampleAggregateSelector,
)
from confide.selection.screening import ScreeningSelector
from confide.selection.select_then_fit import SelectThenFit
from confide.selection.thresholding import HardThresholding

__all__ = [
    "FINDERS",
    "SELECTORS",
    "CoefficientFinder",
    "ExponentialSelector",
    "Finder",
    "FrankWolfe",
    "HardThresholding",
    "LassoPath",
    "SampleAggregateSelector",
    "ScreeningSelector",
    "SelectThenFit",
    "Selector",
    "SelectorCalibration",
]

_MOVED = (
    "ChunkedSearch",
    "PrivateSearch",
    "RandomStopping",
    "SCORES",
)
__getattr__ = moved(__name__, dict.fromkeys(_MOVED, "confide.tuning"))
