"""What effects are measured in: the words and the ratio of a link."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Link: TypeAlias = Literal["identity", "logit", "log", "softmax", "none"]


@dataclass(frozen=True, slots=True)
class EffectScale:
    """The scale of a linear predictor: its link, and the target in words.

    ``link`` is "none" where a score means nothing but its sign. ``target`` is the
    column, ``outcome`` the positive label, ``unit`` that of a number.
    """

    link: Link
    target: str = ""
    outcome: str = ""
    unit: str = ""

    @property
    def predictor(self) -> str:
        """What a coefficient adds to."""
        match self.link:
            case "logit":
                return f"log-odds of {self._event}"
            case "log":
                return f"logarithm of the expected {self.target or 'count'}"
            case "identity":
                return f"{self.target or 'target'}{f' in {self.unit}' if self.unit else ''}"
            case "softmax":
                return (
                    f"logarithm of the probability of {self._event}, against the average "
                    "of the classes"
                )
            case _:
                return "score of the classifier, which has no unit"

    @property
    def ratio(self) -> str:
        """What e to a coefficient is called; empty where it means nothing."""
        return {"logit": "odds ratio", "log": "rate ratio"}.get(self.link, "")

    @property
    def mean(self) -> str:
        """What is expected of a row."""
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
        """How to read a coefficient, in a sentence."""
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
                return f"Effects are in {self.unit or 'units'}{of}."
            case _:
                return f"Effects are on the {self.predictor}."
