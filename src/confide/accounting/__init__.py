"""Events, bounds on privacy losses, and what they compose to."""

from confide.accounting.composition import as_pure, as_zcdp, compose, copies_delta
from confide.accounting.events import (
    ApproxEvent,
    Event,
    GaussianEvent,
    PureEvent,
    ZcdpEvent,
)
from confide.accounting.loss_bound import (
    ORDERS,
    LossBound,
    approx_delta,
    gaussian_shift,
    rho_of_curve,
    sharp_renyi,
    zcdp_rho,
)

__all__ = [
    "ORDERS",
    "ApproxEvent",
    "Event",
    "GaussianEvent",
    "LossBound",
    "PureEvent",
    "ZcdpEvent",
    "approx_delta",
    "as_pure",
    "as_zcdp",
    "compose",
    "copies_delta",
    "gaussian_shift",
    "rho_of_curve",
    "sharp_renyi",
    "zcdp_rho",
]
