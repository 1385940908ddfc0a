"""The exact law of a whole release: coefficients, and moments at those coefficients.

Given the coefficients the moments are known matrices plus one noise of known scale, so
the privacy loss of both together is an integral over the coefficients alone.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp

from confide.accounting import as_pure, as_zcdp, compose
from confide.attacks import exact_loss as exact
from confide.data import bound_rows
from confide.mechanisms import MomentRelease
from confide.mechanisms.intervals import moments
from confide.noise import Gaussian
from confide.objectives import curvature_bound
from confide.privacy import Approx, Pure
from confide.solvers import minimise
from support.checks import GRID_ERROR

POINTS = {"gaussian": 1501, "spherical-laplace": 6001}
"""A largest ratio may be reached between two jumps: it needs a fine grid."""
PLANE_POINTS = 161
KNOTS = 60


@dataclass(frozen=True)
class Whole:
    """Chances and losses of the coefficients on a grid, and what the moments add there.

    ``shift`` is how far the moments move, over the scale of their noise.
    """

    chance: np.ndarray
    loss: np.ndarray
    shift: np.ndarray


def contributions(objective, records, points):
    """Return C and S of the records at every point; both of shape (points, p, p)."""
    size = objective.dimension
    bends = np.zeros((len(points), size, size))
    slopes = np.zeros_like(bends)
    for x, y, times in zip(records.features, records.target, records.times, strict=True):
        margin = points @ x
        label = np.full_like(margin, y)
        outer = np.outer(x, x)
        bend = objective.loss.curvature(margin, label)
        slope = objective.loss.slope(margin, label)
        bends += (times * bend)[:, None, None] * outer
        slopes += (times * slope**2)[:, None, None] * outer
    return bends, slopes


def shifts(calibration, first, second, points):
    """Return how far the moments move between the datasets, in scales of their noise."""
    objective = calibration.objective
    one, other = (contributions(objective, r, points) for r in (first, second))
    bend, slope = (
        np.linalg.norm(a - b, axis=(1, 2)) for a, b in zip(one, other, strict=True)
    )
    lengths = np.linalg.norm(points, axis=1)
    if calibration.recipe == "published":
        steepest = np.vectorize(lambda n: moments.steepest_slope(objective, n))(lengths)
        reach = 2 * objective.row_norm**2
        parts = (
            bend / (reach * curvature_bound(objective.loss, objective.public)),
            slope / (reach * steepest**2),
        )
        scaled = [p / n.scale for p, n in zip(parts, calibration.parts, strict=True)]
        return np.hypot(*scaled) if _gaussian(calibration) else sum(scaled)
    # The noise of both grows with the length: the knot below each length is pessimistic.
    knots = np.linspace(0.0, lengths.max(), KNOTS)
    if not objective.loss.monotone:
        knots = np.unique(lengths)
    reach = np.array([moments.sensitivity(calibration, float(k)) for k in knots])
    weight = np.array([calibration.weight(float(k)) for k in knots])
    below = np.searchsorted(knots, lengths, side="right") - 1
    (unit,) = calibration.parts
    return np.hypot(bend, weight[below] * slope) / (reach[below] * unit.scale)


def whole(plan, first, second):
    """Return the law of the whole release under ``first``, on a line or in a plane."""
    objective, noise = plan.main.objective, plan.main.noise
    if plan.main.solver_noise is None:
        points, loss, chance = _shifted(objective, noise, first, second)
    else:
        points, loss, chance = _perturbed(objective, noise, first, second)
    return Whole(chance, loss, shifts(plan.moments, first, second, points))


def share_of_claim(plan, pairs):
    """Check the whole release on every pair; return the largest share of the claim.

    What pays for the solver's tolerance is set aside: laws here are of exact minimisers.
    """
    events = plan.events
    if plan.main.solver_noise is not None and len(events) > 1:
        events = (events[0], *events[2:])
    worst = 0.0
    for title, first, second in pairs:
        found = whole(plan, first, second)
        mass = float(found.chance.sum())
        assert isinstance(plan.budget, Pure) or abs(mass - 1) < 3 * GRID_ERROR, mass
        if isinstance(plan.budget, Pure):
            claim = float(as_pure(events).epsilon)
            share = float(np.max(found.loss + found.shift)) / claim
            assert share <= 1 + 1e-6, (title, share)
        elif isinstance(plan.budget, Approx):
            limit = float(plan.budget.delta)
            claim = float(compose(events, plan.budget.delta).epsilon)
            assert delta(found, claim) <= limit * (1 + GRID_ERROR), title
            share = _epsilon(found, limit) / claim
        else:
            share = _renyi_share(float(as_zcdp(events).rho), found)
            assert share <= 1 + GRID_ERROR, (title, share)
        worst = max(worst, share)
    return worst


def delta(found, epsilon):
    """Return δ(ε) of the whole release, for Gaussian noise on the moments."""
    left = epsilon - found.loss
    mu = np.maximum(found.shift, 1e-12)
    upper = log_ndtr(mu / 2 - left / mu)
    lower = left + log_ndtr(-mu / 2 - left / mu)
    excess = np.exp(upper) - np.exp(np.minimum(lower, upper))
    return float(found.chance @ excess)


def _epsilon(found, limit):
    """Return the ε at which δ(ε) reaches the limit, 0 if it is below everywhere."""
    if delta(found, 0.0) <= limit:
        return 0.0
    return float(brentq(lambda e: delta(found, e) - limit, 0.0, 50.0, xtol=1e-6))


def _renyi_share(rho, found):
    shares = []
    for order in (1.01, 1.5, 2.0, 8.0, 64.0):
        power = (order - 1) * (found.loss + order * found.shift**2 / 2)
        divergence = float(logsumexp(power, b=found.chance)) / (order - 1)
        shares.append(divergence / (order * rho))
    return max(shares)


def _perturbed(objective, noise, first, second):
    spans = [exact._span(objective, noise, records) for records in (first, second)]
    low = np.min([span[0] for span in spans], axis=0)
    high = np.max([span[1] for span in spans], axis=0)
    count = POINTS[noise.kind] if objective.dimension == 1 else PLANE_POINTS
    axes = [np.linspace(a, b, count + 1) for a, b in zip(low, high, strict=True)]
    middles = np.meshgrid(*((a[1:] + a[:-1]) / 2 for a in axes), indexing="ij")
    points = np.stack(middles, axis=-1).reshape(-1, objective.dimension)
    volume = float(np.prod((high - low) / count))
    laws = [exact._law(objective, noise, r, points, volume) for r in (first, second)]
    loss = laws[0].log_density - laws[1].log_density
    if objective.dimension == 1:
        return points, loss, _masses(objective, noise, first, axes[0])
    return points, loss, np.exp(laws[0].log_density) * volume


def _masses(objective, noise, records, edges):
    """Return the chance of every cell on a line: b falls as θ grows, so it is exact."""
    pull, _ = exact._gradient_and_determinant(objective, records, edges[:, None])
    return np.diff([noise.chance_below(float(b)) for b in pull[:, 0]])


def _shifted(objective, noise, first, second):
    centres = [_minimiser(objective, records) for records in (first, second)]
    reach = noise.reach * noise.scale
    edges = np.linspace(min(centres) - reach, max(centres) + reach, POINTS[noise.kind] + 1)
    points = ((edges[1:] + edges[:-1]) / 2)[:, None]
    logs = [noise.log_density((points[:, 0] - c) ** 2, 1) for c in centres]
    masses = np.diff([noise.chance_below(float(e - centres[0])) for e in edges])
    return points, logs[0] - logs[1], masses


def _minimiser(objective, records):
    which = np.repeat(np.arange(len(records.target)), records.times.astype(np.intp))
    if not len(which):
        return 0.0
    rows = bound_rows(records.features[which], records.target[which], 1e100, 0.0)
    return float(minimise(objective, rows, np.zeros(1), 1e-8).theta[0])


def _gaussian(calibration):
    return isinstance(calibration.parts[0], Gaussian)


def calibrated(objective, budget, relation, recipe="joint", copies=1):
    """Calibrate moments alone."""
    release = MomentRelease(recipe)
    return release.calibrate(objective, budget, relation, copies=copies)
