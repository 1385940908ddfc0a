"""What a charge proved for one neighbour relation counts under the other.

Replacing a record is removing it and adding another: a charge for add-remove costs more
under replace-one, and never less. A charge for replace-one may give away the number of
rows, so it says nothing under add-remove. docs/proofs/relations.md has the theorems.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from confide.accounting.composition import as_pure
from confide.accounting.events import Event, GaussianEvent, SubsampledGaussianEvent
from confide.ledger.amounts import Amount, charge_amount
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Zcdp,
    gaussian_delta,
    group_delta,
)

LARGEST_EXPONENT = 700


def cost(
    budget: Budget,
    events: Sequence[Event],
    proved_for: Neighbours | None,
    limit: Budget,
    stated_for: Neighbours | None,
) -> Amount | None:
    """Return what a charge counts against a limit that is stated for a relation.

    None where the charge says nothing under it. A charge whose relation is not known
    counts like one for add-remove, the dearer of the two.
    """
    if stated_for is None or proved_for is stated_for:
        return charge_amount(budget, events, limit)
    if stated_for is Neighbours.ADD_REMOVE:
        return None
    return _replaced(budget, events, limit)


def _replaced(budget: Budget, events: Sequence[Event], limit: Budget) -> Amount:
    """Return what a charge for add-remove counts against a limit for replace-one."""
    match limit, budget:
        case Approx(), Approx(epsilon=epsilon):
            return Amount(Approx, (2 * epsilon, _replaced_delta(budget, events)))
        case Approx(), Zcdp(rho=rho):
            return charge_amount(Zcdp(4 * rho), (), limit)
        case _:
            factor = 4 if isinstance(limit, Zcdp) else 2
            return charge_amount(budget, events, limit).scaled(factor)


def _replaced_delta(budget: Approx, events: Sequence[Event]) -> Fraction:
    """Return delta at 2 epsilon: (1 + exp(epsilon)) delta, or less by the events."""
    known = [Fraction(1)]
    if budget.epsilon <= LARGEST_EXPONENT:
        known.append(group_delta(budget.epsilon, budget.delta, 2))
    pure, shift = as_pure(events), _shift(events)
    if pure is not None and pure.epsilon <= budget.epsilon:
        known.append(budget.delta)
    if shift is not None:
        # As in `gaussian_mu`, the shift bears the rounding.
        twice = 2 * (shift * (1 + 1e-10) + 1e-14)
        exact = gaussian_delta(float(2 * budget.epsilon), twice)
        known.append(Fraction(repr(exact)))
    return max(budget.delta, min(known))


def _shift(events: Sequence[Event]) -> float | None:
    """Return the Gaussian shift that all events are together, if they are one."""
    shifts = []
    for event in events:
        match event:
            case GaussianEvent(mu) | SubsampledGaussianEvent(full=GaussianEvent(mu)):
                shifts.append(mu)
            case _:
                return None
    return math.hypot(*shifts) if shifts else None
