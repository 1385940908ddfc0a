"""Privacy mechanisms, each calibrated from public information alone."""

from confide._lazy import moved
from confide.mechanisms.base import MECHANISMS, Calibration, Mechanism
from confide.mechanisms.gradient.dp_admm import DpAdmm
from confide.mechanisms.gradient.momentum import MomentumDescent
from confide.mechanisms.gradient.mpadmm import MpAdmm
from confide.mechanisms.gradient.sgd import ProximalSgd
from confide.mechanisms.gradient.ssadmm import SsAdmm
from confide.mechanisms.intervals.mechanism import IntervalCalibration, WithIntervals
from confide.mechanisms.intervals.moments import MomentRelease, Moments
from confide.mechanisms.intervals.settings import Intervals
from confide.mechanisms.needs import Need
from confide.mechanisms.objective.adaptive import AdaptiveObjectivePerturbation
from confide.mechanisms.objective.admm import AdmmObjectivePerturbation
from confide.mechanisms.objective.perturbation import ObjectivePerturbation
from confide.mechanisms.output import OutputPerturbation
from confide.mechanisms.ranges.mechanism import Ranges, WithRanges
from confide.mechanisms.release import (
    IntervalRelease,
    NoiseRecord,
    RangeRelease,
    Release,
    RowBounds,
)
from confide.mechanisms.statistics.adassp import AdaSsp
from confide.mechanisms.statistics.functional import FunctionalMechanism
from confide.mechanisms.statistics.histogram import ProjectedHistogram
from confide.mechanisms.statistics.ssp import SufficientStatistics

__all__ = [
    "MECHANISMS",
    "AdaSsp",
    "AdaptiveObjectivePerturbation",
    "AdmmObjectivePerturbation",
    "Calibration",
    "DpAdmm",
    "FunctionalMechanism",
    "IntervalCalibration",
    "IntervalRelease",
    "Intervals",
    "Mechanism",
    "MomentRelease",
    "Moments",
    "MomentumDescent",
    "MpAdmm",
    "Need",
    "NoiseRecord",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "ProjectedHistogram",
    "ProximalSgd",
    "RangeRelease",
    "Ranges",
    "Release",
    "RowBounds",
    "SsAdmm",
    "SufficientStatistics",
    "WithIntervals",
    "WithRanges",
]

_MOVED = (
    "Napp",
    "NappPath",
    "NappStopping",
    "NappTarget",
    "RlsObjective",
    "RlsOut",
)
__getattr__ = moved(__name__, dict.fromkeys(_MOVED, "confide.mechanisms.published"))
