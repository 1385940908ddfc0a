"""Scores as readers see them: a section of a page, with its plots."""

from confide.evaluation.score import Curve, ModelScore
from confide.privacy import Guarantee
from confide.reporting import ReleasedPlot, ScoreSection


def section_of(score: ModelScore) -> ScoreSection:
    """Return what a page shows of a score."""
    return ScoreSection(
        score.title,
        score.guarantee,
        score.level,
        tuple(map(tuple, score.cells())),
        score.notes,
        tuple(plot_of(curve, score.guarantee) for curve in score.curves),
    )


def plot_of(curve: Curve, guarantee: Guarantee) -> ReleasedPlot:
    """Return a released curve as a plot; intervals are drawn where all points have one."""
    ends = tuple(
        (point.lower, point.upper)
        for point in curve.points
        if point.lower is not None and point.upper is not None
    )
    return ReleasedPlot(
        curve.title,
        tuple((point.x, point.y) for point in curve.points),
        guarantee,
        curve.x_label,
        curve.y_label,
        curve.joined,
        ends if len(ends) == len(curve.points) else (),
        curve.guide,
    )
