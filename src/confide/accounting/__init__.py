"""Privacy accounting: events that describe releases, loss bounds, and composition."""

from confide._lazy import moved
from confide.accounting.composition import (
    as_pure,
    as_zcdp,
    compose,
    copies_delta,
    sum_delta,
)
from confide.accounting.events import (
    EVENTS,
    ApproxEvent,
    BoundedEvent,
    Event,
    GaussianEvent,
    KnownEvent,
    PureEvent,
    Sampling,
    SubsampledGaussianEvent,
    ZcdpEvent,
    event_of,
    gaussian_part,
    group_events,
    sampling_for,
)
from confide.accounting.loss_bound import LossBound, LossMixture, gaussian_shift
from confide.accounting.loss_divergences import (
    ORDERS,
    approx_delta,
    best_of_many_renyi,
    rho_of_curve,
    rho_of_one_run,
    sharp_renyi,
    zcdp_rho,
)
from confide.accounting.loss_remainder import gaussian_left, grown_delta, pure_left
from confide.accounting.noise_multiplier import METHODS, Method, epsilon_for, multiplier_for
from confide.accounting.spherical_shift import (
    LossLines,
    smallest_spherical,
    spherical_delta,
)
from confide.accounting.subsampling import general_renyi, sampled_renyi

__all__ = [
    "EVENTS",
    "METHODS",
    "ORDERS",
    "ApproxEvent",
    "BoundedEvent",
    "Event",
    "GaussianEvent",
    "KnownEvent",
    "LossBound",
    "LossLines",
    "LossMixture",
    "Method",
    "PureEvent",
    "Sampling",
    "SubsampledGaussianEvent",
    "ZcdpEvent",
    "approx_delta",
    "as_pure",
    "as_zcdp",
    "best_of_many_renyi",
    "compose",
    "copies_delta",
    "epsilon_for",
    "event_of",
    "gaussian_left",
    "gaussian_part",
    "gaussian_shift",
    "general_renyi",
    "group_events",
    "grown_delta",
    "multiplier_for",
    "pure_left",
    "rho_of_curve",
    "rho_of_one_run",
    "sampled_renyi",
    "sampling_for",
    "sharp_renyi",
    "smallest_spherical",
    "spherical_delta",
    "sum_delta",
    "zcdp_rho",
]

_MOVED = (
    "Account",
    "Amount",
    "Charge",
    "Entry",
    "Ledger",
)
__getattr__ = moved(__name__, dict.fromkeys(_MOVED, "confide.ledger"))
