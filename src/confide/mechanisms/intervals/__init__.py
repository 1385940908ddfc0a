"""Moments released beside coefficients, for intervals."""
