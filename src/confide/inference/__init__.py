"""What can be said about a release; from releases only."""

from confide.inference.summary import Coefficient, Summary

__all__ = ["Coefficient", "Summary"]
