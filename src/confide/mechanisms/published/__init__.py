"""Mechanisms as published in papers, for comparison.

The privacy claims of some of them have been refuted.
"""

from confide.mechanisms.published.mpadmm import PublishedMpAdmm
from confide.mechanisms.published.napp.iterations import NappPath, NappStopping
from confide.mechanisms.published.napp.mechanism import Napp
from confide.mechanisms.published.napp.weights import NappTarget
from confide.mechanisms.published.rls import RlsObjective, RlsOut

__all__ = [
    "Napp",
    "NappPath",
    "NappStopping",
    "NappTarget",
    "PublishedMpAdmm",
    "RlsObjective",
    "RlsOut",
]
