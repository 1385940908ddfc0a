"""Privacy budgets: exact, frozen values that refuse to be mixed.

A float enters by its shortest decimal, so ``Pure(0.1)`` ten times over is ``Pure(1)``.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeAlias

from confide.errors import InvalidParameter, MixedBudgets

Number: TypeAlias = int | float | str | Fraction | Decimal


def exact(value: Any, name: str) -> Fraction:
    """Turn a number into the fraction that its shortest decimal denotes."""
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, bool):
        try:
            return Fraction(str(value).strip())
        except (ValueError, ZeroDivisionError):
            pass
    raise InvalidParameter(name, "a finite number", value, "Write it like 0.5 or 1e-6.")


def _positive(value: Any, name: str) -> Fraction:
    number = exact(value, name)
    if number <= 0:
        raise InvalidParameter(
            name, "greater than 0", value, "A budget of nothing releases nothing."
        )
    low, high = SENSIBLE[name]
    if not low <= number <= high:
        raise InvalidParameter(name, f"between {float(low):g} and {float(high):g}", value)
    return number


SENSIBLE = {
    "epsilon": (Fraction(1, 10**12), Fraction(10**12)),
    "delta": (Fraction(1, 10**300), Fraction(1)),
    "rho": (Fraction(1, 10**24), Fraction(10**12)),
}
"""Beyond these a budget is a slip of the pen, and doubles cannot tell it from nothing."""


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"


@dataclass(frozen=True, slots=True, init=False)
class _Budget:
    """What the three kinds share: arithmetic with their own kind only."""

    fields: ClassVar[tuple[str, ...]]

    def _parts(self) -> tuple[Fraction, ...]:
        return tuple(getattr(self, name) for name in self.fields)

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            raise MixedBudgets(
                f"{type(self).__name__} and {type(other).__name__} do not add up: "
                "convert one of them by name first (confide.privacy.conversions)."
            )
        pairs = zip(self._parts(), other._parts(), strict=True)
        return type(self)(*(a + b for a, b in pairs))

    def share(self, fraction: Number) -> Self:
        """Return that part of the budget; what is left is ``share(1 - fraction)``."""
        part = exact(fraction, "fraction")
        if not 0 < part <= 1:
            raise InvalidParameter("fraction", "in (0, 1]", fraction)
        return type(self)(*(part * value for value in self._parts()))

    def split(self, ways: int) -> tuple[Self, ...]:
        """Cut into equal parts that add up to the whole exactly."""
        if ways < 1:
            raise InvalidParameter("ways", "at least 1", ways)
        return (self.share(Fraction(1, ways)),) * ways


@dataclass(frozen=True, slots=True, init=False)
class Pure(_Budget):
    """Pure differential privacy: every likelihood ratio is at most exp(epsilon)."""

    epsilon: Fraction
    fields: ClassVar[tuple[str, ...]] = ("epsilon",)

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", _positive(epsilon, "epsilon"))

    def __str__(self) -> str:
        return f"ε = {_short(self.epsilon)}"

    def __repr__(self) -> str:
        return f"Pure({_short(self.epsilon)})"


@dataclass(frozen=True, slots=True, init=False)
class Approx(_Budget):
    """Approximate differential privacy; addition is basic composition."""

    epsilon: Fraction
    delta: Fraction
    fields: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    def __init__(self, epsilon: Number, delta: Number) -> None:
        small = _positive(delta, "delta")
        if small >= 1:
            raise InvalidParameter(
                "delta", "below 1", delta, "Choose far less than one over the rows."
            )
        object.__setattr__(self, "epsilon", _positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", small)

    def __str__(self) -> str:
        return f"ε = {_short(self.epsilon)}, δ = {_short(self.delta)}"

    def __repr__(self) -> str:
        return f"Approx({_short(self.epsilon)}, {_short(self.delta)})"


@dataclass(frozen=True, slots=True, init=False)
class Zcdp(_Budget):
    """Zero-concentrated differential privacy: D_alpha is at most rho times alpha."""

    rho: Fraction
    fields: ClassVar[tuple[str, ...]] = ("rho",)

    def __init__(self, rho: Number) -> None:
        object.__setattr__(self, "rho", _positive(rho, "rho"))

    def __str__(self) -> str:
        return f"ρ = {_short(self.rho)} (zCDP)"

    def __repr__(self) -> str:
        return f"Zcdp({_short(self.rho)})"


Budget: TypeAlias = Pure | Approx | Zcdp


def check_budget(budget: Any) -> Budget:
    """Return the budget, or say what a budget looks like."""
    if isinstance(budget, Pure | Approx | Zcdp):
        return budget
    raise InvalidParameter(
        "budget",
        "a privacy budget",
        budget,
        "Pass Pure(1.0), Approx(1.0, 1e-6) or Zcdp(0.05).",
    )
