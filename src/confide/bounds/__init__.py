"""Bounds on accuracy that papers state, as functions to hold against simulations."""

from confide.bounds.napp import excess_risk, noise_length, sample_complexity

__all__ = ["excess_risk", "noise_length", "sample_complexity"]
