"""Scores as sections of HTML pages, with plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.privacy import Guarantee
from confide.reporting import ReleasedPlot, ScoreSection

if TYPE_CHECKING:
    from confide.evaluation.score import Curve, ModelScore


def section_of(score: ModelScore) -> ScoreSection:
    """Return a score as a section of an HTML page.

    Parameters
    ----------
    score : ModelScore
        Released score.

    Returns
    -------
    ScoreSection
        The lines, plots and notes of the score, for `confide.reporting`.

    Examples
    --------
    >>> from confide.evaluation import ModelScore, ScoreEstimate, section_of
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> theorem = "evaluation.md#tables-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> accuracy = ScoreEstimate("accuracy", 0.84, 0.82, 0.86)
    >>> score = ModelScore("Score of a classifier", promise, (), (), 0.95, (accuracy,))
    >>> section_of(score).lines
    (('score', 'estimate', 'lower', 'upper'), ('accuracy', '0.84', '0.82', '0.86'))

    The section has a line of headings, and a line for the accuracy.
    """
    return ScoreSection(
        score.title,
        score.guarantee,
        score.level,
        tuple(tuple(map(_with_minus, line)) for line in score.cells()),
        score.notes,
        tuple(plot_of(curve, score.guarantee) for curve in score.curves),
    )


def _with_minus(cell: str) -> str:
    """Return a cell with a typographic minus sign in place of a hyphen."""
    return f"−{cell[1:]}" if cell.startswith("-") else cell


def plot_of(curve: Curve, guarantee: Guarantee) -> ReleasedPlot:
    """Return a released curve as a plot, with intervals if all points have one."""
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
