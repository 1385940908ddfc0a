"""Base of all mechanisms: a calibration without data, then a release from rows."""

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
from confide.errors import InvalidParameter
from confide.mechanisms.needs import Need
from confide.mechanisms.release import NoiseRecord, Release, RowBounds
from confide.mechanisms.tolerance import least_tolerance
from confide.noise import Entropy, Gaussian, Noise, SphericalLaplace
from confide.noise.lattice import grid_for, round_sum
from confide.objectives import Objective
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
""
WHOLE = Fraction(1)


def check_noise_choice(noise: object) -> None:
    """Reject anything but a `NoiseChoice`."""
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
class Calibration:
    """Everything about a release that is fixed before the data are read.

    Parameters
    ----------
    mechanism : Mechanism
        What was calibrated.
    objective : Objective
        Objective with its ridge.
    budget : Pure, Approx or Zcdp
        What the release costs.
    neighbours : Neighbours
        Relation that is protected.
    theorem : str
        Page and anchor of the theorem, under docs/proofs.
    noise : Noise
        Noise on the objective or the output.
    solver_noise : Noise or None
        Second, small noise that covers the solver's ``tolerance``; None where one noise
        covers both.
    tolerance : float
        How close to the exact minimiser the solver must come.
    events : tuple of Event
        What the release costs, for a ledger.
    copies : int, default=1
        Number of objectives that share the rows and the budget.
    status : Status, default=PROVED
        Status of the theorem; lowered where its noise must not be drawn in doubles.
    reason : str, default=""
        Why the status is not PROVED.

    Examples
    --------
    >>> from confide.mechanisms import OutputPerturbation
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Neighbours, Pure
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0)
    >>> found = OutputPerturbation().calibrate(objective, Pure(1), Neighbours.ADD_REMOVE)
    >>> found.guarantee.theorem
    'output-perturbation.md#output-pure-exact'

    The theorem is known before any row is read; its proof is on that page.
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
        """Guarantee of the release; without a budget where the claim was refuted."""
        budget = None if self.status is Status.REFUTED else self.budget
        found = Guarantee(
            budget, self.neighbours, self.status, self.theorem, reason=self.reason
        )
        return reduce(Guarantee.assuming, self.assumptions, found)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the release assumes besides the assumptions of its theorem."""
        perturbs = self.solver_noise is not None
        return (SHORT_NOISE,) if perturbs and self.objective.constraint is not None else ()

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the release relies on the number of rows being public."""
        return False

    def release(self, tasks: Iterable[Rows], entropy: Entropy) -> Release:
        """Solve every task, add the noise, and release the results together.

        Parameters
        ----------
        tasks : iterable of Rows
            Private rows, with one target for every copy.
        entropy : Entropy
            Source of random bits.

        Returns
        -------
        Release
            Private coefficients with their guarantee.
        """
        return self.mechanism.release(self, tasks, entropy)

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Describe the noises for the release.

        Parameters
        ----------
        added_to : str
            What the first noise is added to.

        Returns
        -------
        tuple of NoiseRecord
            One or two records.
        """
        first = NoiseRecord(self.noise.kind, self.noise.scale, added_to)
        if self.solver_noise is None:
            return (first,)
        second = NoiseRecord(
            self.solver_noise.kind, self.solver_noise.scale, "coefficients"
        )
        return first, second

    @property
    def largest_ridge(self) -> float:
        """Largest weight of a ridge in the objective."""
        return float(self.objective.ridge.max())

    def check_rows(self, rows: Rows) -> None:
        """Reject tables by their public shape, before anything is spent.

        Where the number of rows is private, the largest possible number is assumed.

        Parameters
        ----------
        rows : Rows
            Bounded rows, of which only the shape is looked at.

        Raises
        ------
        InvalidParameter
            The table is too long, or arithmetic cannot certify the tolerance.
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
                f"(l2 = {self.objective.l2:.3g}): smaller errors cannot be certified in "
                "this arithmetic",
                self.tolerance,
                "Raise l2, or leave the mechanism's tolerance at None.",
            )


def checked_copies(tasks: Iterable[Rows], copies: int) -> Iterator[Rows]:
    """Yield exactly the number of tasks that was charged."""
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
    """Make a release of private values, one per copy."""
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
"""Least extent of the lattice of coefficients, where the noise is not finer."""


def publish(
    centre: Array, noise: Noise, entropy: Entropy, reach: float = COEFFICIENT_REACH
) -> Array:
    """Return the sum of a private vector and noise, rounded to a public lattice.

    The noise is real-valued and the rounding exact, so this is post-processing of the
    release in the theorem: docs/proofs/exact-noise.md#rounding. ``reach`` is a public
    bound on the entries of the vector; what lies beyond saturates.
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
    """Reject a table with more rows than guarantees assume; nothing else checks that."""
    if rows.count > MAX_ROWS or rows.sum_shape.terms > MOST_TERMS:
        raise InvalidParameter(
            "table",
            f"of at most {MAX_ROWS:,} rows: the noise covers the rounding of sums over no "
            "more than these",
            "a longer table",
            "Fit on a part of the rows.",
        )


def check_weights(objective: Objective, rows: Rows) -> None:
    """Reject rows whose weights differ from those that the objective assumes."""
    if rows.weighted != objective.weighted:
        must = "with weights" if objective.weighted else "without weights"
        raise InvalidParameter("rows", must, "others")


def check_whole(name: str, value: object, hint: str = "") -> None:
    """Reject anything but a whole number of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameter(name, "a whole number, 1 or more", value, hint)


class Mechanism(Protocol):
    """Protocol of a mechanism: a frozen configuration, every field of which is public.

    Examples
    --------
    >>> from confide.mechanisms import MECHANISMS
    >>> mechanism = MECHANISMS["output"]()
    >>> mechanism.name, str(mechanism.default_neighbours)
    ('output', 'add-remove')

    Whatever is registered here can be given to an estimator by its name.
    """

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
        """Choose noise and ridge from public facts alone.

        Parameters
        ----------
        objective : Objective
            Loss, ridge, penalty and public bounds.
        budget : Pure, Approx or Zcdp
            What the release may cost. A larger one means less noise.
        neighbours : Neighbours
            Relation to protect.
        copies : int, default=1
            Number of objectives that share the rows and the budget.

        Returns
        -------
        Calibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise for this budget, relation or ridge.
        """
        ...

    def release(self, calibration: Any, tasks: Iterable[Rows], entropy: Entropy) -> Release:
        """Release coefficients from rows by a calibration of this mechanism.

        Parameters
        ----------
        calibration : Calibration
            What `calibrate` returned.
        tasks : iterable of Rows
            Private rows, with one target for every copy.
        entropy : Entropy
            Source of random bits.

        Returns
        -------
        Release
            Private coefficients with their guarantee.
        """
        ...


@runtime_checkable
class IntervalMechanism(Mechanism, Protocol):
    """A mechanism with approximately normal estimates, so that intervals are possible."""

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
