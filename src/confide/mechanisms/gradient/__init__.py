"""Mechanisms that iterate with noisy gradients."""
