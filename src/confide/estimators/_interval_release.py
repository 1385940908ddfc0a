"""A release with what its intervals need, and the intervals of a release.

A release keeps the distribution of its errors, not the intervals: those can be computed
again at any level and for any linear function of the coefficients.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from confide._types import Array
from confide.accounting import Event
from confide.data import InMemoryRows, PartitionedRows, Rows
from confide.estimators._target_coding import Code
from confide.inference import Coefficient, Intervals
from confide.inference.intervals import calibrate_wish
from confide.inference.uncertainty import (
    Uncertainty,
    published_uncertainty,
    sampled_offsets,
    uncertainty,
)
from confide.mechanisms import (
    Calibration,
    IntervalCalibration,
    Mechanism,
    Release,
)
from confide.mechanisms.base import NoiseRecord
from confide.mechanisms.intervals.moments import Moments, records
from confide.noise import Entropy
from confide.objectives import Objective
from confide.privacy import Budget, Guarantee, Neighbours
from confide.privacy.guarantee import ONE_ROW

ON_THE_BOUNDARY = "coefficients are on the boundary of their ball: intervals do not hold"
SEVERAL_ROWS = (
    "rows of one person are taken for independent: where they are alike, intervals are "
    "too short"
)
EXTRA = "intervals"
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Reiterable(Generic[Item]):
    """Items that are made anew each time they are walked, so that none is kept."""

    make: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.make()


def coded_rows(
    rows: InMemoryRows | PartitionedRows, codings: Sequence[Code]
) -> Iterable[Rows]:
    """Return the rows with every coding in turn; they can be walked more than once."""
    return Reiterable(lambda: (rows.with_target(code) for code in codings))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A mechanism with its calibration, with or without intervals."""

    mechanism: Mechanism
    plan: Calibration | IntervalCalibration

    @property
    def events(self) -> tuple[Event, ...]:
        """What will happen to the data."""
        return self.plan.events

    @property
    def guarantee(self) -> Guarantee:
        """What the release will promise."""
        return self.plan.guarantee

    @property
    def takes_count_as_public(self) -> bool:
        """Whether the release rests on the number of rows being a public number."""
        main = self.plan if isinstance(self.plan, Calibration) else self.plan.main
        return main.takes_count_as_public

    def check_rows(self, rows: Rows) -> None:
        """Refuse by shape, before anything is spent."""
        self.plan.check_rows(rows)


def calibrate(
    mechanism: Mechanism,
    objective: Objective,
    budget: Budget,
    neighbours: Neighbours,
    *,
    copies: int,
    wish: Intervals | None,
    rows: int,
) -> Prepared:
    """Calibrate for the coefficients alone, or for their intervals as well."""
    if wish is None:
        plain = mechanism.calibrate(objective, budget, neighbours, copies=copies)
        return Prepared(mechanism, plain)
    plan = calibrate_wish(
        wish, mechanism, objective, budget, neighbours, rows=rows, copies=copies
    )
    return Prepared(mechanism, plan)


def release_all(
    prepared: Prepared,
    tasks: Iterable[Rows],
    entropy: Entropy,
    wish: Intervals | None,
    rows: int,
    *,
    still: Array | None = None,
) -> Release:
    """Release coefficients and, where they were paid for, the law of their errors."""
    plan = prepared.plan
    if isinstance(plan, Calibration) or wish is None:
        assert isinstance(plan, Calibration)  # noqa: S101
        return prepared.mechanism.release(plan, tasks, entropy)
    first = plan.mechanism.release(plan.main, tasks, entropy)
    values = list(np.atleast_2d(first.value))
    moments = plan.moment_release.release(plan.moments, values, tasks, entropy)
    public = rows if plan.main.neighbours is Neighbours.REPLACE_ONE else None
    objective = plan.main.objective
    law = partial(
        _law, objective, first.noise[0], variant=wish.variant, rows=public, still=still
    )
    guarantee = plan.guarantee
    return replace(
        first,
        guarantee=guarantee if entropy.secret else guarantee.seeded(),
        noise=(*first.noise, *records(plan.moments, moments)),
        events=plan.events,
        extras={
            **first.extras,
            EXTRA: {
                "level": wish.level,
                "variant": wish.variant,
                "samples": wish.samples,
                "split": [str(part) for part in plan.split],
                "boundary": _on_boundary(objective, values),
                "laws": list(map(law, values, moments)),
            },
        },
    )


def interval_level(release: Release) -> float | None:
    """Return the level that was asked for; None where no intervals were."""
    kept = release.extras.get(EXTRA)
    return None if kept is None else float(kept["level"])


def interval_facts(release: Release) -> tuple[tuple[str, str], ...]:
    """Say how intervals were made, for a summary."""
    kept = release.extras.get(EXTRA)
    if kept is None:
        return ()
    share = 1 - Fraction(kept["split"][0])
    text = (
        f"{100 * float(kept['level']):g} %, {kept['variant']}, from {float(share):.0%} of "
        "the budget; of the regularised population minimiser"
    )
    warning = interval_caution(release)
    return (("Intervals", f"{text}; {warning}" if warning else text),)


def interval_caution(release: Release) -> str:
    """Say why the intervals do not hold, or nothing."""
    kept = release.extras.get(EXTRA)
    if kept is None:
        return ""
    if kept["boundary"]:
        return ON_THE_BOUNDARY
    return "" if ONE_ROW in release.guarantee.assumptions else SEVERAL_ROWS


def coefficient_lines(
    names: Sequence[str], shown: Array, bounds: tuple[Array, Array, Array] | None
) -> list[Coefficient]:
    """Put names, estimates and offsets together."""
    if bounds is None:
        pairs = zip(names, shown, strict=True)
        return [Coefficient(name, float(value)) for name, value in pairs]
    return [
        Coefficient(name, float(x), float(x + low), float(x + high), float(sampling))
        for name, x, low, high, sampling in zip(names, shown, *bounds, strict=True)
    ]


def intervals_of(
    release: Release, coding: int, directions: Array
) -> tuple[Array, Array, Array] | None:
    """Return offsets below and above every displayed line, and half of them by sampling.

    None where no intervals were paid for.
    """
    kept = release.extras.get(EXTRA)
    if kept is None:
        return None
    law = law_of(kept["laws"][coding])
    wanted = float(kept["level"])
    sampling = law.sampling_half_lengths(directions, wanted)
    if kept["variant"] == "published" and law.kind != "gaussian":
        low, high = sampled_offsets(law, directions, wanted, int(kept["samples"]))
        return low, high, sampling
    half = law.half_lengths(directions, wanted)
    return -half, half, sampling


def law_of(record: Mapping[str, Any] | Uncertainty) -> Uncertainty:
    """Return the law that a release keeps, or that a model file holds as plain values."""
    if isinstance(record, Uncertainty):
        return record
    size = int(record["dimension"])
    matrices = [np.array(record[name], dtype=float) for name in ("sampling", "privacy")]
    if any(m.shape != (size, size) or not np.isfinite(m).all() for m in matrices):
        raise ValueError("intervals")
    return Uncertainty(matrices[0], matrices[1], str(record["kind"]), size)


def _law(
    objective: Objective,
    noise: NoiseRecord,
    value: Array,
    moments: Moments,
    *,
    variant: str,
    rows: int | None,
    still: Array | None,
) -> Uncertainty:
    if variant == "published" and rows is not None:
        return published_uncertainty(objective, value, noise, moments, rows)
    return uncertainty(objective, value, noise, moments, rows, still=still)


def _on_boundary(objective: Objective, values: list[Array]) -> bool:
    if objective.constraint is None:
        return False
    radius = objective.constraint.radius(objective.dimension)
    return any(float(np.linalg.norm(value)) >= radius * (1 - 1e-6) for value in values)
