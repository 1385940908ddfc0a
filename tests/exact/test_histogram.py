"""Counts over public cells: one record changes one of them, or two."""

import math

import numpy as np
import pytest

from confide.data import Category, Number, Schema, Target, bound_rows
from confide.errors import InvalidParameter
from confide.mechanisms import ProjectedHistogram
from confide.noise import Entropy, generator
from confide.privacy import Approx, Neighbours, Pure
from confide.testing import check_mechanism
from support.sums import squares

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
HALVES = ((-0.5,), (0.5,))
THREE = ProjectedHistogram((HALVES, HALVES, HALVES), 4)


def counts(mechanism, x, y, height=0.0):
    rows = bound_rows(np.array(x, dtype=float), np.array(y, dtype=float), 1.0, height)
    return mechanism.counts(rows, 1.0)


def test_it_keeps_the_contract_of_mechanisms():
    check_mechanism(THREE)


def test_every_record_is_counted_once_in_the_nearest_cell():
    found = counts(
        THREE, [[-0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3]], [-1.0, 1.0, 0.1]
    )
    assert found.shape == (32,)
    places = {int(i): int(n) for i, n in enumerate(found) if n}
    assert places == {0b011 * 4: 1, 0b111 * 4 + 3: 1, 0b111 * 4 + 2: 1}


def largest_loss(relation, epsilon="0.8"):
    """Return the exact privacy loss of a pair that moves a record, over the budget."""
    found = THREE.calibrate(squares(3), Pure(epsilon), relation)
    x, y = [[0.5, 0.5, 0.5], [-0.5, 0.5, 0.5]], [1.0, 0.0]
    other = (x[1:], y[1:]) if relation is ADD else ([x[0], [0.5, -0.5, 0.5]], y)
    change = np.abs(counts(THREE, x, y) - counts(THREE, *other)).sum()
    return change / found.noise.scale / float(Pure(epsilon).epsilon)


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_a_moved_record_costs_the_budget_and_no_more(relation):
    assert largest_loss(relation) == pytest.approx(1)


def test_forgetting_that_a_record_comes_back_elsewhere_is_seen(monkeypatch):
    monkeypatch.setattr(Neighbours, "shifts", property(lambda _: 1))
    assert largest_loss(REPLACE) > 1.9


def test_cells_of_a_schema_are_levels_and_parts_of_ranges():
    schema = Schema(
        (Number("a", 0, 10), Category("b", ("x", "y", "z"))), Target("t", bound=1.0)
    )
    found = ProjectedHistogram.of_schema(schema, 0.3, number_cells=4, target_cells=5)
    assert found.cells == 4 * 3 * 5
    assert found.blocks[0][0][0] == pytest.approx(-0.75 * schema.weights[0])
    assert found.blocks[1][1] == pytest.approx((0, schema.weights[1], 0))
    assert found.blocks[2] == ((0.3,),)


def test_with_plenty_of_budget_it_fits_the_centres():
    rng = generator(5)
    x = rng.choice([-0.5, 0.5], (4000, 3))
    middles = np.linspace(-0.75, 0.75, 4)
    y = middles[np.clip(np.round((x @ [0.9, -0.6, 0.3] + 0.75) / 0.5), 0, 3).astype(int)]
    found = THREE.calibrate(squares(3, l2=1e-6), Pure(10**9), ADD)
    rows = bound_rows(x, y, 1.0, 0.0)
    value = found.release([rows], Entropy.seeded(1)).value
    np.testing.assert_allclose(value, np.linalg.lstsq(x, y)[0], atol=1e-6)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InvalidParameter, match="cells"):
        ProjectedHistogram((HALVES,) * 25)
    with pytest.raises(InvalidParameter, match="blocks"):
        THREE.calibrate(squares(2), Pure(1), ADD)
    with pytest.raises(InvalidParameter, match="Pure"):
        THREE.calibrate(squares(3), Approx(1, "1e-6"), ADD)
    assert math.prod((2, 2, 2, 4)) == THREE.cells
