"""Mechanisms that step along noisy gradients."""
