"""A mechanism whose guarantee is only claimed: noise in doubles, as a theorem is not about."""

from dataclasses import dataclass, replace
from typing import ClassVar

from confide.mechanisms import OutputPerturbation

CLAIMED = {
    "output-perturbation.md#output-pure-exact": "output-perturbation.md#output-pure",
    "output-perturbation.md#output-gaussian-exact": "output-perturbation.md#output-gaussian",
}


@dataclass(frozen=True, slots=True)
class DoubleOutput(OutputPerturbation):
    """Output perturbation that names the theorem about real numbers."""

    name: ClassVar[str] = "output-in-doubles"

    def calibrate(self, objective, budget, neighbours, *, copies=1):
        found = OutputPerturbation.calibrate(
            self, objective, budget, neighbours, copies=copies
        )
        return replace(found, theorem=CLAIMED[found.theorem])
