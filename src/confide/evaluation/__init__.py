"""Evaluation of models: private scores and held-out rows."""

from confide.evaluation.counts import CountErrors
from confide.evaluation.estimates import ScoreEstimate
from confide.evaluation.noises import noises_for
from confide.evaluation.numbers import NumberErrors
from confide.evaluation.pages import section_of
from confide.evaluation.paired import PairedLosses
from confide.evaluation.score import Curve, CurvePoint, ModelScore, ScoreRule
from confide.evaluation.score_file import (
    load_score,
    save_score,
    score_content,
    score_record,
)
from confide.evaluation.several_classes import SeveralClasses
from confide.evaluation.two_classes import FARTHEST_SCORE, TwoClasses, fine_edges

__all__ = [
    "FARTHEST_SCORE",
    "CountErrors",
    "Curve",
    "CurvePoint",
    "ModelScore",
    "NumberErrors",
    "PairedLosses",
    "ScoreEstimate",
    "ScoreRule",
    "SeveralClasses",
    "TwoClasses",
    "fine_edges",
    "load_score",
    "noises_for",
    "save_score",
    "score_content",
    "score_record",
    "section_of",
]
