"""Ranges of columns, estimated with a share of the budget before a fit."""
