"""Released scores: estimates and curves with their guarantee, without data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from confide._types import AnyArray, Array
from confide.accounting import Event
from confide.data.matrix.sums import Partial
from confide.evaluation.estimates import ScoreEstimate
from confide.evaluation.noises import Look, LookNoise
from confide.evaluation.pages import section_of
from confide.mechanisms.release import NoiseRecord
from confide.noise import Entropy
from confide.privacy import Guarantee, Neighbours

DIGITS = 4


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Point of a released curve.

    Parameters
    ----------
    x : float
        Position on the x-axis.
    y : float
        Value of the curve.
    lower : float, optional
        Lower end of the interval of ``y``; None if it is not drawn.
    upper : float, optional
        Upper end of the interval.
    start : float, optional
        Lower end, on the x-axis, of the bin that the point represents.
    end : float, optional
        Upper end of that bin.

    Examples
    --------
    >>> from confide.evaluation import CurvePoint
    >>> point = CurvePoint(0.25, 0.3, lower=0.2, upper=0.4)
    >>> point.lower <= 0.25 <= point.upper
    True

    Among rows with a predicted probability near 25 %, 30 % are positive. The interval
    contains 25 %.
    """

    x: float
    y: float
    lower: float | None = None
    upper: float | None = None
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Released curve of a score: its points and the labels of its axes.

    Parameters
    ----------
    title : str
        Name of the curve.
    x_label : str
        Label of the x-axis.
    y_label : str
        Label of the y-axis.
    points : tuple of CurvePoint
        Points, from left to right.
    joined : bool, default=True
        Whether a line joins the points.
    guide : {"", "diagonal", "zero"}, default=""
        Reference line for the points.

    Examples
    --------
    >>> from confide.evaluation import Curve, CurvePoint
    >>> points = (CurvePoint(0.2, 0.25), CurvePoint(0.7, 0.75))
    >>> curve = Curve("Calibration", "predicted", "observed", points, guide="diagonal")
    >>> all(point.y > point.x for point in curve.points)
    True

    All points lie above the diagonal: the predicted probabilities are too low.
    """

    title: str
    x_label: str
    y_label: str
    points: tuple[CurvePoint, ...]
    joined: bool = True
    guide: str = ""


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """Estimates, curves and notes of a score, without its guarantee."""

    estimates: tuple[ScoreEstimate, ...]
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelScore:
    """Score of a model on some rows, released under differential privacy.

    Intervals are for the population from which the rows were drawn. They account for
    sampling and for privacy noise. The confidence level holds for each interval
    separately.

    Parameters
    ----------
    title : str
        Title of the score.
    guarantee : Guarantee
        Guarantee of the release of the score.
    noise : tuple of NoiseRecord
        The noise that was added.
    events : tuple of Event
        Privacy events of the score, for a ledger.
    level : float
        Confidence level of the intervals.
    estimates : tuple of ScoreEstimate
        Accuracy, errors and so on, with intervals. ``score[name]`` returns one of them.
    curves : tuple of Curve, default=()
        ROC curve, calibration and so on.
    notes : tuple of str, default=()
        Remarks about how to read the score.
    model : str, default=""
        `coefficients_hash` of the scored model; empty for a comparison of two models.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import LogisticRegression, Pure
    >>> X = np.linspace(-1, 1, 4000)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = LogisticRegression(Pure(1), row_norm=1, classes=[0, 1], random_state=0)
    >>> score = model.fit(X, y, holdout=0.25).holdout_score_
    >>> round(score["accuracy"].value, 1), score["accuracy"].lower > 0.9
    (1.0, True)
    >>> [curve.title for curve in score.curves][:2]
    ['ROC curve', 'Precision and recall']

    On held-out rows the accuracy is near 1, and at least 0.9 with 95 % confidence.
    """

    title: str
    guarantee: Guarantee
    noise: tuple[NoiseRecord, ...]
    events: tuple[Event, ...]
    level: float
    estimates: tuple[ScoreEstimate, ...]
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()
    model: str = ""

    def __getitem__(self, name: str) -> ScoreEstimate:
        found = {estimate.name: estimate for estimate in self.estimates}
        if name not in found:
            raise KeyError(f"there is no estimate {name!r}; choose one of {list(found)}")
        return found[name]

    def __iter__(self) -> Iterator[ScoreEstimate]:
        return iter(self.estimates)

    def curve(self, title: str) -> Curve:
        """Return the curve with a given title.

        Parameters
        ----------
        title : str
            Title of the curve.

        Returns
        -------
        Curve
            The curve.
        """
        return {curve.title: curve for curve in self.curves}[title]

    def cells(self) -> list[list[str]]:
        """Return the estimates as a table of text.

        Returns
        -------
        list of list of str
            One line of headings, and one line for every estimate.
        """
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

    def _repr_html_(self) -> str:
        return section_of(self)._repr_html_()


def show(value: float | None) -> str:
    """Return a number as text, or a dash for a number that noise hides."""
    return "–" if value is None else f"{value:.{DIGITS}g}"


class ScoreRule(Protocol):
    """Protocol for scoring a model: private sums over rows, and estimates from noisy sums.

    A rule contains only public information, such as the released model and its schema. It
    can therefore be sent to the machines that hold the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import LogisticRegression, Pure
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = LogisticRegression(Pure(1), row_norm=1, classes=[0, 1])
    >>> model.fit(X, (X[:, 0] > 0).astype(int)).score_rule().title
    'Score of a classifier'

    The rule depends on the type of the model.
    """

    @property
    def title(self) -> str:
        """Title of the score."""
        ...

    def tally(self, margins: Array, target: AnyArray) -> Partial:
        """Compute the private sums of some rows.

        Parameters
        ----------
        margins : ndarray
            Linear predictors of the rows, with one column per coding of the target.
        target : ndarray
            Target of every row, as encoded by the model.

        Returns
        -------
        tuple of ndarray
            Exact sums, to which every row contributes independently of the others.
        """
        ...

    def looks(self, neighbours: Neighbours) -> tuple[Look, ...]:
        """Return the sensitivities of the noisy sums, computed from public information.

        Parameters
        ----------
        neighbours : Neighbours
            Neighbour relation to protect.

        Returns
        -------
        tuple of Look
            Sensitivity and share of the budget of each vector of sums that is released.
        """
        ...

    def release(
        self,
        sums: Partial,
        noises: tuple[LookNoise, ...],
        entropy: Entropy,
        level: float,
    ) -> ScoreParts:
        """Add noise to the sums and return the estimates; this never raises an error.

        Parameters
        ----------
        sums : tuple of ndarray
            Results of `tally`, added up over all rows.
        noises : tuple of Noise
            Noise for each vector of sums, in the order of `looks`.
        entropy : Entropy
            Source of random bits.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        ScoreParts
            Estimates, curves and notes.
        """
        ...
