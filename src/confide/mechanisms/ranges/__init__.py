"""Ranges of columns, bought from a part of the budget before a fit."""
