"""Bounds on accuracy that papers state, as functions to hold against simulations."""

from confide.bounds.napp import excess_risk, noise_length, sample_complexity
from confide.bounds.regression import (
    best_penalty,
    convex_excess,
    noise_tail,
    stability,
    strongly_convex_excess,
)

__all__ = [
    "best_penalty",
    "convex_excess",
    "excess_risk",
    "noise_length",
    "noise_tail",
    "sample_complexity",
    "stability",
    "strongly_convex_excess",
]
