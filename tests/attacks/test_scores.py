"""No score, comparison or held-out score releases what only one of two tables can give.

The attacker sees every point that leaves the rows and knows the lattices of both tables.
"""

import math
import pickle

import numpy as np
import pytest

from confide import Approx, LogisticRegression, Pure
from confide.estimators._score import ScorePrice
from confide.evaluation import (
    CountErrors,
    NumberErrors,
    PairedLosses,
    SeveralClasses,
    TwoClasses,
    fine_edges,
    two_classes,
)
from confide.privacy import Neighbours
from support.release_tape import Tape

TWO = TwoClasses(fine_edges(0.0, 3.0, 12.0), "yes", chances=True)
RULES = {
    "two classes": (TWO, 1),
    "support vectors": (TwoClasses(fine_edges(0.0, 3.0, 9.0), "yes", chances=False), 1),
    "several classes": (SeveralClasses(("a", "b", "c"), "one-vs-rest"), 3),
    "numbers": (NumberErrors(0.5, 2.0), 1),
    "counts": (CountErrors(9.0, 1.0, -2.0, math.log(9.0)), 1),
    "two models": (PairedLosses(TWO, TWO, 1), 2),
}
BUDGETS = [Pure(5), Approx(5, 1e-6)]
EDGES = [0.0, -0.0, 5e-324, 1.7e308, -1.7e308, 12.0]


def rows(width, values, targets):
    """Return margins and targets: some, behind many that all tables have."""
    rng = np.random.default_rng(8)
    many = rng.normal(size=(300, width))
    target = rng.integers(0, 2, 300).astype(float)
    own = np.array(values, dtype=float)[:, None] * np.ones(width)
    return np.vstack([many, own]), np.concatenate([target, targets])


def pairs(width, relation, value=0.7):
    """Return a table with a row, and one without, or with another in its place."""
    first = rows(width, [value], [1.0])
    if relation is Neighbours.ADD_REMOVE:
        return first, rows(width, [], [])
    return first, rows(width, [-2.0], [0.0])


def releaser(name, budget, relation, table):
    rule = RULES[name][0]
    price = ScorePrice.of(rule, budget, relation, None, 0.95)
    return lambda entropy: price.release(rule.tally(*table), entropy)


each = pytest.mark.parametrize("name", RULES)
relations = pytest.mark.parametrize("relation", list(Neighbours), ids=str)


@each
@relations
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_no_point_of_a_score_tells_two_tables_apart(monkeypatch, name, relation, budget):
    tape = Tape(monkeypatch)
    for value in (0.7, *EDGES):
        first, second = pairs(RULES[name][1], relation, value)
        released, *script = tape.record(releaser(name, budget, relation, first), 1)
        assert script[0], "something leaves the rows"
        grids = tape.grids
        again, *_ = tape.record(releaser(name, budget, relation, second), 2, script)
        assert grids == tape.grids, "a lattice follows from more than earlier points"
        assert released == again, "more is released than points"
        assert not tape.accuses(script[0], grids)
        lines = pickle.loads(released).estimates  # noqa: S301
        assert any(one.value is not None for one in lines)


def test_a_number_beside_the_points_would_be_seen(monkeypatch):
    tape, relation = Tape(monkeypatch), Neighbours.ADD_REMOVE
    monkeypatch.setattr(two_classes, "publish", lambda centre, *_: centre)
    first, second = pairs(1, relation)
    released, *script = tape.record(releaser("two classes", Pure(1), relation, first), 1)
    again, *_ = tape.record(releaser("two classes", Pure(1), relation, second), 2, script)
    assert released != again


@relations
def test_a_fit_with_held_out_rows_follows_from_its_points(monkeypatch, relation):
    """Given the same coins, one row more or another one leaves no other trace."""
    tape = Tape(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) / 3
    y = (X[:, 0] > 0).astype(int)
    other = X.copy(), y.copy()
    other[0][-1], other[1][-1] = [0.5, 0.5], 1 - y[-1]
    if relation is Neighbours.ADD_REMOVE:
        other = X[:-1], y[:-1]

    def fit(table):
        def release(entropy):
            model = LogisticRegression(
                Pure(1),
                classes=[0, 1],
                neighbours=relation,
                random_state=entropy,
                row_norm=1.0,
            )
            model.fit(*table, holdout=0.4)
            return model.coef_, model.holdout_score_

        return release

    released, *script = tape.record(fit((X, y)), 3)
    again, *_ = tape.record(fit(other), 3, script)
    assert released == again
