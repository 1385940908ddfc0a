"""A score as a section of a page."""

import pytest

from confide.evaluation import ModelScore, ScoreEstimate, section_of
from confide.privacy import Guarantee, Neighbours, Pure, Status

THEOREM = "evaluation.md#tables-exact"
PROMISE = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, THEOREM)


def test_a_notebook_shows_the_guarantee_and_every_score():
    hidden = ScoreEstimate("area <b>", None, 0.0, 1.0)
    line = ScoreEstimate("accuracy", 0.84, 0.82, 0.86)
    score = ModelScore(
        "Score of a classifier", PROMISE, (), (), 0.95, (line, hidden), notes=("A note.",)
    )
    shown = score._repr_html_()
    for text in (
        "ε = 1, add-remove neighbours",
        "accuracy",
        "0.84",
        "A note.",
        "&lt;b&gt;",
    ):
        assert text in shown
    assert "area <b>" not in shown


def test_a_name_that_a_score_lacks_is_told_the_others():
    line = ScoreEstimate("accuracy", 0.84, 0.82, 0.86)
    score = ModelScore("Score of a classifier", PROMISE, (), (), 0.95, (line,))
    with pytest.raises(KeyError, match=r"no estimate 'auc'; choose one of \['accuracy'\]"):
        score["auc"]


def test_a_page_has_minus_signs_and_not_hyphens():
    line = ScoreEstimate("mean residual", 1e-7, -0.25, 0.5)
    score = ModelScore("Score of a regression", PROMISE, (), (), 0.95, (line,))
    assert section_of(score).lines[1] == ("mean residual", "1e-07", "−0.25", "0.5")
