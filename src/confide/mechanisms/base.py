"""Base of all mechanisms: calibration without the data, then release from the rows."""

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
from confide.errors import Described, InvalidParameter
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
"""Noise distribution under (epsilon, delta), explained in `ObjectivePerturbation`."""
WHOLE = Fraction(1)


def check_noise_choice(noise: object) -> None:
    """Reject anything but a `NoiseChoice`."""
    if noise not in get_args(NoiseChoice):
        raise InvalidParameter("noise", "'shorter', 'composable' or 'gaussian'", noise)


def shorter_unit_noise(
    budget: Budget, copies: int, dimension: int, *, composable: bool = False
) -> tuple[UnitNoise, Event]:
    """Return the noise with the least root mean square for sensitivity 1, and its event.

    The event covers all ``copies``. Under (epsilon, delta) there are three candidates. The
    first is Gaussian noise. The second is spherical Laplace noise for epsilon alone, which
    is smaller if there are few coordinates. The third, for a single copy, is spherical
    Laplace noise of smaller scale, where delta covers the directions in which the privacy
    loss exceeds epsilon. ``composable`` excludes the third, which composes poorly with
    other releases.
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
    """Return noise for a statistic of sensitivity 1, and the privacy event of all copies.

    Only a ``share`` of the budget is used. For (epsilon, delta) and zCDP, it is a share of
    μ², where μ is the parameter of Gaussian DP that the budget allows.
    """
    if isinstance(budget, Pure):
        part = budget.share(share).epsilon
        return SphericalLaplace(round_up(copies / part)), PureEvent(part)
    mu = gaussian_shift_of(budget)
    if share < 1:
        mu = round_down(mu * math.sqrt(share))
    return Gaussian(round_up(math.sqrt(copies) / mu)), GaussianEvent(mu)


def gaussian_shift_of(budget: Approx | Zcdp) -> float:
    """Return the largest parameter μ of Gaussian DP that a budget allows, rounded down."""
    match budget:
        case Approx(epsilon=epsilon, delta=delta):
            return gaussian_mu(epsilon, delta)
        case Zcdp(rho=rho):
            return round_down(math.sqrt(2 * rho))
        case _:
            assert_never(budget)


def scaled(noise: UnitNoise, reach: float) -> UnitNoise:
    """Scale noise for sensitivity 1 to a statistic of sensitivity ``reach``."""
    return replace(noise, scale=round_up(noise.scale * reach))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Everything about a release that is fixed before the data are read.

    Parameters
    ----------
    mechanism : Mechanism
        The calibrated mechanism.
    objective : Objective
        Objective, including its ridge.
    budget : Pure, Approx or Zcdp
        Privacy budget of the release.
    neighbours : Neighbours
        Neighbour relation for which the guarantee holds.
    theorem : str
        Page and anchor of the theorem, under docs/proofs.
    noise : Noise
        Main noise, such as noise on the linear term of the objective or on the
        coefficients.
    solver_noise : Noise or None
        Second, small noise that covers the solver's ``tolerance``. None if the main noise
        covers it or no tolerance is needed.
    tolerance : float
        Largest permitted distance of the solver's result from the exact minimiser.
    events : tuple of Event
        Privacy events of the release, as recorded in a ledger.
    copies : int, default=1
        Number of objectives, such as one per class, that share the rows and the budget.
    status : Status, default=PROVED
        Status of the theorem. It is lowered if the proof does not cover noise drawn in
        double precision.
    reason : str, default=""
        Reason why the status is not PROVED.

    Examples
    --------
    >>> from confide.mechanisms import OutputPerturbation
    >>> from confide.objectives import Logistic, Objective
    >>> from confide.privacy import Neighbours, Pure
    >>> objective = Objective(Logistic(), dimension=3, row_norm=1.0)
    >>> found = OutputPerturbation().calibrate(objective, Pure(1), Neighbours.ADD_REMOVE)
    >>> found.guarantee.theorem
    'output-perturbation.md#output-pure-exact'

    The theorem is known before any row is read. Its proof is on that page.
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
        """Guarantee of the release, without a budget if the theorem has been refuted."""
        budget = None if self.status is Status.REFUTED else self.budget
        found = Guarantee(
            budget, self.neighbours, self.status, self.theorem, reason=self.reason
        )
        return reduce(Guarantee.assuming, self.assumptions, found)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the release in addition to those of its theorem."""
        perturbs = self.solver_noise is not None
        return (SHORT_NOISE,) if perturbs and self.objective.constraint is not None else ()

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the release relies on the number of rows being public."""
        return False

    def release(self, tasks: Iterable[Rows], entropy: Entropy) -> Release:
        """Fit every objective, add the noise, and release the results together.

        Parameters
        ----------
        tasks : iterable of Rows
            Private rows with the targets of each objective, one item per objective.
        entropy : Entropy
            Source of random bits.

        Returns
        -------
        Release
            Differentially private coefficients with their guarantee.
        """
        return self.mechanism.release(self, tasks, entropy)

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Return descriptions of the noise distributions, which the release stores.

        Parameters
        ----------
        added_to : str
            Quantity to which the main noise is added.

        Returns
        -------
        tuple of NoiseRecord
            The main noise and, if there is one, the noise that covers the solver's
            tolerance.
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
        """Largest ridge weight among the coefficients."""
        return float(self.objective.ridge.max())

    def check_rows(self, rows: Rows) -> None:
        """Reject tables of unsuitable shape, before any budget is spent.

        If the number of rows is private, the largest permitted number is assumed.

        Parameters
        ----------
        rows : Rows
            Bounded rows. Only their shape is used.

        Raises
        ------
        InvalidParameter
            The table has too many rows, or the tolerance cannot be certified in double
            precision.
        """
        check_length(rows)
        check_weights(self.objective, rows)
        public = self.neighbours is Neighbours.REPLACE_ONE
        shape = TableShape.of(rows, rows.table_count if public else MAX_ROWS)
        finest = least_tolerance(self.objective, shape, self.largest_ridge)
        if finest > self.tolerance:
            raise InvalidParameter(
                "tolerance",
                f"at least {1.01 * finest:.2e} for tables of this shape with this ridge "
                f"(l2 = {self.objective.l2:.3g}): smaller errors cannot be certified in "
                "double precision",
                self.tolerance,
                "Raise l2, or leave the mechanism's tolerance at None.",
            )


def checked_copies(tasks: Iterable[Rows], copies: int) -> Iterator[Rows]:
    """Yield the tables in ``tasks``; raise an error if there are not ``copies`` of them."""
    count = 0
    for task in tasks:
        count += 1
        if count > copies:
            break
        yield task
    if count != copies:
        must = f"{copies}, the number for which the noise was calibrated"
        got = Described(f"more than {copies}") if count > copies else count
        raise InvalidParameter("number of tasks", must, got)


def make_release(
    calibration: Calibration, values: Sequence[Array], entropy: Entropy, added_to: str
) -> Release:
    """Build the release from the noisy coefficients, one vector per objective."""
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
"""Absolute value up to which the lattice of released coefficients extends at least. The
lattice ends earlier if its step would otherwise exceed the noise scale."""


def publish(
    centre: Array, noise: Noise, entropy: Entropy, reach: float = COEFFICIENT_REACH
) -> Array:
    """Return the sum of a private vector and noise, rounded to a public lattice.

    The noise is real-valued and the rounding is exact. The result is therefore
    post-processing of the unrounded release that the theorem covers:
    docs/proofs/exact-noise.md#rounding. ``reach`` is a public bound on the entries of the
    vector. Sums beyond the ends of the lattice are clipped.
    """
    grid = grid_for(noise.scale, reach)
    return round_sum(centre, noise.sample(centre.size, entropy), grid)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Summand:
    """A private vector, a public bound on its entries, and a factor for its noise."""

    centre: Array
    reach: float
    stretch: float | Array = 1.0


def publish_together(
    pieces: Sequence[Summand], noise: Noise, entropy: Entropy
) -> list[Array]:
    """Add noise to several private vectors, and round each sum to its own lattice.

    A single noise vector is drawn for the concatenated vectors. Each sum is rounded as in
    `publish`.
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
    """Reject a table with more rows than the guarantees assume."""
    if rows.count > MAX_ROWS or rows.sum_shape.terms > MOST_TERMS:
        raise InvalidParameter(
            "table",
            f"of at most {MAX_ROWS:,} rows: the noise covers rounding errors only for sums "
            "of this length",
            Described("a longer table"),
            "Fit on a part of the rows.",
        )


def check_weights(objective: Objective, rows: Rows) -> None:
    """Reject weighted rows for an unweighted objective, and unweighted rows otherwise."""
    if rows.weighted != objective.weighted:
        with_or_without = ("without weights", "with weights")
        must = f"{with_or_without[objective.weighted]}, as the objective declares"
        raise InvalidParameter(
            "rows", must, Described(f"rows {with_or_without[rows.weighted]}")
        )


def check_whole(name: str, value: object, hint: str = "") -> None:
    """Reject anything but a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameter(name, "a whole number, 1 or more", value, hint)


class Mechanism(Protocol):
    """Protocol for a privacy mechanism: an immutable set of settings, all of them public.

    Examples
    --------
    >>> from confide.mechanisms import MECHANISMS
    >>> mechanism = MECHANISMS["output"]()
    >>> mechanism.name, str(mechanism.default_neighbours)
    ('output', 'add-remove')

    Estimators accept every registered mechanism by its name.
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
        """Choose noise and ridge from public information alone.

        Parameters
        ----------
        objective : Objective
            Loss, ridge, penalty and public bounds.
        budget : Pure, Approx or Zcdp
            Privacy budget of the release. A larger one means less noise.
        neighbours : Neighbours
            Neighbour relation for which the guarantee is to hold.
        copies : int, default=1
            Number of objectives, such as one per class, that share the rows and the
            budget.

        Returns
        -------
        Calibration
            Noise, ridge, tolerance and guarantee.

        Raises
        ------
        UnmetNeeds
            The theorem does not cover this objective.
        InvalidParameter
            No noise distribution is available for this budget, neighbour relation or ridge.
        """
        ...

    def release(self, calibration: Any, tasks: Iterable[Rows], entropy: Entropy) -> Release:
        """Fit the rows and release differentially private coefficients.

        Parameters
        ----------
        calibration : Calibration
            Result of `calibrate`.
        tasks : iterable of Rows
            Private rows with the targets of each objective, one item per objective.
        entropy : Entropy
            Source of random bits.

        Returns
        -------
        Release
            Differentially private coefficients with their guarantee.
        """
        ...


@runtime_checkable
class IntervalMechanism(Mechanism, Protocol):
    """Protocol for a mechanism whose estimates, apart from noise, are nearly normal."""

    def as_published(self) -> "IntervalMechanism":
        """Return the mechanism as Wang, Kifer and Lee (2018) analyse it."""
        ...

    def with_noise(self, noise: NoiseChoice) -> "IntervalMechanism":
        """Return the mechanism with another choice of noise for (epsilon, delta)."""
        ...

    def profile(self, calibration: Any) -> Callable[[float], float] | None:
        """Return a function from epsilon to an upper bound on delta, or None if unknown."""
        ...


@runtime_checkable
class EntryMechanism(Mechanism, Protocol):
    """Protocol for a mechanism that bounds the entries of rows instead of their norms."""

    @property
    def row_bounds(self) -> RowBounds:
        """Bounds on the entries of rows, and the value of the constant column."""
        ...


MECHANISMS: Registry[type[Any]] = Registry(
    "mechanism", "confide.mechanisms.published", "confide.selection"
)
