"""Events, bounds on privacy losses, what they compose to, and the ledger."""

from confide.accounting.beside_gaussian import gaussian_left
from confide.accounting.composition import (
    as_pure,
    as_zcdp,
    compose,
    copies_delta,
    sum_delta,
)
from confide.accounting.entries import Entry
from confide.accounting.events import (
    ApproxEvent,
    Event,
    GaussianEvent,
    PureEvent,
    ZcdpEvent,
)
from confide.accounting.ledger import Account, Charge, Ledger
from confide.accounting.loss_bound import (
    ORDERS,
    LossBound,
    approx_delta,
    gaussian_shift,
    rho_of_curve,
    sharp_renyi,
    zcdp_rho,
)
from confide.accounting.tally import Amount

__all__ = [
    "ORDERS",
    "Account",
    "Amount",
    "ApproxEvent",
    "Charge",
    "Entry",
    "Event",
    "GaussianEvent",
    "Ledger",
    "LossBound",
    "PureEvent",
    "ZcdpEvent",
    "approx_delta",
    "as_pure",
    "as_zcdp",
    "compose",
    "copies_delta",
    "gaussian_left",
    "gaussian_shift",
    "rho_of_curve",
    "sharp_renyi",
    "sum_delta",
    "zcdp_rho",
]
