"""A tape of all that leaves the rows: lattice points and choices, to see and to replay."""

import pickle
from importlib import import_module

import numpy as np

from confide.noise import Entropy
from confide.noise.lattice import LatticeNoise

CHOICES = {
    "confide.noise.random_choice.SignedWeights": "draw",
    "confide.noise.samplers.Gumbel": "largest",
    "confide.noise.samplers.Laplace": "largest",
    "confide.tuning.chunks": "choose",
}
"""Where a choice is made by noisy scores or by weights."""


class Tape:
    """Notes points with their lattices, and choices; plays them back for another table.

    An attacker who knows two tables learns nothing from a release if all noted is possible
    from both, and if the release follows from what is noted.
    """

    def __init__(self, monkeypatch):
        self.points, self.grids, self.choices, self._script = [], [], [], None
        self.add = LatticeNoise.add
        tape = self

        def added(noise, centre):
            return tape.note_point(tape.add(noise, centre), noise.grid)

        monkeypatch.setattr(LatticeNoise, "add", added)
        for place, name in CHOICES.items():
            owner = _find(place)
            monkeypatch.setattr(owner, name, self._watch(getattr(owner, name)))

    def _watch(self, honest):
        def watched(*given):
            return self.note_choice(honest(*given))

        return watched

    def note_point(self, value, grid):
        """Keep a point, or return the one of the script in its place."""
        if self._script is not None:
            value = self._script[0].pop(0)
        self.points.append(np.array(value))
        self.grids.append(grid)
        return np.array(value)

    def note_choice(self, chosen):
        """Keep a choice, or return the one of the script in its place."""
        if self._script is not None:
            chosen = self._script[1].pop(0)
        self.choices.append(chosen)
        return chosen

    def record(self, make, seed, script=None):
        """Return the bytes of what ``make(entropy)`` releases, its points and choices."""
        self.points, self.grids, self.choices = [], [], []
        self._script = None if script is None else [list(part) for part in script]
        released = pickle.dumps(make(Entropy.seeded(seed)))
        self._script = None
        return released, self.points, self.choices

    def accuses(self, points, grids):
        """Whether a point lies on none of the lattices that a table is known to have."""
        return len(points) != len(grids) or any(
            (value / grid != np.rint(value / grid)).any()
            or np.signbit(value[value == 0]).any()
            for value, grid in zip(points, grids, strict=True)
        )


def _find(place):
    module, _, name = place.rpartition(".")
    return getattr(import_module(module), name)
