"""Mechanisms that release noisy sums over the rows."""
