"""Few columns of many: selectors, and mechanisms that select while they fit."""

from confide.selection.base import SELECTORS, Selector, SelectorCalibration
from confide.selection.exponential import ExponentialSelector
from confide.selection.finders import FINDERS, CoefficientFinder, Finder, LassoPath
from confide.selection.frank_wolfe import FrankWolfe
from confide.selection.screening import ScreeningSelector
from confide.selection.then_fit import SelectThenFit
from confide.selection.thresholding import HardThresholding
from confide.selection.votes import SampleAggregateSelector

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
