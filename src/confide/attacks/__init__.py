"""Attacks: exact privacy losses in low dimension, and black-box audits in any."""

from confide.attacks.audit import Audit, gaussian_audit, threshold_audit
from confide.attacks.exact import (
    Law,
    Records,
    exact_pair,
    hockey_stick,
    max_log_ratio,
)

__all__ = [
    "Audit",
    "Law",
    "Records",
    "exact_pair",
    "gaussian_audit",
    "hockey_stick",
    "max_log_ratio",
    "threshold_audit",
]
