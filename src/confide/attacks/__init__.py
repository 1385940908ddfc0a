"""Attacks: exact privacy losses in one or two dimensions, audits, and model inversion."""

from confide.attacks.audit import (
    Audit,
    AuditResult,
    black_box_finding,
    exact_finding,
    extreme_pairs,
    gaussian_audit,
    threshold_audit,
)
from confide.attacks.exact_loss import (
    GridLaw,
    Records,
    exact_pair,
    hockey_stick,
    max_log_ratio,
)
from confide.attacks.inversion import Inversion, ModelInversion, evaluate_inversion

__all__ = [
    "Audit",
    "AuditResult",
    "GridLaw",
    "Inversion",
    "ModelInversion",
    "Records",
    "black_box_finding",
    "evaluate_inversion",
    "exact_finding",
    "exact_pair",
    "extreme_pairs",
    "gaussian_audit",
    "hockey_stick",
    "max_log_ratio",
    "threshold_audit",
]
