"""Bounded private rows in memory, block by block."""
