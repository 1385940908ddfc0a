"""The methods of the regression studies, in one table: what the paper compares, and ours.

The paper's have its 14 columns in the unit ball, no intercept, doses divided by 100 mg and
the noise it prints; objective perturbation and tuning have their slips repaired, without
which they would not be private. Ours are dashed where they are drawn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Final, Literal

from sklearn.linear_model import LinearRegression as LeastSquares

from confide.data import INTERCEPT_HEIGHT
from confide.estimators import LinearRegression
from confide.mechanisms import FunctionalMechanism, Mechanism, ProjectedHistogram
from confide.mechanisms.published import RlsObjective, RlsOut
from confide.noise import Entropy
from confide.privacy import Pure
from confide.studies.regression.oracle import best_draw, best_pair
from confide.studies.regression.population import (
    MOST,
    PaperModel,
    Patients,
    warfarin_schema,
)
from confide.tuning import PrivateSearch

PENALTIES: Final = tuple(0.002 * 2**k for k in range(8))
RADII: Final = {"R₁": (0.25, 0.5, 1.0), "R₂": (0.5, 1.0, 2.0)}
CHUNKS: Final = len(PENALTIES) * 3 + 1
"""One for each of 24 candidates, and one by which they are judged."""
Fit = Callable[[Patients, Fraction, Entropy], Any]
Searched = Literal["chunks", "random-stopping"]


@dataclass(frozen=True, slots=True)
class RegressionMethod:
    """How a model is fitted to patients at some ε, and how it is drawn."""

    fit: Fit
    style: dict[str, Any]


def on_paper_columns(mechanism: Any, budget: Pure | None, entropy: Entropy | None) -> Any:
    """Return an estimator of the 14 columns, not yet fitted."""
    return LinearRegression(
        budget,
        mechanism=mechanism,
        neighbours="replace-one",
        fit_intercept=False,
        target_bound=MOST,
        random_state=entropy,
    )


def _plain(
    mechanism: Callable[[int], Mechanism],
    people: Patients,
    epsilon: Fraction,
    entropy: Entropy,
) -> PaperModel:
    model = on_paper_columns(mechanism(len(people)), Pure(epsilon), entropy)
    model.fit(people.features, people.dose)
    return PaperModel(warfarin_schema(), model.coef_)


def _oracle(people: Patients, epsilon: Fraction, entropy: Entropy) -> PaperModel:
    target = people.dose.clip(0, MOST) / MOST
    radius, penalty = best_pair(people.features, target, float(epsilon))

    def chosen(rows: int) -> RlsOut:
        return RlsOut(rows, radius, penalty, constants="published", oracle=True)

    return _plain(chosen, people, epsilon, entropy)


def _best_draw(people: Patients, epsilon: Fraction, entropy: Entropy) -> PaperModel:
    target = people.dose.clip(0, MOST) / MOST
    found = best_draw(people.features, target, float(epsilon), entropy)
    return PaperModel(warfarin_schema(), MOST * found)


@dataclass(frozen=True, slots=True)
class Tuned:
    """A search of 24 pairs of radius and penalty; a fit sees one chunk, or all rows."""

    candidate: Callable[[int, float, float], Mechanism]
    radii: Sequence[float]
    method: Searched = "chunks"

    def __call__(self, people: Patients, epsilon: Fraction, entropy: Entropy) -> PaperModel:
        """Search for one budget and return the winner."""
        rows = len(people) // (CHUNKS if self.method == "chunks" else 1)
        pairs = product(self.radii, PENALTIES)
        search = PrivateSearch(
            on_paper_columns("output", None, None),
            {"mechanism": [self.candidate(rows, *pair) for pair in pairs]},
            Pure(epsilon),
            method=self.method,
            random_state=entropy,
        ).fit(people.features, people.dose)
        return PaperModel(warfarin_schema(), search.best_estimator_.coef_)


def _by_schema(
    mechanism: Callable[[], Any], people: Patients, epsilon: Fraction, entropy: Entropy
) -> Any:
    return LinearRegression(
        Pure(epsilon),
        schema=warfarin_schema(),
        mechanism=mechanism(),
        neighbours="replace-one",
        random_state=entropy,
    ).fit(people.frame)


def _not_private(people: Patients, epsilon: Fraction, entropy: Entropy) -> PaperModel:
    del epsilon, entropy
    model = LeastSquares().fit(people.features, people.dose)
    return PaperModel(warfarin_schema(), model.coef_, float(model.intercept_))


def _published(rows: int, radius: float = 1.0, penalty: float | None = None) -> RlsOut:
    return RlsOut(rows, radius, penalty, constants="published")


def _histogram() -> ProjectedHistogram:
    return ProjectedHistogram.of_schema(warfarin_schema(), INTERCEPT_HEIGHT)


PLAIN: Final = "not private"
_RED, _ORANGE, _GREEN, _BROWN, _GREY = "#b2182b", "#e08214", "#1b7837", "#8c510a", "0.55"
_BLUE, _VIOLET, _PINK = "#2166ac", "#762a83", "#c51b7d"
METHODS: Final[dict[str, RegressionMethod]] = {
    "functional": RegressionMethod(
        partial(_plain, lambda _: FunctionalMechanism("published")),
        {"color": _GREY, "marker": "D"},
    ),
    "tuned output, R₁": RegressionMethod(
        Tuned(_published, RADII["R₁"]),
        {"color": _ORANGE, "marker": "^"},
    ),
    "tuned output, R₂": RegressionMethod(
        Tuned(_published, RADII["R₂"]),
        {"color": _BROWN, "marker": "v"},
    ),
    "data-independent": RegressionMethod(
        partial(_plain, _published), {"color": _RED, "marker": "o"}
    ),
    "oracle": RegressionMethod(_oracle, {"color": _GREEN, "marker": "s"}),
    "oracle, noise included": RegressionMethod(
        _best_draw, {"color": _BROWN, "marker": "s"}
    ),
    "tuned objective, R₁": RegressionMethod(
        Tuned(RlsObjective, RADII["R₁"]),
        {"color": _VIOLET, "marker": "^"},
    ),
    "tuned objective, R₂": RegressionMethod(
        Tuned(RlsObjective, RADII["R₂"]),
        {"color": _PINK, "marker": "v"},
    ),
    "objective, data-independent": RegressionMethod(
        partial(_plain, RlsObjective), {"color": _GREY, "marker": "P"}
    ),
    "histogram": RegressionMethod(
        partial(_by_schema, _histogram), {"color": _ORANGE, "marker": "X"}
    ),
    "data-independent, tight": RegressionMethod(
        partial(_plain, RlsOut), {"color": _RED, "ls": "--", "marker": "o"}
    ),
    "tuned output, tight": RegressionMethod(
        Tuned(RlsOut, RADII["R₁"]), {"color": _BROWN, "ls": "--", "marker": "v"}
    ),
    "random stopping, tight": RegressionMethod(
        Tuned(RlsOut, RADII["R₁"], "random-stopping"),
        {"color": _ORANGE, "ls": "--", "marker": "^"},
    ),
    "defaults of confide": RegressionMethod(
        partial(_by_schema, lambda: "objective"),
        {"color": _BLUE, "ls": "--", "marker": "o"},
    ),
    PLAIN: RegressionMethod(_not_private, {"color": "black", "ls": ":"}),
}
"""In the order of legends; the last five are no mechanisms of the paper."""
