"""Estimation of the ranges of columns, with a share of the budget, before a fit."""
