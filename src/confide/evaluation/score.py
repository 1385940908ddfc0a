"""A released score: estimates and curves with their guarantee; it holds no data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from confide._types import AnyArray, Array
from confide.accounting import Event
from confide.data.matrix.sums import Partial
from confide.evaluation.estimates import ScoreEstimate
from confide.evaluation.noises import Look, LookNoise
from confide.mechanisms.release import NoiseRecord
from confide.noise import Entropy
from confide.privacy import Guarantee, Neighbours

DIGITS = 4


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of a curve; its interval is None where none is drawn.

    ``start`` and ``end`` are those of the cell on the x-axis that it stands for.
    """

    x: float
    y: float
    lower: float | None = None
    upper: float | None = None
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Released points, and what the axes mean.

    ``guide`` is the line that they are held against: "diagonal", "zero" or none.
    """

    title: str
    x_label: str
    y_label: str
    points: tuple[CurvePoint, ...]
    joined: bool = True
    guide: str = ""


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """What a score is made of before its guarantee is put to it."""

    estimates: tuple[ScoreEstimate, ...]
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelScore:
    """How good a model is on some rows, released under differential privacy.

    Intervals are about the population that the rows were drawn from: they count sampling
    and the noise. Each holds by itself, as often as ``level`` says.
    """

    title: str
    guarantee: Guarantee
    noise: tuple[NoiseRecord, ...]
    events: tuple[Event, ...]
    level: float
    estimates: tuple[ScoreEstimate, ...]
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> ScoreEstimate:
        found = {estimate.name: estimate for estimate in self.estimates}
        return found[name]

    def __iter__(self) -> Iterator[ScoreEstimate]:
        return iter(self.estimates)

    def curve(self, title: str) -> Curve:
        """Return the curve with this title."""
        return {curve.title: curve for curve in self.curves}[title]

    def cells(self) -> list[list[str]]:
        """Return a line of headings and one for every estimate, as text."""
        return [
            ["score", "estimate", "lower", "upper"],
            *(
                [one.name, *(show(x) for x in (one.value, one.lower, one.upper))]
                for one in self.estimates
            ),
        ]

    def __str__(self) -> str:
        lines = self.cells()
        first = max(len(line[0]) for line in lines)
        table = [
            "  ".join([f"{name:<{first}}", *(f"{cell:>10}" for cell in rest)])
            for name, *rest in lines
        ]
        table.insert(1, "-" * len(table[0]))
        return "\n".join([self.title, str(self.guarantee), "", *table, *self.notes])


def show(value: float | None) -> str:
    """Return a number for readers; what noise hides is a dash."""
    return "–" if value is None else f"{value:.{DIGITS}g}"


class ScoreRule(Protocol):
    """What is counted of a model's predictions, and how a score follows from it.

    A rule is made of public facts: the released model and its schema. It can be sent to
    where the rows are.
    """

    @property
    def title(self) -> str:
        """What the score is of."""
        ...

    def tally(self, margins: Array, target: AnyArray) -> Partial:
        """Return private sums over some rows, each of which counts by itself."""
        ...

    def looks(self, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return what is released of those sums, from public facts alone."""
        ...

    def release(
        self,
        sums: Partial,
        noises: tuple[LookNoise, ...],
        entropy: Entropy,
        level: float,
    ) -> ScoreParts:
        """Release every look, and return what follows from them; it never fails."""
        ...
