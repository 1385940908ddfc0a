"""The objective of a fit, written as a sum over records, not as a mean.

    F(θ) = Σᵢ wᵢφ(⟨xᵢ,θ⟩, yᵢ) + ⟨b,θ⟩ + r(θ) + ½ Σⱼ Λⱼθⱼ²      over θ in C

The weight wᵢ is min(4, X/‖xᵢ‖) if records are weighted by row norm, and 1 otherwise. It is
multiplied by the case weight, if there is one. An offset may be added to each margin
⟨xᵢ,θ⟩. All attributes of an `Objective` are public; the rows and the linear term b are
arguments of the solver.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from confide._types import Array
from confide.data.matrix.sums import length_beside
from confide.data.rows.entry_bounds import EntryBounds
from confide.data.rows.in_memory import HEAVIEST
from confide.errors import InvalidParameter
from confide.objectives.constraints import Constraint, L2Ball
from confide.objectives.loss import Loss, PublicBounds
from confide.objectives.losses import curvature_bound, is_squared
from confide.objectives.multinomial import Multinomial, is_multinomial
from confide.objectives.penalties import restrict_penalty
from confide.objectives.penalty import Penalty

LARGEST_PREDICTOR = 20.0
"""The assumed largest linear predictor on a logit or logarithmic scale."""
PREDICTOR_SHARE = 0.8
"""The assumed size of the linear predictor relative to the bound on a numeric target."""
MARGIN = 2.0
"""The amount of noise in log-odds that leaves most predicted classes unchanged."""
LOG_TWO = math.log(2)
"""The assumed effect of a column on the log-odds: the odds double from the middle of the
column's range to an end, or from one level to another."""


def guess_coef_norm(
    loss: Loss, dimension: int, row_norm: float, target_bound: float | None
) -> float:
    """Guess ‖θ‖ from the bound on row norms, without a schema."""
    if is_squared(loss):
        return PREDICTOR_SHARE * (target_bound or 1.0) * math.sqrt(dimension) / row_norm
    return LARGEST_PREDICTOR * _scores_apart(loss) / row_norm


def guess_coef_norm_of_columns(
    loss: Loss, heights: Array, columns: int, target_bound: float | None
) -> float:
    """Guess ‖θ‖ from the columns of a schema, to choose a ridge automatically.

    The guess affects accuracy, never privacy.

    Parameters
    ----------
    loss : Loss
        The loss.
    heights : array
        The largest absolute value of every feature after scaling.
    columns : int
        The number of effects in the schema, by default one per column.
    target_bound : float or None
        The bound on the absolute target, if the loss needs one.

    Returns
    -------
    float
        The guess.

    Examples
    --------
    Log-odds are assumed to be at most 20, or more with many columns:

    >>> import numpy as np
    >>> from confide.objectives import Logistic, guess_coef_norm_of_columns
    >>> float(guess_coef_norm_of_columns(Logistic(), np.ones(4), 4, None))
    20.0
    """
    reach = float(np.linalg.norm(1 / heights))
    if is_squared(loss):
        return PREDICTOR_SHARE * (target_bound or 1.0) * reach / math.sqrt(columns)
    return max(LARGEST_PREDICTOR, LOG_TWO * reach) * _scores_apart(loss)


def _scores_apart(loss: Loss) -> float:
    """Return the factor for guesses of ‖θ‖ that accounts for several scores per record."""
    return loss.classes / 2 if isinstance(loss, Multinomial) else 1.0


def typical_margin(loss: Loss, target_bound: float | None) -> float:
    """Return the acceptable amount of noise in a linear predictor, in its units."""
    return MARGIN * ((target_bound or 1.0) if is_squared(loss) else 1.0)


@dataclass(frozen=True, slots=True)
class Objective:
    """The objective of a fit: a loss, ridge, penalty and constraint with public bounds.

    All attributes are public; an objective never holds rows.

    Parameters
    ----------
    loss : Loss
        The loss of one record.
    dimension : int
        The number of coefficients.
    row_norm : float, default 1.0
        X, the bound on the norm of a row multiplied by its weight.
    l2 : float or None, default None
        The ridge weight of every coefficient, on the scale of the sum over records. If
        None, the mechanism chooses it from ``coef_norm_guess``.
    penalty : Penalty or None, default None
        A penalty on the coefficients.
    constraint : Constraint or None, default None
        A set in which the coefficients must lie.
    target_bound : float or None, default None
        B, the bound on the absolute target; squared and Poisson losses need it.
    responses : int, default 1
        The number of targets of a record. If there are several, the losses for them are
        added, and the coefficients form a matrix with one row for each column of the design
        matrix and one column for each target. For the multinomial loss, the number of
        margins of a record, which is one less than the number of classes.
    coef_norm_guess : float or None, default None
        A public guess at ‖θ‖. If None, it is derived from the loss.
    entries : EntryBounds or None, default None
        Bounds on individual entries of a row, if they are known.
    height : float, default 0.0
        The value of the constant column, which is the last column; 0 if there is none.
    longest_row : float or None, default None
        X̄, the bound on the norm of a row before weighting. None if rows are not weighted
        by norm.
    case_weights : bool, default False
        Whether records have case weights, from 0 to 1.
    offset_bound : float, default 0.0
        O, the bound on the absolute offset of a margin.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    Noise is proportional to ``lipschitz``, the bound on the gradient norm of one record:

    >>> from confide.objectives import Logistic, Objective
    >>> objective = Objective(Logistic(), dimension=3, row_norm=2.0, l2=5.0)
    >>> objective.lipschitz, objective.smoothness, objective.strong_convexity
    (2.0, 1.0, 5.0)
    """

    loss: Loss
    dimension: int
    row_norm: float = 1.0
    l2: float | None = None
    penalty: Penalty | None = None
    constraint: Constraint | None = None
    target_bound: float | None = None
    responses: int = 1
    coef_norm_guess: float | None = None
    entries: EntryBounds | None = None
    height: float = 0.0
    longest_row: float | None = None
    case_weights: bool = False
    offset_bound: float = 0.0

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise InvalidParameter("dimension", "at least 1", self.dimension)
        if self.responses < 1 or self.dimension % self.responses:
            raise InvalidParameter("responses", "a divisor of dimension", self.responses)
        if not 0 < self.row_norm < math.inf:
            raise InvalidParameter(
                "row_norm",
                "positive and finite",
                self.row_norm,
                "It is a public bound on the Euclidean norm of every row.",
            )
        if self.l2 is not None and not 0 <= self.l2 < math.inf:
            raise InvalidParameter("l2", "finite and not negative", self.l2)
        if self.target_bound is not None and not 0 < self.target_bound < math.inf:
            raise InvalidParameter("target_bound", "positive and finite", self.target_bound)
        check_guess(self.coef_norm_guess)
        if (
            self.longest_row is not None
            and not self.row_norm <= self.longest_row < math.inf
        ):
            raise InvalidParameter("longest_row", "row_norm or more", self.longest_row)
        if not 0 <= self.offset_bound < math.inf:
            raise InvalidParameter("offset_bound", "0 or more", self.offset_bound)
        if not 0 <= self.height < self.reach:
            raise InvalidParameter("height", "0 or more, below row_norm", self.height)

    @property
    def weighted(self) -> bool:
        """Whether records have weights, from row norms or as case weights."""
        return self.longest_row is not None or self.case_weights

    def margin_size(self, length: float) -> float:
        r"""Return the largest absolute margin for coefficients of a given norm.

        Parameters
        ----------
        length : float
            The norm ‖θ‖.

        Returns
        -------
        float
            A bound on \|⟨x, θ⟩\|, including the offset.
        """
        return self.reach * length + self.offset_bound

    @property
    def reach(self) -> float:
        """X̄, the bound on row norms before weighting; margins are at most X̄‖θ‖ + O."""
        return self.row_norm if self.longest_row is None else self.longest_row

    @property
    def row_square(self) -> float:
        """X·X̄, the bound on w‖x‖², the squared norm of a row multiplied by its weight."""
        return self.row_norm * self.reach

    @property
    def heaviest_slope(self) -> float:
        """The bound on the absolute slope of a loss multiplied by the record's weight."""
        return self.slope_bound * (HEAVIEST if self.weighted else 1.0)

    @property
    def columns(self) -> int:
        """The number of columns of the design matrix, without the constant column."""
        return self.dimension - bool(self.height)

    @property
    def entry_bound(self) -> float:
        """The bound on the absolute values in a row, except for the constant column."""
        return self.row_norm_of(1)

    def row_norm_of(self, count: int) -> float:
        """Return a bound on the norm of several entries of a row, excluding the constant.

        Parameters
        ----------
        count : int
            The number of entries.

        Returns
        -------
        float
            The bound, for any ``count`` entries.
        """
        # Two factors, because squares of very large or small norms overflow or underflow.
        whole = math.sqrt(self.reach - self.height)
        whole *= math.sqrt(self.reach + self.height)
        if self.entries is None:
            return whole
        return min(whole * (1 + 2.0**-50), self.entries.norm(count))

    def restricted_to(self, count: int) -> "Objective":
        """Return the objective restricted to ``count`` columns and the constant column.

        The penalty must treat all columns equally, so it does not matter which ones remain.

        Parameters
        ----------
        count : int
            The number of columns, without the constant column.

        Returns
        -------
        Objective
            The restricted objective.
        """
        return replace(
            self,
            dimension=count + bool(self.height),
            row_norm=length_beside(self.row_norm_of(count), self.height),
            penalty=None
            if self.penalty is None
            else restrict_penalty(self.penalty, count, self.columns, bool(self.height)),
            entries=None,
        )

    @property
    def public(self) -> PublicBounds:
        """The public bounds from which the loss derives its constants."""
        radius = math.inf
        if self.constraint is not None:
            radius = self.constraint.radius(self.dimension)
        return PublicBounds(self.reach, radius, self.target_bound, self.offset_bound)

    @property
    def slope_bound(self) -> float:
        """A, the bound on the absolute slope of the loss."""
        return self.loss.slope_bound(self.public)

    @property
    def lipschitz(self) -> float:
        """L = A·X·√responses, the largest norm of the gradient of one record.

        For the multinomial loss, L = A·X, because A bounds the norm of the slope vector.
        """
        alone = 1 if is_multinomial(self.loss) else self.responses
        return self.slope_bound * self.row_norm * math.sqrt(alone)

    @property
    def smoothness(self) -> float:
        """The bound β on the eigenvalues of the Hessian of one record.

        β = sup κ·X·X̄, where κ is the curvature of the loss.
        """
        return curvature_bound(self.loss, self.public) * self.row_square

    @property
    def ridge(self) -> Array:
        """Λⱼ, the ridge weight of every coefficient, including that of the penalty."""
        weights = np.full(self.dimension, 0.0 if self.l2 is None else self.l2)
        if self.penalty is not None:
            weights += self.penalty.ridge(self.dimension)
        return weights

    @property
    def strong_convexity(self) -> float:
        """Λ, the smallest ridge weight."""
        return float(self.ridge.min())

    @property
    def typical_norm(self) -> float:
        """A guess at ‖θ‖ for choosing the ridge; it affects accuracy, never privacy."""
        if self.coef_norm_guess is not None:
            return self.coef_norm_guess
        return guess_coef_norm(self.loss, self.dimension, self.row_norm, self.target_bound)

    @property
    def typical_margin(self) -> float:
        """A guess at the acceptable noise in ⟨x, θ⟩; it affects accuracy, never privacy."""
        return typical_margin(self.loss, self.target_bound)

    @property
    def nonsmooth_part(self) -> Penalty | None:
        """The penalty without its quadratic part."""
        return None if self.penalty is None else self.penalty.nonsmooth_part()

    def with_ball(self, radius: float) -> "Objective":
        """Return the same objective with the coefficients constrained to a ball.

        Parameters
        ----------
        radius : float
            The radius of the ball.

        Returns
        -------
        Objective
            The objective with this constraint.
        """
        return replace(self, constraint=L2Ball(radius))

    def with_l2(self, l2: float) -> "Objective":
        """Return the same objective with another ridge.

        Parameters
        ----------
        l2 : float
            The ridge weight of every coefficient.

        Returns
        -------
        Objective
            The objective with this ridge.
        """
        return replace(self, l2=l2)


def check_guess(norm: float | None) -> None:
    """Raise an error if a guess at ‖θ‖ is not positive and finite.

    Parameters
    ----------
    norm : float or None
        The guess; None is accepted.

    Raises
    ------
    InvalidParameter
        If the guess is not positive and finite.

    Examples
    --------
    >>> from confide.objectives import check_guess
    >>> check_guess(2.0)
    >>> check_guess(0.0)
    Traceback (most recent call last):
    confide.errors.InvalidParameter: coef_norm_guess must be positive and finite; got 0.0.
    """
    if norm is not None and not 0 < norm < math.inf:
        raise InvalidParameter("coef_norm_guess", "positive and finite", norm)
