"""Mechanisms that release sums over the rows."""
