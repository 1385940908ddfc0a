"""Patients of the warfarin data: random training and test sets, and measures of a model.

The paper divides the patients as an earlier work does, but does not print the division.
Here, every repeat divides them at random into four fifths for training and one fifth for
testing. The division of a repeat is the same for every method, ε and figure, so comparisons
are paired.
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
from confide.errors import Described, InvalidParameter
from confide.noise import generator

BAND = 0.2


@dataclass(frozen=True, slots=True)
class DoseBands:
    """Shares of patients whose predicted dose is right, too low and too high."""

    within: float
    below: float
    above: float

    @property
    def outside(self) -> float:
        """The share of patients whose predicted dose is not close to the right one."""
        return self.below + self.above


def dose_bands(predicted: Array, right: Array, band: float = BAND) -> DoseBands:
    """Return the shares of predicted doses within, below and above a band.

    The band around the right dose is relative: 0.2 means plus or minus 20 %.
    """
    said, true = np.asarray(predicted, np.float64), np.asarray(right, np.float64)
    if said.shape != true.shape or said.ndim != 1 or not said.size:
        raise InvalidParameter(
            "doses", "two columns of equal length", (said.shape, true.shape)
        )
    if not (true > 0).all() or not np.isfinite(said).all():
        must = "finite, with positive right doses"
        raise InvalidParameter("doses", must, Described("doses that are not"))
    if not 0 < band < 1:
        raise InvalidParameter("band", "between 0 and 1", band)
    ratio = said / true
    below, above = ratio < 1 - band, ratio > 1 + band
    return DoseBands(
        float((~below & ~above).mean()), float(below.mean()), float(above.mean())
    )


HIDDEN: Final = "vkorc1"
UNIT: Final = 10.0
"""Unit of weekly doses in mg; squared errors are reported in (10 mg/week)²."""
MOST: Final = 100.0
"""Public bound on the weekly dose in mg; larger doses are clipped to it."""
_DIVISIONS: Final = 1000


@dataclass(frozen=True, slots=True)
class Patients:
    """Records of patients, with 14 columns in the unit ball and weekly doses in mg."""

    frame: pd.DataFrame
    features: Array
    dose: Array

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, places: AnyArray) -> Self:
        """Return the patients at the given positions."""
        return type(self)(self.frame.iloc[places], self.features[places], self.dose[places])


class PaperModel(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear model on the paper's 14 columns, which predicts doses from raw records."""

    def __init__(self, schema: Schema, coefficients: Array, intercept: float = 0.0) -> None:
        self.schema = schema
        self.coefficients = coefficients
        self.intercept = intercept

    def predict(self, frame: pd.DataFrame) -> Array:
        """Return predicted weekly doses in mg, not clipped."""
        columns = paper_features(frame, self.schema)
        return np.asarray(columns @ self.coefficients + self.intercept)


@cache
def warfarin_schema() -> Schema:
    """Return the packaged schema, with the declared ranges and levels."""
    return Schema.bundled("warfarin")


@cache
def all_patients() -> Patients:
    """Return all 4,017 patients of the warfarin data."""
    frame = load_warfarin()
    features = paper_features(frame, warfarin_schema())
    return Patients(frame, features, frame[DOSE].to_numpy(np.float64))


def division_places(repeat: int) -> tuple[AnyArray, AnyArray]:
    """Return the row positions of training patients and of test patients in a repeat."""
    count = len(all_patients())
    order = generator(_DIVISIONS + repeat).permutation(count)
    return order[: 4 * count // 5], order[4 * count // 5 :]


def division(repeat: int, share: float = 1.0) -> tuple[Patients, Patients]:
    """Return the training patients, or a share of them, and the test patients."""
    people = all_patients()
    learn, held_out = division_places(repeat)
    return people.take(learn[: round(share * len(learn))]), people.take(held_out)


def measures(model: Any, held_out: Patients) -> dict[str, float]:
    """Evaluate a model on the test patients.

    Return the mean squared error, the dose bands, and the success rates of model inversion
    and of two ways to guess the genotype without a model: the commonest one, and a guess
    from the dose alone.
    """
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
