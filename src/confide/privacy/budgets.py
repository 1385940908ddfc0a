"""Budgets for pure, approximate and zero-concentrated differential privacy."""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeAlias

from confide.errors import InvalidParameter, MixedBudgets

Number: TypeAlias = int | float | str | Fraction | Decimal


MOST_SIGNS = 6000
"""The largest number of characters in a number that is given as a string."""
MOST_EXPONENT = 400
_NUMBER = re.compile(r"[+-]?[\d_]*\.?[\d_]*(?:[eE]([+-]?\d+))?(?:/\d+)?", re.ASCII)


def fraction_of(text: str) -> Fraction:
    """Parse a number such as 0.5, 1e-6 or 1/3 exactly.

    The text is checked before it is evaluated, because 1e1000000000 has a billion digits.

    Parameters
    ----------
    text : str
        A decimal or a fraction of integers, with at most 6,000 characters and an exponent
        between -400 and 400.

    Returns
    -------
    Fraction
        The value of the text, without rounding.

    Raises
    ------
    ValueError
        If the text is not a number, divides by zero, or is unreasonably long.

    Examples
    --------
    One third is represented exactly, so three times it is 1:

    >>> from confide.privacy import fraction_of
    >>> 3 * fraction_of("1/3") == 1
    True
    """
    found = _NUMBER.fullmatch(text) if len(text) <= MOST_SIGNS else None
    if found is None or (found[1] is not None and abs(int(found[1])) > MOST_EXPONENT):
        raise ValueError("a number out of range")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("a fraction with denominator zero") from None


def exact(value: Any, name: str) -> Fraction:
    """Convert a number to a fraction, using the shortest decimal form of a float."""
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, bool):
        try:
            return fraction_of(str(value).strip())
        except ValueError:
            pass
    raise InvalidParameter(name, "a finite number", value, "Write it as 0.5 or 1e-6.")


def _positive(value: Any, name: str) -> Fraction:
    number = exact(value, name)
    if number <= 0:
        raise InvalidParameter(
            name, "greater than 0", value, "A budget of zero allows no release."
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
"""Accepted ranges of the parameters of budgets. Values outside are almost certainly typing
errors, and doubles cannot distinguish very small ones from zero."""


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"


@dataclass(frozen=True, slots=True, init=False)
class _Budget:
    """Arithmetic for budgets of all types; different types cannot be mixed."""

    fields: ClassVar[tuple[str, ...]]

    def _parts(self) -> tuple[Fraction, ...]:
        return tuple(getattr(self, name) for name in self.fields)

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            raise MixedBudgets(
                f"{type(self).__name__} and {type(other).__name__} cannot be added: "
                "convert one of them explicitly first (confide.privacy.conversions)."
            )
        pairs = zip(self._parts(), other._parts(), strict=True)
        return type(self)(*(a + b for a, b in pairs))

    def share(self, fraction: Number) -> Self:
        """Return a part of the budget; the remainder is ``share(1 - fraction)``.

        Parameters
        ----------
        fraction : int, float, str, Fraction or Decimal
            The fraction, above 0 and at most 1. A larger fraction means less noise in this
            part, and leaves less budget for other parts.

        Returns
        -------
        Pure, Approx or Zcdp
            A budget of the same type, with all parameters multiplied by the fraction.

        Raises
        ------
        InvalidParameter
            If the fraction is not in (0, 1].
        """
        part = exact(fraction, "fraction")
        if not 0 < part <= 1:
            raise InvalidParameter("fraction", "in (0, 1]", fraction)
        return type(self)(*(part * value for value in self._parts()))

    def split(self, ways: int) -> tuple[Self, ...]:
        """Split the budget into equal parts that add up to it exactly.

        Parameters
        ----------
        ways : int
            The number of parts, at least 1.

        Returns
        -------
        tuple of Pure, Approx or Zcdp
            The parts, all equal and of the same type as the budget.

        Raises
        ------
        InvalidParameter
            If ``ways`` is less than 1.
        """
        if ways < 1:
            raise InvalidParameter("ways", "at least 1", ways)
        return (self.share(Fraction(1, ways)),) * ways


@dataclass(frozen=True, slots=True, init=False)
class Pure(_Budget):
    """Budget of pure differential privacy: every likelihood ratio is at most exp(epsilon).

    A release changes the odds that a particular person is in the table by a factor of at
    most exp(epsilon). Budgets of the same type can be added with ``+`` (sequential
    composition), and are compared exactly.

    Parameters
    ----------
    epsilon : int, float, str, Fraction or Decimal
        Privacy loss, between 1e-12 and 1e12; common values are 0.1 to 2. Larger values mean
        less noise and less privacy. Public. A string such as ``"1/3"`` is parsed exactly.

    Attributes
    ----------
    epsilon : Fraction
        The exact value of epsilon.

    Raises
    ------
    InvalidParameter
        If epsilon is not a number in this range.

    Examples
    --------
    Two analyses of the same people, each with epsilon 0.5, have epsilon 1 in total:

    >>> from confide import Pure
    >>> Pure(0.5) + Pure(0.5)
    Pure(1)

    One fifth is reserved for ranges, and the remainder is left for the fit:

    >>> Pure(1).share(0.2), Pure(1).share(0.8)
    (Pure(0.2), Pure(0.8))
    """

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
    """Budget of approximate differential privacy; addition is basic composition.

    The probability of an event for one table is at most exp(epsilon) times its probability
    for a neighbouring table, plus delta.

    Parameters
    ----------
    epsilon : int, float, str, Fraction or Decimal
        Privacy loss, between 1e-12 and 1e12; common values are 0.1 to 2. Larger values mean
        less noise and less privacy. Public.
    delta : int, float, str, Fraction or Decimal
        Probability with which the bound by epsilon may fail, between 1e-300 and 1. Choose
        it far below 1 divided by the number of rows, for instance 1e-6. Public.

    Attributes
    ----------
    epsilon : Fraction
        The exact value of epsilon.
    delta : Fraction
        The exact value of delta.

    Raises
    ------
    InvalidParameter
        If epsilon or delta is not a number in the accepted range.

    Examples
    --------
    The parameters of two releases are added:

    >>> from confide import Approx
    >>> Approx(1, 1e-6) + Approx(0.5, 1e-6)
    Approx(1.5, 2e-06)

    The parts add up to the budget exactly, unlike floating-point numbers:

    >>> first, second, third = Approx(1, 1e-6).split(3)
    >>> first + second + third == Approx(1, 1e-6)
    True
    """

    epsilon: Fraction
    delta: Fraction
    fields: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    def __init__(self, epsilon: Number, delta: Number) -> None:
        small = _positive(delta, "delta")
        if small >= 1:
            raise InvalidParameter(
                "delta",
                "below 1",
                delta,
                "Choose a value far below 1 divided by the number of rows.",
            )
        object.__setattr__(self, "epsilon", _positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", small)

    def __str__(self) -> str:
        return f"ε = {_short(self.epsilon)}, δ = {_short(self.delta)}"

    def __repr__(self) -> str:
        return f"Approx({_short(self.epsilon)}, {_short(self.delta)})"


@dataclass(frozen=True, slots=True, init=False)
class Zcdp(_Budget):
    """Budget of zero-concentrated differential privacy (Bun and Steinke 2016).

    For every order alpha above 1 the Rényi divergence between the distributions of a
    release under two neighbouring tables is at most rho times alpha. For many
    releases with Gaussian noise, adding rho gives a smaller total cost than adding epsilon
    and delta.

    Parameters
    ----------
    rho : int, float, str, Fraction or Decimal
        Privacy loss, between 1e-24 and 1e12; common values are 0.005 to 0.5. Larger values
        mean less noise and less privacy. Public.

    Attributes
    ----------
    rho : Fraction
        The exact value of rho.

    Raises
    ------
    InvalidParameter
        If rho is not a number in this range.

    Examples
    --------
    Ten releases with rho 0.01 have rho 0.1, or an epsilon of about 2.1 at delta 1e-6:

    >>> from confide import Zcdp
    >>> from confide.privacy import zcdp_to_approx
    >>> total = sum([Zcdp("0.01")] * 9, Zcdp("0.01"))
    >>> total
    Zcdp(0.1)
    >>> round(float(zcdp_to_approx(total, 1e-6).epsilon), 1)
    2.1
    """

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
    """Return a budget unchanged, or raise an error with examples of budgets.

    Parameters
    ----------
    budget : object
        The argument to check.

    Returns
    -------
    Pure, Approx or Zcdp
        The same object.

    Raises
    ------
    InvalidParameter
        If it is not a budget. A bare number is not accepted, because it does not specify
        the type of privacy.

    Examples
    --------
    >>> from confide.privacy import Pure, check_budget
    >>> check_budget(Pure(1))
    Pure(1)
    >>> check_budget(1.0)
    Traceback (most recent call last):
    confide.errors.InvalidParameter: budget must be a privacy budget; got 1.0. Pass ...
    """
    if isinstance(budget, Pure | Approx | Zcdp):
        return budget
    raise InvalidParameter(
        "budget",
        "a privacy budget",
        budget,
        "Pass Pure(1.0), Approx(1.0, 1e-6) or Zcdp(0.05).",
    )
