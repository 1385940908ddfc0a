"""A mechanism whose guarantee is only claimed: that of a theorem about real numbers."""

from dataclasses import dataclass, replace
from typing import ClassVar

from confide.mechanisms import OutputPerturbation
from confide.privacy.guarantee import EXACT


@dataclass(frozen=True, slots=True)
class DoubleOutput(OutputPerturbation):
    """Output perturbation that names the theorem about real numbers."""

    name: ClassVar[str] = "output-in-doubles"

    def calibrate(self, objective, budget, neighbours, *, copies=1):
        found = OutputPerturbation.calibrate(
            self, objective, budget, neighbours, copies=copies
        )
        return replace(found, theorem=found.theorem.removesuffix(EXACT))
