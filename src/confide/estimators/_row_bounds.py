"""How the rows of a fit are bounded: by their length, or entry by entry."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide._types import AnyArray
from confide.data import (
    INTERCEPT_HEIGHT,
    EntryBounds,
    InMemoryRows,
    Schema,
    bound_entries,
    bound_rows,
)
from confide.data.matrix.matrix import Matrix
from confide.mechanisms import Mechanism, Release

EXTRA = "bounds"


@dataclass(frozen=True, slots=True)
class Bounding:
    """A public length of rows, or public bounds on entries; the intercept's height.

    ``few`` bounds the entries of rows that are bounded by their length already.
    """

    row_norm: float
    height: float
    entries: EntryBounds | None = None
    few: EntryBounds | None = None

    def enclose(
        self, features: Matrix, target: AnyArray, *, constant: bool = True
    ) -> InMemoryRows:
        """Bound every row and close the box."""
        height = self.height if constant else 0.0
        if self.entries is not None:
            return bound_entries(features, target, self.entries, height)
        return bound_rows(features, target, self.row_norm, height)

    def norm(self, columns: int) -> float:
        """Return how long a row can be, the constant column included."""
        longest = self.row_norm if self.entries is None else self.entries.norm(columns)
        return float(np.hypot(longest, self.height))

    @property
    def known(self) -> EntryBounds | None:
        """What is known of entries."""
        return self.entries or self.few


def bounding_for(model: Any, mechanism: Mechanism) -> Bounding:
    """Return how a model bounds rows for a mechanism, from public settings alone."""
    entries: EntryBounds | None = getattr(mechanism, "entries", None)
    if model.schema is not None:
        few = None if entries is None else _of_schema(model.schema)
        return Bounding(1.0, INTERCEPT_HEIGHT if model.fit_intercept else 0.0, few=few)
    if entries is None:
        norm = float(model.row_norm)
        return Bounding(norm, INTERCEPT_HEIGHT * norm if model.fit_intercept else 0.0)
    height = getattr(mechanism, "intercept_height", 0.0) if model.fit_intercept else 0.0
    return Bounding(float(model.row_norm), height, entries)


def bounding_of(model: Any, release: Release) -> Bounding:
    """Return how the rows behind a release were bounded."""
    kept = release.extras.get(EXTRA)
    norm = 1.0 if model.schema is not None else float(model.row_norm)
    if kept is None or model.schema is not None:
        return Bounding(norm, INTERCEPT_HEIGHT * norm if model.fit_intercept else 0.0)
    length = None if kept["length"] is None else float(kept["length"])
    entries = EntryBounds(float(kept["most"]), int(kept["few"]), length)
    return Bounding(norm, float(kept["height"]), entries)


def bounding_facts(release: Release) -> tuple[tuple[str, str], ...]:
    """Say how entries were bounded, for a summary."""
    kept = release.extras.get(EXTRA)
    if kept is None:
        return ()
    if kept["length"] is None:
        return (("Entries", f"at most {float(kept['most']):g}; beyond that clipped"),)
    text = f"the largest {kept['few']} of a row at most {float(kept['length']):.4g} long"
    return (("Entries", f"{text} together; rows beyond that scaled"),)


def _of_schema(schema: Schema) -> EntryBounds:
    return EntryBounds(float(schema.weights.max()))
