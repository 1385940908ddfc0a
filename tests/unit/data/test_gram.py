"""Gram matrices in doubles add up no more rows at once than `terms` says."""

import numpy as np
import pandas as pd
import pytest

from confide import Category, Number, Schema, Target
from confide.data import bound_rows
from confide.data.rows import in_memory as blocks

COUNT = 20_000


def features(categories):
    rng = np.random.default_rng(0)
    columns = [Number(f"x{j}", -1, 1) for j in range(3)]
    held = {f"x{j}": rng.normal(size=COUNT) for j in range(3)}
    for j in range(categories):
        levels = tuple(f"l{k}" for k in range(40))
        columns.append(Category(f"c{j}", levels))
        held[f"c{j}"] = rng.choice(levels, COUNT)
    schema = Schema(tuple(columns), Target("y", labels=(0, 1)))
    return schema.compact_design(pd.DataFrame(held))


@pytest.mark.parametrize("categories", [0, 1, 3])
def test_fine_grams_add_up_few_rows(categories, monkeypatch):
    rows = bound_rows(features(categories), np.ones(COUNT), 1.0, 0.3)
    lengths = []
    honest = np.sqrt

    def noted(values, **settings):
        lengths.append(len(values))
        return honest(values, **settings)

    monkeypatch.setattr(blocks.np, "sqrt", noted)
    rows.sum(lambda block: (block.gram(np.ones(len(block.target)), double=True),))
    assert lengths
    assert max(lengths) <= rows.sum_shape.terms
    expected = rows.features.toarray()
    monkeypatch.undo()
    gram = rows.sum(lambda b: (b.gram(np.ones(len(b.target)), double=True),))[0]
    np.testing.assert_allclose(gram[:-1, :-1], expected.T @ expected, atol=1e-9)
