"""Patients of the warfarin data, divided at random, and what is measured on those held out.

The paper divides the data as an earlier work did and prints no more of it; here every
repeat has its own four fifths to learn from and one fifth to measure on. The same repeat
has the same division for every method, ε and figure, so that differences are paired.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin

from confide._types import AnyArray, Array
from confide.attacks import evaluate_inversion
from confide.data import Schema, load_warfarin
from confide.data.datasets.loaders import DOSE, paper_features
from confide.errors import InvalidParameter
from confide.noise import generator

BAND = 0.2


@dataclass(frozen=True, slots=True)
class DoseBands:
    """Shares of patients whose dose would be right, too low and too high."""

    within: float
    below: float
    above: float

    @property
    def outside(self) -> float:
        """The share of patients with a dose that is not near the right one."""
        return self.below + self.above


def dose_bands(predicted: Array, right: Array, band: float = BAND) -> DoseBands:
    """Sort predicted doses by how far they are from the right ones, relative to them."""
    said, true = np.asarray(predicted, np.float64), np.asarray(right, np.float64)
    if said.shape != true.shape or said.ndim != 1 or not said.size:
        raise InvalidParameter(
            "doses", "two columns of one length", (said.shape, true.shape)
        )
    if not (true > 0).all() or not np.isfinite(said).all():
        raise InvalidParameter("doses", "finite, and the right ones positive", "others")
    if not 0 < band < 1:
        raise InvalidParameter("band", "between 0 and 1", band)
    ratio = said / true
    below, above = ratio < 1 - band, ratio > 1 + band
    return DoseBands(
        float((~below & ~above).mean()), float(below.mean()), float(above.mean())
    )


HIDDEN: Final = "vkorc1"
UNIT: Final = 10.0
"""Errors are those of the weekly dose in units of 10 mg, squared."""
MOST: Final = 100.0
"""Doses above 100 mg per week count as 100: public, and the paper's |y| <= 1."""
_DIVISIONS: Final = 1000


@dataclass(frozen=True, slots=True)
class Patients:
    """Some records, their 14 columns in the unit ball and their weekly doses in mg."""

    frame: pd.DataFrame
    features: Array
    dose: Array

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, places: AnyArray) -> Self:
        """Return the patients at these places."""
        return type(self)(self.frame.iloc[places], self.features[places], self.dose[places])


class PaperModel(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Coefficients of the 14 columns, for tables of patients."""

    def __init__(self, schema: Schema, coefficients: Array, intercept: float = 0.0) -> None:
        self.schema = schema
        self.coefficients = coefficients
        self.intercept = intercept

    def predict(self, frame: pd.DataFrame) -> Array:
        """Return weekly doses in mg, wherever they lie."""
        columns = paper_features(frame, self.schema)
        return np.asarray(columns @ self.coefficients + self.intercept)


@cache
def warfarin_schema() -> Schema:
    """Return the declared ranges and levels."""
    return Schema.bundled("warfarin")


@cache
def all_patients() -> Patients:
    """Return all 4,017 patients."""
    frame = load_warfarin()
    features = paper_features(frame, warfarin_schema())
    return Patients(frame, features, frame[DOSE].to_numpy(np.float64))


def division_places(repeat: int) -> tuple[AnyArray, AnyArray]:
    """Return the places of patients to learn from, and of those to measure on."""
    count = len(all_patients())
    order = generator(_DIVISIONS + repeat).permutation(count)
    return order[: 4 * count // 5], order[4 * count // 5 :]


def division(repeat: int, share: float = 1.0) -> tuple[Patients, Patients]:
    """Return patients to learn from, or a share of them, and patients to measure on."""
    people = all_patients()
    learn, held_out = division_places(repeat)
    return people.take(learn[: round(share * len(learn))]), people.take(held_out)


def measures(model: Any, held_out: Patients) -> dict[str, float]:
    """Return error, dose bands and the accuracy of model inversion, and two guesses."""
    said = model.predict(held_out.frame)
    bands = dose_bands(said, held_out.dose)
    found = evaluate_inversion(model, held_out.frame, HIDDEN)
    return {
        "error": float((((said - held_out.dose) / UNIT) ** 2).mean()),
        "attack": found.attack,
        "within": bands.within,
        "below": bands.below,
        "above": bands.above,
        "commonest": found.constant,
        "dose alone": found.without_model,
    }
