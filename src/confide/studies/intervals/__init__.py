"""Confidence intervals for private empirical risk minimisation."""
