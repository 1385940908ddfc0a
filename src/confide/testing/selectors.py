"""The contract of a selector: calibration without data; private and useful selections.

The checks use small logistic tables of their own. A selector may reject a kind of budget or
a neighbour relation by raising InvalidParameter; all calibrations that it accepts are
checked. Draws come from fixed seeds. Selections are repeated on two neighbouring tables
whose selections without noise have no column in common; the budget bounds how much the
frequency of a column may differ. With other seeds, a correct selector would fail this check
with a probability of 1e-6 per column.
"""

import math

import numpy as np
from scipy import stats

from confide._types import AnyArray, Array
from confide.data import EntryBounds, bound_entries
from confide.data.rows.in_memory import InMemoryRows
from confide.errors import InvalidParameter
from confide.noise import Entropy
from confide.objectives import Logistic, Objective
from confide.privacy import Approx, Budget, Neighbours, Pure, Zcdp, zcdp_to_approx
from confide.selection import Selector, SelectorCalibration
from confide.testing._expect import BUDGETS, check_configuration, check_events, expect

ROWS = 400
COPIES = 3
SEEDS = 12
TRIALS = 200
BACKGROUND = 30
"""Number of rows without information about any column."""
FALSE_ALARM = 1e-6
PLENTY = Pure(10**6)


def check_selector(selector: Selector) -> None:
    """Assert that a selector satisfies the contract of `confide.selection.Selector`.

    Parameters
    ----------
    selector : Selector
        The selector to check, with its settings.

    Raises
    ------
    AssertionError
        If a property of the contract fails; the message states which one, and where.

    Examples
    --------
    No error means that the contract is satisfied; this takes some seconds:

    >>> from confide.selection import ScreeningSelector
    >>> from confide.testing import check_selector
    >>> check_selector(ScreeningSelector(2))  # doctest: +SKIP
    """
    check_configuration(selector, "a selector")
    expect(
        selector.size >= 1, "a selector must select at least one column", at=selector.size
    )
    accepted = []
    for small, large in BUDGETS:
        for neighbours in Neighbours:
            calibration = _calibrate(selector, small, neighbours)
            if calibration is not None:
                accepted.append(calibration)
                _check_calibration(selector, calibration)
                _check_price(selector, calibration, large)
    expect(bool(accepted), "a selector must accept some budget")
    for calibration in accepted:
        _check_choice(selector, calibration)
    for neighbours in {calibration.neighbours for calibration in accepted}:
        first = next(c for c in accepted if c.neighbours is neighbours)
        _check_odds(selector, first)
        _check_use(selector, neighbours)


def _objective(selector: Selector) -> Objective:
    """Return an objective with twice as many columns as the selector selects."""
    columns = 2 * selector.size
    bounds = EntryBounds(1.0)
    return Objective(
        Logistic(), columns, math.sqrt(columns), target_bound=1.0, entries=bounds
    )


def _calibrate(
    selector: Selector, budget: Budget, neighbours: Neighbours, copies: int = 1
) -> SelectorCalibration | None:
    """Calibrate without data; return None if the budget or the relation is rejected."""
    try:
        return selector.calibrate(_objective(selector), budget, neighbours, copies=copies)
    except InvalidParameter:
        return None


def _check_calibration(selector: Selector, calibration: SelectorCalibration) -> None:
    budget, neighbours = calibration.budget, calibration.neighbours
    expect(
        _calibrate(selector, budget, neighbours) == calibration,
        "calibrating twice must give the same calibration",
    )
    expect(
        calibration.theorem in selector.theorems,
        "the theorem of a calibration must be one of the theorems of the selector",
        at=calibration.theorem,
    )
    expect(
        calibration.guarantee.budget == budget
        and calibration.guarantee.neighbours is neighbours
        and calibration.guarantee.private,
        "the guarantee must state the requested budget and neighbour relation",
        at=calibration.guarantee,
    )
    check_events(budget, calibration.events)


def _check_price(
    selector: Selector, calibration: SelectorCalibration, larger: Budget
) -> None:
    budget, neighbours = calibration.budget, calibration.neighbours
    cheaper = _calibrate(selector, larger, neighbours)
    expect(
        cheaper is not None and cheaper.noise.scale < 0.95 * calibration.noise.scale,
        f"twice the budget must need clearly less noise ({budget}, {neighbours})",
    )
    shared = _calibrate(selector, budget, neighbours, COPIES)
    expect(
        shared is not None and shared.noise.scale > 1.05 * calibration.noise.scale,
        f"more selections from the same rows must need more noise ({budget}, {neighbours})",
    )
    if neighbours is Neighbours.REPLACE_ONE:
        weaker = _calibrate(selector, budget, Neighbours.ADD_REMOVE)
        expect(
            weaker is None or weaker.noise.scale <= calibration.noise.scale,
            f"replace-one neighbours must not need less noise than add-remove ({budget})",
        )


def _table(features: Array, target: Array) -> InMemoryRows:
    return bound_entries(features, target, EntryBounds(1.0), 0.0)


def _select(
    selector: Selector, calibration: SelectorCalibration, rows: InMemoryRows, seed: int
) -> list[int]:
    selector.check_rows(calibration, rows)
    return [int(j) for j in selector.select(calibration, rows, Entropy.seeded(seed))]


def _check_choice(selector: Selector, calibration: SelectorCalibration) -> None:
    """Check selections from a table in which all columns are equivalent."""
    columns = calibration.objective.columns
    features = np.tile(np.eye(columns), (10, 1))
    rows = _table(features, np.ones(len(features)))
    found = [_select(selector, calibration, rows, seed) for seed in range(SEEDS)]
    for support in found:
        expect(
            len(support) == selector.size
            and support == sorted(set(support))
            and set(support) <= set(range(columns)),
            f"select must return {selector.size} different columns in ascending order",
            at=support,
        )
    expect(
        found[0] == _select(selector, calibration, rows, 0),
        "a seed must reproduce a selection",
    )
    expect(
        len(set(map(tuple, found))) > 1,
        "the selection among equivalent columns must depend on the noise",
        at=found[0],
    )


def _check_odds(selector: Selector, calibration: SelectorCalibration) -> None:
    """Check that two neighbouring tables have similar selection frequencies."""
    size, columns = selector.size, calibration.objective.columns
    first, nothing = np.zeros((2, columns))
    first[:size] = 1.0
    second = 1.0 - 2 * first
    both = [first, second, *[nothing] * BACKGROUND]
    replaced = calibration.neighbours is Neighbours.REPLACE_ONE
    alone = [first, *[nothing] * (BACKGROUND + replaced)]
    pair = [np.array(features) for features in (alone, both)]
    tables = [_table(x, np.where(x.any(axis=1), 1.0, -1.0)) for x in pair]
    one, other = (_counts(selector, calibration, rows) for rows in tables)
    epsilon, delta = _parameters(calibration.budget)
    for mine, theirs in ((one, other), (other, one)):
        least = stats.beta.ppf(FALSE_ALARM, mine, TRIALS - mine + 1)
        most = stats.beta.isf(FALSE_ALARM, theirs + 1, TRIALS - theirs)
        # If a column was never or always selected, one of the bounds is NaN.
        low, high = np.nan_to_num(least, nan=0.0), np.nan_to_num(most, nan=1.0)
        expect(
            low <= math.exp(epsilon) * high + delta,
            "one record must not change the odds that a column is selected by more than "
            "the budget allows: "
            f"{calibration.budget}, {calibration.neighbours}",
            at=(mine.tolist(), theirs.tolist()),
        )


def _counts(
    selector: Selector, calibration: SelectorCalibration, rows: InMemoryRows
) -> AnyArray:
    """Return how often each column is selected in repeated selections."""
    found = [_select(selector, calibration, rows, seed) for seed in range(TRIALS)]
    return np.bincount(np.concatenate(found), minlength=calibration.objective.columns)


def _parameters(budget: Budget) -> tuple[float, float]:
    """Return an (epsilon, delta) guarantee that follows from a budget."""
    match budget:
        case Pure(epsilon=epsilon):
            return float(epsilon), 0.0
        case Zcdp():
            return _parameters(zcdp_to_approx(budget, "1e-6"))
        case Approx(epsilon=epsilon, delta=delta):
            return float(epsilon), float(delta)


def _check_use(selector: Selector, neighbours: Neighbours) -> None:
    """Check that a large budget selects the columns that determine the target."""
    calibration = _calibrate(selector, PLENTY, neighbours)
    if calibration is None:
        return
    columns, entropy = calibration.objective.columns, Entropy.seeded(7)
    features = 0.2 * entropy.normal(ROWS * columns).reshape(ROWS, columns)
    telling = list(range(1, columns, 2))
    target = entropy.signs(ROWS)
    features[:, telling] += 0.5 * target[:, None]
    found = _select(selector, calibration, _table(features, target), 0)
    expect(
        found == telling,
        "with a large budget, the columns that determine the target must be selected",
        at=found,
    )
