"""Exact cost of a charge, given the kind of budget and the neighbour relation of a limit.

Replacing a record amounts to removing it and adding another one, so a charge that was
proved under add-remove never costs less under replace-one. A release that was proved only
under replace-one may reveal the number of rows, so it has no guarantee under add-remove.
The theorems are in docs/proofs/relations.md.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from confide.accounting.composition import as_pure, as_zcdp
from confide.accounting.event_records import event_fields, event_from
from confide.accounting.events import (
    EVENTS,
    Event,
    has_batches,
    whole_shift,
)
from confide.errors import Described, InvalidParameter, MixedBudgets
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    Zcdp,
    fraction_of,
    gaussian_delta,
    group_delta,
    pure_to_zcdp,
    round_down,
    zcdp_to_approx,
)

Kind: TypeAlias = type[Pure] | type[Approx] | type[Zcdp]

KINDS: dict[str, Kind] = {"Pure": Pure, "Approx": Approx, "Zcdp": Zcdp}
SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
DELTA_PART = Fraction(1, 10)
"""The share of the delta of an (epsilon, delta) limit that one zCDP charge uses."""
MOST_BITS = 8192
"""Largest number of bits in the denominator of a stored fraction."""


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount of privacy loss, spent or remaining; unlike a budget, it may be zero.

    Amounts of the same kind can be added and subtracted.

    Parameters
    ----------
    kind : type
        The class of the corresponding budget: Pure, Approx or Zcdp.
    parts : tuple of Fraction
        The exact values of the parameters of that kind of budget.

    Examples
    --------
    >>> from confide import Pure
    >>> from confide.ledger import Amount
    >>> left = Amount.of(Pure(1)) - Amount.of(Pure("0.7"))
    >>> print(left)
    ε = 0.3
    >>> left.within(Amount.of(Pure(1)))
    True
    """

    kind: Kind
    parts: tuple[Fraction, ...]

    @classmethod
    def of(cls, budget: Budget) -> "Amount":
        """Return a budget as an amount.

        Parameters
        ----------
        budget : Pure, Approx or Zcdp
            The budget.

        Returns
        -------
        Amount
            An amount of the same kind with the same parameters.
        """
        parts = tuple(getattr(budget, name) for name in budget.fields)
        return cls(type(budget), parts)

    @classmethod
    def nothing(cls, kind: Kind) -> "Amount":
        """Return the zero amount of a kind of budget.

        Parameters
        ----------
        kind : type
            Pure, Approx or Zcdp.

        Returns
        -------
        Amount
            An amount whose parameters are all 0.
        """
        return cls(kind, (Fraction(0),) * len(kind.fields))

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of a pure or an (epsilon, delta) amount."""
        return self.part("epsilon")

    @property
    def delta(self) -> Fraction:
        """The delta of an (epsilon, delta) amount."""
        return self.part("delta")

    @property
    def rho(self) -> Fraction:
        """The rho of a zCDP amount."""
        return self.part("rho")

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.kind, tuple(a + b for a, b in self._pairs(other)))

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.kind, tuple(a - b for a, b in self._pairs(other)))

    def scaled(self, factor: Fraction | int) -> "Amount":
        """Return a multiple of this amount.

        Parameters
        ----------
        factor : Fraction or int
            The factor.

        Returns
        -------
        Amount
            The amount with every parameter multiplied by the factor.
        """
        return Amount(self.kind, tuple(factor * part for part in self.parts))

    def within(self, other: "Amount") -> bool:
        """Return whether no parameter exceeds the same parameter of another amount.

        Parameters
        ----------
        other : Amount
            An amount of the same kind.

        Returns
        -------
        bool
            True if this amount is at most the other one.
        """
        return all(a <= b for a, b in self._pairs(other))

    def excess(self, other: "Amount") -> "Amount":
        """Return the excess of each parameter over that of another amount.

        Parameters
        ----------
        other : Amount
            An amount of the same kind.

        Returns
        -------
        Amount
            The differences; 0 for a parameter that is not larger.
        """
        return Amount(
            self.kind, tuple(max(a - b, Fraction(0)) for a, b in self._pairs(other))
        )

    def as_budget(self) -> Budget | None:
        """Return this amount as a budget, or None if it is too small to be one.

        Returns
        -------
        Pure, Approx, Zcdp or None
            The budget.
        """
        try:
            return self.kind(*self.parts)
        except InvalidParameter:
            return None

    def text(self, fields: Sequence[str]) -> str:
        """Format selected parameters, as in ε = 1, δ = 1e-06.

        Parameters
        ----------
        fields : sequence of str
            Names of parameters, such as "epsilon".

        Returns
        -------
        str
            The formatted parameters.
        """
        text = ", ".join(f"{SYMBOLS[x]} = {float(self.part(x)):.6g}" for x in fields)
        return f"{text} (zCDP)" if self.kind is Zcdp else text

    def __str__(self) -> str:
        return self.text(self.kind.fields)

    def __repr__(self) -> str:
        return f"Amount({self})"

    def part(self, name: str) -> Fraction:
        """Return one parameter by its name.

        Parameters
        ----------
        name : str
            "epsilon", "delta" or "rho".

        Returns
        -------
        Fraction
            The value of the parameter.
        """
        if name in self.kind.fields:
            return self.parts[self.kind.fields.index(name)]
        raise AttributeError(f"an amount of {self.kind.__name__} has no {name}")

    def _pairs(self, other: "Amount") -> Sequence[tuple[Fraction, Fraction]]:
        if self.kind is not other.kind:
            raise MixedBudgets(
                f"amounts of {self.kind.__name__} and {other.kind.__name__} cannot be "
                "compared: convert one of them explicitly first."
            )
        return tuple(zip(self.parts, other.parts, strict=True))


def charge_amount(budget: Budget, events: Sequence[Event], limit: Budget) -> Amount:
    """Return the cost of a charge against a limit, or raise if no theorem gives one.

    Parameters
    ----------
    budget : Pure, Approx or Zcdp
        The budget of the release.
    events : sequence of Event
        The accounting events of the release. They are used only if ``budget`` itself cannot
        be converted to the kind of the limit.
    limit : Pure, Approx or Zcdp
        The limit. Only its kind matters and, if ``budget`` is zCDP, its delta.

    Raises
    ------
    MixedBudgets
        If no theorem expresses the cost in the kind of budget of the limit.
    """
    match limit, budget:
        case (Pure(), Pure()) | (Approx(), Approx()) | (Zcdp(), Zcdp()):
            return Amount.of(budget)
        case Approx(), Pure():
            return Amount(Approx, (budget.epsilon, Fraction(0)))
        case Zcdp(), Pure():
            return Amount.of(pure_to_zcdp(budget))
        case Approx(), Zcdp():
            return Amount.of(zcdp_to_approx(budget, limit.delta * DELTA_PART))
        case Zcdp(), Approx():
            return _from_events(as_zcdp(events), budget, events, limit)
        case _:
            return _from_events(as_pure(events), budget, events, limit)


def _from_events(
    cost: Budget | None, budget: Budget, events: Sequence[Event], limit: Budget
) -> Amount:
    if cost is not None:
        return Amount.of(cost)
    pure = isinstance(limit, Pure)
    limited = "pure epsilon, without a delta" if pure else "rho (zCDP)"
    again = "with a delta" if pure else "with epsilon and delta"
    need = "PureEvent" if pure else "PureEvent, GaussianEvent or ZcdpEvent"
    names = sorted({type(event).__name__ for event in events})
    came = f"has events of type {', '.join(names)}" if events else "has no events"
    if not pure and has_batches(events):
        came += ", and under rho, random batches cost as much as all rows"
    raise MixedBudgets(
        f"the limit of this dataset is in {limited}, so it cannot pay for {budget}. Before "
        f"the first charge, the limit can be set again {again}; otherwise request a budget "
        f"in {limited}. (A charge can be converted only if all of its accounting events "
        f"are of type {need}; this charge {came}.)"
    )


def amount_text(amount: Amount) -> str:
    """Return an amount as JSON text with exact fractions."""
    named = zip(amount.kind.fields, amount.parts, strict=True)
    parts = {name: fraction_text(part) for name, part in named}
    return _json({"kind": amount.kind.__name__, **parts})


def read_amount(text: str) -> Amount:
    """Parse the output of `amount_text`."""
    record = json.loads(text)
    kind = KINDS[record.pop("kind")]
    parts = tuple(fraction_of(record[name]) for name in kind.fields)
    if any(part < 0 for part in parts):
        raise ValueError("a negative amount")
    return Amount(kind, parts)


def read_budget(text: str) -> Budget:
    """Parse the output of `amount_text` as a budget; raise if it is not a valid one."""
    amount = read_amount(text)
    return amount.kind(*amount.parts)


def events_text(events: Sequence[Event]) -> str:
    """Return events as JSON text with exact fractions."""
    return _json([_event_record(event) for event in events])


def read_events(text: str) -> tuple[Event, ...]:
    """Parse the output of `events_text`."""
    return tuple(_read_event(record) for record in json.loads(text))


def fraction_text(value: Fraction) -> str:
    """Return a fraction as the text p/q; raise if it is too long to store."""
    if value.denominator.bit_length() > MOST_BITS:
        raise InvalidParameter(
            "budget",
            "a number whose exact sum with earlier charges is short enough to store",
            Described("a fraction with thousands of digits"),
            "Write budgets as decimals such as 0.1.",
        )
    return f"{value.numerator}/{value.denominator}"


def _event_record(event: Event) -> dict[str, Any]:
    return {"event": type(event).__name__, **event_fields(event, fraction_text)}


def _read_event(record: dict[str, Any]) -> Event:
    known = {kind.__name__: kind for kind in EVENTS.values()}
    if record["event"] not in known:
        raise ValueError(record["event"])
    return event_from(known[record["event"]], record)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


LARGEST_EXPONENT = 700


def cost(
    budget: Budget,
    events: Sequence[Event],
    proved_for: Neighbours | None,
    limit: Budget,
    stated_for: Neighbours | None,
) -> Amount | None:
    """Return the cost of a charge against a limit under a neighbour relation.

    ``proved_for`` is the relation of the charge and ``stated_for`` that of the limit. The
    result is None if the charge has no guarantee under the relation of the limit. Under
    replace-one, a charge of unknown relation costs as much as one proved under add-remove.
    """
    if stated_for is None or proved_for is stated_for:
        return charge_amount(budget, events, limit)
    if stated_for is Neighbours.ADD_REMOVE:
        return None
    return _replaced(budget, events, limit)


def _replaced(budget: Budget, events: Sequence[Event], limit: Budget) -> Amount:
    """Return the cost of a charge proved under add-remove against a replace-one limit."""
    match limit, budget:
        case Approx(), Approx(epsilon=epsilon):
            return Amount(Approx, (2 * epsilon, _replaced_delta(budget, events)))
        case Approx(), Zcdp(rho=rho):
            return charge_amount(Zcdp(4 * rho), (), limit)
        case _:
            factor = 4 if isinstance(limit, Zcdp) else 2
            return charge_amount(budget, events, limit).scaled(factor)


def _replaced_delta(budget: Approx, events: Sequence[Event]) -> Fraction:
    """Return the delta of replacing a record, at twice the epsilon of the budget.

    In general it is (1 + exp(epsilon))·delta. Some events allow a smaller value.
    """
    known = [Fraction(1)]
    if budget.epsilon <= LARGEST_EXPONENT:
        known.append(group_delta(budget.epsilon, budget.delta, 2))
    pure, shift = as_pure(events), whole_shift(events)
    if pure is not None and pure.epsilon <= budget.epsilon:
        known.append(budget.delta)
    if shift is not None:
        known.append(Fraction(gaussian_delta(round_down(2 * budget.epsilon), 2 * shift)))
    return max(budget.delta, min(known))
