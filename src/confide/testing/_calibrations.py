"""What mechanisms and selectors promise alike: frozen settings and events that add up."""

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from confide.accounting import Event, as_pure, as_zcdp, compose
from confide.privacy import Approx, Budget, Pure, Zcdp
from confide.testing._expect import expect

BUDGETS: tuple[tuple[Budget, Budget], ...] = (
    (Pure("0.7"), Pure("1.4")),
    (Approx("0.7", "1e-6"), Approx("1.4", "1e-6")),
    (Zcdp("0.05"), Zcdp("0.1")),
)
"""Budgets of every kind, each with its double."""
THEOREM = re.compile(r"[a-z0-9-]+\.md#[a-z0-9-]+")


def check_configuration(part: Any, what: str) -> None:
    """Assert that a part has a name, names theorems, and cannot be changed."""
    expect(bool(part.name), f"{what} must have a name")
    expect(
        all(THEOREM.fullmatch(theorem) for theorem in part.theorems),
        "theorems must be named as page.md#slug",
        at=part.theorems,
    )
    check_frozen(part, what)


def check_frozen(part: Any, what: str) -> None:
    """Assert that a part is a frozen dataclass and can be a key."""
    expect(is_dataclass(part), f"{what} must be a frozen dataclass")
    hash(part)
    for field in fields(part):
        try:
            setattr(part, field.name, getattr(part, field.name))
        except AttributeError:
            continue
        raise AssertionError(f"{what} must be frozen, but {field.name} can be set")


def check_events(budget: Budget, events: Sequence[Event]) -> None:
    """Compare what happens with what was granted: exactly, where that can be said."""
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
