"""Kinds of feature matrices."""
