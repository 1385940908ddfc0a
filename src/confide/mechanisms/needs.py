"""The hypotheses of a theorem as objects: all are checked, every failure is reported."""

from collections.abc import Callable
from dataclasses import dataclass

from confide.errors import MissingPublicBound, UnmetNeeds
from confide.objectives import Objective, has_exact_prox
from confide.solvers import can_certify


@dataclass(frozen=True, slots=True)
class Need:
    """A hypothesis, how to tell whether it holds, and what to do if it does not."""

    name: str
    holds: Callable[[Objective], bool]
    remedy: str


def _bounded_slope(objective: Objective) -> bool:
    try:
        return objective.slope_bound < float("inf")
    except MissingPublicBound:
        return False


BOUNDED_SLOPE = Need(
    "a loss with a bounded slope",
    _bounded_slope,
    "declare the missing public bounds (target_bound, coef_norm) or clip the slope "
    "(slope_bound)",
)
CURVED_LOSS = Need(
    "a loss with a curvature, so that estimates are near normal",
    lambda objective: objective.loss.smooth,
    "use the huberized hinge",
)
NO_KINK = Need(
    "a penalty without a kink, so that estimates are near normal",
    lambda objective: objective.kink is None,
    "set l1 to 0",
)
SMOOTH_LOSS = Need(
    "a loss whose slope does not jump",
    lambda objective: objective.loss.smooth,
    "use the huberized hinge, or mechanism='output'",
)
CONVEX_PENALTY = Need(
    "a convex penalty",
    lambda objective: objective.penalty is None or objective.penalty.convex,
    "use l1, elastic net or group l2 instead of SCAD or MCP",
)
EXACT_PROX = Need(
    "a penalty and a constraint with an exact joint proximal map",
    lambda objective: has_exact_prox(objective.kink, objective.constraint),
    "combine the nuclear norm with an l2 ball or with no constraint",
)
ONE_RESPONSE = Need(
    "one target for every record",
    lambda objective: objective.responses == 1,
    "use mechanism='momentum', 'mpadmm', 'ssadmm' or 'sgd'",
)
SEVERAL_RESPONSES = Need(
    "one target for every record, or several",
    lambda objective: objective.responses >= 1,
    "declare how many targets a record has",
)
PLAIN_HINGE = Need(
    "a smooth loss, or the plain hinge with nothing but a ridge",
    lambda objective: objective.loss.smooth or can_certify(objective),
    "use the huberized hinge with a small width",
)


def check_needs(mechanism: str, needs: tuple[Need, ...], objective: Objective) -> None:
    """Raise one error that lists every unmet need with its remedy.

    A mechanism is about one target for every record unless it says otherwise.
    """
    every = needs
    if SEVERAL_RESPONSES not in needs and ONE_RESPONSE not in needs:
        every = (*needs, ONE_RESPONSE)
    unmet = tuple((n.name, n.remedy) for n in every if not n.holds(objective))
    if unmet:
        raise UnmetNeeds(mechanism, unmet)
