"""Needs: hypotheses of theorems about the objective, each with a remedy if it fails."""

from collections.abc import Callable
from dataclasses import dataclass

from confide.errors import MissingPublicBound, UnmetNeeds
from confide.objectives import Objective, has_exact_prox, is_hinge, is_multinomial


@dataclass(frozen=True, slots=True)
class Need:
    """Hypothesis of a theorem, with a check and a remedy.

    Parameters
    ----------
    name : str
        Name of the hypothesis.
    holds : callable
        Function that returns whether the hypothesis holds for an objective.
    remedy : str
        Advice if the hypothesis does not hold.

    Examples
    --------
    >>> from confide.mechanisms import Need
    >>> from confide.objectives import Logistic, Objective
    >>> small = Need("ten columns", lambda one: one.dimension <= 10, "use fewer columns")
    >>> small.holds(Objective(Logistic(), dimension=3))
    True

    An objective with three coefficients meets the need.
    """

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
    "a loss with positive curvature, so that estimates are approximately normal",
    lambda objective: objective.loss.smooth,
    "use the huberized hinge",
)


SMOOTH_PENALTY = Need(
    "a smooth penalty, so that estimates are approximately normal",
    lambda objective: objective.nonsmooth_part is None,
    "set l1 to 0",
)


SMOOTH_LOSS = Need(
    "a loss with a continuous slope",
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
    lambda objective: has_exact_prox(objective.nonsmooth_part, objective.constraint),
    "combine the nuclear norm with an l2 ball or with no constraint",
)


ONE_RESPONSE = Need(
    "a single target per record",
    lambda objective: objective.responses == 1 or is_multinomial(objective.loss),
    "use mechanism='momentum', 'mpadmm', 'ssadmm' or 'sgd'",
)


ONE_SCORE = Need(
    "a loss with one linear predictor per record",
    lambda objective: not is_multinomial(objective.loss),
    "use multi_class='one-vs-rest', or mechanism='objective' or 'output'",
)


SEVERAL_SCORES = Need(
    "a multinomial model without penalty or constraint, or a model with one linear "
    "predictor per record",
    lambda objective: (
        not is_multinomial(objective.loss)
        or (objective.penalty is None and objective.constraint is None)
    ),
    "leave out penalty and constraint, or use multi_class='one-vs-rest'",
)


SEVERAL_RESPONSES = Need(
    "a declared number of targets per record",
    lambda objective: objective.responses >= 1,
    "declare it",
)


EQUAL_RECORDS = Need(
    "records of equal weight",
    lambda objective: not objective.weighted,
    "use mechanism='objective' or 'output'",
)


PLAIN_RECORDS = Need(
    "records without case weights",
    lambda objective: not objective.case_weights,
    "use mechanism='objective' or 'output', or leave out the weights",
)


CASE_WEIGHTS = Need(
    "records of equal weight, or with weights of at most 1",
    lambda objective: objective.row_norm <= objective.reach,
    "declare a cap on the weights",
)


NO_OFFSET = Need(
    "margins without an offset",
    lambda objective: not objective.offset_bound,
    "use mechanism='objective' or 'output', or leave out the offset",
)


OFFSETS = Need(
    "margins without an offset, or a single target per record",
    lambda objective: not objective.offset_bound or objective.responses == 1,
    "leave out the offset",
)


WEIGHTED_RECORDS = Need(
    "records of equal weight, or with weights that decrease with the norm of the row",
    lambda objective: objective.row_norm <= objective.reach,
    "declare a bound on the norm of rows",
)


PLAIN_HINGE = Need(
    "a smooth loss, or the plain hinge",
    lambda objective: objective.loss.smooth or is_hinge(objective.loss),
    "use the huberized hinge with a small width",
)


def check_needs(mechanism: str, needs: tuple[Need, ...], objective: Objective) -> None:
    """Raise one error that lists all unmet needs, with a remedy for each.

    Some needs apply to every mechanism by default: one target and one score per record,
    records of equal weight, no case weights, and no offset. A mechanism lifts such a
    default by including the more permissive need, for example `OFFSETS`.
    """
    every = needs if WEIGHTED_RECORDS in needs else (*needs, EQUAL_RECORDS)
    every = every if CASE_WEIGHTS in needs else (*every, PLAIN_RECORDS)
    every = every if OFFSETS in needs else (*every, NO_OFFSET)
    if SEVERAL_RESPONSES not in needs and ONE_RESPONSE not in needs:
        every = (*every, ONE_RESPONSE)
    if SEVERAL_SCORES not in needs:
        every = (*every, ONE_SCORE)
    unmet = tuple((n.name, n.remedy) for n in every if not n.holds(objective))
    if unmet:
        raise UnmetNeeds(mechanism, unmet)
