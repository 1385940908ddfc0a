"""The scale of effects, which depends on the link of a model."""

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Link: TypeAlias = Literal["identity", "logit", "log", "softmax", "none"]
COUNTED: Final = ("second", "minute", "hour", "day", "night", "week", "month", "year")
"""Units of time, whose plural ends in s."""


def plural_unit(unit: str) -> str:
    """Return the plural of a unit such as "year"; abbreviations are not changed."""
    return f"{unit}s" if unit in COUNTED else unit


@dataclass(frozen=True, slots=True)
class EffectScale:
    """Scale of the coefficients of a model, with texts that describe it.

    Parameters
    ----------
    link : {"identity", "logit", "log", "softmax", "none"}
        Link function of the model; "none" if only the sign of the score has a meaning.
    target : str, default=""
        Name of the target column.
    outcome : str, default=""
        Label whose probability is modelled.
    unit : str, default=""
        Unit of a numeric target.

    Examples
    --------
    >>> from confide.reporting import EffectScale
    >>> scale = EffectScale("logit", "ill", "yes")
    >>> scale.meaning
    'Effects are on the log-odds of ill = yes: 0.1 multiplies the odds by 1.105.'

    Reports print this sentence above the coefficients of a logistic regression.
    """

    link: Link
    target: str = ""
    outcome: str = ""
    unit: str = ""

    @property
    def predictor(self) -> str:
        """Name of the linear predictor, to which the effects add up."""
        match self.link:
            case "logit":
                return f"log-odds of {self._event}"
            case "log":
                return f"logarithm of the expected {self.target or 'count'}"
            case "identity":
                unit = f" in {plural_unit(self.unit)}" if self.unit else ""
                return f"{self.target or 'target'}{unit}"
            case "softmax":
                return (
                    f"logarithm of the probability of {self._event}, relative to the "
                    "average of the classes"
                )
            case _:
                return "score of the classifier, which has no unit"

    @property
    def ratio(self) -> str:
        """Name of an exponentiated coefficient: "odds ratio", "rate ratio", or empty."""
        return {"logit": "odds ratio", "log": "rate ratio"}.get(self.link, "")

    @property
    def mean(self) -> str:
        """Name of the expected value of the target; empty for "softmax" and "none"."""
        match self.link:
            case "logit":
                return f"probability of {self._event}"
            case "log":
                return f"expected {self.target or 'count'}"
            case "identity":
                return f"expected {self.predictor}"
            case _:
                return ""

    @property
    def _event(self) -> str:
        if not self.outcome:
            return self.target or "the second class"
        return f"{self.target} = {self.outcome}" if self.target else self.outcome

    @property
    def meaning(self) -> str:
        """Sentence that explains how to read a coefficient."""
        match self.link:
            case "logit":
                return (
                    f"Effects are on the {self.predictor}: 0.1 multiplies the odds by "
                    f"{math.exp(0.1):.3f}."
                )
            case "log":
                return (
                    f"Effects are on the {self.predictor}: 0.1 multiplies the rate by "
                    f"{math.exp(0.1):.3f}."
                )
            case "identity":
                of = f" of {self.target}" if self.target else ""
                return f"Effects are in {plural_unit(self.unit) or 'units'}{of}."
            case _:
                return f"Effects are on the {self.predictor}."
