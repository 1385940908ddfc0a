"""The one objective of confide, on its one scale: a sum.

    F(θ) = Σᵢ wᵢφ(⟨xᵢ,θ⟩, yᵢ) + ⟨b,θ⟩ + r(θ) + ½ Σⱼ Λⱼθⱼ²      over θ in C

Records count wᵢ = min(4, X/‖xᵢ‖) times where they are weighed, and once elsewhere; where
they have weights of their own, as many times as large. A margin may have an offset.
Everything an `Objective` knows is public; the rows and the linear term b come in as
arguments of whoever minimises it.
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
from confide.objectives.losses import Loss, PublicBounds, curvature_bound, is_squared
from confide.objectives.multinomial import Multinomial, is_multinomial
from confide.objectives.penalties import Penalty, restrict_penalty

LARGEST_PREDICTOR = 20.0
"""A predictor of log-odds or of a logarithm may vary by so much over unit rows."""
PREDICTOR_SHARE = 0.8
"""A predictor of the target itself varies by little less than the target does."""
MARGIN = 2.0
"""Noise of so many log-odds still leaves most predictions on their side."""
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
    """Guess ‖θ‖ for the columns of a schema, whose features have these heights."""
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

    ``l2`` is the ridge that every coordinate gets; None leaves it to the mechanism, which
    then goes by ``coef_norm_guess``, a public guess of ‖θ‖ (None: from the loss). With
    several ``responses`` a record has as many targets, the loss is the sum over them, and
    the coordinates are a matrix with a line for every column of the rows. So they are for
    the multinomial loss, whose ``responses`` are the coordinates of a record's scores.
    ``entries`` bounds single entries of a row where that is known; ``height`` is that of
    the constant column, the last one, 0 where there is none or nobody needs to know.

    ``row_norm`` is X, the longest a row can be times its weight; ``longest_row`` is X̄, the
    longest it can be by itself. None stands for rows that all count once: X̄ = X.
    ``case_weights`` says that records have weights of their own, from 0 to 1;
    ``offset_bound`` is O, the largest offset of a margin.
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
        """Return how large a margin can be at coefficients of a length."""
        return self.reach * length + self.offset_bound

    @property
    def reach(self) -> float:
        """X̄: the longest row, whatever it counts. Margins are at most X̄‖θ‖."""
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
        """How many columns there are, the constant one aside."""
        return self.dimension - bool(self.height)

    @property
    def entry_bound(self) -> float:
        """The largest entry of a row, the constant column aside."""
        return self.row_norm_of(1)

    def row_norm_of(self, count: int) -> float:
        """Return how long any so many entries of a row are, the constant one aside."""
        # Squares of very long or very short rows are no doubles.
        whole = math.sqrt(self.reach - self.height)
        whole *= math.sqrt(self.reach + self.height)
        if self.entries is None:
            return whole
        return min(whole * (1 + 2.0**-50), self.entries.norm(count))

    def restricted_to(self, count: int) -> "Objective":
        """Return the objective of any so many columns, and of the constant one.

        The penalty must weigh all columns alike: it is handed on as one that does.
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
        """β = sup κ·XX̄: the largest eigenvalue of one record's Hessian."""
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
        """Return the same objective with coefficients confined to a ball."""
        return replace(self, constraint=L2Ball(radius))

    def with_l2(self, l2: float) -> "Objective":
        """Return the same objective with this ridge."""
        return replace(self, l2=l2)


def check_guess(norm: float | None) -> None:
    """Refuse a guess of ‖θ‖ that is not a length."""
    if norm is not None and not 0 < norm < math.inf:
        raise InvalidParameter("coef_norm_guess", "positive and finite", norm)
