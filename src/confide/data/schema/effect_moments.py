"""Means and mean products of features, from public or assumed distributions of columns.

Columns are assumed to be independent. The expected product of two features is then a
product of one expectation per column, even if both features depend on the same column.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide._types import Array
from confide.data.schema.columns import Column
from confide.data.schema.terms.kinds import Interaction, columns_of, features_of
from confide.data.schema.terms.term import Effect, Units

POINTS = 256
LEAST_SPREAD = 1e-10
"""An eigenvector of the standardised matrix of mean products is regarded as an unidentified
direction if its eigenvalue is less than this number times the number of features."""


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Discrete distribution of a column over positions in its range or over level codes."""

    cells: Any
    chances: Array

    def units(self, column: Column) -> Units:
        """Return the values as `Units`, from which terms are computed."""
        if column.coded:
            return Units({}, {column.name: self.cells})
        return Units({column.name: self.cells}, {})


def even_nodes(column: Column) -> Nodes:
    """Return the uniform distribution over the range or over all levels."""
    if column.coded:
        count = len(column.features)
        # A single level is compared with rows that do not have it.
        cells = np.arange(count) if count > 1 else np.array([0, -1])
    elif column.possible:
        cells = np.array([-1.0, 1.0])
    else:
        edges = np.linspace(-1, 1, POINTS + 1)
        cells = (edges[1:] + edges[:-1]) / 2
    return Nodes(cells, np.full(len(cells), 1 / len(cells)))


def moments_of(
    effects: Sequence[Effect], nodes: Mapping[str, Nodes]
) -> tuple[Array, Array]:
    """Return the means and the matrix of mean products of all unweighted features."""
    parts = [
        [
            (part.name, columns_of(part)[0].name, *_at_nodes(part, nodes))
            for part in getattr(effect, "parts", (effect,))
        ]
        for effect in effects
    ]
    means = [_tensor([values @ chances for *_, values, chances in one]) for one in parts]
    sizes = [len(mean) for mean in means]
    starts = np.cumsum([0, *sizes])
    second = np.empty((starts[-1], starts[-1]))
    for i, one in enumerate(parts):
        for j, other in enumerate(parts[: i + 1]):
            block = _products(one, other)
            rows, columns = slice(*starts[i : i + 2]), slice(*starts[j : j + 2])
            second[rows, columns], second[columns, rows] = block, block.T
    return np.concatenate(means), second


def still_directions(effects: Sequence[Effect], weights: Array, height: float) -> Array:
    """Return a basis, as columns, of the directions that are not identified.

    A change of the coefficients in these directions does not change the linear predictor of
    rows without missing or undeclared levels, whatever the distribution of the columns.
    Such directions arise if features are linearly dependent: indicators of a category and
    the intercept, an interaction and the effects of its parts, or a spline and a polynomial
    of the same column.
    """
    columns = {c.name: c for effect in effects for c in columns_of(effect)}
    mean, second = moments_of(effects, {n: even_nodes(c) for n, c in columns.items()})
    scale = weights
    if height:
        second = np.block([[second, mean[:, None]], [mean[None, :], np.ones((1, 1))]])
        scale = np.append(weights, height)
    deviation = np.sqrt(np.diag(second))
    values, vectors = np.linalg.eigh(second / np.outer(deviation, deviation))
    still = vectors[:, values < LEAST_SPREAD * len(values)]
    return np.asarray(still / (deviation * scale)[:, None])


def _at_nodes(part: Any, nodes: Mapping[str, Nodes]) -> tuple[Array, Array]:
    """Return the features of a part at the nodes of its column, and their probabilities."""
    (column,) = columns_of(part)
    known = nodes[column.name]
    return features_of(part, known.units(column)), known.chances


def _tensor(vectors: Sequence[Array]) -> Array:
    whole = np.ones(1)
    for one in vectors:
        whole = np.multiply.outer(whole, one).ravel()
    return whole


def _products(one: Sequence[Any], other: Sequence[Any]) -> Array:
    """Return the matrix of mean products of the features of two effects."""
    operands: list[Any] = []
    rows, columns = list(range(len(one))), list(range(len(one), len(one) + len(other)))
    theirs = {name: place for place, (_, name, *_) in enumerate(other)}
    met = set()
    for place, (_, name, values, chances) in enumerate(one):
        if name in theirs:
            met.add(name)
            operands += [(values * chances) @ other[theirs[name]][2].T]
            operands += [[place, columns[theirs[name]]]]
        else:
            operands += [values @ chances, [place]]
    for place, (_, name, values, chances) in enumerate(other):
        if name not in met:
            operands += [values @ chances, [columns[place]]]
    found = np.einsum(*operands, [*rows, *columns])
    shape = [math.prod(found.shape[: len(one)]), math.prod(found.shape[len(one) :])]
    return np.asarray(found.reshape(shape))


def has_terms(effects: Sequence[Effect]) -> bool:
    """Whether any effect is a term other than a single column."""
    return any(isinstance(e, Interaction) or columns_of(e)[0] is not e for e in effects)
