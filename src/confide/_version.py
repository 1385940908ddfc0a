"""The version of confide."""

__version__ = "0.2.0"
