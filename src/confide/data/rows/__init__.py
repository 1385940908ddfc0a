"""Bounded private rows in memory, which are processed in blocks."""
