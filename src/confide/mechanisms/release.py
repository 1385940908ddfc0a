"""What leaves: a value, its guarantee, and the public facts about its noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from confide._types import Array
from confide.accounting import Event
from confide.privacy import COMPOSED, Guarantee
from confide.privacy.downgrades import UNKNOWN_PARTS


@dataclass(frozen=True, slots=True)
class NoiseRecord:
    """Which noise was added to what: kind and scale are public."""

    kind: str
    scale: float
    added_to: str


KEEPS_STATUS = ("linear term", "linear term of every x-step", "scores of corners")
"""What the first noise of a part is added to, if the part is PROVED."""


def lowered(guarantee: Guarantee, noise: Sequence[NoiseRecord]) -> Guarantee:
    """Return what a stored guarantee is worth today, where its theorem puts parts together.

    Which parts they were only the noise tells; in doubt it is less.
    """
    kept = bool(noise) and noise[0].added_to in KEEPS_STATUS
    if guarantee.theorem in COMPOSED and not kept:
        return guarantee.claimed(UNKNOWN_PARTS)
    return guarantee


@dataclass(frozen=True, slots=True)
class Release:
    """A private value with everything a reader needs to trust and use it.

    ``value`` holds the coefficients, intercept last, in the scaled units of the
    objective; one row per class for one-vs-rest. It holds no data and nothing about how
    the solver got there.
    """

    value: Array
    guarantee: Guarantee
    noise: tuple[NoiseRecord, ...]
    l2: float
    events: tuple[Event, ...]
    extras: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def noise_scale(self) -> float:
        """The scale of the first noise: 1/rate or standard deviation."""
        return self.noise[0].scale

    def __getstate__(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in self.__slots__}
        return {**state, "extras": dict(self.extras)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "guarantee", lowered(self.guarantee, self.noise))
