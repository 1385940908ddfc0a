"""What every mechanism is: a calibration without data, then a release from rows."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from itertools import accumulate, pairwise
from typing import (
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeAlias,
    assert_never,
    get_args,
    runtime_checkable,
)

import numpy as np

from confide._registry import Registry
from confide._types import Array
from confide.accounting import Event, GaussianEvent, PureEvent, event_of
from confide.accounting.spherical_shift import smallest_spherical, spherical_cost
from confide.data.matrix.sums import MAX_ROWS, MOST_TERMS
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter, MissingPublicBound, UnmetNeeds
from confide.mechanisms.release import NoiseRecord, Release, RowBounds
from confide.mechanisms.tolerance import least_tolerance
from confide.noise import Entropy, Gaussian, Noise, SphericalLaplace
from confide.noise.lattice import grid_for, round_sum
from confide.objectives import Objective, has_exact_prox, is_hinge, is_multinomial
from confide.privacy import (
    Approx,
    Budget,
    Guarantee,
    Neighbours,
    Pure,
    Status,
    Zcdp,
    effective_status,
    gaussian_mu,
    round_down,
    round_up,
)
from confide.privacy.guarantee import SHORT_NOISE
from confide.solvers import TableShape

UnitNoise: TypeAlias = SphericalLaplace | Gaussian
NoiseChoice: TypeAlias = Literal["shorter", "composable", "gaussian"]
"""What (epsilon, delta) buys: the shortest noise, the shorter of those of which more is
known than one epsilon and one delta, or Gaussian noise in any case."""
WHOLE = Fraction(1)


def check_noise_choice(noise: object) -> None:
    """Refuse anything but a `NoiseChoice`."""
    if noise not in get_args(NoiseChoice):
        raise InvalidParameter("noise", "'shorter', 'composable' or 'gaussian'", noise)


def shorter_unit_noise(
    budget: Budget, copies: int, dimension: int, *, composable: bool = False
) -> tuple[UnitNoise, Event]:
    """Return the noise of least root mean square in a dimension, and what copies cost.

    (epsilon, delta) also buys what epsilon alone does: with few coordinates spherical
    Laplace noise is shorter than Gaussian noise. A single copy of it may be shorter still,
    as delta pays for the few directions in which a loss exceeds epsilon.
    """
    found = [unit_noise(budget, copies)]
    if not isinstance(budget, Approx):
        return found[0]
    found.append(unit_noise(Pure(budget.epsilon), copies))
    best = min(found, key=lambda pair: pair[0].deviation(dimension))
    if copies > 1 or composable:
        return best
    cost = partial(spherical_cost, dimension, round_down(budget.epsilon))
    scale = smallest_spherical(cost, budget, dimension, best[0].deviation(dimension))
    return best if scale is None else (SphericalLaplace(scale), event_of(budget))


def unit_noise(
    budget: Budget, copies: int = 1, share: Fraction = WHOLE
) -> tuple[UnitNoise, Event]:
    """Return the noise for a share of a budget, and what all copies of it cost.

    Shares of (epsilon, delta) are shares of the squared Gaussian shift.
    """
    if isinstance(budget, Pure):
        part = budget.share(share).epsilon
        return SphericalLaplace(round_up(copies / part)), PureEvent(part)
    mu = gaussian_shift_of(budget)
    if share < 1:
        mu = round_down(mu * math.sqrt(share))
    return Gaussian(round_up(math.sqrt(copies) / mu)), GaussianEvent(mu)


def gaussian_shift_of(budget: Approx | Zcdp) -> float:
    """Return the largest shift of a unit normal that a budget allows, rounded down."""
    match budget:
        case Approx(epsilon=epsilon, delta=delta):
            return gaussian_mu(epsilon, delta)
        case Zcdp(rho=rho):
            return round_down(math.sqrt(2 * rho))
        case _:
            assert_never(budget)


def scaled(noise: UnitNoise, reach: float) -> UnitNoise:
    """Return the noise that hides a shift of length ``reach``."""
    return replace(noise, scale=round_up(noise.scale * reach))


@dataclass(frozen=True, slots=True)
class Need:
    """A hypothesis, how to tell whether it holds, and what to do if it does not."""

    name: str
    holds: Callable[[Objective], bool]
    remedy: str


def _bounded_slope(objective: Objective) -> bool:
    try:
        return objective.slope_bound < float("inf")
    except MissingPublicBound:
        return False


BOUNDED_SLOPE = Need(
    "a loss with a bounded slope",
    _bounded_slope,
    "declare the missing public bounds (target_bound, coef_norm) or clip the slope "
    "(slope_bound)",
)
CURVED_LOSS = Need(
    "a loss with a curvature, so that estimates are near normal",
    lambda objective: objective.loss.smooth,
    "use the huberized hinge",
)
SMOOTH_PENALTY = Need(
    "a penalty without a kink, so that estimates are near normal",
    lambda objective: objective.nonsmooth_part is None,
    "set l1 to 0",
)
SMOOTH_LOSS = Need(
    "a loss whose slope does not jump",
    lambda objective: objective.loss.smooth,
    "use the huberized hinge, or mechanism='output'",
)
CONVEX_PENALTY = Need(
    "a convex penalty",
    lambda objective: objective.penalty is None or objective.penalty.convex,
    "use l1, elastic net or group l2 instead of SCAD or MCP",
)
EXACT_PROX = Need(
    "a penalty and a constraint with an exact joint proximal map",
    lambda objective: has_exact_prox(objective.nonsmooth_part, objective.constraint),
    "combine the nuclear norm with an l2 ball or with no constraint",
)
ONE_RESPONSE = Need(
    "one target for every record",
    lambda objective: objective.responses == 1 or is_multinomial(objective.loss),
    "use mechanism='momentum', 'mpadmm', 'ssadmm' or 'sgd'",
)
ONE_SCORE = Need(
    "a loss of one score for every record",
    lambda objective: not is_multinomial(objective.loss),
    "use multi_class='one-vs-rest', or mechanism='objective' or 'output'",
)
SEVERAL_SCORES = Need(
    "a smooth multinomial objective, or one score for every record",
    lambda objective: (
        not is_multinomial(objective.loss)
        or (objective.penalty is None and objective.constraint is None)
    ),
    "leave out penalty and constraint, or use multi_class='one-vs-rest'",
)
SEVERAL_RESPONSES = Need(
    "one target for every record, or several",
    lambda objective: objective.responses >= 1,
    "declare how many targets a record has",
)
EQUAL_RECORDS = Need(
    "records that all count alike",
    lambda objective: not objective.weighted,
    "use mechanism='objective' or 'output'",
)
PLAIN_RECORDS = Need(
    "records without weights of their own",
    lambda objective: not objective.case_weights,
    "use mechanism='objective' or 'output', or leave out the weights",
)
CASE_WEIGHTS = Need(
    "records that count alike, or at most once by weights of their own",
    lambda objective: objective.row_norm <= objective.reach,
    "declare a cap on the weights",
)
NO_OFFSET = Need(
    "margins without an offset",
    lambda objective: not objective.offset_bound,
    "use mechanism='objective' or 'output', or leave out the offset",
)
OFFSETS = Need(
    "margins without an offset, or with one that is bounded",
    lambda objective: not objective.offset_bound or objective.responses == 1,
    "use one score for every record",
)
WEIGHTED_RECORDS = Need(
    "records that count alike, or the less the longer their rows are",
    lambda objective: objective.row_norm <= objective.reach,
    "declare how long a row can be",
)
PLAIN_HINGE = Need(
    "a smooth loss, or the plain hinge",
    lambda objective: objective.loss.smooth or is_hinge(objective.loss),
    "use the huberized hinge with a small width",
)


def check_needs(mechanism: str, needs: tuple[Need, ...], objective: Objective) -> None:
    """Raise one error that lists every unmet need with its remedy.

    A mechanism is about one target and one score for every record, and about records that
    all count alike, unless it says otherwise.
    """
    every = needs if WEIGHTED_RECORDS in needs else (*needs, EQUAL_RECORDS)
    every = every if CASE_WEIGHTS in needs else (*every, PLAIN_RECORDS)
    every = every if OFFSETS in needs else (*every, NO_OFFSET)
    if SEVERAL_RESPONSES not in needs and ONE_RESPONSE not in needs:
        every = (*every, ONE_RESPONSE)
    if SEVERAL_SCORES not in needs:
        every = (*every, ONE_SCORE)
    unmet = tuple((n.name, n.remedy) for n in every if not n.holds(objective))
    if unmet:
        raise UnmetNeeds(mechanism, unmet)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Everything that is fixed before the data are read; it releases itself.

    ``mechanism`` is what was calibrated. ``noise`` perturbs the objective or the output;
    ``solver_noise`` is the second, small noise that pays for stopping a solver within
    ``tolerance`` (None where one noise pays for both). ``copies`` objectives share the rows
    and the budget. ``status`` is what the mechanism says of itself, lowered where its
    theorem asks for noise that doubles are not; ``reason`` is why it is not PROVED.
    """

    mechanism: "Mechanism"
    objective: Objective
    budget: Budget
    neighbours: Neighbours
    theorem: str
    noise: Noise
    solver_noise: Noise | None
    tolerance: float
    events: tuple[Event, ...]
    copies: int = 1
    status: Status = Status.PROVED
    reason: str = ""

    def __post_init__(self) -> None:
        status, reason = effective_status(self.theorem, self.status, self.reason)
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "reason", reason)

    @property
    def guarantee(self) -> Guarantee:
        """What the release will promise: nothing where the claim was refuted."""
        budget = None if self.status is Status.REFUTED else self.budget
        found = Guarantee(
            budget, self.neighbours, self.status, self.theorem, reason=self.reason
        )
        return reduce(Guarantee.assuming, self.assumptions, found)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the release assumes beside what its theorem always does."""
        perturbs = self.solver_noise is not None
        return (SHORT_NOISE,) if perturbs and self.objective.constraint is not None else ()

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the release rests on the number of rows being a public number."""
        return False

    def release(self, tasks: Iterable[Rows], entropy: Entropy) -> Release:
        """Solve every task, add the noise, and release the results together."""
        return self.mechanism.release(self, tasks, entropy)

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Describe the noises for the release."""
        first = NoiseRecord(self.noise.kind, self.noise.scale, added_to)
        if self.solver_noise is None:
            return (first,)
        second = NoiseRecord(
            self.solver_noise.kind, self.solver_noise.scale, "coefficients"
        )
        return first, second

    @property
    def largest_ridge(self) -> float:
        """The largest weight of a ridge in whatever will be solved."""
        return float(self.objective.ridge.max())

    def check_rows(self, rows: Rows) -> None:
        """Refuse by public shape, before anything is spent, what no solver could certify.

        Where the number of rows is private it is taken to be the largest there may be.
        """
        check_length(rows)
        check_weights(self.objective, rows)
        public = self.neighbours is Neighbours.REPLACE_ONE
        shape = TableShape.of(rows, rows.table_count if public else MAX_ROWS)
        finest = least_tolerance(self.objective, shape, self.largest_ridge)
        if finest > self.tolerance:
            raise InvalidParameter(
                "tolerance",
                f"at least {1.01 * finest:.2e} for tables of this shape and this ridge "
                f"(l2 = {self.objective.l2:.3g}): arithmetic certifies no less",
                self.tolerance,
                "Raise l2, or leave the mechanism's tolerance at None.",
            )


def checked_copies(tasks: Iterable[Rows], copies: int) -> Iterator[Rows]:
    """Hand out the tasks that were paid for, no more and no fewer."""
    count = 0
    for task in tasks:
        count += 1
        if count > copies:
            break
        yield task
    if count != copies:
        raise InvalidParameter("tasks", f"{copies}, as calibrated", "another number")


def make_release(
    calibration: Calibration, values: Sequence[Array], entropy: Entropy, added_to: str
) -> Release:
    """Put private values, one per copy, together with what may be said about them."""
    guarantee, objective = calibration.guarantee, calibration.objective
    return Release(
        values[0] if calibration.copies == 1 else np.stack(values),
        guarantee if entropy.secret else guarantee.seeded(),
        calibration.records(added_to),
        objective.l2 or 0.0,
        calibration.events,
        record_norm=None if objective.longest_row is None else objective.row_norm,
    )


COEFFICIENT_REACH = 2.0**20
"""The lattice of coefficients goes so far at least, where the noise is not finer."""


def publish(
    centre: Array, noise: Noise, entropy: Entropy, reach: float = COEFFICIENT_REACH
) -> Array:
    """Return the sum of a private vector and noise, rounded to a public lattice.

    The noise is real-valued and the rounding exact, so this is post-processing of the
    release that a theorem speaks about: docs/proofs/exact-noise.md#rounding. ``reach`` is
    a public bound on the entries of the vector; what lies beyond saturates.
    """
    grid = grid_for(noise.scale, reach)
    return round_sum(centre, noise.sample(centre.size, entropy), grid)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Summand:
    """A private vector, a public bound on its entries, and how its noise is stretched."""

    centre: Array
    reach: float
    stretch: float | Array = 1.0


def publish_together(
    pieces: Sequence[Summand], noise: Noise, entropy: Entropy
) -> list[Array]:
    """Return private vectors with one noise vector, each rounded to a lattice of its own.

    As `publish` says; one draw of the noise is as long as all of them together.
    """
    ends = list(accumulate(piece.centre.size for piece in pieces))
    stretch = [np.broadcast_to(piece.stretch, piece.centre.size) for piece in pieces]
    drawn = noise.sample(ends[-1], entropy, np.concatenate(stretch))
    found = []
    for piece, (start, stop) in zip(pieces, pairwise([0, *ends]), strict=True):
        part = drawn[start:stop]
        grid = grid_for(part.least_scale, piece.reach)
        found.append(round_sum(piece.centre, part, grid))
    return found


def check_length(rows: Rows) -> None:
    """Refuse a table that is longer than guarantees assume; nothing else looks at it."""
    if rows.count > MAX_ROWS or rows.sum_shape.terms > MOST_TERMS:
        raise InvalidParameter(
            "table",
            f"of at most {MAX_ROWS:,} rows: the noise covers the rounding of sums over no "
            "more than these",
            "a longer table",
            "Fit on some of the rows.",
        )


def check_weights(objective: Objective, rows: Rows) -> None:
    """Refuse rows that were not weighed as the objective supposes."""
    if rows.weighted != objective.weighted:
        must = "with weights" if objective.weighted else "without weights"
        raise InvalidParameter("rows", must, "others")


def check_whole(name: str, value: object, hint: str = "") -> None:
    """Refuse anything but a whole number of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameter(name, "a whole number, 1 or more", value, hint)


class Mechanism(Protocol):
    """A frozen configuration; every field is public."""

    name: ClassVar[str]
    needs: ClassVar[tuple[Need, ...]]
    default_neighbours: ClassVar[Neighbours]
    theorems: ClassVar[tuple[str, ...]]

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> Calibration:
        """Choose noise and ridge from public facts alone."""
        ...

    def release(self, calibration: Any, tasks: Iterable[Rows], entropy: Entropy) -> Release:
        """Release from rows by a calibration that this mechanism made."""
        ...


@runtime_checkable
class IntervalMechanism(Mechanism, Protocol):
    """A mechanism whose estimates are near normal, so that intervals can be had."""

    def as_published(self) -> "IntervalMechanism":
        """Return the mechanism with the analysis of Wang, Kifer and Lee (2018)."""
        ...

    def with_noise(self, noise: NoiseChoice) -> "IntervalMechanism":
        """Return the mechanism with this choice of noise under (epsilon, delta)."""
        ...

    def profile(self, calibration: Any) -> Callable[[float], float] | None:
        """Return a bound on delta at any epsilon, for one copy; None if there is none."""
        ...


@runtime_checkable
class EntryMechanism(Mechanism, Protocol):
    """A mechanism that bounds the entries of rows instead of their lengths."""

    @property
    def row_bounds(self) -> RowBounds:
        """How entries are bounded, and the height of the constant column beside them."""
        ...


MECHANISMS: Registry[type[Any]] = Registry(
    "mechanism", "confide.mechanisms.published", "confide.selection"
)
