"""Grids of cells, their runner and their results."""
