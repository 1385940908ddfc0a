"""What confide asks of a CSR matrix beyond products, without a copy of its places."""

from typing import Any

import numpy as np
from scipy import sparse

from confide._types import AnyArray


def cut(features: Any, rows: slice, dtype: Any) -> Any:
    """Return consecutive rows in some precision; their places are not copied."""
    first, last = features.indptr[rows.start], features.indptr[rows.stop]
    return sparse.csr_array(
        (
            features.data[first:last].astype(dtype, copy=False),
            features.indices[first:last],
            features.indptr[rows.start : rows.stop + 1] - first,
        ),
        shape=(rows.stop - rows.start, features.shape[1]),
    )


def with_values(features: Any, values: AnyArray) -> Any:
    """Return a matrix with other values at the same places."""
    parts = (values, features.indices, features.indptr)
    return sparse.csr_array(parts, shape=features.shape)


def squared(features: Any) -> Any:
    """Return every entry squared; no place may hold two."""
    return with_values(features, features.data * features.data)


def scaled(features: Any, factor: AnyArray | None) -> Any:
    """Return every row times its factor."""
    if factor is None:
        return features
    each = np.repeat(factor, np.diff(features.indptr))
    return with_values(features, features.data * each)


def longest_row(features: Any) -> int:
    """Return how many entries the fullest row holds."""
    return int(np.diff(features.indptr).max(initial=0))


def without_duplicates(features: Any) -> Any:
    """Return a sparse matrix, or a copy of it, with one entry at a place.

    SciPy remembers what it once found; whoever wrote into the arrays since made it untrue.
    """
    if not sparse.issparse(features):
        return features
    afresh = with_values(features, features.data)
    if afresh.has_canonical_format:
        return features
    whole = afresh.copy()
    whole.sum_duplicates()
    return whole
