"""No mechanism and no selector releases anything that only one of two tables can give.

Of every fit the attacker sees all points and choices, which is more than is released, and
knows the lattices of both tables. A value that lies on the lattices of one table alone
would name it; so would a release that is no function of points and choices.
"""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

from confide.data import Number, Schema, Target, bound_rows
from confide.data.schema.range_grid import RangeGrid
from confide.description.counts import TableRows
from confide.description.release import DescriptionPlan, plan_description
from confide.mechanisms import (
    MECHANISMS,
    AdmmObjectivePerturbation,
    DpAdmm,
    Intervals,
    MomentumDescent,
    MpAdmm,
    OutputPerturbation,
    ProximalSgd,
    SsAdmm,
    WithIntervals,
    WithRanges,
    base,
)
from confide.mechanisms.gradient import noisy_gradient
from confide.mechanisms.published import RlsObjective, RlsOut
from confide.mechanisms.ranges.mechanism import RangesCalibration
from confide.mechanisms.ranges.read_range import RangeQuery
from confide.objectives import L1, Clipped, Logistic, Multinomial, Objective, Squared
from confide.privacy import Approx, Neighbours, Pure, Status
from confide.selection import (
    SELECTORS,
    ExponentialSelector,
    FrankWolfe,
    HardThresholding,
    SampleAggregateSelector,
    ScreeningSelector,
    SelectThenFit,
    thresholding,
)
from support.release_tape import Tape

FEW, MANY = 10, 200
APPROX = Approx(1, 1e-6)
LOGISTIC = Objective(Logistic(), 2)
KINKED = Objective(Logistic(), 2, penalty=L1(0.3))
SQUARES = Objective(Clipped(Squared(), 1.0), 2, target_bound=1.0)
RIDGED = Objective(Logistic(), 2, l2=2.0)
SCORES = Objective(Multinomial(3), 4, responses=2)
SELECTED_BY = {
    "screening": ScreeningSelector(1),
    "sample-aggregate": SampleAggregateSelector(1, 3),
    "exponential": ExponentialSelector(1),
}
CONFIGURED = {
    "momentum": MomentumDescent(3),
    "ssadmm": SsAdmm(3, Fraction(1)),
    "sgd": ProximalSgd(3, Fraction(1)),
    "mpadmm": MpAdmm(3),
    "dp-admm": DpAdmm(2, 2),
    "admm-objective": AdmmObjectivePerturbation(2),
    "select": SelectThenFit(ScreeningSelector(1)),
    "thresholding": HardThresholding(1, 2),
    "frank-wolfe": FrankWolfe(0.5, 4),
}
OBJECTIVES = {"adaptive": KINKED, "ssp": SQUARES, "adassp": SQUARES}
BUDGETS = {"functional": Pure(1)}
QUERIES = (
    RangeQuery("first", RangeGrid.between(-8.0, 8.0), 0.01, 0.01, True),
    RangeQuery("second", RangeGrid.between(None, None), 0.01, 0.01, False),
)
IN_DOUBLES = {"mpadmm-published"}
"""As published, for comparison; CLAIMED."""


class Described:
    """A description of both columns and the target, as if it were a mechanism."""

    schema = Schema(
        (Number("first", -8, 8), Number("second", range="private")),
        Target("label", labels=(1, -1)),
    )

    def calibrate(self, objective, budget, relation):
        pairs = [("first", "label")]
        return plan_description(self.schema, budget, pairs, neighbours=relation)


def plans():
    """Return every calibration that is tried, with a relation, by name."""
    made = {
        name: CONFIGURED.get(name) or kind()
        for name, kind in MECHANISMS.items()
        if name not in IN_DOUBLES
    }
    cases = {
        name: (one, OBJECTIVES.get(name, LOGISTIC), BUDGETS.get(name, APPROX))
        for name, one in made.items()
    }
    cases |= {
        f"select by {name}": (SelectThenFit(selector), LOGISTIC, APPROX)
        for name, selector in SELECTED_BY.items()
    }
    cases |= {
        f"{name}, pure": (made[name], LOGISTIC, Pure(1))
        for name in ("objective", "output", "thresholding", "frank-wolfe")
    }
    cases["objective, l1"] = (made["objective"], KINKED, APPROX)
    cases["objective, classes"] = (made["objective"], SCORES, APPROX)
    cases["objective, classes, pure"] = (made["objective"], SCORES, Pure(1))
    cases["output, classes"] = (made["output"], SCORES, APPROX)
    cases["intervals, classes"] = (
        WithIntervals(OutputPerturbation(), Intervals(share="0.3"), 5),
        replace(SCORES, l2=2.0),
        APPROX,
    )
    cases["sgd, batches"] = (ProximalSgd(2, Fraction(1, 2)), LOGISTIC, APPROX)
    cases["intervals"] = (
        WithIntervals(OutputPerturbation(), Intervals(share="0.3"), 5),
        RIDGED,
        APPROX,
    )
    bought = WithRanges(OutputPerturbation(), QUERIES)
    cases["ranges"] = (bought, RIDGED, APPROX)
    cases["ranges, pure"] = (bought, RIDGED, Pure(1))
    cases["description"] = (Described(), RIDGED, APPROX)
    cases["description, pure"] = (Described(), RIDGED, Pure(1))
    found = {
        (name, relation): case for name, case in cases.items() for relation in Neighbours
    }
    same = Neighbours.REPLACE_ONE
    plain = Objective(Squared(), 2, target_bound=1.0)
    found["rls-out", same] = (RlsOut(5), plain, Pure(1))
    found["rls-objective", same] = (RlsObjective(5), plain, Pure(1))
    return found


PLANS = plans()
every_plan = pytest.mark.parametrize(("name", "relation"), list(PLANS), ids=str)
BASE = [[0.3, -0.4], [-0.1, 0.7], [0.5, 0.5], [0.0, -0.2]]
LABELS = [1.0, -1.0, 1.0, -1.0]
EDGES = {
    "none": [0.0, 0.0],
    "as small as doubles are": [5e-324, -5e-324],
    "too long": [1e150, -1e154],
    "as long as doubles are": [1.7e308, -1.7e308],
}


def rows_of(table):
    features, target = table
    whole = np.array(features, dtype=float).reshape(-1, 2)
    return bound_rows(whole, np.array(target, dtype=float), 1.0, 0.0)


def neighbours(row, relation):
    """Return a table with a row, and one without, or with another in its place."""
    first = ([*BASE, row], [*LABELS, 1.0])
    if relation is Neighbours.ADD_REMOVE:
        return first, (BASE, LABELS)
    return first, ([*BASE, [-0.6, 0.7]], [*LABELS, -1.0])


def plan_of(name, relation):
    mechanism, objective, budget = PLANS[name, relation]
    return mechanism.calibrate(objective, budget, relation)


def releaser(plan, table):
    if isinstance(plan, RangesCalibration):
        return partial(release_with_ranges, plan, table)
    if isinstance(plan, DescriptionPlan):
        features = np.array(table[0], dtype=float).reshape(-1, 2)
        frame = pd.DataFrame(features, columns=["first", "second"])
        rows = TableRows.of(frame.assign(label=np.array(table[1], dtype=int)), plan.schema)
        return lambda entropy: plan.release(rows, plan.count(rows), entropy, 0.95)
    rows = rows_of(table)
    return lambda entropy: plan.release([rows], entropy)


def release_with_ranges(plan, table, entropy):
    """Buy the ranges of both columns, clamp and scale to them, and fit."""
    features = np.array(table[0], dtype=float).reshape(-1, 2)
    counts = [query.grid.count(features[:, j]) for j, query in enumerate(plan.queries)]
    bought = plan.buy(counts, entropy)
    lower, upper = np.array(list(bought.ranges.values())).T
    scaled = (np.clip(features, lower, upper) - lower) / (upper - lower) * 2 - 1
    rows = rows_of((scaled / np.sqrt(2), table[1]))
    return plan.release_after(bought, [rows], entropy)


def attack(tape, plan, tables, fits):
    """Return how often releases of each table are found impossible for each table."""
    usual = []
    for table in tables:
        tape.record(releaser(plan, table), 0)
        usual.append(tape.grids)

    def accused(script, table, known):
        if not tape.accuses(script[0], known):
            return False
        # A lattice may follow from earlier points: which would the table have given?
        tape.record(releaser(plan, table), 0, script)
        return tape.accuses(script[0], tape.grids)

    said = []
    for made_from in tables:
        make = releaser(plan, made_from)
        scripts = [tape.record(make, seed)[1:] for seed in range(fits)]
        for table, known in zip(tables, usual, strict=True):
            said.append(sum(accused(script, table, known) for script in scripts))
    return said


def replay(tape, plan, first, second):
    """Check that a table releases the same as another from its points and choices."""
    released, *script = tape.record(releaser(plan, first), 1)
    assert script[0] or script[1], "something leaves the rows"
    grids = tape.grids
    again, *_ = tape.record(releaser(plan, second), 2, script)
    assert grids == tape.grids, "a lattice follows from more than earlier points"
    assert released == again, "more is released than points and choices"


@pytest.fixture(name="tape")
def _tape(monkeypatch):
    return Tape(monkeypatch)


def test_every_mechanism_and_selector_is_tried():
    tried = {name for name, _ in PLANS}
    assert {*MECHANISMS} - IN_DOUBLES <= tried
    assert {*SELECTED_BY} == {*SELECTORS}
    for name in IN_DOUBLES:
        plan = MECHANISMS[name]().calibrate(LOGISTIC, APPROX, Neighbours.ADD_REMOVE)
        assert plan.guarantee.status is Status.CLAIMED


@every_plan
def test_no_value_tells_two_tables_apart(tape, name, relation):
    plan, tables = plan_of(name, relation), neighbours([0.6, 0.8], relation)
    assert attack(tape, plan, tables, FEW) == [0, 0, 0, 0]
    replay(tape, plan, *tables)


@pytest.mark.slow
@every_plan
def test_no_value_of_many_tells_two_tables_apart(tape, name, relation):
    plan, tables = plan_of(name, relation), neighbours([0.6, 0.8], relation)
    assert attack(tape, plan, tables, MANY) == [0, 0, 0, 0]


@every_plan
def test_nothing_tells_neighbours_at_the_edges_apart(tape, name, relation):
    plan = plan_of(name, relation)
    pairs = [neighbours(row, relation) for row in EDGES.values()]
    if not name.startswith("rls"):
        one = ([[0.6, 0.8]], [1.0])
        alone = relation is Neighbours.ADD_REMOVE
        pairs.append((one, ([], []) if alone else ([[0.0, 1.0]], [-1.0])))
    for tables in pairs:
        assert attack(tape, plan, tables, 1) == [0, 0, 0, 0]
        replay(tape, plan, *tables)
        replay(tape, plan, *tables[::-1])


in_doubles = pytest.mark.parametrize(
    "name", sorted({name for name, _ in PLANS} - {"frank-wolfe", "frank-wolfe, pure"})
)


@in_doubles
def test_sums_in_doubles_would_be_seen(tape, name):
    """A centre and a draw in doubles, added as doubles are."""
    relation = Neighbours.REPLACE_ONE
    tape.add = lambda noise, centre: np.ravel(centre) + noise.steps * noise.grid
    tables = neighbours([0.6, 0.8], relation)
    assert min(attack(tape, plan_of(name, relation), tables, 2)) == 2


@in_doubles
def test_a_lattice_that_follows_the_table_would_be_seen(tape, name):
    """That of the first table is four times as fine."""
    relation, honest = Neighbours.REPLACE_ONE, tape.add
    plan, tables = plan_of(name, relation), neighbours([0.6, 0.8], relation)

    def finer(noise, centre):
        step = noise.grid / 4
        return step * np.rint(np.ravel(centre) / step + 4 * noise.steps)

    tape.add = finer
    points = [tape.record(releaser(plan, tables[0]), seed)[1] for seed in range(4)]
    tape.add = honest
    tape.record(releaser(plan, tables[1]), 0)
    assert any(tape.accuses(one, tape.grids) for one in points)


@pytest.mark.parametrize(
    ("name", "target", "leak"),
    [
        ("output", (base, "publish"), lambda centre, *_: centre),
        ("thresholding", (thresholding, "publish"), lambda centre, *_: centre),
        (
            "momentum",
            (noisy_gradient, "_noises"),
            lambda plan, entropy: iter([Silent()] * 99),
        ),
    ],
)
def test_a_number_beside_the_points_would_be_seen(monkeypatch, name, target, leak):
    tape, relation = Tape(monkeypatch), Neighbours.ADD_REMOVE
    monkeypatch.setattr(*target, leak)
    if name == "output":
        monkeypatch.setattr("confide.mechanisms.output.publish", leak)
    with pytest.raises(AssertionError):
        replay(tape, plan_of(name, relation), *neighbours([0.6, 0.8], relation))


class Silent:
    """Noise that is none."""

    def add(self, centre):
        return centre
