"""Objective perturbation and its variants."""
