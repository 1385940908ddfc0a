"""Coefficient tables of models, and directions of coefficients that are not identified.

An interaction of categories or splines has components that do not depend on one of its
parts, and therefore coincide with effects of the other parts. If the model contains such a
lower-order effect, the component is added to the lines of this effect in the coefficient
table. All lines are then identified, and together still give the linear predictor.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from confide._types import AnyArray, Array
from confide.data.schema.columns import Lines
from confide.data.schema.terms.kinds import Interaction, kron, text_of
from confide.data.schema.terms.term import Effect, constant_of

INTERCEPT = "(intercept)"

Key: TypeAlias = frozenset[str]
"""The names of the parts of an effect, as its identifier; empty for the intercept."""


@dataclass(frozen=True, slots=True, repr=False)
class Display:
    """Lines of the coefficient table, as an affine function of the coefficients.

    ``shown = lines @ coefficients + constant``, where the coefficients are the slopes
    followed by the intercept.

    Parameters
    ----------
    names : tuple of str
        Names of the lines, with the intercept last.
    lines : array, sparse matrix or operator
        Linear part. It is a dense matrix only if the model has interactions.
    constant : ndarray
        Constant part.
    rare : frozenset of str, optional
        Names of lines for rows without a declared level; such rows may be absent from the
        table.

    Examples
    --------
    >>> from confide import Number, Schema, Target
    >>> schema = Schema((Number("age", lower=0, upper=100),), Target("y", bound=1))
    >>> shown = schema.display_map()
    >>> shown.names
    ('age', '(intercept)')
    """

    names: tuple[str, ...]
    lines: Any
    constant: Array
    rare: frozenset[str] = frozenset()

    @property
    def matrix(self) -> Array:
        """The linear part as a dense matrix."""
        return np.asarray(self.lines @ np.eye(self.lines.shape[1]))

    def show(self, coefficients: Array) -> Array:
        """Return the values of the lines for given coefficients."""
        return np.asarray(self.lines @ coefficients + self.constant)

    def scaled(self, factors: Array, constant: Array) -> "Display":
        """Return the map for coefficients that have yet to be multiplied by ``factors``.

        ``constant`` is added to the lines. If there are fewer factors than coefficients,
        the remaining coefficients are 0.
        """
        scale = sparse.diags_array(factors).tocsr()
        scale.resize(self.lines.shape[1], len(factors))
        lines = aslinearoperator(self.lines) @ aslinearoperator(scale)
        return Display(self.names, lines, self.constant + constant, self.rare)


def units_matrix(effects: Sequence[Effect], weights: Array) -> AnyArray:
    """Return the sparse matrix that converts coefficients to effects per original unit.

    Its rows and columns correspond to the slopes followed by the intercept, which is
    adjusted for the change of origin.
    """
    units = [effect.units() for effect in effects]
    factors = weights * np.concatenate([factor for factor, _ in units])
    origins = np.concatenate([np.full(len(factor), origin) for factor, origin in units])
    last = sparse.csr_array(np.append(-origins * factors, 1.0)[None, :])
    slopes = sparse.diags_array(factors).tocsr()
    slopes.resize(len(factors), len(factors) + 1)
    return sparse.vstack([slopes, last], format="csr")


def display(effects: Sequence[Effect], weights: Array) -> Display:
    """Return the map from coefficients of the design to lines of the coefficient table."""
    lines = [effect.lines() for effect in effects]
    names = [name for one in lines for name in one.names]
    rare: set[str] = set()
    for effect, one in zip(effects, lines, strict=True):
        if effect.coded:
            rare |= {*one.names} - {*effect.features}
    taken = np.append(np.concatenate([one.intercept for one in lines]), 1.0)
    own = sparse.block_diag([one.matrix for one in lines], format="csr")
    own.resize(own.shape[0], len(taken))
    own = sparse.vstack([own, sparse.csr_array(taken[None, :])], format="csr")
    every, units = (*names, INTERCEPT), units_matrix(effects, weights)
    centring = aslinearoperator(own) - _against(lines, own.shape)
    if not any(isinstance(effect, Interaction) for effect in effects):
        whole = centring @ aslinearoperator(units)
        return Display(every, whole, np.zeros(len(every)), frozenset(rare))
    moved: Any = units @ _moved(effects, weights)
    matrix = np.asarray(centring @ moved.toarray())
    # Lines that are always 0, such as those of reference levels, are omitted.
    shown = [j for j, line in enumerate(matrix) if line.any()]
    kept = tuple(every[j] for j in shown)
    return Display(kept, matrix[shown], np.zeros(len(kept)), frozenset(rare))


def _against(lines: Sequence[Lines], shape: tuple[int, int]) -> Any:
    """Return the operator that maps coefficients to the baseline of every line."""
    rows = np.cumsum([0, *(len(one.names) for one in lines)])
    starts = np.cumsum([0, *(len(one.intercept) for one in lines)])
    compared = [j for j, one in enumerate(lines) if one.against is not None]
    spread = sparse.lil_array((shape[0], len(compared)))
    average = sparse.lil_array((len(compared), shape[1]))
    for place, j in enumerate(compared):
        spread[rows[j] : rows[j + 1], [place]] = 1.0
        average[[place], starts[j] : starts[j + 1]] = lines[j].against
    return aslinearoperator(spread.tocsr()) @ aslinearoperator(average.tocsr())


def unidentified_directions(
    effects: Sequence[Effect], weights: Array, height: float
) -> Array:
    """Return a basis, as columns, of the directions that are not identified.

    The indicators of each category sum to 1 in every row with a declared level, and the
    intercept column is constant, too. Adding a number to the effects of all levels of one
    category, and subtracting it from those of another category or from the intercept, does
    not change the linear predictor of rows without missing or undeclared levels. This
    function handles models whose effects are columns; `still_directions` handles others.
    """
    sums = []
    for effect, start in zip(effects, _starts(effects), strict=True):
        size = len(effect.features)
        if effect.coded and size > 1:
            one = np.zeros(len(weights) + bool(height))
            one[start : start + size] = 1 / weights[start : start + size]
            sums.append(one)
    if height:
        intercept = np.zeros(len(weights) + 1)
        intercept[-1] = 1 / height
        sums.append(intercept)
    if len(sums) < 2:
        return np.zeros((len(weights) + bool(height), 0))
    return np.column_stack([one - sums[-1] for one in sums[:-1]])


def _key(effect: Any) -> Key:
    parts = effect.parts if isinstance(effect, Interaction) else (effect,)
    return frozenset(map(text_of, parts))


def _starts(effects: Sequence[Effect]) -> list[int]:
    sizes = [len(effect.features) for effect in effects]
    return np.cumsum([0, *sizes])[:-1].tolist()


def _parts(effect: Any) -> tuple[Any, ...]:
    """Return the parts of an effect; a column or a single term is its own part."""
    if not isinstance(effect, Interaction):
        return (effect,)
    return effect.parts


def _sorted_order(parts: Sequence[Any]) -> AnyArray:
    """Return the permutation of products of features that sorts the parts by name."""
    sizes = [len(part.features) for part in parts]
    order = sorted(range(len(parts)), key=lambda place: text_of(parts[place]))
    places = np.arange(int(np.prod(sizes, dtype=np.int64))).reshape(sizes or (1,))
    return places.transpose(order).ravel() if sizes else places.ravel()


def _moved(effects: Sequence[Effect], weights: Array) -> AnyArray:
    """Return the matrix that moves components of interactions to lower-order effects.

    A component that does not depend on some of the parts is moved to the effect of the
    other parts if the model contains this effect. Rows and columns of the matrix correspond
    to the coefficients of the design followed by the intercept.
    """
    starts, width = _starts(effects), len(weights)
    places = {_key(effect): place for place, effect in enumerate(effects)}
    moved = sparse.lil_array((width + 1, width + 1))
    moved.setdiag(1.0)
    for place, effect in enumerate(effects):
        if not isinstance(effect, Interaction):
            continue
        own = slice(starts[place], starts[place] + len(effect.features))
        kept = np.zeros((len(effect.features),) * 2)
        for key, rest, shares in _components(effect):
            if key == _key(effect) or not (key in places or not key):
                kept += _spread(effect, rest, shares)
                continue
            part = shares[_sorted_order(rest)] * weights[own]
            if not key:
                moved[-1, own] = part
                continue
            other = effects[places[key]]
            there = slice(starts[places[key]], starts[places[key]] + len(part))
            back = np.argsort(_sorted_order(_parts(other)))
            moved[there, own] = part[back] / weights[there][:, None]
        moved[own, own] = kept
    return moved.tocsr()


def _components(effect: Interaction) -> Iterator[tuple[Key, list[Any], Array]]:
    """Yield, for each component of an interaction, the equivalent effect and a matrix.

    The equivalent effect is given by its key and its parts. The matrix maps coefficients of
    the interaction to coefficients of the equivalent effect.
    """
    means = [constant_of(part) for part in effect.parts]
    free = [place for place, mean in enumerate(means) if mean is not None]
    for count in range(len(free) + 1):
        for along in combinations(free, count):
            factors = []
            for place, (part, mean) in enumerate(zip(effect.parts, means, strict=True)):
                one = np.eye(len(part.features))
                if mean is None:
                    factors.append(one)
                elif place in along:
                    factors.append(mean[None, :])
                else:
                    factors.append(one - mean)
            rest = [p for place, p in enumerate(effect.parts) if place not in along]
            yield frozenset(map(text_of, rest)), rest, kron(factors)


def _spread(effect: Interaction, rest: Sequence[Any], shares: Array) -> Array:
    """Return the matrix that maps coefficients of an interaction to one component of it."""
    kept = {text_of(part) for part in rest}
    factors = [
        np.eye(len(part.features))
        if text_of(part) in kept
        else np.ones((len(part.features), 1))
        for part in effect.parts
    ]
    return kron(factors) @ shares
