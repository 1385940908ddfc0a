"""The multinomial loss: a softmax over several scores of one record.

The scores of K classes are identified only up to a common constant, so θ is a matrix with
only K − 1 columns. A record's margins ⟨x, θ⟩ are the coordinates of its scores in an
orthonormal basis of the vectors whose components add up to 0. They have the same norm as
the scores, and every direction is identified. The coefficients of the classes are linear
in θ (`class_coefficients`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import ClassVar

import numpy as np

from confide._types import AnyArray, Array
from confide.errors import Described, InvalidParameter
from confide.objectives.loss import Loss, LossTraits, PublicBounds, Targets
from confide.objectives.tabulated import EXP_ERROR, exp_of
from confide.objectives.twofold import TWOFOLD_UNIT, Twofold

FEWEST_CLASSES, MOST_CLASSES = 3, 100
BASIS_ERROR = 1e-13
"""A bound on the relative error of a norm that is due to rounding of the basis."""
ROOT_TWO = 1.4142135623730951 * (1 + BASIS_ERROR)
"""√2, rounded up: the largest distance between a probability vector and a unit vector."""


@dataclass(frozen=True, slots=True)
class Multinomial(LossTraits):
    """The multinomial loss, log Σₖ exp(sₖ − s_y), for scores sₖ of classes 0, 1, ….

    With K classes, a record has K − 1 margins, the coordinates of its scores, and one slope
    per margin. `curvature` is a bound on the eigenvalues of the Hessian with respect to the
    margins. The loss of a record with a negative y is 0.

    Parameters
    ----------
    classes : int
        The number of classes, from 3 to 100.

    Raises
    ------
    InvalidParameter
        If the number of classes is out of range.

    Examples
    --------
    Equal scores give every class the same probability, and a loss of log 3:

    >>> import numpy as np
    >>> from confide.objectives import Multinomial
    >>> loss, equal = Multinomial(3), np.zeros((1, 2))
    >>> loss.chances(equal).round(3)
    array([[0.333, 0.333, 0.333]])
    >>> round(float(loss.value(equal, np.zeros(1))[0]), 4)
    1.0986
    """

    classes: int

    canonical: ClassVar[bool] = True
    twofold_error: ClassVar[tuple[float, float]] = (
        2 * EXP_ERROR,
        8 * MOST_CLASSES**2 * TWOFOLD_UNIT,
    )
    targets: ClassVar[Targets] = "labels"
    monotone: ClassVar[bool] = False
    smooth: ClassVar[bool] = True
    slope_of_peak_curvature: ClassVar[float] = float("inf")

    def __post_init__(self) -> None:
        if not FEWEST_CLASSES <= self.classes <= MOST_CLASSES:
            raise InvalidParameter(
                "classes", f"from {FEWEST_CLASSES} to {MOST_CLASSES}", self.classes
            )

    @property
    def coordinates(self) -> int:
        """The number of margins of a record, one less than the number of classes."""
        return self.classes - 1

    def value(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the loss φ."""
        scores = self._scores(eta)
        known, place = _places(y)
        own = np.take_along_axis(scores, place[:, None], axis=1)[:, 0]
        losses = np.log(np.exp(scores).sum(axis=1)) - own
        return np.where(known, losses, 0.0)

    def chances(self, eta: AnyArray) -> AnyArray:
        """Return the probability of every class for each record.

        Parameters
        ----------
        eta : array
            Coordinates of the scores, one row for each record.

        Returns
        -------
        array
            Probabilities, one row for each record.
        """
        powers = np.exp(self._scores(eta))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def slope(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return the gradient of each loss with respect to the margins."""
        return self._slope(self.chances(eta), y)

    def slope_and_chances(self, eta: AnyArray, y: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Return slopes and class probabilities, both 0 for records with a negative y.

        Parameters
        ----------
        eta : array
            Coordinates of the scores, one row for each record.
        y : array
            Classes.

        Returns
        -------
        tuple of two arrays
            Slopes and probabilities.
        """
        chances = self.chances(eta)
        return self._slope(chances, y), np.where(_places(y)[0][:, None], chances, 0.0)

    def _slope(self, chances: AnyArray, y: AnyArray) -> AnyArray:
        basis = sum_zero_basis(self.classes).astype(chances.dtype)
        known, place = _places(y)
        slopes = chances @ basis - basis[place]
        return np.where(known[:, None], slopes, chances.dtype.type(0))

    def curvature(self, eta: AnyArray, y: AnyArray) -> AnyArray:
        """Return ½, a bound on the eigenvalues of the Hessian, for every record."""
        return np.full(len(y), 0.5)

    def inverse_slope(self, slope: AnyArray, y: AnyArray) -> AnyArray:
        """Raise an error: slopes are vectors here, and cannot be clipped."""
        raise InvalidParameter(
            "slope_bound", "None for the multinomial loss", Described("a number")
        )

    def slope_bound(self, public: PublicBounds) -> float:
        """Return √2, the largest norm of the slope vector."""
        return ROOT_TWO

    def steepest_slope(self, public: PublicBounds, margin: float) -> float:
        """Return √2·(1 − p) for the smallest possible probability p of a record's class."""
        odds = (self.classes - 1) * math.exp(min(ROOT_TWO * margin, 700.0))
        return ROOT_TWO * odds / (1 + odds) * (1 + 1e-12)

    def max_curvature(self, slope: AnyArray, public: PublicBounds) -> AnyArray:
        """Return ½, the largest eigenvalue of diag(p) − ppᵀ."""
        return np.full_like(slope, 0.5 * (1 + 3 * BASIS_ERROR))

    def twofold_slope(self, eta: Twofold, y: AnyArray) -> Twofold:
        """Return the slope in double-double precision."""
        basis = sum_zero_basis(self.classes)
        scores = _combined(eta, basis.T)
        largest = scores.high.argmax(axis=1)[:, None]
        top = Twofold(
            *(
                np.take_along_axis(part, largest, axis=1)
                for part in (scores.high, scores.low)
            )
        )
        powers = exp_of(scores - top)
        total = powers[:, 0]
        for k in range(1, self.classes):
            total = total + powers[:, k]
        chances = powers / total[:, None]
        known, place = _places(y)
        ones = np.zeros(chances.high.shape)
        np.put_along_axis(ones, place[:, None], 1.0, axis=1)
        return _combined(chances - ones, basis).where(known[:, None], 0.0)

    def _scores(self, eta: AnyArray) -> AnyArray:
        """Return the scores of all classes, shifted so that each record's maximum is 0."""
        scores = eta @ sum_zero_basis(self.classes).T.astype(eta.dtype)
        return np.asarray(scores - scores.max(axis=1, keepdims=True))


def _places(y: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return a mask of valid classes, and class indices (0 for records without a class)."""
    place = y.astype(np.intp)
    known = place >= 0
    return known, np.where(known, place, 0)


def _combined(value: Twofold, matrix: Array) -> Twofold:
    """Return the product of a double-double matrix and a matrix of doubles."""
    total = value[:, :1] * matrix[:1]
    for j in range(1, len(matrix)):
        total = total + value[:, j : j + 1] * matrix[j : j + 1]
    return total


@lru_cache(maxsize=MOST_CLASSES)
def sum_zero_basis(classes: int) -> Array:
    """Return an orthonormal basis of the vectors whose components add up to 0.

    Column j is (1, …, 1, −j, 0, …, 0)/√(j(j+1)) with j ones (Helmert contrasts).

    Parameters
    ----------
    classes : int
        The number of classes.

    Returns
    -------
    array
        The basis vectors as columns, with one component for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.objectives import sum_zero_basis
    >>> basis = sum_zero_basis(3)
    >>> np.allclose(basis.T @ basis, np.eye(2)), np.allclose(basis.sum(axis=0), 0)
    (True, True)
    """
    basis = np.zeros((classes, classes - 1))
    for j in range(1, classes):
        basis[:j, j - 1] = 1.0
        basis[j, j - 1] = -j
        basis[:, j - 1] /= np.sqrt(j * (j + 1.0))
    basis.flags.writeable = False
    return basis


def class_pairs(classes: int) -> list[tuple[int, int]]:
    """Return all pairs of classes."""
    return list(combinations(range(classes), 2))


def over_pairs(classes: int, grams: Sequence[Array]) -> Array:
    """Return Σ Gⱼₖ ⊗ (eⱼ − eₖ)(eⱼ − eₖ)ᵀ over pairs of classes, in the sum-zero basis.

    ``grams`` contains one matrix Gⱼₖ per pair. If Gⱼₖ is the Gram matrix of the rows
    weighted by pⱼpₖ, for class probabilities p, the result is the Hessian of the total
    loss, because diag(p) − ppᵀ = Σ pⱼpₖ(eⱼ − eₖ)(eⱼ − eₖ)ᵀ. With weights −qⱼqₖ, for
    q = p − e_y, it is the scatter matrix of the gradients, because q adds up to 0.
    """
    basis, size = sum_zero_basis(classes), len(grams[0])
    whole = np.zeros((size, classes - 1, size, classes - 1))
    for (j, k), gram in zip(class_pairs(classes), grams, strict=True):
        apart = basis[j] - basis[k]
        whole += gram[:, None, :, None] * np.outer(apart, apart)[None, :, None, :]
    return whole.reshape(size * (classes - 1), size * (classes - 1))


def class_coefficients(value: Array, classes: int) -> Array:
    """Return the coefficients of every class, which add up to 0 over classes.

    Parameters
    ----------
    value : array
        The fitted coefficients, in the coordinates of `sum_zero_basis`.
    classes : int
        The number of classes.

    Returns
    -------
    array
        One row for each class, and one column for each feature.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.objectives import class_coefficients
    >>> class_coefficients(np.array([0.0, 1.0]), classes=3).round(3).ravel()
    array([ 0.408,  0.408, -0.816])
    """
    return np.asarray(sum_zero_basis(classes) @ value.reshape(-1, classes - 1).T)


def class_map(classes: int, place: int, columns: int) -> Array:
    """Return the matrix that maps fitted coefficients to those of one class."""
    return np.kron(np.eye(columns), sum_zero_basis(classes)[place])


def is_multinomial(loss: Loss) -> bool:
    """Return whether a loss is multinomial, with several scores per record.

    Parameters
    ----------
    loss : Loss
        The loss.

    Returns
    -------
    bool
        True for `Multinomial`.

    Examples
    --------
    >>> from confide.objectives import Logistic, Multinomial, is_multinomial
    >>> is_multinomial(Multinomial(3)), is_multinomial(Logistic())
    (True, False)
    """
    return isinstance(loss, Multinomial)
