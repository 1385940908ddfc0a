"""Mechanisms: one file each, all of them calibrated without data."""

from confide.mechanisms.adaptive import AdaptiveObjectivePerturbation
from confide.mechanisms.adassp import AdaSsp
from confide.mechanisms.admm_objective import AdmmObjectivePerturbation
from confide.mechanisms.base import MECHANISMS, Calibration, Mechanism
from confide.mechanisms.dp_admm import DpAdmm
from confide.mechanisms.functional import FunctionalMechanism
from confide.mechanisms.histogram import ProjectedHistogram
from confide.mechanisms.interval_budget import (
    IntervalCalibration,
    calibrate_with_intervals,
)
from confide.mechanisms.moments import MomentRelease, Moments
from confide.mechanisms.momentum import MomentumDescent
from confide.mechanisms.mpadmm import MpAdmm
from confide.mechanisms.napp import Napp
from confide.mechanisms.napp_path import NappPath, NappStopping
from confide.mechanisms.napp_weights import NappTarget
from confide.mechanisms.needs import Need
from confide.mechanisms.objective import ObjectivePerturbation
from confide.mechanisms.output import OutputPerturbation
from confide.mechanisms.release import NoiseRecord, Release
from confide.mechanisms.rls_objective import RlsObjective
from confide.mechanisms.rls_out import RlsOut
from confide.mechanisms.sgd import ProximalSgd
from confide.mechanisms.ssadmm import SsAdmm
from confide.mechanisms.ssp import SufficientStatistics

__all__ = [
    "MECHANISMS",
    "AdaSsp",
    "AdaptiveObjectivePerturbation",
    "AdmmObjectivePerturbation",
    "Calibration",
    "DpAdmm",
    "FunctionalMechanism",
    "IntervalCalibration",
    "Mechanism",
    "MomentRelease",
    "Moments",
    "MomentumDescent",
    "MpAdmm",
    "Napp",
    "NappPath",
    "NappStopping",
    "NappTarget",
    "Need",
    "NoiseRecord",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "ProjectedHistogram",
    "ProximalSgd",
    "Release",
    "RlsObjective",
    "RlsOut",
    "SsAdmm",
    "SufficientStatistics",
    "calibrate_with_intervals",
]
