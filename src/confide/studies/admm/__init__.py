"""Renyi-private ADMM."""
