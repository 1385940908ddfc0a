"""What confide asks of a CSR matrix beyond products, without a copy of its places."""

from typing import Any

import numpy as np
from scipy import sparse

from confide._types import AnyArray
from confide.errors import InvalidData


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


def as_csr(features: Any) -> Any:
    """Return any sparse matrix as CSR, entries in the order in which they are stored.

    SciPy would add up entries that stand at one place while it converts, in an order that
    depends on other rows.
    """
    if features.format in ("csr", "csc"):
        return _checked(features).tocsr()
    entries = features.tocoo()
    order = np.argsort(entries.row, kind="stable")
    counts = np.bincount(entries.row, minlength=features.shape[0])
    ends = np.concatenate([[0], np.cumsum(counts)])
    parts = (entries.data[order], entries.col[order], ends)
    return _checked(sparse.csr_array(parts, shape=features.shape))


def _checked(features: Any) -> Any:
    """Refuse entries that stand outside of the matrix."""
    try:
        features.check_format(full_check=True)
    except ValueError:
        raise InvalidData(
            "every entry of the sparse matrix X must stand at a place within its shape; "
            "one does not. Build the matrix again, as by scipy.sparse.coo_array."
        ) from None
    return features


def without_duplicates(features: Any) -> Any:
    """Return a sparse matrix, or a copy of it, with one entry at a place, in order.

    Entries of a row that stand at one place are added up as they are stored. SciPy sorts
    them first, in an order that depends on other rows. It also remembers what it once
    found; whoever wrote into the arrays since made it untrue.
    """
    if not sparse.issparse(features):
        return features
    afresh = with_values(features, features.data)
    if afresh.has_canonical_format:
        return features
    rows = np.repeat(np.arange(afresh.shape[0]), np.diff(afresh.indptr))
    order = np.lexsort((afresh.indices, rows))
    rows, columns, values = rows[order], afresh.indices[order], afresh.data[order]
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    sums = np.zeros(np.count_nonzero(begins), values.dtype)
    np.add.at(sums, np.cumsum(begins) - 1, values)
    counts = np.bincount(rows[begins], minlength=afresh.shape[0])
    ends = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((sums, columns[begins], ends), shape=afresh.shape)
