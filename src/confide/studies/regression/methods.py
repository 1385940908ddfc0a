"""The methods of the regression studies: those of the paper, and ours.

The paper's methods use its 14 columns, scaled into the unit ball, no intercept, doses
divided by 100 mg, and noise of the printed scale. The paper's objective perturbation and
tuning are corrected, because they would not be private otherwise. Our methods are drawn
with dashed lines.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Final, Literal

import numpy as np
from scipy.optimize import brentq
from sklearn.linear_model import LinearRegression as LeastSquares

from confide._types import Array
from confide.data import INTERCEPT_HEIGHT
from confide.estimators import LinearRegression
from confide.mechanisms import FunctionalMechanism, Mechanism, ProjectedHistogram
from confide.mechanisms.published import RlsObjective, RlsOut
from confide.noise import Entropy, SphericalLaplace
from confide.privacy import Pure
from confide.studies.regression.population import (
    MOST,
    PaperModel,
    Patients,
    warfarin_schema,
)
from confide.tuning import PrivateSearch

HINDSIGHT_RADII: Final = (0.25, 0.5, 1.0, 2.0)
HINDSIGHT_PENALTIES: Final = tuple(float(one) for one in np.linspace(0.001, 0.5, 51))
"""Penalties λ that the oracle tries, from 0.001 to 0.5 as in the paper.

The paper does not print their number."""


def expected_error(
    features: Array, target: Array, radius: float, penalty: float, epsilon: float
) -> float:
    """Return the mean squared error on these rows, averaged over the published noise."""
    count, width = features.shape
    scale = noise_scale(count, radius, penalty, epsilon)
    found = minimiser(features, target, radius, penalty)
    fit = float(((features @ found - target) ** 2).mean())
    return fit + (width + 1) * scale**2 * float((features**2).sum()) / count


def noise_scale(count: int, radius: float, penalty: float, epsilon: float) -> float:
    """Return the published scale of the noise, (12R + 8)/(λnε)."""
    return (12 * radius + 8) / (penalty * count * epsilon)


def minimiser(features: Array, target: Array, radius: float, penalty: float) -> Array:
    """Minimise the mean squared error plus ½λ‖w‖² over ‖w‖ <= R."""
    curvatures, axes = np.linalg.eigh(features.T @ features)
    moment = axes.T @ (features.T @ target)

    def solved(ridge: float) -> Array:
        return np.asarray(moment / (np.maximum(curvatures, 0.0) + ridge))

    def excess(ridge: float) -> float:
        return float(np.linalg.norm(solved(ridge))) - radius

    ridge = len(features) * penalty / 2
    if excess(ridge) > 0:
        most = float(np.linalg.norm(moment)) / radius
        ridge = float(brentq(excess, ridge, most, xtol=1e-9))
    return np.asarray(axes @ solved(ridge))


def best_pair(features: Array, target: Array, epsilon: float) -> tuple[float, float]:
    """Return the radius and the penalty with the smallest expected error."""

    def error(pair: tuple[float, float]) -> float:
        return expected_error(features, target, pair[0], pair[1], epsilon)

    return min(product(HINDSIGHT_RADII, HINDSIGHT_PENALTIES), key=error)


def best_draw(features: Array, target: Array, epsilon: float, entropy: Entropy) -> Array:
    """Draw noisy coefficients for each radius and penalty; return those of least error."""
    count, width = features.shape
    drawn = np.array(
        [
            minimiser(features, target, radius, penalty)
            + SphericalLaplace(noise_scale(count, radius, penalty, epsilon)).draw(
                width, entropy
            )
            for radius, penalty in product(HINDSIGHT_RADII, HINDSIGHT_PENALTIES)
        ]
    )
    errors = ((features @ drawn.T - target[:, None]) ** 2).mean(axis=0)
    return np.asarray(drawn[int(errors.argmin())])


PENALTIES: Final = tuple(0.002 * 2**k for k in range(8))
RADII: Final = {"R₁": (0.25, 0.5, 1.0), "R₂": (0.5, 1.0, 2.0)}
CHUNKS: Final = len(PENALTIES) * 3 + 1
"""Number of chunks: one for each of 24 candidates, and one on which to compare them."""
Fit = Callable[[Patients, Fraction, Entropy], Any]
Searched = Literal["chunks", "random-stopping"]


@dataclass(frozen=True, slots=True)
class RegressionMethod:
    """A function that fits a model to patients at some ε, and a drawing style for plots."""

    fit: Fit
    style: dict[str, Any]


def on_paper_columns(mechanism: Any, budget: Pure | None, entropy: Entropy | None) -> Any:
    """Return an unfitted estimator for the paper's 14 columns."""
    return LinearRegression(
        budget,
        mechanism=mechanism,
        neighbours="replace-one",
        fit_intercept=False,
        target_bound=MOST,
        random_state=entropy,
        row_norm=1.0,
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
    """A private search over 24 pairs of radius and penalty.

    Each candidate is fitted to its own chunk of rows or, with random stopping, to all rows.
    """

    candidate: Callable[[int, float, float], Mechanism]
    radii: Sequence[float]
    method: Searched = "chunks"

    def __call__(self, people: Patients, epsilon: Fraction, entropy: Entropy) -> PaperModel:
        """Search within one budget and return the selected model."""
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
"""All methods in the order of the legends; the last five are not from the paper."""
