"""Which variables a sparse release selects: read off the released zeros alone."""

from typing import Any

import numpy as np
from scipy import sparse

from confide._types import Array
from confide.data import Display
from confide.errors import InvalidParameter
from confide.mechanisms import AdaptiveObjectivePerturbation, Mechanism, Release
from confide.objectives import PENALTIES, Penalty

MOST_NAMES = 12


def check_penalty(mechanism: Mechanism, l1: float, penalty: Any) -> None:
    """Refuse two penalties, what is none, and two looks for one that is not there."""
    if penalty is not None:
        if not isinstance(penalty, tuple(PENALTIES.values())):
            known = ", ".join(kind.__name__ for kind in PENALTIES.values())
            raise InvalidParameter("penalty", f"None or one of {known}", penalty)
        if l1:
            raise InvalidParameter("l1", "0 next to a penalty of its own", l1)
        return
    if isinstance(mechanism, AdaptiveObjectivePerturbation) and not l1:
        raise InvalidParameter(
            "l1",
            "greater than 0 for mechanism='adaptive', which weighs an l1 penalty",
            l1,
            "A good one is about the scale of the noise: try 5, or mechanism='objective'.",
        )


def check_coordinates(penalty: Penalty, dimension: int) -> None:
    """Refuse a penalty that is about other coordinates than there are."""
    somewhere = np.ones(dimension)
    try:
        moved = penalty.prox(somewhere, 1e-9)
        fits = moved.shape == somewhere.shape and penalty.ridge(dimension).size == dimension
    except (IndexError, ValueError):
        fits = False
    if not fits:
        raise InvalidParameter(
            "penalty", f"about {dimension} coordinates, the intercept's last", penalty
        )


def selects(model: Any) -> bool:
    """Whether zeros of the release mean that a variable was left out."""
    penalty = model.penalty
    zeroes = bool(model.l1) or (penalty is not None and penalty.kink() is not None)
    return zeroes or "support" in model.release_.extras


def display_of_release(release: Release, names: tuple[str, ...], factors: Array) -> Display:
    """Return a line for every coefficient, or for those that the mechanism selected.

    ``names`` and ``factors`` are those of all coefficients, the constant one included.
    """
    supports = release.extras.get("support")
    if supports is None:
        return Display(names, np.diag(factors), np.zeros(len(names)))
    table = np.atleast_2d(release.value)
    kept = (table != 0).any(axis=0)
    kept[[j for support in supports for j in support]] = True
    shown = np.flatnonzero(kept)
    matrix: Any = sparse.csr_array(
        (factors[shown], (np.arange(len(shown)), shown)), shape=(len(shown), len(names))
    )
    return Display(tuple(names[j] for j in shown), matrix, np.zeros(len(shown)))


def selected(model: Any) -> tuple[str, ...]:
    """Return the variables with a released coefficient that is not 0, in any coding."""
    table = np.atleast_2d(model.release_.value)[:, : model.n_features_in_]
    used = (table != 0).any(axis=0)
    if model.schema is None:
        names = model._feature_names()  # noqa: SLF001
        return tuple(name for name, kept in zip(names, used, strict=True) if kept)
    sizes = [len(column.features) for column in model.schema.columns]
    blocks = np.split(used, np.cumsum(sizes)[:-1])
    pairs = zip(model.schema.columns, blocks, strict=True)
    return tuple(column.name for column, block in pairs if block.any())


def selection_facts(model: Any) -> tuple[tuple[str, str], ...]:
    """Say which variables were selected, for a summary."""
    names = selected(model)
    many = model.n_features_in_ if model.schema is None else len(model.schema.columns)
    shown = ", ".join(names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    listed = f": {shown}{more}" if names else ""
    return (("Selected", f"{len(names)} of {many} variables{listed}"),)
