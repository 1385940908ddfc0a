"""Effects together: their lines in a summary, and what rows cannot tell apart.

An interaction of categories or splines can also be what its parts are: constant along one
of them. Such a component is shown with the effect it is the same as, where the model has
that effect, so that every line is identified and the lines still add up to the predictor.
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
"""An effect as the set of its parts; empty for the intercept."""


@dataclass(frozen=True, slots=True, repr=False)
class Display:
    """The lines of a summary as an affine function of the coefficients.

    ``shown = lines @ coefficients + constant``, where the coefficients are the slopes and,
    last, the intercept.

    Parameters
    ----------
    names : tuple of str
        Names of the lines, that of the intercept last.
    lines : array, sparse matrix or operator
        Linear part. It is never as large as the square of the number of coefficients unless
        `matrix` is used.
    constant : ndarray
        Constant part.
    rare : frozenset of str, optional
        Lines for rows without a level, which a table need not contain.

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
        """All lines as one matrix."""
        return np.asarray(self.lines @ np.eye(self.lines.shape[1]))

    def show(self, coefficients: Array) -> Array:
        """Return the cells of the lines."""
        return np.asarray(self.lines @ coefficients + self.constant)

    def scaled(self, factors: Array, constant: Array) -> "Display":
        """Return the lines of the first coefficients, each multiplied by a factor."""
        scale = sparse.diags_array(factors).tocsr()
        scale.resize(self.lines.shape[1], len(factors))
        lines = aslinearoperator(self.lines) @ aslinearoperator(scale)
        return Display(self.names, lines, self.constant + constant, self.rare)


def units_matrix(effects: Sequence[Effect], weights: Array) -> AnyArray:
    """Return the sparse matrix that turns coefficients into effects per original unit.

    Both sides hold slopes and, last, an intercept, to which a change of origin adds.
    """
    units = [effect.units() for effect in effects]
    factors = weights * np.concatenate([factor for factor, _ in units])
    origins = np.concatenate([np.full(len(factor), origin) for factor, origin in units])
    last = sparse.csr_array(np.append(-origins * factors, 1.0)[None, :])
    slopes = sparse.diags_array(factors).tocsr()
    slopes.resize(len(factors), len(factors) + 1)
    return sparse.vstack([slopes, last], format="csr")


def display(effects: Sequence[Effect], weights: Array) -> Display:
    """Return what turns coefficients of the design matrix into lines to be shown."""
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
    # A pair of levels that others are compared with is always 0: nothing is shown of it.
    shown = [j for j, line in enumerate(matrix) if line.any()]
    kept = tuple(every[j] for j in shown)
    return Display(kept, matrix[shown], np.zeros(len(kept)), frozenset(rare))


def _against(lines: Sequence[Lines], shape: tuple[int, int]) -> Any:
    """Return what is subtracted from all lines of an effect: of rank one for each."""
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
    """Return directions, as columns, that change the predictor of no complete row.

    The indicators of a category add up to 1 wherever there is a level, as the intercept
    does: coefficients may move along their difference without changing the predictor of any
    such row. Effects are columns; `still_directions` finds those of terms.
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
    """Return the parts of an effect, in one order for all effects."""
    if not isinstance(effect, Interaction):
        return (effect,)
    return effect.parts


def _sorted_order(parts: Sequence[Any]) -> AnyArray:
    """Return where the features of parts in the order of their names are."""
    sizes = [len(part.features) for part in parts]
    order = sorted(range(len(parts)), key=lambda place: text_of(parts[place]))
    places = np.arange(int(np.prod(sizes, dtype=np.int64))).reshape(sizes or (1,))
    return places.transpose(order).ravel() if sizes else places.ravel()


def _moved(effects: Sequence[Effect], weights: Array) -> AnyArray:
    """Return the matrix that hands every component of an interaction to its own effect.

    A component that is constant along some parts goes to the effect of the others, if the
    model has it. Both sides are coefficients of the design and, last, the intercept.
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
    """Yield every component: what it is the same as, of which parts, and its matrix.

    The matrix turns coefficients of the interaction into those of the effect of the parts.
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
    """Return a component as coefficients of the interaction itself."""
    kept = {text_of(part) for part in rest}
    factors = [
        np.eye(len(part.features))
        if text_of(part) in kept
        else np.ones((len(part.features), 1))
        for part in effect.parts
    ]
    return kron(factors) @ shares
