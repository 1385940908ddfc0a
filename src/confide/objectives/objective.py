"""The objective of confide, on one scale: a sum over records.

    F(θ) = Σᵢ wᵢφ(⟨xᵢ,θ⟩, yᵢ) + ⟨b,θ⟩ + r(θ) + ½ Σⱼ Λⱼθⱼ²      over θ in C

Records count wᵢ = min(4, X/‖xᵢ‖) times if they are weighted by length, and otherwise
once; weights of their own are multiplied with that. A margin may have an offset.
Everything an `Objective` knows is public; the rows and the linear term b are arguments of
the solver.
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
"""A predictor of log-odds or of a logarithm may vary by this much over unit rows."""
PREDICTOR_SHARE = 0.8
"""A predictor of the target itself varies a little less than the target does."""
MARGIN = 2.0
"""Noise of this many log-odds still leaves most predictions on their side."""
LOG_TWO = math.log(2)
"""Odds double from the middle of a column to its end, or from one level to another."""


def guess_coef_norm(
    loss: Loss, dimension: int, row_norm: float, target_bound: float | None
) -> float:
    """Guess ‖θ‖ for rows of which only the length is known."""
    if is_squared(loss):
        return PREDICTOR_SHARE * (target_bound or 1.0) * math.sqrt(dimension) / row_norm
    return LARGEST_PREDICTOR * _scores_apart(loss) / row_norm


def guess_coef_norm_of_columns(
    loss: Loss, heights: Array, columns: int, target_bound: float | None
) -> float:
    """Guess ‖θ‖ for the columns of a schema, for the automatic choice of a ridge.

    A guess affects accuracy, never privacy.

    Parameters
    ----------
    loss : Loss
        The loss.
    heights : array
        The lengths that features have when they are scaled.
    columns : int
        The number of columns of the schema.
    target_bound : float or None
        The largest target, where the loss needs one.

    Returns
    -------
    float
        The guess.

    Examples
    --------
    Log-odds may vary by 20 over the length of a row, or more with many columns:

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
    """Return how many times as long coefficients are where a record has several scores."""
    return loss.classes / 2 if isinstance(loss, Multinomial) else 1.0


def typical_margin(loss: Loss, target_bound: float | None) -> float:
    """Return how far noise may move a predictor, in its own units."""
    return MARGIN * ((target_bound or 1.0) if is_squared(loss) else 1.0)


@dataclass(frozen=True, slots=True)
class Objective:
    """Loss, ridge, penalty and constraint over a public dimension and row norm.

    Everything in it is public; rows are never part of it.

    Parameters
    ----------
    loss : Loss
        The loss of one record.
    dimension : int
        The number of coefficients.
    row_norm : float, default 1.0
        X, the longest that a row can be times its weight.
    l2 : float or None, default None
        The ridge of every coefficient, on the scale of the sum. None leaves it to the
        mechanism, which goes by ``coef_norm_guess``.
    penalty : Penalty or None, default None
        A penalty on the coefficients.
    constraint : Constraint or None, default None
        A set that the coefficients must lie in.
    target_bound : float or None, default None
        B, the largest target; squared and Poisson losses need it.
    responses : int, default 1
        With several a record has as many targets, the loss is the sum over them, and the
        coefficients are a matrix with a line for every column of the rows. For the
        multinomial loss: the number of coordinates of a record's scores.
    coef_norm_guess : float or None, default None
        A public guess of ‖θ‖; None takes one from the loss.
    entries : EntryBounds or None, default None
        Bounds on single entries of a row, where they are known.
    height : float, default 0.0
        The entry of the constant column, the last one; 0 without one.
    longest_row : float or None, default None
        X̄, the longest that a row can be without its weight. None for rows that all count
        once.
    case_weights : bool, default False
        Whether records have weights of their own, from 0 to 1.
    offset_bound : float, default 0.0
        O, the largest offset of a margin.

    Raises
    ------
    InvalidParameter
        If a parameter is out of its range.

    Examples
    --------
    The longest gradient of one record is what mechanisms add noise for:

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
                "It is a public bound on the length of every row.",
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
        """Whether records have weights, by the lengths of their rows or of their own."""
        return self.longest_row is not None or self.case_weights

    def margin_size(self, length: float) -> float:
        r"""Return the largest margin at coefficients of a given length.

        Parameters
        ----------
        length : float
            The length ‖θ‖.

        Returns
        -------
        float
            A bound on \|⟨x, θ⟩\|, with the offset.
        """
        return self.reach * length + self.offset_bound

    @property
    def reach(self) -> float:
        """X̄: the longest row, whatever its weight. Margins are at most X̄‖θ‖."""
        return self.row_norm if self.longest_row is None else self.longest_row

    @property
    def row_square(self) -> float:
        """X·X̄: the largest w‖x‖²."""
        return self.row_norm * self.reach

    @property
    def heaviest_slope(self) -> float:
        """The largest slope of the loss times the weight of its record."""
        return self.slope_bound * (HEAVIEST if self.weighted else 1.0)

    @property
    def columns(self) -> int:
        """The number of columns without the constant one."""
        return self.dimension - bool(self.height)

    @property
    def entry_bound(self) -> float:
        """The largest entry of a row, except for the constant column."""
        return self.row_norm_of(1)

    def row_norm_of(self, count: int) -> float:
        """Return the largest length of several entries of a row, without the constant one.

        Parameters
        ----------
        count : int
            The number of entries.

        Returns
        -------
        float
            A bound on their length.
        """
        # Squares of very long or very short rows are no doubles.
        whole = math.sqrt(self.reach - self.height)
        whole *= math.sqrt(self.reach + self.height)
        if self.entries is None:
            return whole
        return min(whole * (1 + 2.0**-50), self.entries.norm(count))

    def restricted_to(self, count: int) -> "Objective":
        """Return the objective of a number of columns, and of the constant one.

        The penalty must treat all columns equally, and does so in the result.

        Parameters
        ----------
        count : int
            The number of columns.

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
        """The bounds that the loss derives its constants from."""
        radius = math.inf
        if self.constraint is not None:
            radius = self.constraint.radius(self.dimension)
        return PublicBounds(self.reach, radius, self.target_bound, self.offset_bound)

    @property
    def slope_bound(self) -> float:
        """A: the largest slope of the loss."""
        return self.loss.slope_bound(self.public)

    @property
    def lipschitz(self) -> float:
        """L = A·X·√responses: the longest gradient of one record.

        The slope of a multinomial loss is one vector, and A its length.
        """
        alone = 1 if is_multinomial(self.loss) else self.responses
        return self.slope_bound * self.row_norm * math.sqrt(alone)

    @property
    def smoothness(self) -> float:
        """The largest eigenvalue of one record's Hessian, β = sup κ·XX̄."""
        return curvature_bound(self.loss, self.public) * self.row_square

    @property
    def ridge(self) -> Array:
        """Λⱼ: the ridge weight of every coordinate, the penalty's own included."""
        weights = np.full(self.dimension, 0.0 if self.l2 is None else self.l2)
        if self.penalty is not None:
            weights += self.penalty.ridge(self.dimension)
        return weights

    @property
    def strong_convexity(self) -> float:
        """Λ: the smallest ridge weight."""
        return float(self.ridge.min())

    @property
    def typical_norm(self) -> float:
        """A guess of ‖θ‖ for automatic ridges: it affects accuracy, never privacy."""
        if self.coef_norm_guess is not None:
            return self.coef_norm_guess
        return guess_coef_norm(self.loss, self.dimension, self.row_norm, self.target_bound)

    @property
    def typical_margin(self) -> float:
        """A guess of how far noise may move ⟨x,θ⟩: it affects accuracy, never privacy."""
        return typical_margin(self.loss, self.target_bound)

    @property
    def nonsmooth_part(self) -> Penalty | None:
        """The penalty without its quadratic part."""
        return None if self.penalty is None else self.penalty.nonsmooth_part()

    def with_ball(self, radius: float) -> "Objective":
        """Return the same objective with coefficients confined to a ball.

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
            The ridge of every coefficient.

        Returns
        -------
        Objective
            The objective with this ridge.
        """
        return replace(self, l2=l2)


def check_guess(norm: float | None) -> None:
    """Reject a guess of ‖θ‖ that is not a length.

    Parameters
    ----------
    norm : float or None
        The guess; None is accepted.

    Raises
    ------
    InvalidParameter
        If it is not positive and finite.

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
