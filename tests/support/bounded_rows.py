"""Tables as a fit reads them: every bounded row, bit by bit."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from confide.errors import ConfideError
from confide.estimators._bounding import Bounding
from confide.estimators._readings import InParts, PrepareChunk

Given = tuple[Any, Any, Any]
"""A model, and what is passed to its fit: the table and the target."""
WEIGHED = Bounding(1.0, 0.3, most=0.6)


def read(given: Given, bounding: Any, *, swept: bool = True) -> list[bytes] | None:
    """Return every row as it is bounded, with its target; None where it is refused.

    A table in parts is ``swept`` as a fit does, or else read once, piece by piece.
    """
    model, X, y = given
    try:
        spec = model._spec()
        reading = model._read(spec, X, y)
        bounds = WEIGHED if model.schema is not None else bounding
        if isinstance(reading, InParts) and not swept:
            held = list(_pieces(reading, bounds))
        else:
            held = [reading.enclose(bounds)]
    except ConfideError:
        return None
    return [row for rows in held for row in _rows(rows, reading.task.codings[-1])]


def _pieces(reading: InParts, bounds: Any) -> Iterator[Any]:
    split = reading.split
    prepare = PrepareChunk(split, reading.task.read, bounds, reading.width)
    for source in reading.table.sources(split.schema, target=not split.beside):
        yield from map(prepare, source.read())


def _rows(read_rows: Any, code: Callable[[Any], Any]) -> list[bytes]:
    rows = read_rows.with_target(code)
    found: list[bytes] = rows.sum(_lines)[0]
    if hasattr(rows, "plain"):
        features, target = rows.plain()
        dense = features.toarray() if sparse.issparse(features) else features
        found = [a + b for a, b in zip(found, _bytes(dense, target), strict=True)]
    return found


def _lines(block: Any) -> tuple[list[bytes]]:
    features = block.features.toarray()
    if block.factor is not None:
        features = features * block.factor[:, None]
    if block.weight is not None:
        features = np.column_stack([features, block.weight])
    if block.offset is not None:
        features = np.column_stack([features, block.offset])
    return (_bytes(features, block.target),)


def _bytes(features: Any, target: Any) -> list[bytes]:
    # −0 and 0 are the same number.
    whole = np.asarray(features, np.float64) + 0.0
    labels = np.asarray(target, np.float64) + 0.0
    return [x.tobytes() + y.tobytes() for x, y in zip(whole, labels, strict=True)]
