"""Calibrations with intervals, from settings by name."""

from confide.mechanisms import Intervals, WithIntervals


def calibrate_with_intervals(
    mechanism, objective, budget, neighbours, *, rows=None, copies=1, **settings
):
    combined = WithIntervals(mechanism, Intervals(**settings), rows)
    return combined.calibrate(objective, budget, neighbours, copies=copies)
