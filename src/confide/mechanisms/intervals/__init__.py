"""Confidence intervals, from private moments released together with the coefficients."""
