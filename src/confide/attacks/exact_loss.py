"""The exact distribution of a perturbed minimiser in one and two dimensions.

The noise b(θ) for which θ is the minimiser has a closed form, so the density of a release
is ν(b(θ))·det ∇²F(θ), where ν is the density of the noise and F the objective. This needs
neither sampling nor a solver. Two distributions on one grid give the exact privacy loss:
the largest log ratio, and δ(ε) = ∫(p − e^ε q)₊. In one dimension, an l1 penalty and a box
constraint are covered too; they create atoms at 0 and at the ends of the box. A multinomial
model with three classes and one column has two dimensions.
"""

from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.data import bound_rows
from confide.data.rows.in_memory import HEAVIEST
from confide.data.schema.case_weights import Cases
from confide.errors import InvalidParameter
from confide.noise import RoundNoise
from confide.objectives import L1, Box, Multinomial, Objective, sum_zero_basis
from confide.solvers import minimise

SPAN_POINTS, SPAN_ROUNDS = 129, 3
"""Points per search grid and number of refinements, to find the ends of the main grid.

The ends are found to within 128⁻³ of the range that is searched.
"""


@dataclass(frozen=True, slots=True)
class Records:
    """A small artificial table, with the number of copies of each record.

    Parameters
    ----------
    features : ndarray
        Features of each record.
    target : ndarray
        Target of each record.
    times : ndarray
        Number of copies of each record, multiplied by its weight if it has one.
    offset : ndarray, optional
        Offset of each record, which is added to its linear predictor.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.attacks import Records
    >>> Records(np.ones((1, 1)), np.ones(1), np.array([5.0])).times.tolist()
    [5.0]
    """

    features: Array
    target: Array
    times: Array
    offset: Array | None = None

    @classmethod
    def of(cls, features: object, target: object, times: object = 1.0) -> "Records":
        """Create records from nested lists; an empty list gives the empty table.

        Parameters
        ----------
        features : nested sequence of float
            Features of each record.
        target : sequence of float
            Target of each record.
        times : float or sequence of float, default=1
            Number of copies of each record.

        Returns
        -------
        Records
            The records.
        """
        y = np.asarray(target, dtype=np.float64).reshape(-1)
        x = np.asarray(features, dtype=np.float64)
        x = x.reshape(len(y), -1) if len(y) else x.reshape(0, max(1, x.shape[-1]))
        return cls(x, y, np.broadcast_to(np.asarray(times, dtype=np.float64), y.shape))

    @property
    def offsets(self) -> Array:
        """The offset of each record: 0 if no offsets were given."""
        return np.zeros(len(self.target)) if self.offset is None else self.offset

    def plus(
        self, features: object, target: float, times: float = 1.0, offset: float = 0.0
    ) -> "Records":
        """Return a table with one additional record.

        Parameters
        ----------
        features : sequence of float
            Features of the additional record.
        target : float
            Target of the additional record.
        times : float, default=1
            Number of copies of the additional record.
        offset : float, default=0
            Offset of the additional record, which is added to its linear predictor.

        Returns
        -------
        Records
            The larger table.
        """
        row = np.asarray(features, dtype=np.float64).reshape(1, -1)
        kept = self.features if len(self.target) else np.zeros((0, row.shape[1]))
        return Records(
            np.vstack([kept, row]),
            np.append(self.target, target),
            np.append(self.times, times),
            np.append(self.offsets, offset),
        )


@dataclass(frozen=True, slots=True)
class GridLaw:
    """A distribution that consists of a density on a grid and of atoms.

    Parameters
    ----------
    log_density : ndarray
        Logarithm of the density at each grid point.
    volume : float
        Volume of a grid cell, the same for all cells.
    atoms : ndarray
        Probabilities of the atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.attacks import GridLaw
    >>> uniform = GridLaw(np.zeros(10), 0.1, np.zeros(0))
    >>> uniform.volume
    0.1
    """

    log_density: Array
    volume: float
    atoms: Array

    @property
    def mass(self) -> float:
        """Total probability of grid and atoms: near 1 if the grid is wide and fine."""
        return float(np.exp(self.log_density).sum() * self.volume + self.atoms.sum())


def exact_pair(
    objective: Objective,
    noise: RoundNoise,
    first: Records,
    second: Records,
    points: int | None = None,
    *,
    tilt: float = 0.0,
) -> tuple[GridLaw, GridLaw]:
    """Return the distributions of the minimiser for two tables, on a common grid.

    Parameters
    ----------
    objective : Objective
        The objective with its loss, bounds and ridge; it must be one-dimensional, or
        two-dimensional, smooth and without a constraint.
    noise : RoundNoise
        The distribution of the noise on the linear term of the objective.
    first : Records
        One table.
    second : Records
        The other table.
    points : int, optional
        Number of grid points along each axis.
    tilt : float, default=0
        Coefficient of a public linear term, the same for every coefficient of the model.

    Returns
    -------
    tuple of two GridLaw
        The two distributions.

    Raises
    ------
    InvalidParameter
        If the objective does not meet these requirements.

    Examples
    --------
    Two equal tables have the same distribution, so the privacy loss is 0:

    >>> import numpy as np
    >>> from confide.attacks import Records, exact_pair, max_log_ratio
    >>> from confide.noise import SphericalLaplace
    >>> from confide.objectives import Logistic, Objective
    >>> objective = Objective(Logistic(), dimension=1, row_norm=1.0, l2=1.0)
    >>> table = Records(np.ones((1, 1)), np.ones(1), np.ones(1))
    >>> laws = exact_pair(objective, SphericalLaplace(2.0), table, table)
    >>> round(max_log_ratio(*laws), 9)
    0.0
    """
    spans = [_span(objective, noise, records, tilt) for records in (first, second)]
    low = np.min([span[0] for span in spans], axis=0)
    high = np.max([span[1] for span in spans], axis=0)
    if objective.dimension == 1:
        count = points or 60_001
        edges = np.linspace(low[0], high[0], count + 1)
        grid = ((edges[1:] + edges[:-1]) / 2)[:, None]
    elif (
        objective.dimension == 2
        and objective.nonsmooth_part is None
        and objective.constraint is None
    ):
        count = points or 401
        axes = [np.linspace(a, b, count + 1) for a, b in zip(low, high, strict=True)]
        middles = [(axis[1:] + axis[:-1]) / 2 for axis in axes]
        grid = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, 2)
    else:
        raise InvalidParameter(
            "objective",
            "one-dimensional, or else two-dimensional with a smooth penalty and no "
            "constraint",
            objective,
        )
    volume = float(np.prod((high - low) / count))
    return tuple(  # type: ignore[return-value]
        _law(objective, noise, records, grid, volume, tilt=tilt)
        for records in (first, second)
    )


def hockey_stick(first: GridLaw, second: GridLaw, epsilon: float) -> float:
    """Return δ(ε), the supremum of P(A) − e^ε·Q(A) over all sets A of outputs.

    Parameters
    ----------
    first : GridLaw
        The distribution P.
    second : GridLaw
        The distribution Q.
    epsilon : float
        The epsilon.

    Returns
    -------
    float
        The smallest delta at this epsilon for P against Q.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.attacks import GridLaw, hockey_stick
    >>> uniform = GridLaw(np.zeros(10), 0.1, np.zeros(0))
    >>> hockey_stick(uniform, uniform, 0.5)
    0.0
    """
    p, q = np.exp(first.log_density), np.exp(second.log_density + epsilon)
    smooth = float(np.maximum(p - q, 0).sum()) * first.volume
    return smooth + float(np.maximum(first.atoms - np.exp(epsilon) * second.atoms, 0).sum())


def max_log_ratio(first: GridLaw, second: GridLaw) -> float:
    """Return the largest log(p/q) over grid points and atoms.

    Parameters
    ----------
    first : GridLaw
        The distribution with density p.
    second : GridLaw
        The distribution with density q.

    Returns
    -------
    float
        The largest privacy loss of this pair.

    Examples
    --------
    >>> import numpy as np
    >>> from confide.attacks import GridLaw, max_log_ratio
    >>> flat = GridLaw(np.zeros(2), 0.5, np.zeros(0))
    >>> tilted = GridLaw(np.log([1.5, 0.5]), 0.5, np.zeros(0))
    >>> round(max_log_ratio(tilted, flat), 3)
    0.405
    """
    there = np.isfinite(first.log_density)
    worst = float(np.max(first.log_density[there] - second.log_density[there]))
    heavy = (first.atoms > 1e-300) | (second.atoms > 1e-300)
    if heavy.any():
        with np.errstate(divide="ignore"):
            ratio = np.log(first.atoms[heavy]) - np.log(second.atoms[heavy])
        worst = max(worst, float(ratio.max()))
    return worst


def _law(
    objective: Objective,
    noise: RoundNoise,
    records: Records,
    grid: Array,
    volume: float,
    *,
    tilt: float = 0.0,
) -> GridLaw:
    pull, determinant = _gradient_and_determinant(objective, records, grid)
    pull = pull + tilt
    nonsmooth, box = objective.nonsmooth_part, objective.constraint
    if isinstance(nonsmooth, L1):
        pull = pull + _l1_weight(nonsmooth) * np.sign(grid)
    log_density = noise.log_density((pull**2).sum(axis=1), objective.dimension)
    log_density = log_density + np.log(determinant)
    atoms = []
    if isinstance(nonsmooth, L1):
        zero, _ = _gradient_and_determinant(objective, records, np.zeros((1, 1)))
        weight = _l1_weight(nonsmooth)
        at = float(zero[0, 0]) + tilt
        atoms.append(_chance_between(noise, -weight - at, weight - at))
    if isinstance(box, Box):
        inside = (grid[:, 0] > box.lower) & (grid[:, 0] < box.upper)
        log_density = np.where(inside, log_density, -np.inf)
        atoms += _box_atoms(objective, noise, records, box, tilt)
    return GridLaw(log_density, volume, np.array(atoms))


def _gradient_and_determinant(
    objective: Objective, records: Records, grid: Array
) -> tuple[Array, Array]:
    """Return the gradients and Hessian determinants of the smooth part on a grid.

    The noise is not included.
    """
    if isinstance(objective.loss, Multinomial):
        return _of_scores(objective, objective.loss, records, grid)
    pull = grid * objective.ridge
    diagonal = np.broadcast_to(objective.ridge, grid.shape).copy()
    corner = np.zeros(len(grid))
    counted = records.times * _weights(objective, records.features)
    cells = (records.features, records.target, counted, records.offsets)
    for x, y, times, offset in zip(*cells, strict=True):
        margin = grid @ x + offset
        label = np.full_like(margin, y)
        pull += times * objective.loss.slope(margin, label)[:, None] * x
        curvature = times * objective.loss.curvature(margin, label)
        diagonal += curvature[:, None] * x**2
        if objective.dimension == 2:
            corner += curvature * x[0] * x[1]
    if objective.dimension == 1:
        return pull, diagonal[:, 0]
    return pull, diagonal[:, 0] * diagonal[:, 1] - corner**2


def _weights(objective: Objective, features: Array) -> Array:
    """Return the weights that limit the influence of long rows; ones if there are none."""
    if objective.longest_row is None:
        return np.ones(len(features))
    lengths = np.linalg.norm(features, axis=1)
    return objective.row_norm / np.maximum(lengths, objective.row_norm / HEAVIEST)


def _of_scores(
    objective: Objective, loss: Multinomial, records: Records, grid: Array
) -> tuple[Array, Array]:
    """Return gradients and Hessian determinants for three classes and one column."""
    pull = grid * objective.ridge
    curvature = np.zeros((len(grid), 2, 2)) + np.diag(objective.ridge)
    basis = sum_zero_basis(loss.classes)
    counted = records.times * _weights(objective, records.features)
    for (x,), y, times in zip(records.features, records.target, counted, strict=True):
        slope, chances = loss.slope_and_chances(grid * x, np.full(len(grid), y))
        pull += times * x * slope
        mean = chances @ basis
        spread = np.einsum("nk,ki,kj->nij", chances, basis, basis)
        curvature += times * x**2 * (spread - mean[:, :, None] * mean[:, None, :])
    return pull, np.linalg.det(curvature)


def _box_atoms(
    objective: Objective, noise: RoundNoise, records: Records, box: Box, tilt: float
) -> list[float]:
    ends = np.array([[box.lower], [box.upper]])
    pull, _ = _gradient_and_determinant(objective, records, ends)
    pull = pull + tilt
    if isinstance(objective.nonsmooth_part, L1):
        pull = pull + _l1_weight(objective.nonsmooth_part) * np.sign(ends)
    return [
        noise.chance_below(float(pull[0, 0])),
        noise.chance_below(float(-pull[1, 0])),
    ]


def _chance_between(noise: RoundNoise, low: float, high: float) -> float:
    """Return P(low < b <= high), accurate in both tails of the symmetric distribution."""
    if low > 0:
        low, high = -high, -low
    return noise.chance_below(high) - noise.chance_below(low)


def _l1_weight(nonsmooth: L1) -> float:
    return float(np.asarray(nonsmooth.weight).reshape(-1)[0])


def _span(
    objective: Objective, noise: RoundNoise, records: Records, tilt: float = 0.0
) -> tuple[Array, Array]:
    """Return a box that contains the minimisers for all noise of non-negligible density."""
    reach = noise.reach * noise.scale
    line = objective.dimension == 1 and isinstance(objective.constraint, Box | None)
    find = _ends_on_a_line if line else _ends_by_solver
    found = find(objective, records, reach, tilt)
    slack = 1e-9 + 0.02 * (found.max(axis=0) - found.min(axis=0))
    return found.min(axis=0) - slack, found.max(axis=0) + slack


def _ends_on_a_line(
    objective: Objective, records: Records, reach: float, tilt: float
) -> Array:
    """Return the minimisers for noise b = ±``reach``, in one dimension.

    The derivative of the objective increases. The points at which it crosses −b are located
    on successively finer grids.
    """
    nonsmooth, box = objective.nonsmooth_part, objective.constraint
    weight = _l1_weight(nonsmooth) if isinstance(nonsmooth, L1) else 0.0

    def pull(points: Array) -> Array:
        found, _ = _gradient_and_determinant(objective, records, points.reshape(-1, 1))
        return tilt + found[:, 0].reshape(points.shape) + weight * np.sign(points)

    if isinstance(box, Box):
        edges = np.array([box.lower, box.upper])
    else:
        edges = np.array([-1.0, 1.0])
        while not np.all(pull(edges) * [-1, 1] >= reach):
            edges *= 4
    low, high = np.repeat(edges.reshape(2, 1, 1), 2, axis=1)
    for _ in range(SPAN_ROUNDS):
        points = low + (high - low) * np.linspace(0, 1, SPAN_POINTS)
        below = (pull(points) < [[-reach], [reach]]).sum(axis=1, keepdims=True)
        place = np.clip(below, 1, SPAN_POINTS - 1)
        low, high = (np.take_along_axis(points, place - k, axis=1) for k in (1, 0))
    return np.asarray((low + high) / 2)


def _ends_by_solver(
    objective: Objective, records: Records, reach: float, tilt: float
) -> Array:
    """Return the minimisers for noise vectors of norm ``reach`` in many directions."""
    if objective.dimension == 1:
        pulls = np.array([[-reach], [reach]])
    else:
        angles = np.linspace(0, 2 * np.pi, 64, endpoint=False)
        pulls = reach * np.column_stack([np.cos(angles), np.sin(angles)])
    times = np.ceil(records.times).astype(np.intp)
    which = np.repeat(np.arange(len(records.target)), times)
    columns = objective.dimension // objective.responses
    features = records.features[which] if len(which) else np.zeros((1, columns))
    target = records.target[which] if len(which) else np.ones(1)
    rows = bound_rows(features, target, 1e100, 0.0)
    if objective.longest_row is not None:
        rows = rows.weighed(objective.row_norm)
    if len(which) and records.offsets.any():
        rows = rows.with_cases(Cases(offset=records.offsets[which]))
    return np.array([minimise(objective, rows, b + tilt, 1e-6).theta for b in pulls])
