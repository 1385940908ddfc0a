"""The contract of a mechanism: public calibration, correct costs, and sealed releases.

A release is sealed if it holds no data. The checks use a small logistic problem, or a small
problem with the clipped squared loss if the mechanism requires it. A mechanism may reject a
kind of budget or a neighbour relation by raising InvalidParameter; all calibrations that it
accepts are checked.
"""

import math
import pickle
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from confide.data.rows.in_memory import InMemoryRows, bound_rows
from confide.errors import ConfideError, InvalidParameter, UnmetNeeds
from confide.mechanisms import Calibration, Mechanism, Release
from confide.mechanisms.needs import WEIGHTED_RECORDS
from confide.noise import Entropy
from confide.objectives import Box, Clipped, Hinge, Logistic, Objective, Scad, Squared
from confide.privacy import Budget, Neighbours
from confide.testing._expect import BUDGETS, check_configuration, check_events, expect

DIMENSION = 3
RIDGE = 400.0
ROWS = 400
COPIES = 3
MOST_BYTES = 4096
FAINT = 1e-12


def check_mechanism(mechanism: Mechanism) -> None:
    """Assert that a mechanism satisfies the contract of `confide.mechanisms.Mechanism`.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism to check, with its settings.

    Raises
    ------
    AssertionError
        If a property of the contract fails; the message states which one, and where.

    Examples
    --------
    No error means that the contract is satisfied; this takes some seconds:

    >>> from confide.mechanisms import SufficientStatistics
    >>> from confide.testing import check_mechanism
    >>> check_mechanism(SufficientStatistics())  # doctest: +SKIP
    """
    check_configuration(mechanism, "a mechanism")
    _check_needs(mechanism)
    accepted = []
    for small, large in BUDGETS:
        for neighbours in Neighbours:
            calibration = _calibrate(mechanism, small, neighbours)
            if calibration is not None:
                accepted.append(calibration)
                _check_calibration(mechanism, calibration)
                _check_price(mechanism, calibration, large)
    expect(
        any(c.neighbours is mechanism.default_neighbours for c in accepted),
        "a mechanism must accept some budget under its default neighbours",
        at=mechanism.default_neighbours,
    )
    for calibration in accepted:
        _check_automatic_ridge(mechanism, calibration)
        _check_release(calibration)
    _check_copies(mechanism, accepted[0])
    _check_weights(mechanism, accepted[0])


def _check_needs(mechanism: Mechanism) -> None:
    """Check that calibrating reports all requirements that an objective does not meet."""
    unfit = (
        Objective(Squared(), DIMENSION, l2=RIDGE, penalty=Scad(1.0), constraint=Box()),
        Objective(Hinge(), DIMENSION, l2=RIDGE, penalty=Scad(1.0), constraint=Box()),
        Objective(Squared(), DIMENSION, l2=RIDGE),
    )
    for objective in unfit:
        missing = {need.name for need in mechanism.needs if not need.holds(objective)}
        if not missing:
            continue
        try:
            mechanism.calibrate(objective, BUDGETS[0][0], mechanism.default_neighbours)
        except UnmetNeeds as error:
            listed = {name for name, _ in error.unmet}
            expect(
                listed == missing and all(remedy for _, remedy in error.unmet),
                f"every unmet need must be listed with its remedy: {sorted(missing)}",
                at=sorted(listed),
            )
        else:
            raise AssertionError(
                f"calibrate must reject an objective with unmet needs: {sorted(missing)}"
            )


def _objective(mechanism: Mechanism, l2: float | None) -> Objective:
    """Return an objective, with one of two losses, that meets all requirements."""
    candidates = (
        Objective(Logistic(), DIMENSION, 1.0, l2),
        Objective(Clipped(Squared(), 1.0), DIMENSION, 1.0, l2, target_bound=1.0),
    )
    for objective in candidates:
        if all(need.holds(objective) for need in mechanism.needs):
            return objective
    raise AssertionError(
        "a mechanism must support the logistic or the clipped squared loss"
    )


def _calibrate(
    mechanism: Mechanism,
    budget: Budget,
    neighbours: Neighbours,
    l2: float | None = RIDGE,
    copies: int = 1,
) -> Calibration | None:
    """Calibrate without data; return None if the budget or the relation is rejected."""
    try:
        objective = _objective(mechanism, l2)
        return mechanism.calibrate(objective, budget, neighbours, copies=copies)
    except InvalidParameter:
        return None


def _length(calibration: Calibration) -> float:
    """Return the expected norm of the noise, by which kinds of noise can be compared."""
    return calibration.noise.expected_norm(DIMENSION)


def _check_calibration(mechanism: Mechanism, calibration: Calibration) -> None:
    budget, neighbours = calibration.budget, calibration.neighbours
    again = _calibrate(mechanism, budget, neighbours)
    expect(again == calibration, "calibrating twice must give the same calibration")
    expect(
        calibration.theorem in mechanism.theorems,
        "the theorem of a calibration must be one of the theorems of the mechanism",
        at=calibration.theorem,
    )
    expect(
        0 < calibration.noise.scale < math.inf,
        "the noise must have a positive, finite scale",
    )
    expect(
        calibration.guarantee.budget == budget
        and calibration.guarantee.neighbours is neighbours
        and calibration.guarantee.private,
        "the guarantee must state the requested budget and neighbour relation",
        at=calibration.guarantee,
    )
    check_events(calibration.budget, calibration.events)


def _check_price(mechanism: Mechanism, calibration: Calibration, larger: Budget) -> None:
    budget, neighbours = calibration.budget, calibration.neighbours
    cheaper = _calibrate(mechanism, larger, neighbours)
    expect(
        cheaper is not None and _length(cheaper) < 0.95 * _length(calibration),
        f"twice the budget must need clearly less noise ({budget}, {neighbours})",
    )
    if neighbours is Neighbours.REPLACE_ONE:
        weaker = _calibrate(mechanism, budget, Neighbours.ADD_REMOVE)
        expect(
            weaker is not None and _length(weaker) <= _length(calibration),
            f"replace-one neighbours must not need less noise than add-remove ({budget})",
        )
    shared = _calibrate(mechanism, budget, neighbours, copies=COPIES)
    expect(
        shared is not None and _length(shared) > 1.05 * _length(calibration),
        f"more objectives on the same rows must need more noise ({budget}, {neighbours})",
    )


def _check_automatic_ridge(mechanism: Mechanism, calibration: Calibration) -> None:
    budget, neighbours = calibration.budget, calibration.neighbours
    automatic = _calibrate(mechanism, budget, neighbours, l2=None)
    if automatic is None:
        raise AssertionError("with l2=None, the mechanism must choose the ridge")
    ridge = automatic.objective.l2
    confined = automatic.objective.constraint is not None
    expect(
        ridge is not None and (0 < ridge < math.inf or (confined and ridge == 0)),
        "with l2=None, the ridge must be positive, or 0 under a constraint",
        at=ridge,
    )
    fixed = _calibrate(mechanism, budget, neighbours, l2=ridge)
    expect(
        fixed is not None
        and math.isclose(_length(fixed), _length(automatic), rel_tol=1e-9),
        "the automatic ridge must give the same noise when it is requested explicitly",
        at=ridge,
    )


def _rows(seed: int) -> InMemoryRows:
    entropy = Entropy.seeded(seed)
    features = entropy.normal(ROWS * DIMENSION).reshape(ROWS, DIMENSION)
    return bound_rows(features, entropy.signs(ROWS), 1.0, 0.0)


def _check_release(calibration: Calibration) -> None:
    rows = _rows(5)

    def released(entropy: Entropy) -> Release:
        return calibration.release([rows], entropy)

    one, same = released(Entropy.seeded(6)), released(Entropy.seeded(6))
    other = released(Entropy.seeded(7))
    expect(
        one.value.shape == (DIMENSION,),
        "a release must have one value per coefficient",
        at=one.value.shape,
    )
    expect(np.array_equal(one.value, same.value), "a seed must reproduce a release")
    expect(
        not np.array_equal(one.value, other.value),
        "another seed must give another release",
    )
    expect(
        not one.guarantee.private and "NOT PRIVATE" in str(one.guarantee),
        "a seeded release must be marked as not private",
    )
    secret, again = released(Entropy.system()), released(Entropy.system())
    expect(not np.array_equal(secret.value, again.value), "system noise must not repeat")
    expect(
        secret.guarantee == calibration.guarantee,
        "a release with system noise must carry the calibrated guarantee",
        at=secret.guarantee,
    )
    expect(
        secret.noise_scale == calibration.noise.scale
        and secret.noise[0].kind == calibration.noise.kind,
        "a release must state the noise that was calibrated",
        at=secret.noise,
    )
    expect(secret.events == calibration.events, "a release must carry its events")
    _check_sealed(secret, rows)


def _check_weights(mechanism: Mechanism, accepted: Calibration) -> None:
    """Check that records with tiny weights have almost no effect, or are rejected."""
    plain = _objective(mechanism, RIDGE)
    objective = replace(plain, longest_row=2 * plain.row_norm)
    given = objective, accepted.budget, accepted.neighbours
    if WEIGHTED_RECORDS not in mechanism.needs:
        try:
            mechanism.calibrate(*given)
        except UnmetNeeds:
            return
        raise AssertionError(
            "a mechanism must use weights of records or reject them: check its needs"
        )
    calibration, rows = mechanism.calibrate(*given), _rows(5).weighed(plain.row_norm)
    nothing = rows.take(np.arange(0))
    faint, none = (
        calibration.release([some], Entropy.seeded(6)).value
        for some in (replace(rows, weight=np.full(rows.count, FAINT)), nothing)
    )
    expect(
        np.allclose(faint, none, rtol=0, atol=1e-6),
        "records with tiny weights must not noticeably change a release",
        at=faint - none,
    )


def _check_sealed(release: Release, rows: InMemoryRows) -> None:
    """Check that a release, all objects in it, and its pickled form hold no data."""
    for path, part in _parts("release", release):
        expect(not isinstance(part, InMemoryRows), "a release must hold no rows", at=path)
        if isinstance(part, np.ndarray) and path != "release.value":
            raise AssertionError(f"a release must hold no array except its value: {path}")
    stored = pickle.dumps(release)
    expect(
        len(stored) < MOST_BYTES and rows.features[:1].toarray().tobytes() not in stored,
        "a pickled release must hold no data",
        at=len(stored),
    )
    restored = pickle.loads(stored)  # noqa: S301
    expect(
        np.array_equal(restored.value, release.value)
        and restored.guarantee == release.guarantee
        and restored.events == release.events,
        "pickling must not change a release",
    )


def _parts(path: str, value: Any) -> list[tuple[str, Any]]:
    """Return a value and all objects nested in it, each with its path in the value."""
    found = [(path, value)]
    inner: list[tuple[str, Any]] = []
    if is_dataclass(value):
        inner = [(f"{path}.{f.name}", getattr(value, f.name)) for f in fields(value)]
    elif isinstance(value, tuple | list):
        inner = [(f"{path}[{i}]", part) for i, part in enumerate(value)]
    elif hasattr(value, "items"):
        inner = [(f"{path}[{key!r}]", part) for key, part in value.items()]
    for name, part in inner:
        found += _parts(name, part)
    return found


def _check_copies(mechanism: Mechanism, calibration: Calibration) -> None:
    """Check releases for several tasks at once, calibrated for that number of tasks."""
    shared = mechanism.calibrate(
        calibration.objective, calibration.budget, calibration.neighbours, copies=COPIES
    )
    tasks = [_rows(seed) for seed in range(COPIES)]
    together = shared.release(tasks, Entropy.seeded(8))
    expect(
        together.value.shape == (COPIES, DIMENSION),
        "a release must have one row of coefficients per task",
        at=together.value.shape,
    )
    expect(
        len({row.tobytes() for row in together.value}) == COPIES,
        "every task must have its own noise",
    )
    repeated = shared.release(tasks[:1] * COPIES, Entropy.seeded(8)).value
    expect(
        len({row.tobytes() for row in repeated}) == COPIES,
        "tasks on the same rows must have different noise",
    )
    for count in (COPIES - 1, COPIES + 1):
        try:
            shared.release((tasks + tasks)[:count], Entropy.seeded(8))
        except ConfideError:
            continue
        raise AssertionError(
            f"calibrated for {COPIES} tasks, the mechanism released {count}: every task "
            "spends budget, so any other number must be rejected"
        )
