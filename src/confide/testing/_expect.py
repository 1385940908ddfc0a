"""Assertions of contract checks, and checks that mechanisms and selectors share."""

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from confide.accounting import Event, as_pure, as_zcdp, compose
from confide.privacy import Approx, Budget, Pure, Zcdp


def expect(holds: Any, promise: str, *, at: Any = None) -> None:
    """Raise an AssertionError with the text ``promise`` if any of ``holds`` is false."""
    if not np.all(holds):
        where = "" if at is None else f" (broken at {at!r})"
        raise AssertionError(promise + where)


def first_failure(holds: Any, **places: Any) -> dict[str, float] | None:
    """Return the coordinates of the first point where a condition does not hold."""
    failures = np.flatnonzero(~np.asarray(holds))
    if failures.size == 0:
        return None
    return {name: float(np.asarray(p)[failures[0]]) for name, p in places.items()}


BUDGETS: tuple[tuple[Budget, Budget], ...] = (
    (Pure("0.7"), Pure("1.4")),
    (Approx("0.7", "1e-6"), Approx("1.4", "1e-6")),
    (Zcdp("0.05"), Zcdp("0.1")),
)
"""One budget of every kind, paired with a budget of twice its epsilon or rho."""
THEOREM = re.compile(r"[a-z0-9-]+\.md#[a-z0-9-]+")


def check_configuration(part: Any, what: str) -> None:
    """Assert that a component is immutable, and has a name and valid theorem names."""
    expect(bool(part.name), f"{what} must have a name")
    expect(
        all(THEOREM.fullmatch(theorem) for theorem in part.theorems),
        "theorems must be named as page.md#slug",
        at=part.theorems,
    )
    check_frozen(part, what)


def check_frozen(part: Any, what: str) -> None:
    """Assert that a component is a frozen dataclass and hashable."""
    expect(is_dataclass(part), f"{what} must be a frozen dataclass")
    hash(part)
    for field in fields(part):
        try:
            setattr(part, field.name, getattr(part, field.name))
        except AttributeError:
            continue
        raise AssertionError(f"{what} must be frozen, but {field.name} can be set")


def check_events(budget: Budget, events: Sequence[Event]) -> None:
    """Assert that accounting events compose to a budget.

    For pure epsilon and zCDP, the cost must equal the budget. For (epsilon, delta), the
    computed epsilon may exceed that of the budget by at most 0.1 %.
    """
    match budget:
        case Pure(epsilon=epsilon):
            pure = as_pure(events)
            expect(
                pure is not None and pure.epsilon == epsilon,
                f"the events must add up to ε = {epsilon} exactly",
                at=events,
            )
        case Zcdp(rho=rho):
            total = as_zcdp(events)
            expect(
                total is not None and abs(float(total.rho / rho) - 1) <= 1e-9,
                f"the events must add up to ρ = {float(rho):g}",
                at=events,
            )
        case Approx(epsilon=epsilon, delta=delta):
            together = compose(events, delta)
            expect(
                float(together.epsilon) <= float(epsilon) * (1 + 1e-3),
                f"the events must compose to at most ε = {float(epsilon):g}",
                at=float(together.epsilon),
            )
