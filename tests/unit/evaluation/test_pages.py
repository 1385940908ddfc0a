"""A score as a section of a page."""

from confide.evaluation import ModelScore, ScoreEstimate, section_of
from confide.privacy import Guarantee, Neighbours, Pure, Status


def test_a_page_has_minus_signs_and_not_hyphens():
    theorem = "evaluation.md#tables-exact"
    promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    line = ScoreEstimate("mean residual", 1e-7, -0.25, 0.5)
    score = ModelScore("Score of a regression", promise, (), (), 0.95, (line,))
    assert section_of(score).lines[1] == ("mean residual", "1e-07", "−0.25", "0.5")
