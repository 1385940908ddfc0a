"""Budgets, conversions between their kinds, and budgets of persons with several rows."""

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeAlias, assert_never

from scipy.optimize import minimize_scalar

from confide.errors import InvalidParameter, MixedBudgets
from confide.privacy.rounding import FUNCTION_ERROR, round_down, round_up

Number: TypeAlias = int | float | str | Fraction | Decimal


MOST_SIGNS = 6000
"""Longer numbers come from no budget that a person wrote, nor from sums of them."""
MOST_EXPONENT = 400
_NUMBER = re.compile(r"[+-]?[\d_]*\.?[\d_]*(?:[eE]([+-]?\d+))?(?:/\d+)?", re.ASCII)


def fraction_of(text: str) -> Fraction:
    """Read a number such as 0.5, 1e-6 or 1/3; ValueError if it is none.

    Looked at before it is computed: 1e1000000000 has a billion digits.
    """
    found = _NUMBER.fullmatch(text) if len(text) <= MOST_SIGNS else None
    if found is None or (found[1] is not None and abs(int(found[1])) > MOST_EXPONENT):
        raise ValueError("no number of a sensible size")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("a fraction of nothing") from None


def exact(value: Any, name: str) -> Fraction:
    """Turn a number into the fraction that its shortest decimal denotes."""
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, bool):
        try:
            return fraction_of(str(value).strip())
        except ValueError:
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
                "convert one of them by name first (confide.privacy.budgets)."
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


def pure_to_approx(budget: Pure, delta: Number) -> Approx:
    """Pure privacy is approximate privacy at any delta, and the delta buys nothing."""
    return Approx(budget.epsilon, delta)


def pure_to_zcdp(budget: Pure) -> Zcdp:
    """Pure epsilon implies zCDP with rho = epsilon²/2 (Bun and Steinke 2016)."""
    return Zcdp(budget.epsilon**2 / 2)


def zcdp_to_approx(budget: Zcdp, delta: Number) -> Approx:
    """Best Renyi order of the conversion by Canonne, Kamath and Steinke (2020)."""
    epsilon = _renyi_line_epsilon(round_up(budget.rho), _check_delta(delta))
    return Approx(repr(max(round_up(epsilon), 1e-12)), delta)


def approx_to_zcdp(epsilon: Number, delta: Number) -> Zcdp:
    """Return the largest rho whose zCDP implies (epsilon, delta), rounded down."""
    goal, small = round_down(exact(epsilon, "epsilon")), _check_delta(delta)
    low, high = 0.0, 1.0
    while _renyi_line_epsilon(high, small) <= goal:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if _renyi_line_epsilon(middle, small) <= goal:
            low = middle
        else:
            high = middle
    return Zcdp(repr(round_down(low)))


def _check_delta(delta: Number) -> float:
    small = exact(delta, "delta")
    if not 0 < small < 1:
        raise InvalidParameter("delta", "between 0 and 1", delta)
    return round_down(small)


def _renyi_line_epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon over orders alpha when the Renyi divergence is rho·alpha.

    Every order gives a valid epsilon, so an imperfect minimum is still sound. What the
    terms are off is added.
    """

    def at(log_excess: float) -> float:
        alpha = 1 + math.exp(log_excess)
        line, part = rho * alpha, math.log1p(-1 / alpha)
        tail, odds = -math.log(delta) / (alpha - 1), math.log(alpha) / (alpha - 1)
        size = line - part + tail + odds + 1 / (alpha - 1)
        return line + part + tail - odds + FUNCTION_ERROR * size

    guess = 0.5 * math.log(math.log(1 / delta) / rho)
    best = minimize_scalar(
        at, bounds=(guess - 4, guess + 4), method="bounded", options={"xatol": 1e-10}
    )
    return max(0.0, float(best.fun))


LARGEST_EXPONENT = 700
DIGITS = 120
SLACK = Fraction(1, 10**60)


def row_budget(budget: Budget, rows_per_person: int) -> Budget:
    """Return what a fit may spend per row so that a person is protected by ``budget``.

    Tables that differ in one person differ in k rows at most: they are joined by a chain
    of k + 1 tables, each a neighbour of the next.

    - Pure: the ratios along the chain multiply, so epsilon/k per row.
    - zCDP: k rows cost k² rho (Bun and Steinke 2016, proposition 1.9), so rho/k².
    - (epsilon, delta): with e = epsilon/k and d per row, P₀ <= exp(e)P₁ + d, P₁ <=
      exp(e)P₂ + d and so on give P₀ <= exp(ke)Pₖ + d(1 + exp(e) + ... + exp((k−1)e)); so
      d = delta over that sum, rounded down.
    """
    k = rows_per_person
    if k == 1:
        return budget
    try:
        match budget:
            case Pure(epsilon=epsilon):
                return Pure(epsilon / k)
            case Zcdp(rho=rho):
                return Zcdp(rho / k**2)
            case Approx(epsilon=epsilon, delta=delta):
                return Approx(epsilon / k, _row_delta(epsilon, delta, k))
            case _:
                assert_never(budget)
    except InvalidParameter:
        raise InvalidParameter(
            "rows_per_person",
            f"small enough for group privacy: {budget} leaves next to nothing per row",
            k,
            "Spend more, or keep fewer rows of every person.",
        ) from None


def _row_delta(epsilon: Fraction, delta: Fraction, k: int) -> Fraction:
    """Return delta over the sum of exp(i·epsilon/k) for i < k, rounded down."""
    if epsilon > LARGEST_EXPONENT:
        raise InvalidParameter("epsilon", f"at most {LARGEST_EXPONENT}", float(epsilon))
    small = delta / _geometric_sum(epsilon / k, k)
    unit = _unit(small)
    return Fraction(small.numerator * unit // small.denominator, unit)


def group_delta(epsilon: Fraction, delta: Fraction, rows_per_person: int) -> Fraction:
    """Return the delta that k rows have at k·epsilon if one has (epsilon, delta).

    It is delta times the sum of exp(i·epsilon) for i < k, rounded up; see `row_budget`.
    """
    large = delta * _geometric_sum(epsilon, rows_per_person)
    unit = _unit(large)
    return Fraction(-(-large.numerator * unit // large.denominator), unit)


def _geometric_sum(x: Fraction, k: int) -> Fraction:
    """Return Σ exp(i·x) for i < k, that is (exp(kx) − 1)/(exp(x) − 1), rounded up.

    Decimal's exponential is correctly rounded: of 120 digits far more than 60 outlive
    the cancellation that the smallest epsilon can bring, and the slack covers the rest.
    """
    top = _exp(k * x, ROUND_CEILING) - 1
    bottom = _exp(x, ROUND_FLOOR) - 1
    return top / bottom * (1 + SLACK)


def _unit(value: Fraction) -> int:
    """Return a power of ten that keeps twenty digits of a fraction below one."""
    return int(10 ** (len(str(int(1 / value))) + 20))


def _exp(x: Fraction, rounding: str) -> Fraction:
    context = Context(prec=DIGITS, rounding=rounding)
    power = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    return Fraction(context.exp(power))
