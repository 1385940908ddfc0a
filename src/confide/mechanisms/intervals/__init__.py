"""Intervals, from moments that are released together with the coefficients."""
