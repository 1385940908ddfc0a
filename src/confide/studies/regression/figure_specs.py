"""What each figure of the paper on private regression compares, and what it shows."""

from dataclasses import dataclass
from typing import Final

from confide.studies.regression.methods import PLAIN

GROWING_EPSILON: Final = 0.5
"""Of figure 7, where it is the number of patients that grows."""
FIT = ("data-independent", "oracle")
OURS = ("data-independent, tight", "defaults of confide")
TUNED = ("tuned output, R₁", "tuned output, R₂", "tuned output, tight")
OUTPUT = ("functional", *TUNED, *FIT, OURS[0], "random stopping, tight", OURS[1], PLAIN)


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """What a figure compares, what it shows, and against what."""

    methods: tuple[str, ...]
    shown: tuple[str, ...]
    title: str
    against: str = "epsilon"


PLANS: Final = {
    1: FigureSpec(OUTPUT, ("error",), "Error of the dose by ε: output perturbation"),
    2: FigureSpec(
        (*FIT, "oracle, noise included", *OURS, PLAIN),
        ("error",),
        "Error of the dose by ε: without a look at the data, and in hindsight",
    ),
    3: FigureSpec(
        ("functional", *TUNED, "data-independent", *OURS, PLAIN),
        ("within", "below", "above"),
        "Doses that would be right, too low and too high by ε (bands in place of risks)",
    ),
    4: FigureSpec(
        (
            *("tuned objective, R₁", "tuned objective, R₂"),
            *("objective, data-independent", *FIT, "histogram", *OURS, PLAIN),
        ),
        ("error",),
        "Error of the dose by ε: objective perturbation and histogram",
    ),
    5: FigureSpec(OUTPUT, ("attack", "utility"), "Genotypes guessed by model inversion"),
    6: FigureSpec(
        (*FIT, "oracle, noise included", "objective, data-independent", *OURS, PLAIN),
        ("attack", "utility"),
        "Genotypes guessed: without a look at the data, and in hindsight",
    ),
    7: FigureSpec(
        (*TUNED, "random stopping, tight", OURS[1], PLAIN),
        ("error", "attack"),
        f"More patients to learn from: error and model inversion at ε = {GROWING_EPSILON}",
        against="share",
    ),
}
